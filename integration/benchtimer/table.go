package main

import (
	"fmt"
	"io"
	"slices"
	"time"
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
	fmt.Fprintf(w, "| What | Target | rocketd | Apache 5.5.0 |\n|---|---|---|---|\n")
	for _, l := range t.lines {
		fmt.Fprintf(w, "| %s | %s | %s | %s |\n", l.what, l.target, l.values[sideRocketd], l.values[sideApache])
	}
	if len(t.curve) == 0 {
		return
	}
	fmt.Fprintf(w, "\nCost of a timer by the number of those that are pending (rocketd):\n\n")
	fmt.Fprintf(w, "| Pending | CPU µs per timer put and delivered | timers put per second | lateness p99 / max ms | added memory MB | waiting, %% of a core | ready after stop | ready after kill -9 |\n|---|---|---|---|---|---|---|---|\n")
	for _, c := range t.curve {
		fmt.Fprintf(w, "| %d | %.1f | %.0f | %d / %d | %.0f | %.2f | %d ms | %d ms |\n", c.pending, c.micros, c.putPerSecond, c.p99, c.max, c.anonMB, 100*c.waiting,
			c.readyClean.Milliseconds(), c.readyKilled.Milliseconds())
	}
}
