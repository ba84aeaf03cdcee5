package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rocketd/rocketd/integration/measure"
	"github.com/rocketd/rocketd/remoting"
)

// body is a message of size bytes with its number and a time, ms, in front.
func body(i int, ms int64, size int) []byte {
	b := make([]byte, size)
	binary.BigEndian.PutUint64(b, uint64(i))
	binary.BigEndian.PutUint64(b[8:], uint64(ms))
	for i := 16; i < size; i++ {
		b[i] = byte('a' + i%26)
	}
	return b
}

// report is what became of delayed messages.
type report struct {
	late                 []int64 // ms, sorted
	early, lost, doubled int
	last                 int64 // when the last one was stored, ms
}

func (r *report) quantile(q float64) int64 {
	if len(r.late) == 0 {
		return -1
	}
	return measure.Quantile(r.late, q)
}

func (r *report) spread() string {
	return fmt.Sprintf("%d / %d / %d", r.quantile(0.5), r.quantile(0.99), r.quantile(1))
}

func (r *report) faults() string { return fmt.Sprintf("%d / %d / %d", r.early, r.lost, r.doubled) }

// delivered waits for n messages of a topic and tells what became of them. Their bodies hold when they are due.
func delivered(b *broker, topic string, n int) (*report, error) {
	if _, err := awaitEnd(b.addr, topic, int64(n), 20*time.Second); err != nil {
		return nil, err
	}
	time.Sleep(time.Second) // more than that would be doubles
	r := &report{}
	times := make([]int, n)
	err := readAll(b.addr, topic, 0, func(stored int64, body []byte) {
		i, due := int(binary.BigEndian.Uint64(body)), int64(binary.BigEndian.Uint64(body[8:]))
		if i >= n {
			return
		}
		if times[i]++; times[i] > 1 {
			r.doubled++
			return
		}
		if stored < due {
			r.early++
		}
		r.late = append(r.late, stored-due)
		r.last = max(r.last, stored)
	})
	slices.Sort(r.late)
	r.lost = n - len(r.late)
	return r, err
}

func key(i int) string { return fmt.Sprintf("7F0000010000000000%014X", i) }

func deliverAt(ms int64) string { return "TIMER_DELIVER_MS\x01" + strconv.FormatInt(ms, 10) + "\x02" }

// warmUp lets Apache's broker compile its hot paths, and makes the topics.
func warmUp(b *broker, topics ...string) error {
	for _, topic := range topics {
		s := sender{conns: 1, inFlight: 1, n: 1, make: func(i int) []byte { return sendFrame(i, topic+"-made", key(i), "", body(0, 0, 16)) }}
		if _, err := s.run(b.addr); err != nil {
			return err
		}
	}
	due := time.Now().Add(3 * time.Second).UnixMilli()
	s := sender{conns: 4, inFlight: 16, n: 20_000, make: func(i int) []byte {
		p := deliverAt(due + int64(i%2000))
		if i%2 == 0 {
			p = "DELAY\x011\x02"
		}
		return sendFrame(i, "warm", key(i), p, body(i, 0, 256))
	}}
	if _, err := s.run(b.addr); err != nil {
		return err
	}
	_, err := awaitEnd(b.addr, "warm", int64(s.n), 10*time.Second)
	return err
}

// lateness sends 1,000 timers a second that are due some seconds later, each at a millisecond of its own.
func lateness(b *broker, t *table, o options) error {
	if err := warmUp(b); err != nil {
		return err
	}
	const topic, perSecond = "steady-timers", 1000
	n := o.count(20 * perSecond)
	s := sender{conns: 4, inFlight: 64, n: n, perSecond: perSecond, make: func(i int) []byte {
		due := time.Now().UnixMilli() + 3000 + rand.Int64N(7000)
		return sendFrame(i, topic, key(i), deliverAt(due), body(i, due, 256))
	}}
	if _, err := s.run(b.addr); err != nil {
		return err
	}
	r, err := delivered(b, topic, n)
	if err != nil {
		return err
	}
	t.add("timers, 1,000/s: lateness p50 / p99 / max ms", "1 / 5 / 50", r.spread())
	t.add("timers, 1,000/s: early / lost / doubled", "0 / 0 / 0", r.faults())
	return nil
}

// levelLateness sends 1,000 messages a second of the levels of 1, 5 and 10 seconds.
func levelLateness(b *broker, t *table, o options) error {
	if err := warmUp(b); err != nil {
		return err
	}
	const topic, perSecond = "steady-levels", 1000
	n := o.count(20 * perSecond)
	delays := []int64{1000, 5000, 10_000}
	s := sender{conns: 4, inFlight: 64, n: n, perSecond: perSecond, make: func(i int) []byte {
		level := i % len(delays)
		due := time.Now().UnixMilli() + delays[level]
		return sendFrame(i, topic, key(i), "DELAY\x01"+strconv.Itoa(level+1)+"\x02", body(i, due, 256))
	}}
	if _, err := s.run(b.addr); err != nil {
		return err
	}
	r, err := delivered(b, topic, n)
	if err != nil {
		return err
	}
	t.add("delay levels, 1,000/s: lateness p50 / p99 / max ms", "1 / 5 / 50", r.spread())
	t.add("delay levels, 1,000/s: early / lost / doubled", "0 / 0 / 0", r.faults())
	return nil
}

// burst sends 100,000 timers for one second, and has normal sends and pulls of another topic while that second passes.
func burst(b *broker, t *table, o options) error {
	if err := warmUp(b); err != nil {
		return err
	}
	const topic = "burst"
	n := o.count(100_000)
	ahead := 15 * time.Second
	second := time.Now().Add(ahead).Truncate(time.Second).Add(time.Second)
	s := sender{conns: 4, inFlight: 64, n: n, make: func(i int) []byte {
		due := second.UnixMilli() + rand.Int64N(1000)
		return sendFrame(i, topic, key(i), deliverAt(due), body(i, due, 256))
	}}
	took, err := s.run(b.addr)
	if err != nil {
		return err
	}
	if time.Now().After(second.Add(-time.Second)) {
		return fmt.Errorf("sending %d timers took %v, longer than they are ahead", n, took)
	}
	time.Sleep(time.Until(second.Add(-time.Second)))
	normal, err := traffic(b.addr, 5*time.Second)
	if err != nil {
		return err
	}
	r, err := delivered(b, topic, n)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%d timers due in one second: ", n)
	t.add(name+"last one after the second began, ms", "2,000", strconv.FormatInt(r.last-second.UnixMilli(), 10))
	t.add(name+"lateness p50 / p99 / max ms", "", r.spread())
	t.add(name+"early / lost / doubled", "0 / 0 / 0", r.faults())
	t.add(name+"normal sends beside, p50 / p99 / max ms", "p99 20", normal.sends.String())
	t.add(name+"normal messages to a waiting consumer beside, p50 / p99 / max ms", "p99 20", normal.pulls.String())
	return nil
}

// times are sorted by String.
type times []time.Duration

func (d times) String() string {
	if len(d) == 0 {
		return "none"
	}
	slices.Sort(d)
	ms := func(q float64) float64 {
		return float64(measure.Quantile(d, q).Microseconds()) / 1000
	}
	return fmt.Sprintf("%.1f / %.1f / %.1f", ms(0.5), ms(0.99), ms(1))
}

type normalTraffic struct{ sends, pulls times }

// traffic sends 500 messages a second to a topic and takes them from it by long polling.
func traffic(addr string, during time.Duration) (normalTraffic, error) {
	const topic, perSecond = "normal", 500
	var out normalTraffic
	first := sender{conns: 1, inFlight: 1, n: 1, make: func(i int) []byte { return sendFrame(i, topic, key(i), "", body(0, 0, 1024)) }}
	if _, err := first.run(addr); err != nil {
		return out, err
	}
	from, err := awaitEnd(addr, topic, 1, 5*time.Second)
	if err != nil {
		return out, err
	}
	var mu sync.Mutex
	var stop atomic.Bool
	pulled := make(chan error, 1)
	go func() {
		pulled <- consume(addr, topic, from, &stop, func(took time.Duration) { out.pulls = append(out.pulls, took) })
	}()
	s := sender{
		conns: 2, inFlight: 64, n: int(during.Seconds() * perSecond), perSecond: perSecond,
		make: func(i int) []byte { return sendFrame(i, topic, key(i), "", body(i, time.Now().UnixNano(), 1024)) },
		seen: func(_ int, took time.Duration) {
			mu.Lock()
			out.sends = append(out.sends, took)
			mu.Unlock()
		},
	}
	_, err = s.run(addr)
	stop.Store(true)
	if err == nil {
		err = <-pulled
	}
	return out, err
}

// consume long-polls a topic and tells how long each message took from its producer.
func consume(addr, topic string, from int64, stop *atomic.Bool, seen func(took time.Duration)) error {
	c, err := measure.Dial(addr)
	if err != nil {
		return err
	}
	defer c.Close()
	for !stop.Load() {
		a, err := c.Ask(pullFrame(topic, from, time.Second))
		if err != nil {
			return err
		}
		if a.Code != remoting.Success {
			continue
		}
		now := time.Now().UnixNano()
		measure.EachRecord(a.Body, func(_ int64, body []byte) { seen(time.Duration(now - int64(binary.BigEndian.Uint64(body[8:])))) })
		if from = a.Number("nextBeginOffset"); from < 0 {
			return fmt.Errorf("pull of %s: no next offset in %.200s", topic, a.Header)
		}
	}
	return nil
}
