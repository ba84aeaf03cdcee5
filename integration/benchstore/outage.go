package main

import (
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

// freePorts finds two that are free now.
func freePorts() (ports [2]int, err error) {
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return ports, err
		}
		if addr, ok := l.Addr().(*net.TCPAddr); ok {
			ports[i] = addr.Port
		}
		if err := l.Close(); err != nil {
			return ports, err
		}
	}
	return ports, nil
}

// load is Apache's Go client, sending one message of 1 KB after the other.
type load struct {
	producer rocketmq.Producer
	stop     atomic.Bool
	wg       sync.WaitGroup
	sent     atomic.Int64
	longest  time.Duration // between two acknowledged messages
	last     time.Time
}

func startLoad(namesrv string) (*load, error) {
	rlog.SetLogLevel("fatal")
	p, err := rocketmq.NewProducer(producer.WithNameServer([]string{namesrv}), producer.WithGroupName("bench"), producer.WithRetry(0), producer.WithSendMsgTimeout(500*time.Millisecond))
	if err != nil {
		return nil, err
	}
	if err := p.Start(); err != nil {
		return nil, err
	}
	l := &load{producer: p, last: time.Now()}
	l.wg.Go(func() {
		body := []byte(strings.Repeat("x", 1<<10))
		for !l.stop.Load() {
			if _, err := p.SendSync(context.Background(), primitive.NewMessage("BenchTopic", body)); err != nil {
				time.Sleep(10 * time.Millisecond)
				continue
			}
			now := time.Now()
			if l.sent.Add(1) > 100 { // the first ones find their way
				l.longest = max(l.longest, now.Sub(l.last))
			}
			l.last = now
		}
	})
	return l, nil
}

func (l *load) end() (longest time.Duration, err error) {
	l.stop.Store(true)
	l.wg.Wait()
	return l.longest, l.producer.Shutdown()
}

func (l *load) await(n int64) {
	for from := l.sent.Load(); l.sent.Load() < from+n; {
		time.Sleep(5 * time.Millisecond)
	}
}

// outage kills the broker under the load of a real client and starts it again at once, then stops it under load.
func (o *options) outage(dir string) (stop, longest time.Duration, err error) {
	ports, err := freePorts()
	if err != nil {
		return 0, 0, err
	}
	p, err := o.start(dir, ports)
	if err != nil {
		return 0, 0, err
	}
	l, err := startLoad(p.namesrv)
	if err != nil {
		return 0, 0, err
	}
	for range 3 {
		l.await(2000)
		if _, err := p.end(syscall.SIGKILL); err != nil {
			return 0, 0, err
		}
		if p, err = o.start(dir, ports); err != nil {
			return 0, 0, err
		}
	}
	l.await(2000)
	if stop, err = p.end(syscall.SIGTERM); err != nil {
		return 0, 0, err
	}
	longest, err = l.end()
	return stop, longest, err
}
