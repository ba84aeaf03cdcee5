package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rocketd/rocketd/integration/measure"
	"github.com/rocketd/rocketd/remoting"
)

// curve is how the cost of a message grows with something.
type curve struct {
	file  string // without extension
	title string
	x     string // what grows
	y     string // what is measured, CPU seconds per million of it
	at    []float64
	grow  func(c *curveRun) error
}

// curveRun measures one curve: grow adds its points.
type curveRun struct {
	h      *measure.Host
	o      options
	at     []float64
	points []point
}

type point struct{ x, y float64 }

func (c *curveRun) add(x, y float64) {
	c.points = append(c.points, point{x, y})
	fmt.Fprintf(os.Stderr, "%s   %s: %s\n", time.Now().Format(time.TimeOnly), number(x), number(y))
}

func allCurves() []curve {
	const sends = "SEND 1 KB, 8 x 16"
	return []curve{
		{"topics", "Topics of one queue, all sent to in turn", "topics", sends, []float64{10, 100, 1000, 10_000, 50_000}, growTopics},
		{"queues", "Queues of one topic, all sent to in turn", "queues", sends, []float64{10, 100, 1000, 10_000, 50_000}, growQueues},
		{"connections", "Connections, each with one SEND on its way", "connections", "SEND 1 KB", []float64{1, 10, 100, 1000, 10_000}, growConnections},
		{"idle-connections", "Idle connections beside eight that send", "idle connections", sends, []float64{1, 10, 100, 1000, 10_000}, growIdle},
		{"store", "Size of the store", "GB", sends, []float64{0, 1, 2, 5, 10, 20}, growStore},
		{"timers", "Timers that are pending", "pending timers", "timer put and delivered", []float64{10_000, 100_000, 1_000_000, 10_000_000}, growTimers},
		{"groups", "Consumer groups that each take every message, 500/s", "groups", "delivery", []float64{1, 3, 10, 30, 100}, growGroups},
	}
}

// drawCurves measures the curves and writes a CSV and an SVG for each. most cuts off the points that are large: those beyond this share of
// the largest.
func drawCurves(o options, dir string, most float64) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	measure.RaiseFileLimit()
	failures := 0
	for _, c := range allCurves() {
		if !strings.Contains(c.file, o.rows) {
			continue
		}
		run := &curveRun{h: &measure.Host{}, o: o}
		for _, x := range c.at {
			if x <= most*c.at[len(c.at)-1] {
				run.at = append(run.at, x)
			}
		}
		fmt.Fprintf(os.Stderr, "%s %s\n", time.Now().Format(time.TimeOnly), c.title)
		err := measure.Attempt(func() error { return c.grow(run) })
		run.h.Close()
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", c.file, err)
			failures++
		}
		if err := c.write(dir, run.points); err != nil {
			return err
		}
	}
	if failures > 0 {
		return fmt.Errorf("%d curves are not whole", failures)
	}
	return nil
}

func (c curve) write(dir string, points []point) error {
	f, err := os.Create(filepath.Join(dir, c.file+".csv"))
	if err != nil {
		return err
	}
	w := csv.NewWriter(f)
	_ = w.Write([]string{c.x, "CPU seconds per million: " + c.y}) // the error stays in w
	for _, p := range points {
		_ = w.Write([]string{strconv.FormatFloat(p.x, 'f', -1, 64), strconv.FormatFloat(p.y, 'f', 3, 64)})
	}
	w.Flush()
	if err := errors.Join(w.Error(), f.Close()); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, c.file+".svg"), []byte(c.svg(points)), 0o644)
}

// start starts rocketd for a point of a curve; what was started before is ended.
func (c *curveRun) start(prepare func(dir string) error) (*target, error) {
	c.h.Close()
	return startTarget(c.h, sideRocketd, c.o, nil, prepare)
}

// sends measures SENDs of 1 KB whose topics and queues come in turn from frames.
func sends(t *target, frames []prebuilt, conns, inFlight int) (float64, error) {
	l := load{conns: conns, inFlight: inFlight, okCodes: []int32{remoting.Success}}
	l.next = func(conn, seq int) prebuilt { return own(frames[(seq*conns+conn)%len(frames)]) }
	if len(frames) > 100 { // every queue is made before
		first := l
		first.conns, first.inFlight, first.requests = 8, 16, len(frames)
		first.next = func(conn, seq int) prebuilt { return own(frames[(seq*8+conn)%len(frames)]) }
		if _, err := first.run(t.addr); err != nil {
			return 0, err
		}
	}
	f, _, _, err := through(t, l, 1)
	return f.cpu, err
}

func growTopics(c *curveRun) error {
	for _, x := range c.at {
		n := int(x)
		t, err := c.start(func(dir string) error { return writeTopics(dir, n, 1) })
		if err != nil {
			return err
		}
		frames := make([]prebuilt, n)
		for i := range frames {
			frames[i] = jsonFrame(remoting.SendMessageV2, sendFields(fmt.Sprintf("t%d", i), 0, properties, false), payload(1024))
		}
		y, err := sends(t, frames, 8, 16)
		if err != nil {
			return err
		}
		c.add(x, y)
	}
	return nil
}

func growQueues(c *curveRun) error {
	for _, x := range c.at {
		n := int(x)
		t, err := c.start(func(dir string) error { return writeTopics(dir, 1, n) })
		if err != nil {
			return err
		}
		frames := make([]prebuilt, n)
		for i := range frames {
			frames[i] = jsonFrame(remoting.SendMessageV2, sendFields("t0", i, properties, false), payload(1024))
		}
		y, err := sends(t, frames, 8, 16)
		if err != nil {
			return err
		}
		c.add(x, y)
	}
	return nil
}

// fourQueues are frames for the four queues of a topic.
func fourQueues(topic string) []prebuilt {
	frames := make([]prebuilt, 4)
	for i := range frames {
		frames[i] = jsonFrame(remoting.SendMessageV2, sendFields(topic, i, properties, false), payload(1024))
	}
	return frames
}

func growConnections(c *curveRun) error {
	t, err := c.start(nil)
	if err != nil {
		return err
	}
	for _, x := range c.at {
		y, err := sends(t, fourQueues("bench"), int(x), 1)
		if err != nil {
			return err
		}
		c.add(x, y)
	}
	return nil
}

func growIdle(c *curveRun) error {
	t, err := c.start(nil)
	if err != nil {
		return err
	}
	for _, x := range c.at {
		w, err := gather(t.addr, int(x))
		if err != nil {
			return err
		}
		y, err := sends(t, fourQueues("bench"), 8, 16)
		w.close()
		if err != nil {
			return err
		}
		c.add(x, y)
	}
	return nil
}

func growStore(c *curveRun) error {
	t, err := c.start(nil)
	if err != nil {
		return err
	}
	stored := 0.0
	for _, gb := range c.at {
		if free, _ := measure.FreeBytes(t.dir); float64(free) < (gb-stored+15)*(1<<30) {
			return fmt.Errorf("%d bytes are free, not enough for a store of %g GB", free, gb)
		}
		if err := fillBytes(t, "fill", int64((gb-stored)*(1<<30))); err != nil {
			return err
		}
		stored = gb
		y, err := sends(t, fourQueues("bench"), 8, 16)
		if err != nil {
			return err
		}
		c.add(gb, y)
	}
	return nil
}

func growTimers(c *curveRun) error {
	t, err := c.start(nil)
	if err != nil {
		return err
	}
	pending := 0
	for _, x := range c.at {
		base := time.Now().Add(6 * time.Hour)
		l := load{conns: 8, inFlight: 64, requests: int(x) - pending, okCodes: []int32{remoting.Success}}
		l.next = func(conn, seq int) prebuilt { // spread over eight hours
			at := base.Add(time.Duration((seq*7919+conn)%(8*3600)) * time.Second)
			return jsonFrame(remoting.SendMessageV2, sendFields("later", conn%4, properties+"TIMER_DELIVER_MS\x01"+strconv.FormatInt(at.UnixMilli(), 10)+"\x02", false), payload(64))
		}
		if _, err := l.run(t.addr); err != nil {
			return err
		}
		pending = int(x)
		if err := settle(t, 5*time.Minute); err != nil {
			return err
		}
		f, err := timers(t)
		if err != nil {
			return err
		}
		c.add(x, f.cpu)
	}
	return nil
}

// settle waits until the broker has little to do.
func settle(t *target, within time.Duration) error {
	for begin := time.Now(); time.Since(begin) < within; {
		if measure.CPUShare(t.pid, time.Second) < 0.05 {
			return nil
		}
	}
	return fmt.Errorf("the broker is still busy after %v", within)
}

// growGroups sends to one queue; each group takes every message by long polling.
func growGroups(c *curveRun) error {
	const perSecond, topic = 500, "endtoend"
	t, err := c.start(nil)
	if err != nil {
		return err
	}
	if err := fillQueue(t.addr, topic, 0, 1); err != nil {
		return err
	}
	for _, x := range c.at {
		n := int(perSecond * c.o.measured().Seconds())
		ready, errs := make(chan struct{}, int(x)), make(chan error, int(x))
		for i := range int(x) {
			go func() {
				_, err := takePushed(t.addr, topic, 0, n, fmt.Sprintf("G%d", i), ready)
				errs <- err
			}()
		}
		for range int(x) {
			<-ready
		}
		m := t.meter()
		if err := sendSteadily(t.addr, topic, perSecond, 1, n); err != nil {
			return err
		}
		for range int(x) {
			if err := <-errs; err != nil {
				return err
			}
		}
		c.add(x, m.figures(float64(n)*x).cpu)
	}
	return nil
}

// svg draws the points: x logarithmic when it spans much, y from zero on.
func (c curve) svg(points []point) string {
	const width, height, left, top, right, bottom = 640, 360, 70, 40, 20, 50
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", width, height)
	fmt.Fprintf(&b, `<text x="%d" y="22" font-size="15">%s</text>`+"\n", left, c.title)
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", (left+width-right)/2, height-10, c.x)
	fmt.Fprintf(&b, `<text transform="translate(16 %d) rotate(-90)" text-anchor="middle">CPU s per million: %s</text>`+"\n", (top+height-bottom)/2, c.y)
	if len(points) > 0 {
		most, last := 0.0, points[len(points)-1].x
		for _, p := range points {
			most = math.Max(most, p.y)
		}
		step := niceStep(most)
		most = step * math.Ceil(most/step)
		logarithmic := points[0].x > 0
		xAt := func(x float64) float64 {
			share := x / math.Max(last, 1e-9)
			if logarithmic && last > points[0].x {
				share = math.Log(x/points[0].x) / math.Log(last/points[0].x)
			}
			return left + 15 + share*(width-left-right-40)
		}
		yAt := func(y float64) float64 { return height - bottom - y/most*(height-top-bottom) }
		for y := 0.0; y <= most+step/2; y += step {
			fmt.Fprintf(&b, `<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%g</text>`+"\n", left, yAt(y), width-right, left-8, yAt(y)+4, math.Round(y*1e6)/1e6)
		}
		var line strings.Builder
		for i, p := range points {
			fmt.Fprintf(&line, "%s%.1f %.1f", map[bool]string{true: "M", false: "L"}[i == 0], xAt(p.x), yAt(p.y))
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="#1f5fa8"/><text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n", xAt(p.x), yAt(p.y), xAt(p.x), yAt(p.y)-9, number(p.y))
			fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", xAt(p.x), height-bottom+18, strconv.FormatFloat(p.x, 'f', -1, 64))
		}
		fmt.Fprintf(&b, `<path d="%s" fill="none" stroke="#1f5fa8" stroke-width="2"/>`+"\n", line.String())
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// niceStep is a round distance of about five lines up to most.
func niceStep(most float64) float64 {
	if most <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(most/5)))
	for _, f := range []float64{1, 2, 5, 10} {
		if most/(f*power) <= 6 {
			return f * power
		}
	}
	return 10 * power
}
