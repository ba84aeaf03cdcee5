package cli

import (
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/rocketd/rocketd/conf"
)

// machine finds out what conf has to know of this machine.
func machine(env []string) conf.Machine {
	hostname, err := os.Hostname()
	if err != nil {
		hostname = "" // conf then names the broker as the reference does
	}
	return conf.Machine{
		Hostname:    hostname,
		Addresses:   reachableAddresses(),
		InContainer: inContainer(env),
		Published:   isPublished(env),
		CPUs:        runtime.NumCPU(),
	}
}

// reachableAddresses lists this machine's addresses that others may reach: IPv4 before IPv6, private before none, and
// those of bridges to containers last (NetworkUtil.getLocalAddress prefers likewise).
func reachableAddresses() []netip.Addr {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil
	}
	type candidate struct {
		addr netip.Addr
		rank int
	}
	var found []candidate
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 {
			continue
		}
		addrs, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, a := range addrs {
			prefix, err := netip.ParsePrefix(a.String())
			if err != nil || prefix.Addr().IsLinkLocalUnicast() || prefix.Addr().IsLoopback() {
				continue
			}
			rank := 0
			if prefix.Addr().Is6() {
				rank++
			}
			if isBridge(i.Name) {
				rank += 2
			}
			found = append(found, candidate{prefix.Addr(), rank})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return a.rank - b.rank })
	addresses := make([]netip.Addr, len(found))
	for i, f := range found {
		addresses[i] = f.addr
	}
	return addresses
}

func isBridge(name string) bool {
	for _, prefix := range []string{"docker", "br-", "veth", "virbr", "cni", "flannel", "podman", "vmnet", "vEthernet", "utun"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// isPublished tells whether this is rocketd's own image, which sets the variable container to rocketd, and no cluster around it gives addresses.
func isPublished(env []string) bool {
	image := false
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		if name == "KUBERNETES_SERVICE_HOST" && value != "" {
			return false
		}
		image = image || name == "container" && value == "rocketd"
	}
	return image
}

// inContainer tells whether the process runs in a container, where loopback would reach nobody.
func inContainer(env []string) bool {
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		if (name == "KUBERNETES_SERVICE_HOST" || name == "container") && value != "" {
			return true
		}
	}
	for _, file := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(file); err == nil {
			return true
		}
	}
	return false
}
