package main

import (
	"bufio"
	"fmt"
	"sync"
	"time"

	"github.com/rocketd/rocketd/integration/measure"
	"github.com/rocketd/rocketd/remoting"
)

// sendFrame sends a message to queue 0 of a topic.
func sendFrame(opaque int, topic, key, properties string, body []byte) []byte {
	properties = "UNIQ_KEY\x01" + key + "\x02WAIT\x01true\x02" + properties
	return measure.JSONFrame(remoting.SendMessageV2, opaque, measure.SendFields(topic, 0, time.Now().UnixMilli(), properties, false), body)
}

func pullFrame(topic string, offset int64, wait time.Duration) []byte {
	return measure.JSONFrame(remoting.PullMessage, 1, measure.PullFields(topic, 0, offset, wait), nil)
}

// sender sends messages that make returns on conns connections, with at most inFlight of each unanswered.
type sender struct {
	conns, inFlight int
	n               int
	perSecond       int // 0: as many as the broker takes
	make            func(i int) []byte
	seen            func(i int, took time.Duration) // on any goroutine, may be nil
}

func (s sender) run(addr string) (took time.Duration, err error) {
	errs := make([]error, s.conns)
	var wait sync.WaitGroup
	begun := time.Now()
	for c := range s.conns {
		wait.Go(func() { errs[c] = s.one(addr, c, begun) })
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return time.Since(begun), err
		}
	}
	return time.Since(begun), nil
}

// one sends messages first, first+conns, ...
func (s sender) one(addr string, first int, begun time.Time) error {
	c, err := measure.Dial(addr)
	if err != nil {
		return err
	}
	defer c.Close()
	free := make(chan struct{}, s.inFlight)
	sentAt := make(chan time.Time, s.inFlight)
	done := make(chan error, 1)
	total := (s.n - first + s.conns - 1) / s.conns
	go func() {
		for i := range total {
			a, err := c.Next()
			if err == nil {
				err = a.Err()
			}
			if err != nil {
				done <- err
				return
			}
			took := time.Since(<-sentAt)
			if s.seen != nil {
				s.seen(first+i*s.conns, took)
			}
			<-free
		}
		done <- nil
	}()
	out := bufio.NewWriterSize(c, 256<<10)
	for i := first; i < s.n; i += s.conns {
		if s.perSecond > 0 {
			time.Sleep(time.Until(begun.Add(time.Duration(i) * time.Second / time.Duration(s.perSecond))))
		}
		select {
		case free <- struct{}{}:
		default: // nothing may wait here while the broker waits for it
			if err := out.Flush(); err != nil {
				return err
			}
			select {
			case free <- struct{}{}:
			case err := <-done:
				return err
			}
		}
		sentAt <- time.Now()
		if _, err := out.Write(s.make(i)); err != nil {
			return err
		}
		if s.perSecond > 0 {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return <-done
}

// endOf is the end of queue 0 of a topic, 0 when there is none.
func endOf(addr, topic string) (int64, error) {
	a, err := measure.Ask(addr, measure.JSONFrame(remoting.GetMaxOffset, 1, measure.QueueFields(topic, 0), nil))
	return max(0, a.Number("offset")), err
}

// awaitEnd waits until queue 0 of a topic holds want messages, or no more have come for a while, and returns how many it holds.
func awaitEnd(addr, topic string, want int64, patience time.Duration) (int64, error) {
	last, since := int64(-1), time.Now()
	for {
		n, err := endOf(addr, topic)
		switch {
		case err != nil:
			return n, err
		case n >= want:
			return n, nil
		case n != last:
			last, since = n, time.Now()
		case time.Since(since) > patience:
			return n, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// readAll calls fn for all records of queue 0 of a topic.
func readAll(addr, topic string, from int64, fn func(stored int64, body []byte)) error {
	c, err := measure.Dial(addr)
	if err != nil {
		return err
	}
	defer c.Close()
	for {
		a, err := c.Ask(pullFrame(topic, from, 0))
		switch {
		case err != nil:
			return err
		case a.Code == remoting.PullNotFound || a.Code == remoting.PullOffsetMoved:
			return nil
		case a.Code != remoting.Success:
			return fmt.Errorf("pull of %s: %w", topic, a.Err())
		}
		measure.EachRecord(a.Body, fn)
		if from = a.Number("nextBeginOffset"); from < 0 {
			return fmt.Errorf("pull of %s: no next offset in %.200s", topic, a.Header)
		}
	}
}
