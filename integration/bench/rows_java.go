package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/rocketd/rocketd/integration/peer"
)

// javaProducer runs Apache's benchmark producer, a client that nobody of us wrote.
func javaProducer(t *target) (figures, error) {
	if !t.o.apache {
		return figures{}, errSkipped // no Java wanted
	}
	return t.produce("BenchmarkTest", t.o.count(200_000))
}

// javaBoth runs Apache's benchmark consumer beside it.
func javaBoth(t *target) (figures, error) {
	if !t.o.apache {
		return figures{}, errSkipped
	}
	const topic = "BenchmarkBoth"
	for q := range 4 {
		if err := fillQueue(t.addr, topic, q, 1); err != nil {
			return figures{}, err
		}
	}
	consumer := t.benchmark("Consumer", "-t", topic, "-ri", "1000")
	var out lockedBuffer
	consumer.Stdout, consumer.Stderr = &out, &out
	if err := consumer.Start(); err != nil {
		return figures{}, err
	}
	defer func() { _ = consumer.Process.Kill(); _ = consumer.Wait() }()
	for i := 0; !bytes.Contains(out.bytes(), []byte("Consumer Started")); i++ {
		if i == 200 {
			return figures{}, fmt.Errorf("the benchmark consumer does not start:\n%.2000s", out.bytes())
		}
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(2 * time.Second)
	return t.produce(topic, t.o.count(200_000))
}

var producerDone = regexp.MustCompile(`\[Complete\] Send Total: (\d+) \| Send TPS: (\d+) \| Max RT\(ms\): (\d+) \| Average RT\(ms\):\s+([\d.]+) \| Send Failed: (\d+)`)

func (t *target) produce(topic string, n int) (figures, error) {
	producer := t.benchmark("Producer", "-t", topic, "-w", "16", "-s", "1024", "-q", strconv.Itoa(n), "-ri", "1000")
	m := t.meter()
	out, err := producer.CombinedOutput()
	if err != nil {
		return figures{}, fmt.Errorf("benchmark producer: %w\n%.2000s", err, out)
	}
	f := m.figures(float64(n))
	f.perSecond = noFigures().perSecond
	found := producerDone.FindSubmatch(out)
	if found == nil {
		return figures{}, fmt.Errorf("benchmark producer says:\n%.2000s", out)
	}
	if failures := string(found[5]); failures != "0" {
		return figures{}, fmt.Errorf("benchmark producer: %s sends failed", failures)
	}
	f.perSecond, _ = strconv.ParseFloat(string(found[2]), 64)
	f.p50, _ = strconv.ParseFloat(string(found[4]), 64) // it knows the mean only
	return m.stored(f, float64(n)), nil
}

func (t *target) benchmark(class string, args ...string) *exec.Cmd {
	args = append(args, "-n", t.namesrv)
	return peer.Java(t.dir, []string{"-Xms256m", "-Xmx512m"}, "org.apache.rocketmq.example.benchmark."+class, args...)
}

// lockedBuffer is written by a process and read while it runs.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.b.Bytes())
}
