package replay

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/internal/clock"
)

// RecorderOptions are what NewRecorder needs. Out, Log, Clock and exactly one of Namesrv and Server must be set.
type RecorderOptions struct {
	// Listen is host:port for clients, port 0 picks one. In front of a name server the brokers get ports of their own on the same host.
	Listen string
	// Namesrv is the name server to stand in front of. Its routes lead clients to the recorder's own ports.
	Namesrv string
	// Server is the one server to stand in front of, when nothing is to be changed in what it says.
	Server string
	// Out is where the recording goes.
	Out io.Writer
	// MaxBytes bounds the recording; what comes behind is passed on and not recorded. 0 means 1 GiB.
	MaxBytes int64
	Log      *logrus.Entry
	Clock    clock.Clock
}

// Bounds of a recorder.
const (
	defaultMaxBytes = 1 << 30
	maxFrame        = 16 << 20
	maxConns        = 10_000
	dialTimeout     = 5 * time.Second
)

// Recorder is a proxy that writes down what passes. Safe for concurrent use.
type Recorder struct {
	o     RecorderOptions
	began int64 // ms
	host  string

	stop   context.Context
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	mu        sync.Mutex
	out       *bufio.Writer
	written   int64             // guarded by mu
	full      bool              // guarded by mu
	failed    error             // of writing; guarded by mu
	conns     int               // opened so far; guarded by mu
	live      map[net.Conn]bool // guarded by mu
	fronts    map[string]*front // by the address that they stand in front of; guarded by mu
	listeners []net.Listener    // guarded by mu
	closed    bool              // guarded by mu
}

// front is a port in front of one server.
type front struct {
	server, name, target string
	listener             net.Listener
}

// NewRecorder listens: clients can connect when it returns.
func NewRecorder(o RecorderOptions) (*Recorder, error) {
	if (o.Namesrv == "") == (o.Server == "") {
		return nil, errors.New("replay: a recorder stands in front of a name server or of one server")
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultMaxBytes
	}
	host, _, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return nil, fmt.Errorf("replay: listen on %q: %w", o.Listen, err)
	}
	r := &Recorder{o: o, began: o.Clock.NowMs(), host: host, out: bufio.NewWriter(o.Out), live: map[net.Conn]bool{}, fronts: map[string]*front{}}
	r.stop, r.cancel = context.WithCancel(context.Background())
	r.write(Header{Recording: "rocketd", Version: 1, Began: o.Clock.Now()})
	first := &front{server: Namesrv, target: o.Namesrv}
	if o.Server != "" {
		first = &front{server: Broker, target: o.Server}
	}
	if err := r.open(first, o.Listen); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Addr is the HOST:PORT to give to clients.
func (r *Recorder) Addr() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.listeners[0].Addr().String()
}

// open listens for a front.
func (r *Recorder) open(f *front, addr string) error {
	listener, err := (&net.ListenConfig{}).Listen(r.stop, "tcp", addr)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errors.Join(net.ErrClosed, listener.Close())
	}
	f.listener = listener
	r.listeners = append(r.listeners, listener)
	r.fronts[f.target] = f
	r.tasks.Go(func() { r.accept(f) })
	return nil
}

// frontOf is the address at which clients reach a broker, whose front is opened when it is seen first.
func (r *Recorder) frontOf(name, target string) (string, error) {
	r.mu.Lock()
	f := r.fronts[target]
	r.mu.Unlock()
	if f == nil {
		f = &front{server: Broker, name: name, target: target}
		if err := r.open(f, net.JoinHostPort(r.host, "0")); err != nil {
			return "", err
		}
	}
	return f.listener.Addr().String(), nil
}

func (r *Recorder) accept(f *front) {
	for {
		client, err := f.listener.Accept()
		if err != nil {
			return // closed
		}
		r.tasks.Go(func() { r.serve(f, client) })
	}
}

// serve passes frames between a client and the server behind a front until one of them closes.
func (r *Recorder) serve(f *front, client net.Conn) {
	ctx, cancel := context.WithTimeout(r.stop, dialTimeout)
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", f.target)
	cancel()
	if err != nil {
		r.o.Log.WithError(err).WithField("server", f.target).Warn("the server cannot be reached, the client's connection is closed")
		_ = client.Close() // it gets nothing either way
		return
	}
	id, ok := r.enter(client, server)
	if !ok {
		_ = client.Close() // see above
		_ = server.Close() // see above
		return
	}
	r.record(Event{Conn: id, What: Open, Server: f.server, Name: f.name, Addr: f.target})
	var both sync.WaitGroup
	routes := newRouteWatch(r, f.server == Namesrv)
	both.Go(func() { r.pump(id, Sent, client, server, routes.sent) })
	both.Go(func() { r.pump(id, Got, server, client, routes.got) })
	both.Wait()
	r.record(Event{Conn: id, What: Close})
	r.mu.Lock()
	delete(r.live, client)
	delete(r.live, server)
	r.mu.Unlock()
}

// enter counts a connection; false when there are too many, or the recorder is closed.
func (r *Recorder) enter(client, server net.Conn) (id int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || len(r.live) >= 2*maxConns {
		return 0, false
	}
	r.live[client], r.live[server] = true, true
	r.conns++
	return r.conns, true
}

// pump passes frames on until the connection ends, and closes both ends then.
func (r *Recorder) pump(id int, what string, from, to net.Conn, change func(frame []byte) []byte) {
	defer func() {
		_ = from.Close() // it is over either way
		_ = to.Close()   // see above
	}()
	in := bufio.NewReaderSize(from, 64<<10)
	for {
		frame, err := readFrame(in)
		if err != nil {
			if errors.Is(err, errFrame) {
				r.o.Log.WithError(err).WithField("conn", id).Warn("connection closed")
			}
			return
		}
		r.record(Event{Conn: id, What: what, Frame: frame})
		if _, err := to.Write(change(frame)); err != nil {
			return
		}
	}
}

var errFrame = errors.New("replay: no frame")

// readFrame reads one frame, its length field included.
func readFrame(r io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n < 4 || n > maxFrame {
		return nil, fmt.Errorf("%w: its length is %d, the limit is %d", errFrame, n, maxFrame)
	}
	frame := make([]byte, 4+n)
	copy(frame, length[:])
	_, err := io.ReadFull(r, frame[4:])
	return frame, err
}

func (r *Recorder) record(e Event) {
	e.Ms = r.o.Clock.NowMs() - r.began
	r.write(e)
}

// write appends one line.
func (r *Recorder) write(line any) {
	text, err := json.Marshal(line)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full || r.failed != nil {
		return
	}
	if err == nil && r.written+int64(len(text)) > r.o.MaxBytes {
		r.full = true
		r.o.Log.WithField("bytes", r.written).Warn("the recording has reached its limit, what comes is not recorded")
		text, err = json.Marshal(Event{Ms: r.o.Clock.NowMs() - r.began, What: Full})
	}
	if err == nil {
		r.written += int64(len(text)) + 1
		_, err = r.out.Write(append(text, '\n'))
	}
	if err == nil {
		err = r.out.Flush()
	}
	r.failed = err
}

// Close closes all connections and ends the recording. The error is that of writing it. Closing twice is safe.
func (r *Recorder) Close() error {
	r.mu.Lock()
	r.closed = true
	for _, l := range r.listeners {
		_ = l.Close() // it takes nothing more either way
	}
	for c := range r.live {
		_ = c.Close() // see above
	}
	r.mu.Unlock()
	r.cancel()
	r.tasks.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed != nil {
		return fmt.Errorf("replay: write the recording: %w", r.failed)
	}
	return nil
}
