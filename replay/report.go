package replay

import (
	"fmt"
	"io"
)

// Difference is one answer that is not the recorded one.
type Difference struct {
	Line    int    `json:"line"` // of the recording, where the recorded answer stands
	Conn    int    `json:"conn"`
	Server  string `json:"server"`
	Request string `json:"request"` // its name
	What    string `json:"what"`
}

// String is one line.
func (d Difference) String() string {
	return fmt.Sprintf("line %d, connection %d to %s, %s: %s", d.Line, d.Conn, d.Server, d.Request, d.What)
}

// Report is what Play found.
type Report struct {
	Connections int `json:"connections"`
	Requests    int `json:"requests"` // sent
	Answers     int `json:"answers"`  // compared
	Equal       int `json:"equal"`
	// Carried is how many requests were sent with a value of the server played to in place of a recorded one.
	Carried int `json:"carried"`
	// Differences are the first of those found; Further is how many more there were.
	Differences []Difference `json:"differences"`
	Further     int          `json:"further"`
}

// maxDifferences bounds those that a report keeps.
const maxDifferences = 1000

func (r *Report) add(d Difference) {
	if len(r.Differences) >= maxDifferences {
		r.Further++
		return
	}
	r.Differences = append(r.Differences, d)
}

// Print writes the report for people.
func (r *Report) Print(w io.Writer) error {
	for _, d := range r.Differences {
		if _, err := fmt.Fprintln(w, d); err != nil {
			return err
		}
	}
	if r.Further > 0 {
		if _, err := fmt.Fprintf(w, "and %d further differences\n", r.Further); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%d connections, %d requests sent (%d with values carried over), %d answers compared, %d equal, %d differences\n",
		r.Connections, r.Requests, r.Carried, r.Answers, r.Equal, len(r.Differences)+r.Further)
	return err
}
