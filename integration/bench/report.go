package main

import (
	"fmt"
	"io"
	"math"

	"github.com/rocketd/rocketd/integration/measure"
)

// results are the figures of each round by row and side.
type results map[string]map[string][]figures

func (r results) add(row, side string, f figures) {
	if r[row] == nil {
		r[row] = map[string][]figures{}
	}
	r[row][side] = append(r[row][side], f)
}

// of is the median of a row's rounds on one side.
func (r results) of(row, side string) figures { return median(r[row][side]) }

// print writes the tables as Markdown.
func (r results) print(w io.Writer, rows []row) {
	cpu := measure.Table{Head: []string{"row", "Apache: CPU", "rocketd: CPU", "ratio", "bare server", "bare + append", "target"}}
	rest := measure.Table{Head: []string{"row", "messages/s", "p50 ms", "p99 ms", "p99.9 ms", "anonymous MB", "bytes on disk per message"}}
	single := measure.Table{Head: []string{"row", "unit", "Apache", "rocketd", "ratio", "target"}}
	for _, row := range rows {
		if r[row.name] == nil {
			continue
		}
		a, d := r.of(row.name, sideApache), r.of(row.name, sideRocketd)
		if row.unit != "" {
			single.Add(row.name, row.unit, number(a.cpu), number(d.cpu), ratio(a.cpu, d.cpu), row.target)
			continue
		}
		cpu.Add(row.name, number(a.cpu), number(d.cpu), ratio(a.cpu, d.cpu), number(r.of(row.name, sideBare).cpu), number(r.of(row.name, sideAppend).cpu), row.target)
		rest.Add(row.name, pair(a.perSecond, d.perSecond), pair(a.p50, d.p50), pair(a.p99, d.p99), pair(a.p999, d.p999), pair(a.anonMB, d.anonMB), pair(a.diskBytes, d.diskBytes))
	}
	fmt.Fprint(w, "\nBroker CPU in seconds per million messages (user and system, its name server included where it is in the same process), medians.\n\n")
	cpu.Print(w)
	fmt.Fprint(w, "\nThe same rows, Apache / rocketd. A batch's or pull's latency is that of the request.\n\n")
	rest.Print(w)
	fmt.Fprintln(w)
	single.Print(w)
}

func pair(a, d float64) string {
	if math.IsNaN(a) && math.IsNaN(d) {
		return ""
	}
	return number(a) + " / " + number(d)
}

// ratio says how many times as much the first one is.
func ratio(a, d float64) string {
	if math.IsNaN(a) || math.IsNaN(d) || d <= 0 || a <= 0 {
		return ""
	}
	return number(a/d) + " x"
}
