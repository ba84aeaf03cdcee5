package main

import (
	"net"
	"time"

	"github.com/rocketd/rocketd/integration/measure"
	"github.com/rocketd/rocketd/integration/peer"
)

const (
	sideRocketd = "rocketd"
	sideApache  = "apache"
)

// broker is the one that is measured.
type broker struct {
	h       *measure.Host
	side    string
	dir     string
	cluster *peer.Cluster
	addr    string
	pid     int
}

// start starts a broker on the store in dir, or on a new one that is removed afterwards.
func start(h *measure.Host, side, dir string) *broker {
	if dir == "" {
		dir = h.TempDir()
	}
	b := &broker{h: h, side: side, dir: dir}
	b.start()
	time.Sleep(500 * time.Millisecond)
	return b
}

// start starts the broker on the store that is there and returns how long that took until a connection was accepted.
func (b *broker) start() time.Duration {
	// A topic's messages all go to one queue, so that one reader sees their order; the limits are the same on both sides.
	settings := []string{"defaultTopicQueueNums=8", "timerMaxDelaySec=604800", "sendMessageThreadPoolNums=4", "useReentrantLockWhenPutMessage=true"}
	begun := time.Now()
	if b.side == sideApache {
		b.cluster = peer.StartApache(b.h, b.dir, settings...)
	} else {
		b.cluster = peer.StartRocketd(b.h, b.dir, settings[:2]...)
	}
	b.addr, b.pid = b.cluster.Broker, b.cluster.BrokerPID()
	for {
		if c, err := net.DialTimeout("tcp", b.addr, time.Second); err == nil {
			_ = c.Close()
			return time.Since(begun)
		}
		time.Sleep(time.Millisecond)
	}
}

// cpu is user plus system time of the broker's process so far, in seconds.
func (b *broker) cpu() float64 { return measure.CPUSeconds(b.pid) }

// anonMB is the process's memory that is not page cache.
func (b *broker) anonMB() float64 { return measure.AnonymousMB(b.pid) }
