package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rocketd/rocketd/integration/measure"
)

// costs measures the broker's CPU time for messages of a kind, put and, with a delay, delivered.
func costs(kind string, target string, properties func(i int) string) func(b *broker, t *table, o options) error {
	return func(b *broker, t *table, o options) error {
		if err := warmUp(b); err != nil {
			return err
		}
		n := o.count(200_000)
		if b.side == sideApache {
			n = o.count(60_000)
		}
		each, err := cost(b, "cost", n, properties)
		if err != nil {
			return err
		}
		t.add("CPU s per million "+kind+", 1 KB", target, fmt.Sprintf("%.1f", each*1e6))
		return nil
	}
}

func undelayed(int) string { return "" }

func ofFiveSeconds(int) string { return "DELAY\x012\x02" }

// soon is due in 5 to 9 seconds.
func soon(int) string { return deliverAt(time.Now().UnixMilli() + 5000 + rand.Int64N(4000)) }

// cost sends n messages, waits until they are in their topic and returns the broker's CPU seconds for each.
func cost(b *broker, topic string, n int, properties func(i int) string) (float64, error) {
	before := b.cpu()
	s := sender{conns: 8, inFlight: 16, n: n, make: func(i int) []byte {
		return sendFrame(i, topic, key(i), properties(i), body(i, 0, 1024))
	}}
	if _, err := s.run(b.addr); err != nil {
		return 0, err
	}
	if got, err := awaitEnd(b.addr, topic, int64(n), 30*time.Second); err != nil || got < int64(n) {
		return 0, fmt.Errorf("%d of %d messages of %s came: %w", got, n, topic, err)
	}
	return (b.cpu() - before) / float64(n), nil
}

// pending fills the broker with timers over three days, in powers of ten, and measures at each of them.
func pending(b *broker, t *table, o options) error {
	empty, err := emptyMB(b)
	if err != nil {
		return err
	}
	have, err := pendingIn(o.dir)
	if err != nil {
		return err
	}
	for want := o.from; want <= o.pending; want *= 10 {
		c := costAt{pending: want}
		if have < want {
			if c.putPerSecond, err = rate(b, "far", want-have, overThreeDays()); err != nil {
				return err
			}
			have = want
			if err := notePending(o.dir, have); err != nil {
				return err
			}
		}
		if o.fill {
			continue
		}
		time.Sleep(5 * time.Second) // for the flusher and the collector of garbage
		if err := costNow(b, &c, o); err != nil {
			return err
		}
		time.Sleep(5 * time.Second) // what delivering leaves behind, bytes to write out and garbage, is not waiting
		c.anonMB = b.anonMB() - empty
		c.waiting = measure.CPUShare(b.pid, 10*time.Second)
		b.cluster.Stop(b.h)
		c.readyClean = b.start()
		time.Sleep(time.Second)
		b.cluster.Kill(b.h)
		c.readyKilled = b.start()
		time.Sleep(3 * time.Second)
		t.curve = append(t.curve, c)
	}
	if o.fill {
		return nil
	}
	plain, timerRate, err := rates(b, o)
	if err != nil {
		return err
	}
	last := t.curve[len(t.curve)-1]
	name := fmt.Sprintf("%d timers pending over 3 days: ", have)
	t.add(name+"added memory, MB", "64", fmt.Sprintf("%.0f", last.anonMB))
	t.add(name+"CPU while waiting, % of a core", "1", fmt.Sprintf("%.2f", 100*last.waiting))
	t.add(name+"ready after a stop / after kill -9, ms", "2,000", fmt.Sprintf("%d / %d", last.readyClean.Milliseconds(), last.readyKilled.Milliseconds()))
	t.add(name+"rate of timers / of plain sends, 1/s", "", fmt.Sprintf("%.0f / %.0f", timerRate, plain))
	t.add(name+"rate of timers in % of plain sends", "50", fmt.Sprintf("%.0f", 100*timerRate/plain))
	return nil
}

// emptyMB is the memory of a broker on an empty store that has stored some messages.
func emptyMB(of *broker) (float64, error) {
	b := start(of.h, of.side, "")
	defer b.cluster.Stop(b.h)
	if _, err := rate(b, "plain", 20_000, undelayed); err != nil {
		return 0, err
	}
	time.Sleep(5 * time.Second)
	return b.anonMB(), nil
}

// pendingFile tells how many timers a store that is kept has.
const pendingFile = "benchtimer-pending"

func pendingIn(dir string) (int, error) {
	if dir == "" {
		return 0, nil
	}
	data, err := os.ReadFile(filepath.Join(dir, pendingFile))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(data)))
}

func notePending(dir string, n int) error {
	if dir == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(dir, pendingFile), []byte(strconv.Itoa(n)+"\n"), 0o644)
}

// overThreeDays makes the property of a timer within three days, but not soon.
func overThreeDays() func(int) string {
	from := time.Now().Add(15 * time.Minute).UnixMilli()
	return func(int) string { return deliverAt(from + rand.Int64N(3*24*3600*1000-15*60*1000)) }
}

// rates sends plain messages and timers in turn, so that both meet the same machine, and returns how many a second were put.
func rates(b *broker, o options) (plain, timers float64, err error) {
	const rounds = 5
	n := o.count(50_000)
	var took [2]float64
	for range rounds {
		for i, properties := range []func(int) string{undelayed, overThreeDays()} {
			perSecond, err := rate(b, []string{"plain", "far"}[i], n, properties)
			if err != nil {
				return 0, 0, err
			}
			took[i] += float64(n) / perSecond
		}
	}
	return rounds * float64(n) / took[0], rounds * float64(n) / took[1], nil
}

// rate sends n small messages as fast as the broker takes them and returns how many a second that were.
func rate(b *broker, topic string, n int, properties func(i int) string) (float64, error) {
	s := sender{conns: 8, inFlight: 64, n: n, make: func(i int) []byte { return sendFrame(i, topic, key(i), properties(i), body(i, 0, 128)) }}
	took, err := s.run(b.addr)
	return float64(n) / took.Seconds(), err
}

// costNow measures timers due soon among those that are pending.
func costNow(b *broker, c *costAt, o options) error {
	topic := fmt.Sprintf("cost-%d-%d", c.pending, time.Now().Unix())
	n := o.count(50_000)
	before := b.cpu()
	s := sender{conns: 8, inFlight: 16, n: n, make: func(i int) []byte {
		due := time.Now().UnixMilli() + 5000 + rand.Int64N(4000)
		return sendFrame(i, topic, key(i), deliverAt(due), body(i, due, 128))
	}}
	if _, err := s.run(b.addr); err != nil {
		return err
	}
	if _, err := awaitEnd(b.addr, topic, int64(n), 20*time.Second); err != nil {
		return err
	}
	c.micros = (b.cpu() - before) / float64(n) * 1e6
	r, err := delivered(b, topic, n)
	if err != nil {
		return err
	}
	if r.early+r.lost+r.doubled > 0 {
		return fmt.Errorf("with %d pending: early / lost / doubled %s", c.pending, r.faults())
	}
	c.p99, c.max = r.quantile(0.99), r.quantile(1)
	return nil
}
