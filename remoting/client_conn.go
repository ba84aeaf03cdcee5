package remoting

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// errConnEnded says that a connection ended before a request was queued on it.
var errConnEnded = errors.New("connection ended")

type clientAnswer struct {
	cmd *Command
	err error
}

// clientConn is a client's connection to one address. Its goroutines are connect, which becomes the reader, a writer, and
// one for the server's requests. It ends once, and is then replaced.
type clientConn struct {
	client    *Client
	addr      string
	connected chan struct{} // closed when nc or dialErr is set
	nc        net.Conn
	dialErr   error
	ended     chan struct{}
	outgoing  chan []byte
	incoming  chan *Command // the server's requests

	mu     sync.Mutex
	err    error                       // guarded by mu: why it ended
	opaque int32                       // guarded by mu
	asked  map[int32]chan clientAnswer // guarded by mu
}

const (
	incomingQueue = 256
	outgoingQueue = 1024
	writeBatch    = 64
)

// clientBuffer is what one read of a client's connection takes at most.
const clientBuffer = 64 << 10

func newClientConn(c *Client, addr string) *clientConn {
	return &clientConn{
		client:    c,
		addr:      addr,
		connected: make(chan struct{}),
		ended:     make(chan struct{}),
		outgoing:  make(chan []byte, outgoingQueue),
		incoming:  make(chan *Command, incomingQueue),
		asked:     make(map[int32]chan clientAnswer),
	}
}

// connect dials, starts the connection's other goroutines and reads until the connection ends.
func (c *clientConn) connect() {
	nc, err := c.client.dial(c.addr)
	if err != nil {
		if c.client.stop.Err() != nil {
			err = ErrClosed
		}
		c.dialErr = err
		c.client.drop(c)
		close(c.connected)
		return
	}
	c.mu.Lock()
	ended := c.err
	c.nc = nc
	c.mu.Unlock()
	if ended != nil { // the client was closed meanwhile
		_ = nc.Close() // nothing was sent on it
		c.dialErr = ended
		close(c.connected)
		return
	}
	c.client.tasks.Go(c.write)
	c.client.tasks.Go(c.serve)
	close(c.connected)
	c.end(c.read())
}

// end closes the connection and fails what waits for it. Only the first call counts.
func (c *clientConn) end(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	asked := c.asked
	c.asked = nil
	nc := c.nc
	c.mu.Unlock()
	close(c.ended)
	c.client.drop(c)
	if nc != nil {
		_ = nc.Close() // it is over either way
	}
	if !errors.Is(err, ErrClosed) {
		err = fmt.Errorf("%w: %w", ErrClosed, err)
	}
	for _, answer := range asked {
		answer <- clientAnswer{err: err}
	}
	if log := c.client.opts.Log; log != nil {
		log.WithField("server", c.addr).WithError(err).Debug("connection ended")
	}
}

// enqueue numbers cmd and puts it in line. answer is nil for one-way requests.
func (c *clientConn) enqueue(ctx context.Context, cmd *Command, answer chan clientAnswer) error {
	limit := c.client.opts.MaxInFlight
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return errConnEnded
	}
	if len(c.asked) >= limit {
		c.mu.Unlock()
		return fmt.Errorf("%d requests have no answer yet, limit MaxInFlight %d", limit, limit)
	}
	c.opaque++
	cmd.Opaque = c.opaque
	if answer != nil {
		c.asked[cmd.Opaque] = answer
	}
	c.mu.Unlock()
	select {
	case c.outgoing <- AppendFrame(nil, cmd):
		return nil
	case <-c.ended:
		if answer != nil {
			return nil // end has answered
		}
		return errConnEnded
	case <-ctx.Done():
		c.forget(cmd.Opaque)
		return ctx.Err()
	}
}

// forget stops waiting for an answer.
func (c *clientConn) forget(opaque int32) {
	c.mu.Lock()
	delete(c.asked, opaque)
	c.mu.Unlock()
}

// write sends what is queued, several frames in one system call when they are there.
func (c *clientConn) write() {
	batch := make([][]byte, 0, writeBatch)
	for {
		select {
		case frame := <-c.outgoing:
			batch = append(batch[:0], frame)
		case <-c.ended:
			return
		}
		for more := true; more && len(batch) < writeBatch; {
			select {
			case frame := <-c.outgoing:
				batch = append(batch, frame)
			default:
				more = false
			}
		}
		buffers := net.Buffers(batch)
		if _, err := buffers.WriteTo(c.nc); err != nil {
			c.end(err)
			return
		}
		clear(batch[:cap(batch)])
	}
}

// read takes frames until the connection ends and says why it did.
func (c *clientConn) read() error {
	r := bufio.NewReaderSize(c.nc, clientBuffer)
	for {
		var length [lengthSize]byte
		if _, err := io.ReadFull(r, length[:]); err != nil {
			return err
		}
		n := int64(binary.BigEndian.Uint32(length[:]))
		if n < frameMinLength || n+lengthSize > int64(c.client.opts.MaxFrame) {
			return frameErrorf("length %d, limit MaxFrame %d", n, c.client.opts.MaxFrame)
		}
		frame := append(make([]byte, 0, lengthSize+n), length[:]...)[:lengthSize+n]
		if _, err := io.ReadFull(r, frame[lengthSize:]); err != nil {
			return err
		}
		cmd := new(Command)
		if err := DecodeFrame(frame, cmd); err != nil {
			return err
		}
		if cmd.IsResponse() {
			c.answered(cmd)
			continue
		}
		select {
		case c.incoming <- cmd:
		default:
			c.reply(cmd, errorResponse(Errorf(SystemBusy, overload)))
		}
	}
}

func (c *clientConn) answered(cmd *Command) {
	c.mu.Lock()
	answer, ok := c.asked[cmd.Opaque]
	delete(c.asked, cmd.Opaque)
	c.mu.Unlock()
	if ok {
		answer <- clientAnswer{cmd: cmd}
	}
}

// serve handles the server's requests.
func (c *clientConn) serve() {
	for {
		select {
		case req := <-c.incoming:
			c.reply(req, c.handle(req))
		case <-c.ended:
			return
		}
	}
}

func (c *clientConn) handle(req *Command) (resp *Command) {
	defer func() {
		if p := recover(); p != nil {
			resp = errorResponse(fmt.Errorf("the handler of request code %d panicked: %v", req.Code, p))
		}
	}()
	if c.client.opts.Handle == nil {
		return errorResponse(Errorf(RequestCodeNotSupported, " request type %d not supported", req.Code))
	}
	return outcome(c.client.opts.Handle(c.addr, req))
}

// reply answers a request of the server, unless it is one-way or resp is nil.
func (c *clientConn) reply(req, resp *Command) {
	if resp == nil {
		return
	}
	defer release(resp)
	if req.IsOneway() {
		return
	}
	Replier{opaque: req.Opaque, form: req.Serialize}.address(resp)
	resp.Language = c.client.opts.Language
	select {
	case c.outgoing <- AppendFrame(nil, resp):
	case <-c.ended:
	}
}
