package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/rocketd/rocketd/integration/measure"
)

// table collects figures by what they are and whose.
type table struct {
	side  string // whose figures are added
	lines []*line
	curve []costAt
}

type line struct {
	what, target string
	values       map[string]string
}

// costAt is a point of the curve.
type costAt struct {
	pending      int
	micros       float64 // CPU per timer put and delivered
	anonMB       float64
	putPerSecond float64
	p99, max     int64 // lateness, ms
	readyClean   time.Duration
	readyKilled  time.Duration
	waiting      float64 // share of a core
}

func (t *table) add(what, target, value string) {
	i := slices.IndexFunc(t.lines, func(l *line) bool { return l.what == what })
	if i < 0 {
		i = len(t.lines)
		t.lines = append(t.lines, &line{what: what, target: target, values: make(map[string]string)})
	}
	t.lines[i].values[t.side] = value
}

func (t *table) print(w io.Writer) {
	sides := measure.Table{Head: []string{"What", "Target", "rocketd", "Apache 5.5.0"}}
	for _, l := range t.lines {
		sides.Add(l.what, l.target, l.values[sideRocketd], l.values[sideApache])
	}
	sides.Print(w)
	if len(t.curve) == 0 {
		return
	}
	fmt.Fprintf(w, "\nCost of a timer by the number of those that are pending (rocketd):\n\n")
	curve := measure.Table{Head: []string{
		"Pending", "CPU µs per timer put and delivered", "timers put per second", "lateness p99 / max ms", "added memory MB", "waiting, % of a core", "ready after stop", "ready after kill -9",
	}}
	for _, c := range t.curve {
		curve.Add(strconv.Itoa(c.pending), fmt.Sprintf("%.1f", c.micros), fmt.Sprintf("%.0f", c.putPerSecond), fmt.Sprintf("%d / %d", c.p99, c.max), fmt.Sprintf("%.0f", c.anonMB),
			fmt.Sprintf("%.2f", 100*c.waiting), fmt.Sprintf("%d ms", c.readyClean.Milliseconds()), fmt.Sprintf("%d ms", c.readyKilled.Milliseconds()))
	}
	curve.Print(w)
}
