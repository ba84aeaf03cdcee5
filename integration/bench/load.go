package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"
)

// load is one way to ask the broker: frames go out on conns connections with at most inFlight unanswered on each.
type load struct {
	conns, inFlight int
	requests        int // in all
	// frame is the request with its opaque at opaqueAt: 4 bytes in binary headers, 9 digits in JSON ones.
	frame    func(conn int) prebuilt
	okCodes  []int
	keepBody func(conn int, body []byte) // sees each answer's body when set
}

// prebuilt is a frame whose opaque is patched for each request.
type prebuilt struct {
	bytes    []byte
	opaqueAt int
	binary   bool
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

func (r loadResult) quantile(q float64) time.Duration {
	if len(r.latencies) == 0 {
		return 0
	}
	return r.latencies[min(len(r.latencies)-1, int(q*float64(len(r.latencies))))]
}

// run sends all requests and waits for all answers.
func (l load) run(addr string) (loadResult, error) {
	per := l.requests / l.conns
	results := make([]loadResult, l.conns)
	errs := make([]error, l.conns)
	var wait sync.WaitGroup
	start := time.Now()
	for c := range l.conns {
		wait.Go(func() { results[c], errs[c] = l.one(addr, c, per) })
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
	return all, nil
}

func (l load) one(addr string, conn, requests int) (loadResult, error) {
	var r loadResult
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return r, err
	}
	defer c.Close()
	p := l.frame(conn)
	sentAt := make([]time.Time, l.inFlight)
	free := make(chan int, l.inFlight)
	for i := range l.inFlight {
		free <- i
	}
	r.latencies = make([]time.Duration, 0, requests)
	writeErr := make(chan error, 1)
	var slots sync.Mutex
	go func() {
		w := bufio.NewWriterSize(c, 256<<10)
		for range requests {
			var slot int
			select {
			case slot = <-free:
			default:
				if err := w.Flush(); err != nil {
					writeErr <- err
					return
				}
				slot = <-free
			}
			p.setOpaque(opaqueBase + slot)
			slots.Lock()
			sentAt[slot] = time.Now()
			slots.Unlock()
			if _, err := w.Write(p.bytes); err != nil {
				writeErr <- err
				return
			}
		}
		writeErr <- w.Flush()
	}()
	in := bufio.NewReaderSize(c, 256<<10)
	var buf []byte
	for range requests {
		frame, err := readFrame(in, &buf)
		if err != nil {
			return r, fmt.Errorf("read answer: %w", err)
		}
		code, opaque, body, remark := parseAnswer(frame)
		slot := opaque - opaqueBase
		if slot < 0 || slot >= l.inFlight {
			return r, fmt.Errorf("answer with opaque %d", opaque)
		}
		slots.Lock()
		took := time.Since(sentAt[slot])
		slots.Unlock()
		r.latencies = append(r.latencies, took)
		if !slices.Contains(l.okCodes, code) {
			r.failed++
			if r.firstFail == "" {
				r.firstFail = fmt.Sprintf("code %d %s", code, remark)
			}
		}
		if l.keepBody != nil {
			l.keepBody(conn, body)
		}
		free <- slot
	}
	return r, <-writeErr
}

func readFrame(in *bufio.Reader, buf *[]byte) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(in, length[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(length[:]))
	if cap(*buf) < n {
		*buf = make([]byte, n)
	}
	*buf = (*buf)[:n]
	_, err := io.ReadFull(in, *buf)
	return *buf, err
}

// parseAnswer finds code, opaque, body and the start of the remark in a frame without its length field.
func parseAnswer(frame []byte) (code, opaque int, body []byte, remark string) {
	word := binary.BigEndian.Uint32(frame)
	header := frame[4 : 4+word&0xFFFFFF]
	body = frame[4+word&0xFFFFFF:]
	if word>>24 == 1 {
		return int(int16(binary.BigEndian.Uint16(header))), int(int32(binary.BigEndian.Uint32(header[5:]))), body, string(header[17:min(len(header), 100)])
	}
	return jsonInt(header, `"code":`), jsonInt(header, `"opaque":`), body, string(header)
}

func jsonInt(header []byte, key string) int {
	i := indexOf(header, key)
	if i < 0 {
		return -1
	}
	n, sign := 0, 1
	for _, b := range header[i+len(key):] {
		switch {
		case b == '-':
			sign = -1
		case b >= '0' && b <= '9':
			n = n*10 + int(b-'0')
		case b == ' ':
		default:
			return n * sign
		}
	}
	return n * sign
}

func indexOf(b []byte, s string) int {
	for i := 0; i+len(s) <= len(b); i++ {
		if string(b[i:i+len(s)]) == s {
			return i
		}
	}
	return -1
}
