package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/rocketd/rocketd/integration/measure"
	"github.com/rocketd/rocketd/integration/peer"
	"github.com/rocketd/rocketd/remoting"
)

type options struct {
	rounds int
	scale  float64
	rows   string
	apache bool
	quick  bool
	at     string
	pid    int
}

// errSkipped says that a side does not take part in a row.
var errSkipped = errors.New("not measured on this side")

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 3, "rounds of each row on each broker, which alternate; medians are printed")
	flag.Float64Var(&o.scale, "scale", 1, "factor on the length of each row")
	flag.StringVar(&o.rows, "only", "", "rows whose name holds this text, or one of several split by |")
	flag.BoolVar(&o.apache, "apache", true, "measure Apache's broker too (needs a JDK and Maven)")
	flag.BoolVar(&o.quick, "quick", false, "leave out the rows that take long")
	bare := flag.String("bare", "", "internal: serve as the bare server on this address; \"append:FILE\" in front also writes")
	flag.StringVar(&o.at, "at", "", "measure the broker that runs at this address instead of starting any, for profiles of it")
	flag.IntVar(&o.pid, "pid", 0, "with -at: the broker's process")
	curvesTo := flag.String("curves", "", "measure the growth curves of rocketd instead, into this folder; -only picks some by their file's name")
	most := flag.Float64("most", 1, "with -curves: leave out points beyond this share of a curve's largest")
	profileTo := flag.String("pgo", "", "take rocketd's CPU profile under the rows of -only instead, and write it to this file")
	soakFor := flag.Duration("soak", 0, "put full load on rocketd for so long instead, and report its memory")
	flag.Parse()
	if *bare != "" {
		serveBare(*bare)
		return
	}
	run := table
	switch {
	case o.at != "":
		run = running
	case *curvesTo != "":
		run = func(o options) error { return drawCurves(o, *curvesTo, *most) }
	case *profileTo != "":
		run = func(o options) error { return profile(o, *profileTo) }
	case *soakFor > 0:
		run = func(o options) error { return soak(o, *soakFor) }
	}
	if err := errors.Join(run(o), peer.Clean()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// table measures the rows and prints them.
func table(o options) error {
	begun := time.Now()
	if o.apache && os.Getenv("APACHE_HEAP") == "" {
		if err := os.Setenv("APACHE_HEAP", "2g"); err != nil {
			return err
		}
	}
	h := &measure.Host{}
	defer h.Close()
	if err := measure.Attempt(func() error { // build before anything is measured
		peer.Rocketd(h)
		if o.apache {
			peer.NeedJava(h)
		}
		return nil
	}); err != nil {
		return err
	}
	var rows []row
	for _, r := range allRows() {
		if o.only(r) {
			rows = append(rows, r)
		}
	}
	var l limits
	if err := measure.Attempt(func() (err error) { l, err = measureLimits(h.TempDir(), o.scale); return err }); err != nil {
		return err
	}
	h.Close()
	res := results{}
	for round := range o.rounds {
		for _, g := range allGroups() {
			for _, side := range o.sides(round) {
				runGroup(o, g, side, round, rows, res)
			}
		}
	}
	for _, r := range rows {
		if r.alone == nil {
			continue
		}
		for _, side := range o.sides(0) {
			runAlone(h, o, r, side, res)
		}
	}
	res.print(os.Stdout, rows)
	l.print(os.Stdout)
	fmt.Printf("\n%d rounds, scale %g, took %v.\n", o.rounds, o.scale, time.Since(begun).Round(time.Second))
	return nil
}

// sides are measured in this order, which turns with the rounds.
func (o options) sides(round int) []string {
	sides := []string{sideRocketd, sideBare, sideAppend}
	if o.apache {
		sides = append(sides, sideApache)
	}
	if round%2 == 1 {
		sides[0], sides[len(sides)-1] = sides[len(sides)-1], sides[0]
	}
	return sides
}

// runGroup runs the rows of a group on one side.
func runGroup(o options, g group, side string, round int, rows []row, res results) {
	h := &measure.Host{}
	defer h.Close()
	var t *target
	isBare := side == sideBare || side == sideAppend
	warm := false
	for _, r := range rows {
		if r.group != g.name || r.alone != nil || r.once && round > 0 || isBare && !r.bare {
			continue
		}
		if t == nil {
			var err error
			if t, err = startTarget(h, side, o, g.settings, g.prepare); err != nil {
				fmt.Fprintf(os.Stderr, "round %d, %s does not start: %v\n", round, side, err)
				return
			}
			time.Sleep(500 * time.Millisecond)
		}
		if r.unit == "" && !warm {
			warm = true
			if err := warmUp(t, isBare); err != nil {
				fmt.Fprintf(os.Stderr, "round %d, %s cannot be warmed up: %v\n", round, side, err)
				return
			}
		}
		var f figures
		err := measure.Attempt(func() (err error) { f, err = r.run(t); return err })
		report(round, side, r, f, err, res)
	}
}

// warmUp sends for some seconds before the first row that is measured under load: a JVM compiles meanwhile what it runs often.
// Then most of what is free of the memory is used once: which pieces of it the rows will get cannot be told.
func warmUp(t *target, isBare bool) error {
	if isBare {
		return measure.TouchMemory(measure.FreeMemory() * 3 / 4)
	}
	l := load{conns: 8, inFlight: 16, during: 8 * time.Second, okCodes: []int32{remoting.Success}, frame: func(conn int) prebuilt {
		return jsonFrame(remoting.SendMessageV2, sendFields("warm", conn%4, properties, false), payload(128))
	}}
	if _, err := l.run(t.addr); err != nil {
		return err
	}
	return measure.TouchMemory(measure.FreeMemory() * 3 / 4)
}

func runAlone(h *measure.Host, o options, r row, side string, res results) {
	if side == sideBare || side == sideAppend {
		return
	}
	var f figures
	err := measure.Attempt(func() (err error) { f, err = r.alone(h, side, o); return err })
	h.Close()
	report(0, side, r, f, err, res)
}

func report(round int, side string, r row, f figures, err error, res results) {
	switch {
	case errors.Is(err, errSkipped):
	case err != nil:
		fmt.Fprintf(os.Stderr, "%s round %d, %s, %s: %v\n", time.Now().Format(time.TimeOnly), round, side, r.name, err)
	default:
		res.add(r.name, side, f)
		if r.unit != "" {
			fmt.Fprintf(os.Stderr, "%s round %d, %s, %s: %s %s\n", time.Now().Format(time.TimeOnly), round, side, r.name, number(f.cpu), r.unit)
			return
		}
		fmt.Fprintf(os.Stderr, "%s round %d, %s, %s: %s\n", time.Now().Format(time.TimeOnly), round, side, r.name, f)
	}
}

// running measures rows on a broker that runs already.
func running(o options) error {
	t := &target{side: "running", addr: o.at, pid: o.pid, o: o}
	for _, r := range allRows() {
		if !o.only(r) || r.alone != nil {
			continue
		}
		f, err := r.run(t)
		report(0, t.side, r, f, err, results{})
	}
	return nil
}
