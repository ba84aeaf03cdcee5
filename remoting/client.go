package remoting

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"
)

// ClientOptions configure a Client. Zero values mean the defaults named here.
type ClientOptions struct {
	Log *logrus.Entry
	// DialTimeout bounds one connect; 0 means 3 s.
	DialTimeout time.Duration
	// MaxFrame bounds an answer in bytes; 0 means 16 MiB.
	MaxFrame int
	// MaxInFlight bounds the unanswered requests to one address; 0 means 65,536.
	MaxInFlight int
	// Serialize is the header form of requests.
	Serialize SerializeType
	// Handle serves requests that the server initiates; nil answers them REQUEST_CODE_NOT_SUPPORTED. It runs on a goroutine of
	// the client, one request of a connection at a time.
	Handle func(addr string, req *Command) (*Command, error)
}

// Client calls servers, over one connection for each address. Safe for concurrent use.
type Client struct{ opts ClientOptions }

// NewClient makes a client. It connects at the first call.
func NewClient(opts ClientOptions) *Client { return &Client{opts: opts} }

// Invoke sends a request to addr (host:port) and waits for the answer.
func (c *Client) Invoke(ctx context.Context, addr string, cmd *Command) (*Command, error) {
	return nil, ErrClosed
}

// Oneway sends a request that gets no answer.
func (c *Client) Oneway(ctx context.Context, addr string, cmd *Command) error { return ErrClosed }

// Close closes all connections and waits for the client's goroutines.
func (c *Client) Close() {}
