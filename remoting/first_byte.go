package remoting

import (
	"fmt"
	"strings"
)

// opening is what a connection's first bytes are.
type opening uint8

const (
	openUnclear opening = iota // more bytes needed
	openFrames
	openProxy
	openTLS
	openHTTP
	openHTTP2
)

const (
	tlsHandshake = 0x16
	http2Preface = "PRI * HTTP/2.0"
)

// httpMethods begin a request line. Their first letters are far above the first byte of any frame's length.
var httpMethods = [...]string{"GET ", "POST ", "PUT ", "HEAD ", "DELETE ", "OPTIONS ", "PATCH ", "CONNECT ", "TRACE "}

// classify tells what a connection's first bytes are. A frame's first byte is that of its length and so at most that
// of the largest frame. Bytes that are nothing known count as frames and fail there.
func classify(b []byte, maxFrame int) opening {
	switch {
	case len(b) == 0:
		return openUnclear
	case int(b[0]) <= (maxFrame-lengthSize)>>24:
		return openFrames
	case b[0] == tlsHandshake:
		return openTLS
	}
	unclear := false
	matches := func(prefix string) bool {
		if len(b) < len(prefix) {
			unclear = unclear || strings.HasPrefix(prefix, string(b))
			return false
		}
		return string(b[:len(prefix)]) == prefix
	}
	switch {
	case matches(proxyV1Prefix), matches(proxyV2Sign):
		return openProxy
	case matches(http2Preface):
		return openHTTP2
	}
	for _, m := range httpMethods {
		if matches(m) {
			return openHTTP
		}
	}
	if unclear {
		return openUnclear
	}
	return openFrames
}

// refusal says in plain words why a connection of another protocol is closed.
func (o opening) refusal() string {
	switch o {
	case openTLS:
		return "the peer speaks TLS, which this port does not: switch TLS off in the client (tls.enable, useTLS)"
	case openHTTP:
		return "the peer speaks HTTP, this port speaks RocketMQ remoting"
	case openHTTP2:
		return "the peer speaks HTTP/2, probably a gRPC client of RocketMQ 5: this port speaks RocketMQ remoting, gRPC clients need a proxy"
	case openUnclear, openFrames, openProxy:
	}
	return ""
}

// httpAnswer is what an HTTP client gets.
func httpAnswer(name string) []byte {
	text := "This is the RocketMQ remoting port of the " + name + ". It does not speak HTTP: connect RocketMQ clients here.\n"
	return fmt.Appendf(nil, "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n"+
		"Connection: close\r\n\r\n%s", len(text), text)
}
