package remoting

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

// ClientOptions configure a Client. Zero values mean the defaults named here.
type ClientOptions struct {
	// Log gets a debug line for each connection that ends; nil logs nothing.
	Log *logrus.Entry
	// DialTimeout bounds one connect; 0 means 3 s.
	DialTimeout time.Duration
	// MaxFrame bounds an answer in bytes, its length field included; a longer one ends the connection. 0 means 16 MiB.
	MaxFrame int
	// MaxInFlight bounds the unanswered requests to one address and the frames that wait to be written; one more fails at once.
	// 0 means 65,536.
	MaxInFlight int
	// Serialize is the header form of requests.
	Serialize SerializeType
	// Language is what requests say of their sender.
	Language LanguageCode
	// Handle serves requests that the server initiates, which makes the client a consumer or producer in the server's eyes;
	// nil answers them REQUEST_CODE_NOT_SUPPORTED. It runs on a goroutine of the connection, one request at a time; while it
	// runs, up to 256 more wait, further ones are answered SYSTEM_BUSY.
	Handle func(addr string, req *Command) (*Command, error)
}

// Client calls servers, over one connection for each address, which is made at the first call and again after it was
// lost. Safe for concurrent use.
type Client struct {
	opts ClientOptions
	// stop ends connects in progress.
	stop   context.Context
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	mu     sync.Mutex
	closed bool                   // guarded by mu
	conns  map[string]*clientConn // guarded by mu
}

// NewClient makes a client. It connects at the first call.
func NewClient(opts ClientOptions) *Client {
	setDefault(&opts.DialTimeout, 3*time.Second)
	setDefault(&opts.MaxFrame, defaultMaxFrame)
	setDefault(&opts.MaxInFlight, 65_536)
	c := &Client{opts: opts, conns: make(map[string]*clientConn)}
	c.stop, c.cancel = context.WithCancel(context.Background())
	return c
}

// Invoke sends a request to addr (host:port) and waits for the answer, which the caller owns, until ctx ends. cmd gets
// its opaque, flags, version, language and form here, is encoded before Invoke returns and must not be shared between
// calls; its Release is called. An answer with an error code is an answer, not an error. Errors wrap ErrTimeout when
// ctx's deadline passed, ErrClosed when the connection ended before the answer came.
func (c *Client) Invoke(ctx context.Context, addr string, cmd *Command) (*Command, error) {
	cmd.Flag = 0
	answer := make(chan clientAnswer, 1)
	conn, err := c.enqueue(ctx, addr, cmd, answer)
	if err != nil {
		return nil, c.failed(addr, cmd.Code, err)
	}
	select {
	case a := <-answer:
		if a.err != nil {
			return nil, c.failed(addr, cmd.Code, a.err)
		}
		return a.cmd, nil
	case <-ctx.Done():
		conn.forget(cmd.Opaque)
		return nil, c.failed(addr, cmd.Code, ctx.Err())
	}
}

// Oneway sends a request that gets no answer. It returns when the frame is queued for writing.
func (c *Client) Oneway(ctx context.Context, addr string, cmd *Command) error {
	cmd.Flag = flagOneway
	if _, err := c.enqueue(ctx, addr, cmd, nil); err != nil {
		return c.failed(addr, cmd.Code, err)
	}
	return nil
}

func (c *Client) failed(addr string, code int32, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("remoting: request %d to %s: %w (%w)", code, addr, ErrTimeout, err)
	}
	return fmt.Errorf("remoting: request %d to %s: %w", code, addr, err)
}

// Close ends all connections and waits for the client's goroutines. Calls in progress fail with ErrClosed. It may be
// called again.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	conns := c.conns
	c.conns = make(map[string]*clientConn)
	c.mu.Unlock()
	c.cancel()
	for _, conn := range conns {
		conn.end(ErrClosed)
	}
	c.tasks.Wait()
}

// enqueue puts cmd in line to be written to addr.
func (c *Client) enqueue(ctx context.Context, addr string, cmd *Command, answer chan clientAnswer) (*clientConn, error) {
	defer release(cmd)
	cmd.Language, cmd.Version, cmd.Serialize = c.opts.Language, CurrentVersion, c.opts.Serialize
	if n := len(cmd.Remark) + bodySize(cmd); n > c.opts.MaxFrame {
		return nil, fmt.Errorf("%d bytes, limit MaxFrame %d", n, c.opts.MaxFrame)
	}
	for {
		conn, err := c.conn(ctx, addr)
		if err != nil {
			return nil, err
		}
		err = conn.enqueue(ctx, cmd, answer)
		if !errors.Is(err, errConnEnded) {
			return conn, err
		}
		c.drop(conn) // nothing was sent on it: take a new one
	}
}

// conn is the connection to addr, connected. Of several callers one connects, the others wait for it.
func (c *Client) conn(ctx context.Context, addr string) (*clientConn, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, ErrClosed
	}
	conn, ok := c.conns[addr]
	if !ok {
		conn = newClientConn(c, addr)
		c.conns[addr] = conn
		c.tasks.Go(conn.connect)
	}
	c.mu.Unlock()
	select {
	case <-conn.connected:
		return conn, conn.dialErr
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// drop forgets a connection, so that the next call makes a new one.
func (c *Client) drop(conn *clientConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conns[conn.addr] == conn {
		delete(c.conns, conn.addr)
	}
}

func (c *Client) dial(addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: c.opts.DialTimeout}
	d.SetMultipathTCP(false)
	return d.DialContext(c.stop, "tcp", addr)
}
