package main

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rocketd/rocketd/integration/peer"
)

const (
	sideRocketd = "rocketd"
	sideApache  = "apache"
)

// host lends the integration tests' helpers, which expect a test, what they need of one.
type host struct {
	testing.TB
	dirs     []string
	cleanups []func()
}

// failed is what a helper's Fatal panics with; attempt turns it into an error.
type failed string

func (h *host) Helper()                        {}
func (h *host) Cleanup(f func())               { h.cleanups = append(h.cleanups, f) }
func (h *host) Logf(format string, a ...any)   { fmt.Fprintf(os.Stderr, format+"\n", a...) }
func (h *host) Errorf(format string, a ...any) { h.Logf(format, a...) }
func (h *host) Skipf(format string, a ...any)  { h.Fatalf(format, a...) }
func (h *host) Fatal(a ...any)                 { h.Fatalf("%s", fmt.Sprint(a...)) }
func (h *host) Fatalf(format string, a ...any) { panic(failed(fmt.Sprintf(format, a...))) }

func attempt(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			f, ok := p.(failed)
			if !ok {
				panic(p)
			}
			err = fmt.Errorf("%s", string(f))
		}
	}()
	return fn()
}

func (h *host) TempDir() string {
	dir, err := os.MkdirTemp(os.Getenv("BENCH_DIR"), "rocketd-benchtimer")
	if err != nil {
		h.Fatal(err)
	}
	h.dirs = append(h.dirs, dir)
	return dir
}

func (h *host) close() {
	for i := len(h.cleanups) - 1; i >= 0; i-- {
		h.cleanups[i]()
	}
	for _, d := range h.dirs {
		_ = os.RemoveAll(d)
	}
	h.cleanups, h.dirs = nil, nil
}

// broker is the one that is measured.
type broker struct {
	h       *host
	side    string
	dir     string
	cluster *peer.Cluster
	addr    string
	pid     int
}

func start(h *host, side string) *broker {
	b := &broker{h: h, side: side, dir: h.TempDir()}
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

// cpu is user plus system time of the broker's process so far, in seconds, by its CPU clock (clock_getcpuclockid).
func (b *broker) cpu() float64 {
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^b.pid)<<3|2, &t); err != nil {
		return 0
	}
	return float64(t.Sec) + float64(t.Nsec)/1e9
}

// anonMB is the process's memory that is not page cache.
func (b *broker) anonMB() float64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kb, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb / 1024
		}
	}
	return 0
}
