package remoting

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// The server has its own listeners and gives accepted sockets to gnet's loops. gnet's own acceptor ends the whole engine
// when it runs out of file descriptors, cannot stop accepting alone and cannot bound the connections.

func (s *Server) listen() error {
	config := net.ListenConfig{}
	config.SetMultipathTCP(false)
	for i, addr := range s.opts.Addrs {
		ln, err := config.Listen(context.Background(), "tcp", addr)
		if err == nil {
			s.listeners = append(s.listeners, ln)
			if i == 0 {
				s.addr = addrPort(ln.Addr())
			}
			continue
		}
		if errors.Is(err, syscall.EADDRINUSE) {
			err = ErrPortTaken
		}
		err = fmt.Errorf("remoting: %s cannot listen on %s: %w", s.opts.Name, addr, err)
		if i == 0 {
			return err
		}
		s.log.WithError(err).Warn("one address less to listen on")
	}
	return nil
}

func (s *Server) closeListeners() {
	for _, ln := range s.listeners {
		_ = ln.Close() // it takes nothing more either way
	}
}

func addrPort(a net.Addr) netip.AddrPort {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	ap := t.AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// accept gives new connections to the loops until the listener closes. When none can be taken (no file descriptors left)
// it waits and tries again.
func (s *Server) accept(ln net.Listener) {
	const shortest, longest = 5 * time.Millisecond, time.Second
	wait := shortest
	for {
		nc, err := ln.Accept()
		if err == nil {
			wait = shortest
			s.enter(nc)
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if log, ok := s.logAccept.allow(s.opts.Clock.NowMs(), s.log); ok {
			log.WithError(err).Warn("cannot accept connections, trying again")
		}
		// The machine's time, not the server's clock: descriptors are given back in the former.
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-s.stop:
			timer.Stop()
		}
		wait = min(2*wait, longest)
	}
}

// enter brings an accepted connection to a loop.
func (s *Server) enter(nc net.Conn) {
	if n := s.conns.Add(1); n > int64(s.opts.MaxConns) {
		s.conns.Add(-1)
		s.refused.Add(1)
		if log, ok := s.logRefused.allow(s.opts.Clock.NowMs(), s.log); ok {
			log.WithField("client", nc.RemoteAddr().String()).Warnf("connection refused: %d are open, limit MaxConns", s.opts.MaxConns)
		}
		_ = nc.Close() // refused either way
		return
	}
	s.sizeBuffers(nc)
	c := &Conn{id: s.nextConn.Add(1), server: s, remote: addrPort(nc.RemoteAddr())}
	c.cutter.max = s.opts.MaxFrame
	_, err := s.engine.EnrollContext(nc, c)
	if err == nil && c.loopRan.Load() {
		s.accepted.Add(1)
		return
	}
	s.conns.Add(-1)
	if log, ok := s.logAccept.allow(s.opts.Clock.NowMs(), s.log); ok {
		log.WithError(err).WithField("client", c.remote).Warn("connection could not be given to an event loop")
	}
}

// sizeBuffers sets the kernel buffers' sizes and the bound of what waits in them. A size the system does not like leaves its own in place.
func (s *Server) sizeBuffers(nc net.Conn) {
	t, ok := nc.(*net.TCPConn)
	if !ok {
		return
	}
	boundUnsent(t)
	// The sizes are hints: a system that takes none keeps its own.
	if n := s.opts.SendBuffer; n > 0 {
		_ = t.SetWriteBuffer(n)
	}
	if n := s.opts.ReceiveBuffer; n > 0 {
		_ = t.SetReadBuffer(n)
	}
}
