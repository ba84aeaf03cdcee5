package conf

import "net/netip"

// Machine is what Load has to know of the machine; the caller finds it out, so that tests can invent one.
type Machine struct {
	Hostname string
	// Addresses are those of the machine that others may reach, the best first; no loopback ones.
	Addresses []netip.Addr
	// InContainer: the process is alone behind a network of its own.
	InContainer bool
	// Published: the container is rocketd's own image outside a cluster. Its ports are reached where they are published, so that clients are told
	// 127.0.0.1 when nothing says otherwise, its files are in /data, and the console listens on all addresses.
	Published bool
	// CPUs is the number of processors; some of the reference's defaults follow it. 0 is taken for 1.
	CPUs int
}
