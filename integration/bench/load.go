package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rocketd/rocketd/integration/measure"
	"github.com/rocketd/rocketd/remoting"
)

// load is one way to ask the broker: frames go out on conns connections with at most inFlight unanswered on each. A connection writes its
// next requests for all answers that one read brought, as a pipelining client does.
type load struct {
	conns, inFlight int
	requests        int           // in all; 0: as many as fit into the time
	during          time.Duration // for so long; 0: until requests are answered
	// frame is the request of a connection: its opaque is patched for each request. Without next it is sent over and over.
	frame func(conn int) prebuilt
	// next makes each request anew.
	next    func(conn, seq int) prebuilt
	okCodes []int32
	// seen gets each answer and the number of its request on the connection. It runs on the connection's goroutine.
	seen func(conn, seq int, a measure.Answer)
	from func(conn int) net.Addr // local address, nil: any
}

// prebuilt is a frame that is patched for each request: its opaque, 4 bytes in binary headers and 9 digits in JSON ones; and its unique
// key, if it has one.
type prebuilt struct {
	bytes    []byte
	opaqueAt int
	keyAt    int // 0: none
	binary   bool
}

// keySeq numbers the runs of connections, so that no two messages have the same key.
var keySeq atomic.Int32

// setKey makes the unique key that of message seq of a run of a connection.
func (p *prebuilt) setKey(run int32, seq int) {
	if p.keyAt == 0 {
		return
	}
	const digits = "0123456789ABCDEF"
	n := uint64(run)<<32 | uint64(uint32(seq))
	for i := len(sampleKey) - 1; i >= len(sampleKey)-16; i-- {
		p.bytes[p.keyAt+i] = digits[n&15]
		n >>= 4
	}
}

func (p *prebuilt) setOpaque(n int) {
	if p.binary {
		binary.BigEndian.PutUint32(p.bytes[p.opaqueAt:], uint32(n))
		return
	}
	for i := 8; i >= 0; i-- {
		p.bytes[p.opaqueAt+i] = byte('0' + n%10)
		n /= 10
	}
}

const opaqueBase = 100_000_000

// loadResult is what the client saw.
type loadResult struct {
	took      time.Duration
	latencies []time.Duration // sorted
	failed    int
	firstFail string
}

func (r loadResult) check() error {
	if r.failed > 0 {
		return fmt.Errorf("%d of %d requests failed, the first with %s", r.failed, len(r.latencies), r.firstFail)
	}
	return nil
}

// run sends the requests and waits for all answers.
func (l load) run(addr string) (loadResult, error) {
	results := make([]loadResult, l.conns)
	errs := make([]error, l.conns)
	var wait sync.WaitGroup
	start := time.Now()
	for c := range l.conns {
		wait.Go(func() { results[c], errs[c] = l.one(addr, c) })
	}
	wait.Wait()
	all := loadResult{took: time.Since(start)}
	for c, r := range results {
		if errs[c] != nil {
			return all, errs[c]
		}
		all.latencies = append(all.latencies, r.latencies...)
		all.failed += r.failed
		if all.firstFail == "" {
			all.firstFail = r.firstFail
		}
	}
	slices.Sort(all.latencies)
	return all, all.check()
}

// pipe is one connection of a load.
type pipe struct {
	load     load
	conn     int
	in       *bufio.Reader
	out      *bufio.Writer
	frame    prebuilt
	limit    int
	deadline time.Time
	sent     int
	keys     int32       // of keySeq
	sentAt   []time.Time // by slot
	seqOf    []int       // by slot
	free     []int       // slots
	buf      []byte
	result   loadResult
}

func (l load) one(addr string, conn int) (loadResult, error) {
	dialer := net.Dialer{Timeout: 20 * time.Second}
	if l.from != nil {
		dialer.LocalAddr = l.from(conn)
	}
	c, err := dialer.Dial("tcp", addr)
	if err != nil {
		return loadResult{}, err
	}
	defer c.Close()
	p := &pipe{
		load: l, conn: conn, in: bufio.NewReaderSize(c, 64<<10), out: bufio.NewWriterSize(c, 256<<10),
		sentAt: make([]time.Time, l.inFlight), seqOf: make([]int, l.inFlight), limit: 1 << 62, keys: keySeq.Add(1),
	}
	if l.requests > 0 {
		p.limit = l.requests / l.conns
		if conn < l.requests%l.conns {
			p.limit++
		}
	}
	if l.during > 0 {
		p.deadline = time.Now().Add(l.during)
	}
	for i := range l.inFlight {
		p.free = append(p.free, i)
	}
	if l.next == nil {
		p.frame = l.frame(conn)
	}
	return p.result, p.run()
}

func (p *pipe) run() error {
	for {
		if err := p.fill(); err != nil {
			return fmt.Errorf("write request %d of a connection: %w", p.sent, err)
		}
		if len(p.free) == p.load.inFlight {
			return nil
		}
		for first := true; first || p.in.Buffered() > 0; first = false {
			if err := p.takeAnswer(); err != nil {
				return fmt.Errorf("read answer: %w", err)
			}
		}
	}
}

// fill writes requests until as many as may are on their way.
func (p *pipe) fill() error {
	now := time.Now()
	if !p.deadline.IsZero() && now.After(p.deadline) {
		p.limit = 0
	}
	for len(p.free) > 0 && p.sent < p.limit {
		slot := p.free[len(p.free)-1]
		p.free = p.free[:len(p.free)-1]
		if p.load.next != nil {
			p.frame = p.load.next(p.conn, p.sent)
		}
		p.frame.setOpaque(opaqueBase + slot)
		p.frame.setKey(p.keys, p.sent)
		p.sentAt[slot], p.seqOf[slot] = now, p.sent
		p.sent++
		if _, err := p.out.Write(p.frame.bytes); err != nil {
			return err
		}
	}
	return p.out.Flush()
}

func (p *pipe) takeAnswer() error {
	frame, err := measure.ReadFrame(p.in, &p.buf)
	if err != nil {
		return err
	}
	a := measure.ParseAnswer(frame)
	slot := a.Opaque - opaqueBase
	if slot < 0 || slot >= p.load.inFlight {
		return fmt.Errorf("opaque %d was not asked with", a.Opaque)
	}
	r := &p.result
	r.latencies = append(r.latencies, time.Since(p.sentAt[slot]))
	if !slices.Contains(p.load.okCodes, a.Code) {
		if r.failed++; r.firstFail == "" {
			r.firstFail = fmt.Sprintf("code %d %.200s", a.Code, a.Header)
		}
	}
	if p.load.seen != nil {
		p.load.seen(p.conn, p.seqOf[slot], a)
	}
	p.free = append(p.free, slot)
	return nil
}

// endOf is the sum of the ends of a topic's queues.
func endOf(addr, topic string, queues int) (int64, error) {
	sum := int64(0)
	for q := range queues {
		a, err := measure.Ask(addr, measure.JSONFrame(remoting.GetMaxOffset, 1, measure.QueueFields(topic, q), nil))
		if err != nil {
			return 0, err
		}
		sum += a.Number("offset")
	}
	return sum, nil
}

var errLate = errors.New("not all messages arrived in time")

// awaitEnd waits until the queues of a topic hold so many messages.
func awaitEnd(addr, topic string, queues int, want int64, within time.Duration) error {
	deadline := time.Now().Add(within)
	for {
		n, err := endOf(addr, topic, queues)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		if n >= want {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w: topic %s has %d of %d after %v", errLate, topic, n, want, within)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
