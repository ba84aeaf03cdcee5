package main

import (
	"bufio"
	"fmt"
	"net"
	"time"

	"github.com/rocketd/rocketd/integration/measure"
	"github.com/rocketd/rocketd/remoting"
)

// heartbeatEvery is how often the clients of Apache send heartbeats.
const heartbeatEvery = 30 * time.Second

// crowd is many connections of clients that send nothing but heartbeats.
type crowd struct {
	conns  []net.Conn
	frames []prebuilt
	buf    []byte
}

// gather opens n connections, each of which says hello with a heartbeat of its own. Their local addresses differ, since one address has
// not enough ports.
func gather(addr string, n int) (*crowd, error) {
	const perAddress = 20_000
	w := &crowd{}
	for i := range n {
		dialer := net.Dialer{Timeout: 20 * time.Second, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i/perAddress))}}
		c, err := dialer.Dial("tcp", addr)
		if err != nil {
			w.close()
			return nil, fmt.Errorf("connection %d: %w", i, err)
		}
		beat := fmt.Sprintf(`{"clientID":"127.0.0.1@%d","consumerDataSet":[],"producerDataSet":[{"groupName":"P"}]}`, i)
		w.conns, w.frames = append(w.conns, c), append(w.frames, jsonFrame(remoting.HeartBeat, nil, []byte(beat)))
	}
	if err := w.beat(0, n); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// beat sends the heartbeats of some of the connections and takes the answers.
func (w *crowd) beat(from, to int) error {
	for i := from; i < to; i++ {
		if _, err := w.conns[i].Write(w.frames[i].bytes); err != nil {
			return fmt.Errorf("heartbeat of connection %d: %w", i, err)
		}
	}
	for i := from; i < to; i++ {
		if err := w.conns[i].SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			return err
		}
		b, err := measure.ReadFrame(bufio.NewReaderSize(w.conns[i], 1024), &w.buf)
		if err != nil {
			return fmt.Errorf("heartbeat of connection %d: %w", i, err)
		}
		if a := measure.ParseAnswer(b); a.Code != remoting.Success {
			return fmt.Errorf("heartbeat of connection %d: code %d %.200s", i, a.Code, a.Header)
		}
	}
	return nil
}

// live sends each connection's heartbeat in its turn, as often as clients do.
func (w *crowd) live(during time.Duration) error {
	const step = 100 * time.Millisecond
	start, sent := time.Now(), 0
	for time.Since(start) < during {
		due := int(time.Since(start).Seconds() / heartbeatEvery.Seconds() * float64(len(w.conns)))
		for sent < due {
			from := sent % len(w.conns)
			to := min(len(w.conns), from+due-sent)
			if err := w.beat(from, to); err != nil {
				return err
			}
			sent += to - from
		}
		time.Sleep(step)
	}
	return nil
}

func (w *crowd) close() {
	for _, c := range w.conns {
		_ = c.Close()
	}
}

// idleMemoryAdded measures the memory that n connections that only send heartbeats add, and on the way their CPU time for idleShare.
func idleMemoryAdded(n int) func(t *target) (figures, error) {
	return func(t *target) (figures, error) {
		measure.RaiseFileLimit()
		before := measure.AnonymousMB(t.pid)
		w, err := gather(t.addr, n)
		if err != nil {
			return figures{}, err
		}
		defer func() {
			w.close()
			time.Sleep(2 * time.Second) // the broker sees them go
		}()
		time.Sleep(time.Second)
		added := measure.AnonymousMB(t.pid) - before
		cpu, start := measure.CPUSeconds(t.pid), time.Now()
		if err := w.live(time.Duration(6 * float64(time.Second) * t.o.scale)); err != nil {
			return figures{}, err
		}
		if t.idle == nil {
			t.idle = map[int]float64{}
		}
		t.idle[n] = 100 * (measure.CPUSeconds(t.pid) - cpu) / time.Since(start).Seconds()
		return single(added), nil
	}
}

// idleShare tells the CPU time that idleMemoryAdded has measured.
func idleShare(n int) func(t *target) (figures, error) {
	return func(t *target) (figures, error) {
		share, ok := t.idle[n]
		if !ok {
			return figures{}, errSkipped
		}
		return single(share), nil
	}
}

// mostConnections is 50,000, or what the limit of open files leaves to client and broker.
func mostConnections() int { return min(50_000, (measure.RaiseFileLimit()-1500)/1000*1000) }
