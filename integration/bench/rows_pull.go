package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/rocketd/rocketd/integration/measure"
	"github.com/rocketd/rocketd/remoting"
)

// pullHot fills a queue and reads its newest messages again and again.
func pullHot(t *target) (figures, error) {
	const messages = 20_000
	topic := "hot"
	if err := fillQueue(t.addr, topic, 0, messages); err != nil {
		return figures{}, err
	}
	end, err := endOf(t.addr, topic, 1)
	if err != nil {
		return figures{}, err
	}
	l := load{conns: 8, inFlight: 4, okCodes: []int32{remoting.Success}, frame: func(conn int) prebuilt {
		return jsonFrame(remoting.PullMessage, pullFields(topic, 0, end-messages+int64(conn)*1000, false), nil)
	}}
	f, _, _, err := through(t, l, 32)
	return f, err
}

// fillQueue sends 1 KB messages to one queue.
func fillQueue(addr, topic string, queue, messages int) error {
	fill := load{conns: 1, inFlight: 64, requests: messages, okCodes: []int32{remoting.Success}, frame: func(int) prebuilt {
		return jsonFrame(remoting.SendMessageV2, sendFields(topic, queue, properties, false), payload(1024))
	}}
	_, err := fill.run(addr)
	return err
}

// fillBytes sends batches until about so many bytes are stored, to four queues.
func fillBytes(t *target, topic string, bytes int64) error {
	const perBatch = 32 * 1200
	l := load{conns: 4, inFlight: 8, requests: int(max(4, bytes/perBatch)), okCodes: []int32{remoting.Success}, frame: func(conn int) prebuilt {
		return jsonFrame(remoting.SendBatchMessage, sendFields(topic, conn%4, uniqueKey, true), batchBody(32, 1024))
	}}
	_, err := l.run(t.addr)
	return err
}

// pullCold reads four queues from their beginning, whose pages the system has forgotten: 2 GB behind 40 % of memory would be read
// from the disk by either broker.
func pullCold(t *target) (figures, error) {
	topic := "cold"
	if err := fillBytes(t, topic, int64(2*t.o.scale*float64(1<<30))); err != nil {
		return figures{}, err
	}
	time.Sleep(time.Second)
	measure.DropCache(t.dir)
	const conns = 4
	next := make([]int64, conns)
	var mu sync.Mutex
	read := 0
	l := load{conns: conns, inFlight: 1, okCodes: []int32{remoting.Success, remoting.PullNotFound}, during: t.o.measured()}
	l.next = func(conn, _ int) prebuilt {
		return jsonFrame(remoting.PullMessage, pullFields(topic, conn, next[conn], false), nil)
	}
	l.seen = func(conn, _ int, a measure.Answer) {
		if a.Code == remoting.Success {
			next[conn] = a.Number("nextBeginOffset")
			n := 0
			measure.EachRecord(a.Body, func(int64, []byte) { n++ })
			mu.Lock()
			read += n
			mu.Unlock()
		}
	}
	m := t.meter()
	r, err := l.run(t.addr)
	if err != nil {
		return figures{}, err
	}
	f := m.figures(float64(read))
	f.perSecond = float64(read) / r.took.Seconds()
	f.latency(r)
	return f, nil
}

// parked holds 200 long polls on topics without messages.
func parked(t *target) (figures, error) {
	l := load{conns: 200, inFlight: 1, requests: 200, okCodes: []int32{remoting.PullNotFound}, frame: func(conn int) prebuilt {
		return jsonFrame(remoting.PullMessage, pullFields("TBW102", conn%8, 0, true), nil)
	}}
	done := make(chan error, 1)
	go func() {
		_, err := l.run(t.addr)
		done <- err
	}()
	time.Sleep(time.Second)
	share := measure.CPUShare(t.pid, 3*time.Second)
	return single(100 * share), <-done
}

// endToEnd sends 1,000 messages a second and takes them by long polling, one puller for each of four queues. The latency is from the
// producer's write to the consumer's read.
func endToEnd(t *target) (figures, error) {
	const perSecond, queues = 1000, 4
	topic := "endtoend"
	for q := range queues {
		if err := fillQueue(t.addr, topic, q, 1); err != nil {
			return figures{}, err
		}
	}
	if _, err := pushed(t, topic, perSecond, queues, t.o.warmUp()); err != nil {
		return figures{}, err
	}
	m := t.meter()
	latencies, err := pushed(t, topic, perSecond, queues, 2*t.o.measured())
	if err != nil {
		return figures{}, err
	}
	f := m.figures(float64(len(latencies)))
	slices.Sort(latencies)
	f.latency(loadResult{latencies: latencies})
	return f, nil
}

// paced sends 1,000 messages a second on one connection: the process sleeps between them, so each costs what a wake-up does. End-to-end delivery has
// three of them for a message.
func paced(t *target) (figures, error) {
	const perSecond = 1000
	n := int(perSecond * 2 * t.o.measured().Seconds())
	m := t.meter()
	if err := sendSteadily(t.addr, "paced", perSecond, 4, n); err != nil {
		return figures{}, err
	}
	return m.figures(float64(n)), nil
}

// pushed sends at a steady rate and returns how long each message took to its consumer.
func pushed(t *target, topic string, perSecond, queues int, during time.Duration) ([]time.Duration, error) {
	n := int(during.Seconds() * float64(perSecond))
	each := n / queues
	latencies := make([][]time.Duration, queues)
	errs := make([]error, queues+1)
	var wait sync.WaitGroup
	ready := make(chan struct{}, queues)
	for q := range queues {
		wait.Go(func() { latencies[q], errs[q] = takePushed(t.addr, topic, q, each, "G", ready) })
	}
	for range queues {
		<-ready
	}
	wait.Go(func() { errs[queues] = sendSteadily(t.addr, topic, perSecond, queues, each*queues) })
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return slices.Concat(latencies...), nil
}

// sendSteadily sends n messages in turn to the queues; each carries the time of its sending.
func sendSteadily(addr, topic string, perSecond, queues, n int) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	answers := make(chan error, 1)
	go func() {
		in, buf := bufio.NewReader(c), []byte(nil)
		for range n {
			b, err := measure.ReadFrame(in, &buf)
			if err != nil {
				answers <- err
				return
			}
			if a := measure.ParseAnswer(b); a.Code != remoting.Success {
				answers <- fmt.Errorf("code %d %.200s", a.Code, a.Header)
				return
			}
		}
		answers <- nil
	}()
	body := payload(1024)
	frames := make([]prebuilt, queues)
	for q := range frames {
		frames[q] = jsonFrame(remoting.SendMessageV2, sendFields(topic, q, properties, false), body)
	}
	start := time.Now()
	for i := range n {
		time.Sleep(time.Until(start.Add(time.Duration(i) * time.Second / time.Duration(perSecond))))
		p := &frames[i%queues]
		p.setOpaque(opaqueBase + i)
		binary.BigEndian.PutUint64(p.bytes[len(p.bytes)-len(body):], uint64(time.Now().UnixNano()))
		if _, err := c.Write(p.bytes); err != nil {
			return err
		}
	}
	return <-answers
}

// takePushed long-polls a queue from its end until it has got n messages.
func takePushed(addr, topic string, queue, n int, group string, ready chan<- struct{}) ([]time.Duration, error) {
	a, err := measure.Ask(addr, measure.JSONFrame(remoting.GetMaxOffset, 1, measure.QueueFields(topic, queue), nil))
	ready <- struct{}{}
	if err != nil {
		return nil, err
	}
	offset := a.Number("offset")
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	in, buf := bufio.NewReaderSize(c, 64<<10), []byte(nil)
	var latencies []time.Duration
	for len(latencies) < n {
		if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			return nil, err
		}
		fields := pullFields(topic, queue, offset, true)
		fields[0][1] = group
		if _, err := c.Write(jsonFrame(remoting.PullMessage, fields, nil).bytes); err != nil {
			return nil, err
		}
		b, err := measure.ReadFrame(in, &buf)
		if err != nil {
			return nil, err
		}
		a := measure.ParseAnswer(b)
		if a.Code == remoting.PullNotFound {
			continue
		}
		if a.Code != remoting.Success {
			return nil, fmt.Errorf("code %d %.200s", a.Code, a.Header)
		}
		offset = a.Number("nextBeginOffset")
		now := time.Now().UnixNano()
		measure.EachRecord(a.Body, func(_ int64, body []byte) {
			latencies = append(latencies, time.Duration(now-int64(binary.BigEndian.Uint64(body))))
		})
	}
	return latencies, nil
}
