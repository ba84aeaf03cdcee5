package remoting

import (
	"encoding/binary"
	"io"
	"net/netip"
	"strings"
	"testing"
)

func TestOtherProtocols(t *testing.T) {
	for _, tt := range []struct{ name, first, answer, log string }{
		{"HTTP GET", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n", "speaks HTTP, this port speaks RocketMQ remoting"},
		{"HTTP POST", "POST /a HTTP/1.1\r\n\r\n", "This is the RocketMQ remoting port of the broker", "speaks HTTP"},
		{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "", "speaks TLS"},
		{"gRPC", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "", "gRPC client of RocketMQ 5"},
		{"TLS behind PROXY", "PROXY TCP4 10.1.2.3 10.0.0.1 4000 10911\r\n\x16\x03\x01", "", "speaks TLS"},
		{"two PROXY headers", "PROXY UNKNOWN\r\nPROXY UNKNOWN\r\n", "", "two PROXY headers"},
		{"bad PROXY", "PROXY TCP4 nobody\r\n", "", "PROXY line"},
		{"SSH", "SSH-2.0-x\r\n", "", "bad frame"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := startServer(t, ServerOptions{Routes: echoRoutes(), Lanes: echoLane()})
			for _, pieces := range []bool{false, true} {
				p := s.dial(t)
				if pieces {
					for i := range tt.first {
						if _, err := p.Write([]byte{tt.first[i]}); err != nil {
							break // refused before it said all
						}
					}
				} else {
					p.write([]byte(tt.first))
				}
				got, err := io.ReadAll(p)
				if err != nil && !(pieces && isReset(err)) {
					t.Fatal(err)
				}
				if !pieces && (!strings.Contains(string(got), tt.answer) || (tt.answer == "") != (len(got) == 0)) {
					t.Errorf("answer %q, want %q", got, tt.answer)
				}
			}
			eventually(t, "logged", func() bool { return strings.Contains(s.log.String(), tt.log) })
		})
	}
}

func proxyV2(command, family byte, addrs []byte) []byte {
	b := append([]byte(proxyV2Sign), command, family, 0, 0)
	binary.BigEndian.PutUint16(b[14:], uint16(len(addrs)))
	return append(b, addrs...)
}

func TestProxyHeaderGivesTheClientsAddress(t *testing.T) {
	v4 := []byte{10, 1, 2, 3, 10, 0, 0, 1, 0x0f, 0xa0, 0x2a, 0x9f}
	six := netip.MustParseAddr("2001:db8::7").As16()
	v6 := append(append(append([]byte(nil), six[:]...), six[:]...), 0x0f, 0xa0, 0x2a, 0x9f)
	mapped := netip.MustParseAddr("::ffff:10.1.2.3").As16()
	for _, tt := range []struct {
		name   string
		header []byte
		want   string // "" is the socket's own
	}{
		{"none", nil, ""},
		{"v1 TCP4", []byte("PROXY TCP4 10.1.2.3 10.0.0.1 4000 10911\r\n"), "10.1.2.3:4000"},
		{"v1 TCP6", []byte("PROXY TCP6 2001:db8::7 2001:db8::1 4000 10911\r\n"), "[2001:db8::7]:4000"},
		{"v1 UNKNOWN", []byte("PROXY UNKNOWN ffff:f...f:ffff 65535\r\n"), ""},
		{"v2 TCP4", proxyV2(0x21, 0x11, v4), "10.1.2.3:4000"},
		{"v2 TCP4 with extras", proxyV2(0x21, 0x11, append(v4[:12:12], 0xea, 0, 1, 'x')), "10.1.2.3:4000"},
		{"v2 TCP6", proxyV2(0x21, 0x21, v6), "[2001:db8::7]:4000"},
		{"v2 TCP6 with an IPv4 address", proxyV2(0x21, 0x21, append(mapped[:], v6[16:]...)), "10.1.2.3:4000"},
		{"v2 LOCAL", proxyV2(0x20, 0x00, nil), ""},
		{"v2 unix", proxyV2(0x21, 0x31, make([]byte, 216)), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			addrs := make(chan netip.AddrPort, 1)
			s := startServer(t, ServerOptions{Routes: echoRoutes(), Lanes: echoLane(), OnOpen: func(c *Conn) { addrs <- c.RemoteAddr() }})
			for _, pieces := range []bool{false, true} {
				p := s.dial(t)
				stream := AppendFrame(append([]byte(nil), tt.header...), request(codeEcho, 1, "behind"))
				if pieces {
					for _, b := range stream {
						p.write([]byte{b})
					}
				} else {
					p.write(stream)
				}
				if got := p.receive(); string(got.Body) != "behind" {
					t.Errorf("got %+v", got)
				}
				want := tt.want
				if want == "" {
					want = p.LocalAddr().String()
				}
				if got := <-addrs; got.String() != want {
					t.Errorf("address %v, want %s", got, want)
				}
			}
		})
	}
}

func TestBadProxyHeaders(t *testing.T) {
	for says, b := range map[string][]byte{
		"no end":       []byte("PROXY TCP4 " + strings.Repeat("1", 100)),
		"is not PROXY": []byte("PROXY TCP4 1.2.3.4\r\n"),
		"no TCP6":      []byte("PROXY TCP6 1.2.3.4 1.2.3.4 1 2\r\n"),
		"no port":      []byte("PROXY TCP4 1.2.3.4 1.2.3.4 65536 2\r\n"),
		"signature":    []byte("\r\n\r\n\x00\r\nQUIX\n12345"),
		"0x31":         proxyV2(0x31, 0x11, make([]byte, 12)),
		"need 12":      proxyV2(0x21, 0x11, make([]byte, 11)),
		"need 36":      proxyV2(0x21, 0x21, make([]byte, 35)),
		"limit 4096":   proxyV2(0x21, 0x11, make([]byte, 5000)),
	} {
		if _, _, err := parseProxy(b); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: error %v, want one with %q", b, err, says)
		}
	}
}

// FuzzProxyHeader: no panic; what is read lies within the input and reads the same with bytes behind it, and every
// shorter piece asks for more.
func FuzzProxyHeader(f *testing.F) {
	f.Add([]byte("PROXY TCP4 10.1.2.3 10.0.0.1 4000 10911\r\n"))
	f.Add([]byte("PROXY UNKNOWN\r\n"))
	f.Add(proxyV2(0x21, 0x11, make([]byte, 12)))
	f.Add(proxyV2(0x21, 0x21, make([]byte, 40)))
	f.Add(proxyV2(0x20, 0, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		source, size, err := parseProxy(b)
		if size < 0 || size > len(b) || err != nil && size != 0 {
			t.Fatalf("size %d of %d, %v", size, len(b), err)
		}
		if size == 0 || err != nil {
			return
		}
		again, n, err := parseProxy(append(b[:size:size], "\x00\x00rest"...))
		if again != source || n != size || err != nil {
			t.Fatalf("with other bytes behind: %v %d %v, was %v %d", again, n, err, source, size)
		}
		for cut := range size {
			if _, n, err := parseProxy(b[:cut]); n != 0 || err != nil {
				t.Fatalf("first %d of %d bytes: %d, %v", cut, size, n, err)
			}
		}
	})
}
