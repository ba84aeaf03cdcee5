package broker

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/rocketd/rocketd/conf"
)

// identity is who the broker is to others. It never changes once the broker has started.
type identity struct {
	name    string
	cluster string
	id      int64 // 0: master
	// address is HOST:PORT as clients and name servers are told; the host may be a name.
	address string
	// haAddress is where slaves fetch the commit log.
	haAddress string
	// storeHost is the same as address with an IP: it stands in each record and in message ids.
	storeHost netip.AddrPort
}

// newIdentity joins configuration and the port that the server listens on. A host name is looked up once.
func newIdentity(ctx context.Context, c *conf.Config, advertise string, listening netip.AddrPort) (identity, error) {
	host, port, err := splitAdvertise(advertise)
	if err != nil {
		return identity{}, err
	}
	if host == "" {
		host = strings.Trim(c.Broker.BrokerIP1, "[]")
	}
	if host == "" {
		host = listening.Addr().String()
		if listening.Addr().IsUnspecified() {
			host = "127.0.0.1" // conf fills brokerIP1 in; this is for those who bypass it
		}
	}
	if port == 0 {
		port = listening.Port()
	}
	addr, err := lookup(ctx, host)
	if err != nil {
		return identity{}, err
	}
	haHost := strings.Trim(c.Broker.BrokerIP2, "[]")
	if haHost == "" {
		haHost = host
	}
	return identity{
		name: c.Broker.BrokerName, cluster: c.Broker.BrokerClusterName, id: c.Broker.BrokerID,
		address:   net.JoinHostPort(host, strconv.Itoa(int(port))),
		haAddress: net.JoinHostPort(haHost, strconv.Itoa(int(c.Store.HAListenPort))),
		storeHost: netip.AddrPortFrom(addr, port),
	}, nil
}

// splitAdvertise reads HOST, HOST:PORT, [V6], [V6]:PORT or V6; port 0 when there is none.
func splitAdvertise(s string) (host string, port uint16, err error) {
	if s == "" {
		return "", 0, nil
	}
	if _, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil || !strings.Contains(s, ":") {
		return strings.Trim(s, "[]"), 0, nil
	}
	host, text, err := net.SplitHostPort(s)
	if err != nil {
		return "", 0, fmt.Errorf("advertise %q is not HOST or HOST:PORT: %w", s, err)
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return "", 0, fmt.Errorf("advertise %q: port %q is not a number from 1 to 65535", s, text)
	}
	return host, uint16(n), nil
}

// lookup gives an IP of a host, IPv4 before IPv6, without a zone.
func lookup(ctx context.Context, host string) (netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.WithZone("").Unmap(), nil
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("look up advertised host %q: %w", host, err)
	}
	best := netip.Addr{}
	for _, addr := range addrs {
		addr = addr.Unmap()
		if !best.IsValid() || addr.Is4() && !best.Is4() {
			best = addr
		}
	}
	if !best.IsValid() {
		return netip.Addr{}, fmt.Errorf("look up advertised host %q: it has no address", host)
	}
	return best.WithZone(""), nil
}
