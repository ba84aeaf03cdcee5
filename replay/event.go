package replay

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// ErrRecording says that a file is no recording, or a broken one.
var ErrRecording = errors.New("replay: not a recording")

// What an Event is.
const (
	Open  = "open"
	Sent  = "sent" // by the client
	Got   = "got"  // by the client
	Close = "close"
	Full  = "full" // the recording has reached its limit and ends here
)

// Kinds of servers.
const (
	Namesrv = "namesrv"
	Broker  = "broker"
)

// Header is the first line of a recording.
type Header struct {
	Recording string    `json:"recording"` // "rocketd"
	Version   int       `json:"version"`   // 1
	Began     time.Time `json:"began"`
}

// Event is one line of a recording behind the first.
type Event struct {
	Ms     int64  `json:"ms"` // since the recording began
	Conn   int    `json:"conn,omitempty"`
	What   string `json:"what"`
	Server string `json:"server,omitempty"` // of Open: Namesrv or Broker
	Name   string `json:"name,omitempty"`   // of Open: the broker's name in routes, where it is known
	Addr   string `json:"addr,omitempty"`   // of Open: the recorded server's
	Frame  []byte `json:"frame,omitempty"`
}

// maxLine bounds one line of a recording: a frame of 16 MiB in base64.
const maxLine = 32 << 20

// reader reads a recording.
type reader struct {
	lines *bufio.Scanner
	line  int
}

func newReader(r io.Reader) (*reader, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	out := &reader{lines: lines}
	var h Header
	if err := out.decode(&h); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%w: it is empty", ErrRecording)
		}
		return nil, err
	}
	if h.Recording != "rocketd" || h.Version != 1 {
		return nil, fmt.Errorf("%w: its first line says recording %q, version %d", ErrRecording, h.Recording, h.Version)
	}
	return out, nil
}

// next reads an event; io.EOF at the end.
func (r *reader) next() (*Event, error) {
	var e Event
	if err := r.decode(&e); err != nil {
		return nil, err
	}
	return &e, nil
}

func (r *reader) decode(into any) error {
	if !r.lines.Scan() {
		if err := r.lines.Err(); err != nil {
			return fmt.Errorf("read recording behind line %d: %w", r.line, err)
		}
		return io.EOF
	}
	r.line++
	if err := json.Unmarshal(r.lines.Bytes(), into); err != nil {
		return fmt.Errorf("%w: line %d: %w", ErrRecording, r.line, err)
	}
	return nil
}
