package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/rocketd/rocketd/integration/measure"
	"github.com/rocketd/rocketd/integration/peer"
)

type options struct {
	rows    string
	apache  bool
	scale   float64
	pending int
	from    int
	fill    bool
	dir     string
	at      string
	pid     int
}

// row is a measurement of one side: its figures go to the table.
type row struct {
	name string
	run  func(b *broker, t *table, o options) error
	// only rocketd takes part
	own bool
}

func rows() []row {
	return []row{
		{name: "lateness", run: lateness},
		{name: "levels", run: levelLateness},
		{name: "burst", run: burst},
		{name: "cpu-plain", run: costs("plain messages put", "", undelayed)},
		{name: "cpu-timers", run: costs("timers put and delivered", "15", soon)},
		{name: "cpu-levels", run: costs("delay-level messages put and delivered", "15", ofFiveSeconds)},
		{name: "pending", run: pending, own: true},
	}
}

func main() {
	var o options
	flag.StringVar(&o.rows, "only", "", "names of rows, split by commas: lateness, levels, burst, cpu-plain, cpu-timers, cpu-levels, pending; all when empty")
	flag.BoolVar(&o.apache, "apache", true, "measure Apache's broker too (needs a JDK and Maven)")
	flag.Float64Var(&o.scale, "scale", 1, "factor on rates' durations and numbers of messages, but for -pending")
	flag.IntVar(&o.pending, "pending", 1_000_000, "timers pending over three days: a power of ten from 10000 on; 10000000 takes about 5 GB of disk and minutes")
	flag.IntVar(&o.from, "from", 10_000, "the fewest pending timers to measure with, a power of ten")
	flag.StringVar(&o.dir, "dir", "", "with -only pending: an existing folder for the store, which is kept, so that pieces can be measured one after the other")
	flag.BoolVar(&o.fill, "fill", false, "with -dir: put the pending timers and measure nothing")
	flag.StringVar(&o.at, "at", "", "measure the broker that runs at this address instead of starting any, for profiles of it; not for pending")
	flag.IntVar(&o.pid, "pid", 0, "with -at: the broker's process")
	flag.Parse()
	if err := errors.Join(run(o), peer.Clean()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(o options) error {
	begun := time.Now()
	h := &measure.Host{}
	defer h.Close()
	if err := measure.Attempt(func() error { // build before anything is measured
		if o.at != "" {
			return nil
		}
		peer.Rocketd(h)
		if o.apache {
			peer.NeedJava(h)
		}
		return nil
	}); err != nil {
		return err
	}
	sides := []string{sideRocketd}
	if o.apache && o.at == "" {
		sides = append(sides, sideApache)
	}
	var t table
	failed := 0
	for _, r := range rows() {
		if o.rows != "" && !strings.Contains(","+o.rows+",", ","+r.name+",") {
			continue
		}
		for _, side := range sides {
			if r.own && side != sideRocketd {
				continue
			}
			t.side = side
			err := measure.Attempt(func() error {
				b := &broker{h: h, side: side, addr: o.at, pid: o.pid}
				if o.at == "" {
					b = start(h, side, o.dir)
				}
				return r.run(b, &t, o)
			})
			h.Close()
			if err != nil {
				failed++
				fmt.Fprintf(os.Stderr, "%s, %s: %v\n", r.name, side, err)
			}
			fmt.Fprintf(os.Stderr, "%s %s of %s is done\n", time.Now().Format(time.TimeOnly), r.name, side)
		}
	}
	t.print(os.Stdout)
	fmt.Printf("\nScale %g, took %v.\n", o.scale, time.Since(begun).Round(time.Second))
	if failed > 0 {
		return fmt.Errorf("%d measurements failed", failed)
	}
	return nil
}

// count is n by the scale.
func (o options) count(n int) int { return max(100, int(float64(n)*o.scale)) }
