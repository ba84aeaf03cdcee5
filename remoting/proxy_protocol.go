package remoting

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// The HAProxy PROXY protocol, versions 1 and 2, in front of a connection's first frame. As in the reference
// (NettyRemotingServer.HandshakeHandler) it is taken from anybody, and its source address becomes the client's.
// Type-length-value extras of version 2 are skipped.

const (
	proxyV1Prefix = "PROXY "
	proxyV1Max    = 107 // bytes of the line, its end included
	proxyV2Sign   = "\r\n\r\n\x00\r\nQUIT\n"
	proxyV2Fixed  = 16
	proxyV2Max    = 4096 // bytes of the whole header; addresses need 52, the rest is extras
)

// parseProxy reads a PROXY header that b begins with. size is its length; 0 without an error means that more bytes are
// needed. source is invalid when the header says to keep the connection's own address (UNKNOWN, LOCAL, unix sockets).
func parseProxy(b []byte) (source netip.AddrPort, size int, err error) {
	if len(b) > 0 && b[0] == proxyV2Sign[0] {
		return parseProxyV2(b)
	}
	return parseProxyV1(b)
}

func parseProxyV1(b []byte) (source netip.AddrPort, size int, err error) {
	end := bytes.Index(b[:min(len(b), proxyV1Max)], []byte("\r\n"))
	if end < 0 {
		if len(b) >= proxyV1Max {
			return source, 0, fmt.Errorf("PROXY line has no end within %d bytes", proxyV1Max)
		}
		return source, 0, nil
	}
	line := string(b[:end])
	words := strings.Split(line, " ")
	if len(words) >= 2 && words[0] == "PROXY" && words[1] == "UNKNOWN" {
		return source, end + 2, nil
	}
	if len(words) != 6 || words[0] != "PROXY" || words[1] != "TCP4" && words[1] != "TCP6" {
		return source, 0, fmt.Errorf("PROXY line %q is not PROXY TCP4|TCP6 source destination port port", line)
	}
	addr, err := netip.ParseAddr(words[2])
	if err != nil || addr.Is4() != (words[1] == "TCP4") {
		return source, 0, fmt.Errorf("PROXY line %q: %q is no %s address", line, words[2], words[1])
	}
	port, err := strconv.ParseUint(words[4], 10, 16)
	if err != nil {
		return source, 0, fmt.Errorf("PROXY line %q: %q is no port", line, words[4])
	}
	return netip.AddrPortFrom(addr.Unmap(), uint16(port)), end + 2, nil
}

func parseProxyV2(b []byte) (source netip.AddrPort, size int, err error) {
	const (
		local, proxied = 0x20, 0x21
		tcp4, tcp6     = 0x11, 0x21
	)
	if len(b) < proxyV2Fixed {
		return source, 0, nil
	}
	if string(b[:len(proxyV2Sign)]) != proxyV2Sign {
		return source, 0, fmt.Errorf("PROXY version 2 signature is broken")
	}
	size = proxyV2Fixed + int(binary.BigEndian.Uint16(b[14:]))
	command, family := b[12], b[13]
	switch {
	case command != local && command != proxied:
		return source, 0, fmt.Errorf("PROXY version and command 0x%02x, known are 0x20 and 0x21", command)
	case size > proxyV2Max:
		return source, 0, fmt.Errorf("PROXY header of %d bytes, limit %d", size, proxyV2Max)
	case len(b) < size:
		return source, 0, nil
	case command == local:
		return source, size, nil
	}
	addrs := b[proxyV2Fixed:size]
	switch family {
	case tcp4:
		if len(addrs) < 12 {
			return source, 0, fmt.Errorf("PROXY TCP4 addresses of %d bytes, need 12", len(addrs))
		}
		source = netip.AddrPortFrom(netip.AddrFrom4([4]byte(addrs)), binary.BigEndian.Uint16(addrs[8:]))
	case tcp6:
		if len(addrs) < 36 {
			return source, 0, fmt.Errorf("PROXY TCP6 addresses of %d bytes, need 36", len(addrs))
		}
		source = netip.AddrPortFrom(netip.AddrFrom16([16]byte(addrs)).Unmap(), binary.BigEndian.Uint16(addrs[32:]))
	}
	return source, size, nil
}
