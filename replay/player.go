package replay

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// PlayOptions are what Play needs. Recording, and one of Namesrv and Brokers, must be set.
type PlayOptions struct {
	Recording io.Reader
	// Namesrv is the name server to play to; its brokers are found by their names in the recording, or are the one there is.
	Namesrv string
	// Brokers are the addresses to play to by the recorded broker's name or address, where Namesrv does not tell them. The name "" is
	// every other broker.
	Brokers map[string]string
	// Timeout bounds the waiting for one answer. 0 means 30 s, longer than a pull is held.
	Timeout time.Duration
	// Ignore are request codes that are sent and whose answers are not compared.
	Ignore []int32
}

const (
	defaultTimeout = 30 * time.Second
	// askPatience bounds the waiting for a request of the server that the recording has.
	askPatience = 5 * time.Second
	// maxWaiting bounds the frames of one connection that came before the recording has them.
	maxWaiting = 100_000
)

// player is one run of Play.
type player struct {
	o       PlayOptions
	conns   map[int]*playedConn
	carry   *carry
	report  *Report
	targets map[string]string // of brokers, by name; once asked
}

// playedConn is one recorded connection, connected to the server played to. Its fields but inbox belong to Play.
type playedConn struct {
	id     int
	server string
	conn   net.Conn
	inbox  *inbox
	codes  map[int32]int32 // opaque to request code, of requests of the client without a recorded answer
	asked  map[int32]int32 // recorded opaque to the opaque of the server's own request
}

// Play plays a recording. The error is about the recording or the connections; what the servers said otherwise is in the report, which is
// there as far as it got also with an error.
func Play(ctx context.Context, o PlayOptions) (*Report, error) {
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	p := &player{o: o, conns: map[int]*playedConn{}, carry: newCarry(), report: &Report{Differences: []Difference{}}}
	defer p.close()
	in, err := newReader(o.Recording)
	if err != nil {
		return p.report, err
	}
	for {
		event, err := in.next()
		if errors.Is(err, io.EOF) {
			return p.report, nil
		}
		if err == nil {
			err = p.play(ctx, event, in.line)
		}
		if err != nil {
			return p.report, err
		}
	}
}

func (p *player) close() {
	for _, c := range p.conns {
		c.close()
	}
}

func (p *player) play(ctx context.Context, e *Event, line int) error {
	switch e.What {
	case Open:
		return p.open(ctx, e)
	case Full:
		return nil
	}
	c := p.conns[e.Conn]
	if c == nil {
		return fmt.Errorf("%w: line %d: connection %d is not open", ErrRecording, line, e.Conn)
	}
	switch e.What {
	case Close:
		c.close()
		delete(p.conns, e.Conn)
		return nil
	case Sent:
		return p.sent(ctx, c, e, line)
	case Got:
		return p.got(ctx, c, e, line)
	}
	return fmt.Errorf("%w: line %d: %q is not known", ErrRecording, line, e.What)
}

// open connects to the server that stands for the recorded one.
func (p *player) open(ctx context.Context, e *Event) error {
	addr := p.o.Namesrv
	if e.Server != Namesrv {
		var err error
		if addr, err = p.broker(ctx, e); err != nil {
			return err
		}
	}
	if addr == "" {
		return fmt.Errorf("replay: connection %d goes to a %s: there is none to play to", e.Conn, e.Server)
	}
	dial, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(dial, "tcp", addr)
	if err != nil {
		return fmt.Errorf("replay: connection %d: %w", e.Conn, err)
	}
	c := &playedConn{id: e.Conn, server: e.Server, conn: conn, inbox: newInbox(), codes: map[int32]int32{}, asked: map[int32]int32{}}
	c.inbox.reading.Go(func() { c.inbox.read(conn) })
	p.conns[e.Conn] = c
	p.report.Connections++
	return nil
}

// broker is the address that stands for a recorded broker.
func (p *player) broker(ctx context.Context, e *Event) (string, error) {
	for _, key := range []string{e.Name, e.Addr, ""} {
		if addr, known := p.o.Brokers[key]; known {
			return addr, nil
		}
	}
	if p.targets == nil && p.o.Namesrv != "" {
		targets, err := brokersOf(ctx, p.o.Namesrv)
		if err != nil {
			return "", err
		}
		p.targets = targets
	}
	if addr, known := p.targets[e.Name]; known {
		return addr, nil
	}
	if len(p.targets) == 1 {
		for _, addr := range p.targets {
			return addr, nil
		}
	}
	return "", fmt.Errorf("replay: connection %d goes to broker %q at %s, the name server at %s does not know it", e.Conn, e.Name, e.Addr, p.o.Namesrv)
}

// brokersOf asks a name server for the masters of all brokers.
func brokersOf(ctx context.Context, namesrv string) (map[string]string, error) {
	client := remoting.NewClient(remoting.ClientOptions{})
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	answer, err := client.Invoke(ctx, namesrv, remoting.NewRequest(remoting.GetBrokerClusterInfo, nil))
	if err != nil {
		return nil, fmt.Errorf("replay: ask for brokers: %w", err)
	}
	info, err := body.Decode[body.ClusterInfo](answer.Body)
	if err != nil {
		return nil, fmt.Errorf("replay: ask for brokers: %w", err)
	}
	brokers := map[string]string{}
	for name, b := range info.Brokers {
		if addr := b.BrokerAddrs[0]; addr != "" {
			brokers[name] = addr
		}
	}
	return brokers, nil
}

// sent plays what the client sent: a request, or its answer to a request of the server.
func (p *player) sent(ctx context.Context, c *playedConn, e *Event, line int) error {
	var cmd remoting.Command
	if err := remoting.DecodeFrame(e.Frame, &cmd); err != nil {
		return fmt.Errorf("%w: line %d: %w", ErrRecording, line, err)
	}
	frame := e.Frame
	switch {
	case cmd.IsResponse():
		opaque, known := c.asked[cmd.Opaque]
		if !known {
			return nil // the server has not asked
		}
		delete(c.asked, cmd.Opaque)
		cmd.Opaque = opaque
		frame = remoting.AppendFrame(nil, &cmd)
	default:
		if !cmd.IsOneway() {
			c.codes[cmd.Opaque] = cmd.Code
		}
		var carried bool
		if frame, carried = p.carry.apply(frame); carried {
			p.report.Carried++
		}
		p.report.Requests++
	}
	if deadline, ok := ctx.Deadline(); ok {
		if err := c.conn.SetWriteDeadline(deadline); err != nil {
			return fmt.Errorf("replay: connection %d: %w", c.id, err)
		}
	}
	if _, err := c.conn.Write(frame); err != nil {
		p.differ(c, line, remoting.RequestName(cmd.Code), "the connection is closed: "+err.Error())
	}
	return nil
}

// got waits for what the client got and compares.
func (p *player) got(ctx context.Context, c *playedConn, e *Event, line int) error {
	var recorded remoting.Command
	if err := remoting.DecodeFrame(e.Frame, &recorded); err != nil {
		return fmt.Errorf("%w: line %d: %w", ErrRecording, line, err)
	}
	if !recorded.IsResponse() {
		return p.asked(ctx, c, &recorded, line)
	}
	code, known := c.codes[recorded.Opaque]
	if !known {
		return nil // an answer to nothing that was recorded
	}
	delete(c.codes, recorded.Opaque)
	frame, err := c.inbox.answer(ctx, recorded.Opaque, p.o.Timeout)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	p.report.Answers++
	if err != nil {
		p.differ(c, line, remoting.RequestName(code), fmt.Sprintf("%v, recorded %s", err, describeAnswer(&recorded)))
		return nil
	}
	var played remoting.Command
	if err := remoting.DecodeFrame(frame, &played); err != nil {
		p.differ(c, line, remoting.RequestName(code), err.Error())
		return nil
	}
	p.carry.learn(code, &recorded, &played)
	if slices.Contains(p.o.Ignore, code) {
		return nil
	}
	if found := differences(code, &recorded, &played); len(found) > 0 {
		p.differ(c, line, remoting.RequestName(code), strings.Join(found, "; "))
		return nil
	}
	p.report.Equal++
	return nil
}

// asked waits for a request of the server.
func (p *player) asked(ctx context.Context, c *playedConn, recorded *remoting.Command, line int) error {
	frame, err := c.inbox.request(ctx, recorded.Code, min(askPatience, p.o.Timeout))
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if recorded.Code != remoting.NotifyConsumerIDsChanged && !slices.Contains(p.o.Ignore, recorded.Code) {
			// How often members are told of one another depends on who was quicker.
			p.differ(c, line, remoting.RequestName(recorded.Code), "the server does not ask: "+err.Error())
		}
		return nil
	}
	var played remoting.Command
	if err := remoting.DecodeFrame(frame, &played); err != nil {
		return nil //nolint:nilerr // the inbox has decoded it
	}
	if !recorded.IsOneway() {
		c.asked[recorded.Opaque] = played.Opaque
	}
	p.carry.learn(recorded.Code, recorded, &played)
	return nil
}

func (p *player) differ(c *playedConn, line int, request, what string) {
	p.report.add(Difference{Line: line, Conn: c.id, Server: c.server, Request: request, What: what})
}

func (c *playedConn) close() {
	_ = c.conn.Close() // it is over either way
	c.inbox.reading.Wait()
}

// inbox holds what came on a connection and was not asked for yet.
type inbox struct {
	reading sync.WaitGroup

	mu       sync.Mutex
	answers  map[int32][]byte // by opaque; guarded by mu
	requests [][]byte         // of the server, in order; guarded by mu
	ended    error            // guarded by mu
	changed  chan struct{}    // closed and replaced at each change; guarded by mu
}

func newInbox() *inbox {
	return &inbox{answers: map[int32][]byte{}, changed: make(chan struct{})}
}

var errNoAnswer = errors.New("there is no answer")

// read takes frames until the connection ends.
func (i *inbox) read(conn net.Conn) {
	in := bufio.NewReaderSize(conn, 64<<10)
	for {
		frame, err := readFrame(in)
		var cmd remoting.Command
		if err == nil {
			err = remoting.DecodeFrame(frame, &cmd)
		}
		i.mu.Lock()
		switch {
		case err != nil:
			i.ended = fmt.Errorf("the connection has ended: %w", err)
		case cmd.IsResponse() && len(i.answers) < maxWaiting:
			i.answers[cmd.Opaque] = frame
		case !cmd.IsResponse() && len(i.requests) < maxWaiting:
			i.requests = append(i.requests, frame)
		}
		close(i.changed)
		i.changed = make(chan struct{})
		i.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// answer waits for the answer to a request.
func (i *inbox) answer(ctx context.Context, opaque int32, patience time.Duration) ([]byte, error) {
	return i.await(ctx, patience, func() []byte {
		frame := i.answers[opaque]
		delete(i.answers, opaque)
		return frame
	})
}

// request waits for a request of the server with a code.
func (i *inbox) request(ctx context.Context, code int32, patience time.Duration) ([]byte, error) {
	return i.await(ctx, patience, func() []byte {
		for n, frame := range i.requests {
			var cmd remoting.Command
			if err := remoting.DecodeFrame(frame, &cmd); err == nil && cmd.Code == code {
				i.requests = slices.Delete(i.requests, n, n+1)
				return frame
			}
		}
		return nil
	})
}

func (i *inbox) await(ctx context.Context, patience time.Duration, take func() []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		i.mu.Lock()
		frame, ended, changed := take(), i.ended, i.changed
		i.mu.Unlock()
		switch {
		case frame != nil:
			return frame, nil
		case ended != nil:
			return nil, ended
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w after %v", errNoAnswer, patience)
		}
	}
}
