package peer

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
)

// Frame is one remoting frame seen by a Proxy.
type Frame struct {
	// FromClient tells the direction.
	FromClient bool
	Binary     bool // header form
	Code       int  // of the request, also on its response
	Response   bool
	Bytes      []byte // with the length field
}

// Proxy forwards connections to a name server or broker and shows every frame.
type Proxy struct {
	Addr string

	target    string
	rewrite   [2][]byte
	see       func(Frame)
	listener  net.Listener
	mu        sync.Mutex
	connected []net.Conn
	wait      sync.WaitGroup
}

// StartProxy listens on loopback at port (0 picks one) and forwards to target. In frames from the target, old is replaced
// by replacement of the same length: so a name server's answers can lead clients to another proxy.
func StartProxy(t testing.TB, port int, target, old, replacement string, see func(Frame)) *Proxy {
	t.Helper()
	if len(old) != len(replacement) {
		t.Fatalf("proxy: %q and %q differ in length", old, replacement)
	}
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Addr: l.Addr().String(), target: target, rewrite: [2][]byte{[]byte(old), []byte(replacement)}, see: see, listener: l}
	p.wait.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *Proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	for _, c := range p.connected {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.wait.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.connected = append(p.connected, client, server)
		p.mu.Unlock()
		codes := &sync.Map{} // direction and opaque of a request -> its code
		p.wait.Go(func() { p.pump(client, server, true, codes) })
		p.wait.Go(func() { p.pump(server, client, false, codes) })
	}
}

func (p *Proxy) pump(from, to net.Conn, fromClient bool, codes *sync.Map) {
	defer from.Close()
	defer to.Close()
	for {
		frame, err := readFrame(from)
		if err != nil {
			return
		}
		if !fromClient && len(p.rewrite[0]) > 0 {
			frame = bytes.ReplaceAll(frame, p.rewrite[0], p.rewrite[1])
		}
		if f, opaque, err := parse(frame); err == nil {
			f.FromClient = fromClient
			if f.Response {
				if code, ok := codes.LoadAndDelete(fmt.Sprint(!fromClient, opaque)); ok {
					f.Code, _ = code.(int)
					p.see(f)
				}
			} else {
				codes.Store(fmt.Sprint(fromClient, opaque), f.Code)
				p.see(f)
			}
		}
		if _, err := to.Write(frame); err != nil {
			return
		}
	}
}

func readFrame(r io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > 16<<20 {
		return nil, errors.New("frame too long")
	}
	frame := make([]byte, 4+n)
	copy(frame, length[:])
	_, err := io.ReadFull(r, frame[4:])
	return frame, err
}

func parse(frame []byte) (f Frame, opaque int, err error) {
	if len(frame) < 8 {
		return f, 0, io.ErrUnexpectedEOF
	}
	word := binary.BigEndian.Uint32(frame[4:])
	header := frame[8:]
	if n := int(word & 0xFFFFFF); n <= len(header) {
		header = header[:n]
	}
	f.Bytes = frame
	if word>>24 == 1 {
		if len(header) < 13 {
			return f, 0, io.ErrUnexpectedEOF
		}
		f.Binary = true
		f.Code = int(int16(binary.BigEndian.Uint16(header)))
		opaque = int(int32(binary.BigEndian.Uint32(header[5:])))
		f.Response = binary.BigEndian.Uint32(header[9:])&1 == 1
		return f, opaque, nil
	}
	var h struct{ Code, Opaque, Flag int }
	if err := json.Unmarshal(header, &h); err != nil {
		return f, 0, err
	}
	f.Code, f.Response = h.Code, h.Flag&1 == 1
	return f, h.Opaque, nil
}
