package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Request and answer codes.
const (
	codePull      = 11
	codeMaxOffset = 30
	codeSend      = 310

	ok          = 0
	pullNothing = 19
	pullMoved   = 21
)

// frame builds a request with a JSON header as the Java client writes it.
func frame(code, opaque int, ext [][2]string, body []byte) []byte {
	var fields strings.Builder
	for i, kv := range ext {
		if i > 0 {
			fields.WriteByte(',')
		}
		k, _ := json.Marshal(kv[0])
		v, _ := json.Marshal(kv[1])
		fields.Write(k)
		fields.WriteByte(':')
		fields.Write(v)
	}
	header := fmt.Sprintf(`{"code":%d,"extFields":{%s},"flag":0,"language":"JAVA","opaque":%d,"serializeTypeCurrentRPC":"JSON","version":513}`,
		code, fields.String(), opaque)
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 8+len(header)+len(body)), uint32(4+len(header)+len(body)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(header)))
	return append(append(b, header...), body...)
}

// sendFrame sends a message to queue 0 of a topic.
func sendFrame(opaque int, topic, key, properties string, body []byte) []byte {
	return frame(codeSend, opaque, [][2]string{
		{"a", "P"},
		{"b", topic},
		{"c", "TBW102"},
		{"d", "4"},
		{"e", "0"},
		{"f", "0"},
		{"g", strconv.FormatInt(time.Now().UnixMilli(), 10)},
		{"h", "0"},
		{"i", "UNIQ_KEY\x01" + key + "\x02WAIT\x01true\x02" + properties},
		{"j", "0"},
		{"k", "false"},
		{"m", "false"},
		{"n", "broker-a"},
	}, body)
}

func pullFrame(topic string, offset int64, wait time.Duration) []byte {
	sysFlag := "4"
	if wait > 0 {
		sysFlag = "6"
	}
	return frame(codePull, 1, [][2]string{
		{"consumerGroup", "G"},
		{"topic", topic},
		{"queueId", "0"},
		{"queueOffset", strconv.FormatInt(offset, 10)},
		{"maxMsgNums", "32"},
		{"sysFlag", sysFlag},
		{"commitOffset", "0"},
		{"suspendTimeoutMillis", strconv.FormatInt(wait.Milliseconds(), 10)},
		{"subscription", "*"},
		{"subVersion", "0"},
		{"expressionType", "TAG"},
	}, nil)
}

// conn is one connection to the broker.
type conn struct {
	c   net.Conn
	in  *bufio.Reader
	buf []byte
}

func dial(addr string) (*conn, error) {
	c, err := net.DialTimeout("tcp", addr, 20*time.Second)
	if err != nil {
		return nil, err
	}
	return &conn{c: c, in: bufio.NewReaderSize(c, 64<<10)}, nil
}

// answer is a broker's answer; its bytes are valid until the next one is read.
type answer struct {
	Code      int
	Opaque    int
	Remark    string
	ExtFields map[string]string
	body      []byte
}

func (c *conn) read() (answer, error) {
	var a answer
	var length [4]byte
	if _, err := io.ReadFull(c.in, length[:]); err != nil {
		return a, err
	}
	n := int(binary.BigEndian.Uint32(length[:]))
	if cap(c.buf) < n {
		c.buf = make([]byte, n)
	}
	c.buf = c.buf[:n]
	if _, err := io.ReadFull(c.in, c.buf); err != nil {
		return a, err
	}
	header := int(binary.BigEndian.Uint32(c.buf) & 0xFFFFFF)
	if err := json.Unmarshal(c.buf[4:4+header], &a); err != nil {
		return a, err
	}
	a.body = c.buf[4+header:]
	return a, nil
}

func (c *conn) call(request []byte) (answer, error) {
	if err := c.c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return answer{}, err
	}
	if _, err := c.c.Write(request); err != nil {
		return answer{}, err
	}
	return c.read()
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
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer c.c.Close()
	free := make(chan struct{}, s.inFlight)
	sentAt := make(chan time.Time, s.inFlight)
	done := make(chan error, 1)
	total := (s.n - first + s.conns - 1) / s.conns
	go func() {
		for i := range total {
			a, err := c.read()
			if err == nil && a.Code != ok {
				err = fmt.Errorf("send answered with code %d, %s", a.Code, a.Remark)
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
	out := bufio.NewWriterSize(c.c, 256<<10)
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

// Places in a stored record (see message/doc.go of this repository).
const (
	recordStored     = 56
	recordBodyLength = 84
	recordBody       = 88
)

// eachRecord calls fn with when each record of a pull's answer was stored, ms, and its body.
func eachRecord(b []byte, fn func(stored int64, body []byte)) {
	for len(b) >= recordBody {
		size := int(binary.BigEndian.Uint32(b))
		n := int(binary.BigEndian.Uint32(b[recordBodyLength:]))
		if size < recordBody+n || size > len(b) {
			return
		}
		fn(int64(binary.BigEndian.Uint64(b[recordStored:])), b[recordBody:recordBody+n])
		b = b[size:]
	}
}

// endOf is the end of queue 0 of a topic, 0 when there is none.
func endOf(addr, topic string) (int64, error) {
	c, err := dial(addr)
	if err != nil {
		return 0, err
	}
	defer c.c.Close()
	a, err := c.call(frame(codeMaxOffset, 1, [][2]string{{"topic", topic}, {"queueId", "0"}}, nil))
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(a.ExtFields["offset"], 10, 64)
	if err != nil {
		return 0, nil // there is no such topic
	}
	return max(0, n), nil
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
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer c.c.Close()
	for {
		a, err := c.call(pullFrame(topic, from, 0))
		switch {
		case err != nil:
			return err
		case a.Code == pullNothing || a.Code == pullMoved:
			return nil
		case a.Code != ok:
			return fmt.Errorf("pull of %s answered with code %d, %s", topic, a.Code, a.Remark)
		}
		eachRecord(a.body, fn)
		if from, err = strconv.ParseInt(a.ExtFields["nextBeginOffset"], 10, 64); err != nil {
			return err
		}
	}
}
