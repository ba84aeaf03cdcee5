package main

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rocketd/rocketd/integration/measure"
)

// figures of one row in one round. Those that a row does not measure are NaN.
type figures struct {
	cpu            float64 // seconds of the broker's CPU per million messages; in rows with a unit: the figure
	perSecond      float64
	p50, p99, p999 float64 // ms
	anonMB         float64
	diskBytes      float64 // per message
}

func noFigures() figures {
	n := math.NaN()
	return figures{n, n, n, n, n, n, n}
}

// single is a row's only figure.
func single(value float64) figures {
	f := noFigures()
	f.cpu = value
	return f
}

func (f *figures) each() []*float64 {
	return []*float64{&f.cpu, &f.perSecond, &f.p50, &f.p99, &f.p999, &f.anonMB, &f.diskBytes}
}

func (f *figures) latency(r loadResult) {
	ms := func(q float64) float64 { return float64(measure.Quantile(r.latencies, q).Nanoseconds()) / 1e6 }
	f.p50, f.p99, f.p999 = ms(0.5), ms(0.99), ms(0.999)
}

func (f figures) String() string {
	return fmt.Sprintf("%s, %s/s, p50/p99/p99.9 %s / %s / %s ms, %s MB, %s bytes on disk", number(f.cpu), number(f.perSecond), number(f.p50), number(f.p99), number(f.p999),
		number(f.anonMB), number(f.diskBytes))
}

// median of each figure.
func median(rounds []figures) figures {
	out := noFigures()
	for i, to := range out.each() {
		var values []float64
		for j := range rounds {
			if v := *rounds[j].each()[i]; !math.IsNaN(v) {
				values = append(values, v)
			}
		}
		if len(values) > 0 {
			slices.Sort(values)
			*to = (values[(len(values)-1)/2] + values[len(values)/2]) / 2
		}
	}
	return out
}

// number writes a figure with three digits, "" when it was not measured.
func number(v float64) string {
	switch {
	case math.IsNaN(v):
		return ""
	case v >= 1000:
		s := fmt.Sprintf("%.0f", v)
		for i := len(s) - 3; i > 0; i -= 3 {
			s = s[:i] + "," + s[i:]
		}
		return s
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 0.1 || v == 0:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

// meter measures what a broker's process does for some messages.
type meter struct {
	t     *target
	cpu   float64
	disk  int64
	start time.Time
}

func (t *target) meter() meter {
	m := meter{t: t, cpu: measure.CPUSeconds(t.pid), start: time.Now()}
	if t.dir != "" {
		m.disk = measure.DiskBytes(t.dir)
	}
	return m
}

// figures of so many messages since the meter was made.
func (m meter) figures(messages float64) figures {
	f := noFigures()
	f.cpu = (measure.CPUSeconds(m.t.pid) - m.cpu) / messages * 1e6
	f.perSecond = messages / time.Since(m.start).Seconds()
	f.anonMB = measure.AnonymousMB(m.t.pid)
	return f
}

// stored adds how many bytes of disk a message took, for rows whose messages are all new.
func (m meter) stored(f figures, messages float64) figures {
	if m.t.dir != "" {
		time.Sleep(200 * time.Millisecond) // queue entries and index are written behind
		f.diskBytes = float64(measure.DiskBytes(m.t.dir)-m.disk) / messages
	}
	return f
}
