package conf

import (
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	loopback     = "127.0.0.1"
	allAddresses = "0.0.0.0"
)

// imageData is the volume of rocketd's own image.
const imageData = "/data"

// derive sets a key that no source has spoken about.
func (l *loader) derive(qualified, text string) {
	if l.config.origins[qualified].Source != "" || text == "" {
		return
	}
	if err := l.config.set(l.rows, qualified, text, Origin{Source: sourceMachine}); err != nil {
		l.problems = append(l.problems, Problem{Origin: Origin{Source: sourceMachine}, Key: qualified, Message: err.Error()})
	}
}

// resolvePaths fills in the data directory and the files below it. It returns those files that run-time updates were
// saved to and that no -c has read already.
func (l *loader) resolvePaths(in Input) (saved []string) {
	c := l.config
	if in.Role != RoleNamesrv && c.Store.StorePathRootDir != "" {
		l.derive("rocketd.dataDir", c.Store.StorePathRootDir)
	}
	if in.Machine.Published {
		l.derive("rocketd.dataDir", imageData)
	}
	data := c.Rocketd.DataDir
	l.derive("broker.storePathRootDir", data)
	l.derive("namesrv.kvConfigPath", filepath.Join(data, "namesrv", "kvConfig.json"))

	brokerFile, namesrvFile := "", ""
	for _, path := range in.Files {
		switch {
		case isYAML(path):
			brokerFile, namesrvFile = path, path
		case fileSection(path, in.Role) == SectionNamesrv:
			namesrvFile = path
		default:
			brokerFile = path
		}
	}
	if brokerFile == "" && c.Broker.BrokerConfigPath == "" {
		brokerFile = filepath.Join(c.Store.StorePathRootDir, "config", "broker.properties")
	}
	if namesrvFile == "" && c.Namesrv.ConfigStorePath == "" {
		namesrvFile = filepath.Join(data, "namesrv", "namesrv.properties")
	}
	l.derive("broker.brokerConfigPath", brokerFile)
	l.derive("namesrv.configStorePath", namesrvFile)
	for _, path := range []string{c.Broker.BrokerConfigPath, c.Namesrv.ConfigStorePath} {
		read := false
		for _, f := range in.Files {
			read = read || f == path
		}
		if !read {
			saved = append(saved, path)
		}
	}
	return saved
}

// resolve fills in what the machine decides.
func (l *loader) resolve(in Input) {
	c := l.config
	if in.Machine.Published {
		l.derive("rocketd.httpHost", allAddresses)
	}
	l.derive("broker.brokerName", in.Machine.Hostname)
	l.derive("broker.brokerName", "DEFAULT_BROKER")
	l.resolveIdentity()
	l.resolveListening(in)
	l.resolveAdvertised(in.Machine)
	l.derive("broker.brokerIP2", c.Broker.BrokerIP1)
	if port := c.Broker.ListenPort; port > 0 && port < 65535 && c.Store.HAListenPort == 0 {
		l.derive("broker.haListenPort", strconv.Itoa(int(port)+1))
	}
}

// resolveIdentity makes a master's id 0, as BrokerStartup.buildBrokerController does.
func (l *loader) resolveIdentity() {
	c := l.config
	if c.Broker.BrokerID != 0 {
		c.note("brokerId %d is taken as 0, because brokerRole is %s", c.Broker.BrokerID, c.Store.BrokerRole)
		c.Broker.BrokerID = 0
	}
}

// resolveListening decides the listen address: what was said, else nothing beyond this machine by accident.
func (l *loader) resolveListening(in Input) {
	c := l.config
	host := c.Rocketd.Host
	if host == "" {
		host = loopback
		ip1 := c.origins["broker.brokerIP1"]
		switch {
		case in.Machine.InContainer:
			host = allAddresses
		case ip1.Line > 0 && !isLoopback(c.Broker.BrokerIP1):
			host = allAddresses
			c.note("listening on all addresses, because %s sets brokerIP1 to %s", ip1, c.Broker.BrokerIP1)
		}
	}
	l.derive("broker.bindAddress", host)
	l.derive("namesrv.bindAddress", host)
}

// resolveAdvertised decides the host that clients are told.
func (l *loader) resolveAdvertised(m Machine) {
	c := l.config
	if host, _ := splitAdvertise(c.Rocketd.Advertise); host != "" {
		delete(c.origins, "broker.brokerIP1")
		l.derive("broker.brokerIP1", host)
	}
	bind := c.Server.BindAddress
	switch {
	case !isUnspecified(bind):
		l.derive("broker.brokerIP1", bind)
	case m.Published:
		l.derive("broker.brokerIP1", loopback)
	case len(m.Addresses) > 0:
		if m.InContainer && c.origins["broker.brokerIP1"].Source == "" {
			c.note("clients are told %s, an address of this container that others may not reach; advertise=HOST[:PORT] tells them another one", m.Addresses[0])
		}
		l.derive("broker.brokerIP1", m.Addresses[0].String())
	default:
		l.derive("broker.brokerIP1", loopback)
	}
	if isLoopback(bind) && !isLoopback(c.Broker.BrokerIP1) {
		c.note("clients are told %s, but the broker listens on %s only; host=0.0.0.0 opens it to the network",
			c.Broker.BrokerIP1, bind)
	}
}

func (c *Config) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// BrokerAddr is the HOST:PORT that clients are told to reach the broker at, when it listens on port.
func (c *Config) BrokerAddr(port int) string {
	if _, advertised := splitAdvertise(c.Rocketd.Advertise); advertised != "" {
		return net.JoinHostPort(c.Broker.BrokerIP1, advertised)
	}
	return net.JoinHostPort(c.Broker.BrokerIP1, strconv.Itoa(port))
}

// NamesrvAddr is the HOST:PORT to give to clients for the name server, when it listens on port.
func (c *Config) NamesrvAddr(port int) string {
	host := c.NamesrvServer.BindAddress
	if isUnspecified(host) {
		host = c.Broker.BrokerIP1
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && addr.IsLoopback()
}

func isUnspecified(host string) bool {
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "" || err == nil && addr.IsUnspecified()
}
