package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rocketd/rocketd/integration/measure"
	"github.com/rocketd/rocketd/remoting"
)

// row is one line of a table.
type row struct {
	name   string
	group  string // rows of one group share a running broker, in their order
	target string // what was aimed at, as the table shows it
	unit   string // of the only figure; "": CPU seconds per million messages and what goes with them
	bare   bool   // also on the bare servers
	once   bool   // not repeated by each round
	long   bool   // left out of the quick form
	run    func(t *target) (figures, error)
	// alone starts its brokers by itself: for rows about starting. group is then the row's own.
	alone func(h *measure.Host, side string, o options) (figures, error)
}

// group is what the brokers of some rows have in common.
type group struct {
	name     string
	settings []string
	prepare  func(dir string) error // fills the store's folder before the start
}

// manyTopics is the number of topics of the group of that name.
const manyTopics = 10_000

func allGroups() []group {
	return []group{
		{name: "plain"},
		{name: "sync", settings: []string{"flushDiskType=SYNC_FLUSH"}},
		{name: "topics", prepare: func(dir string) error { return writeTopics(dir, manyTopics, 1) }},
		{name: "java", settings: []string{"maxConnections=60000"}}, // ours; Apache has no such bound
	}
}

// writeTopics leaves a table of topics t0, t1 … for a broker that starts.
func writeTopics(dir string, n, queues int) error {
	topics := map[string]any{}
	for i := range n {
		name := fmt.Sprintf("t%d", i)
		topics[name] = map[string]any{
			"attributes": map[string]string{}, "order": false, "perm": 6, "readQueueNums": queues, "writeQueueNums": queues,
			"topicFilterType": "SINGLE_TAG", "topicName": name, "topicSysFlag": 0,
		}
	}
	table := map[string]any{
		"dataVersion":      map[string]int64{"counter": 1, "stateVersion": 0, "timestamp": time.Now().UnixMilli()},
		"topicConfigTable": topics,
	}
	b, err := json.Marshal(table)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "config"), 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "config", "topics.json"), b, 0o644)
}

func allRows() []row {
	rows := []row{
		{name: "idle: CPU", group: "plain", unit: "% of a core", target: "< 0.5", once: true, run: idleCPU},
		{name: "idle: anonymous memory", group: "plain", unit: "MB", target: "< 25", once: true, run: idleMemory},
		{name: "200 parked long polls: CPU", group: "plain", unit: "% of a core", target: "< 0.5", once: true, run: parked},
		sendRow("SEND 1 KB, JSON header, 8 x 16 pipelined", "<= 3", 1024, 8, 16, jsonFrame),
		sendRow("SEND 1 KB, ROCKETMQ header, 8 x 16", "<= 2.2", 1024, 8, 16, binaryFrame),
		sendRow("SEND 128 B, JSON, 8 x 16", "<= 2.5", 128, 8, 16, jsonFrame),
		sendRow("SEND 1 KB, one connection in lock-step", "<= 17", 1024, 1, 1, jsonFrame),
		sendRow("SEND 64 KB, JSON, 4 x 4", "<= 50", 64<<10, 4, 4, jsonFrame),
		batchRow(),
		{name: "PULL 1 KB, 32 per pull, JSON, hot", group: "plain", target: "<= 0.5", run: pullHot},
		{name: "SEND 1 KB, one connection, 1,000/s: what one wake-up costs", group: "plain", bare: true, run: paced},
		{name: "end-to-end at 1,000/s over long polling", group: "plain", target: "<= 60", run: endToEnd},
		{name: "transactions: half, commit, delivered", group: "plain", run: transactions},
		{name: "retry: sent back, delivered again", group: "plain", run: retries},
		{name: "timers, put and delivered", group: "plain", target: "<= 15", run: timers},
		{name: "delay levels, put and delivered", group: "plain", target: "<= 15", run: delayLevels},
		{name: "memory after all of the above", group: "plain", unit: "MB", target: "<= 150", once: true, run: memoryNow},
		{name: "PULL 1 KB, 32 per pull, JSON, cold", group: "plain", long: true, once: true, run: pullCold},
		{name: "SEND 1 KB, JSON, 8 x 16, to 10,000 topics", group: "topics", once: true, run: sendToTopics(manyTopics)},
		{name: "Apache's benchmark Producer, 16 threads, 1 KB", group: "java", once: true, long: true, run: javaProducer},
		{name: "Apache's benchmark Producer and Consumer, 1 KB", group: "java", once: true, long: true, run: javaBoth},
		{name: "5,000 idle connections with heartbeats: memory added", group: "java", unit: "MB", target: "<= 40", once: true, run: idleMemoryAdded(5_000)},
		{name: "5,000 idle connections with heartbeats: CPU", group: "java", unit: "% of a core", once: true, run: idleShare(5_000)},
	}
	if most := mostConnections(); most > 5000 {
		name := number(float64(most)) + " idle connections with heartbeats: "
		rows = append(rows,
			row{name: name + "memory added", group: "java", unit: "MB", once: true, long: true, run: idleMemoryAdded(most)},
			row{name: name + "CPU", group: "java", unit: "% of a core", once: true, long: true, run: idleShare(most)})
	}
	for _, r := range []row{
		sendRow("SYNC_FLUSH 1 KB, JSON, 8 x 16", "<= 6", 1024, 8, 16, jsonFrame),
		sendRow("SYNC_FLUSH 1 KB, JSON, one connection in lock-step", "<= 60", 1024, 1, 1, jsonFrame),
	} {
		r.group, r.bare = "sync", false
		rows = append(rows, r)
	}
	return append(rows, startRows()...)
}

// warmUp is how long a row runs before it is measured: a JVM needs some.
func (o options) warmUp() time.Duration { return time.Duration(float64(time.Second) * o.scale) }

// measured is how long a row is measured.
func (o options) measured() time.Duration { return time.Duration(3 * float64(time.Second) * o.scale) }

// count is a number of messages, scaled.
func (o options) count(n int) int { return max(1000, int(float64(n)*o.scale)) }

// mostTouched is how many bytes of memory are used before a row at most.
const mostTouched = 6 << 30

// touch uses as much memory as a load will take from the system, page cache and socket buffers: four times as much for each second as when it
// warmed up, with memory that was perhaps new.
func (o options) touch(l load, warm loadResult) error {
	if l.frame == nil {
		return nil
	}
	perSecond := float64(len(warm.latencies)) / warm.took.Seconds() * float64(len(l.frame(0).bytes))
	return measure.TouchMemory(min(mostTouched, int64(4*perSecond*o.measured().Seconds())))
}

// through runs a load, first to warm up, and measures the second time. Each request is so many messages.
func through(t *target, l load, messages int) (figures, meter, float64, error) {
	l.during = t.o.warmUp()
	warm, err := l.run(t.addr)
	if err != nil {
		return figures{}, meter{}, 0, err
	}
	if err := t.o.touch(l, warm); err != nil {
		return figures{}, meter{}, 0, err
	}
	l.during = t.o.measured()
	m := t.meter()
	r, err := l.run(t.addr)
	if err != nil {
		return figures{}, m, 0, err
	}
	n := float64(len(r.latencies) * messages)
	f := m.figures(n)
	f.perSecond = n / r.took.Seconds()
	f.latency(r)
	return f, m, n, nil
}

func sendRow(name, aim string, size, conns, inFlight int, build func(int32, [][2]string, []byte) prebuilt) row {
	return row{name: name, target: aim, group: "plain", bare: true, run: func(t *target) (figures, error) {
		l := load{conns: conns, inFlight: inFlight, okCodes: []int32{remoting.Success}, frame: func(conn int) prebuilt {
			return build(remoting.SendMessageV2, sendFields("bench", conn%4, properties, false), payload(size))
		}}
		f, m, n, err := through(t, l, 1)
		if err != nil {
			return f, err
		}
		return m.stored(f, n), nil
	}}
}

func batchRow() row {
	return row{name: "batch of 32 x 1 KB, per message", target: "<= 0.8", group: "plain", bare: true, run: func(t *target) (figures, error) {
		l := load{conns: 4, inFlight: 4, okCodes: []int32{remoting.Success}, frame: func(conn int) prebuilt {
			return jsonFrame(remoting.SendBatchMessage, sendFields("bench", conn%4, uniqueKey, true), batchBody(32, 1024))
		}}
		f, m, n, err := through(t, l, 32)
		if err != nil {
			return f, err
		}
		return m.stored(f, n), nil
	}}
}

// sendToTopics sends to each topic in turn.
func sendToTopics(topics int) func(t *target) (figures, error) {
	return func(t *target) (figures, error) {
		body := payload(1024)
		frames := make([]prebuilt, topics)
		for i := range frames {
			frames[i] = jsonFrame(remoting.SendMessageV2, sendFields(fmt.Sprintf("t%d", i), 0, properties, false), body)
		}
		const conns = 8
		// Every topic once: queues are made, directories too.
		first := load{conns: conns, inFlight: 16, requests: topics, okCodes: []int32{remoting.Success}}
		first.next = func(conn, seq int) prebuilt { return own(frames[(seq*conns+conn)%topics]) }
		if _, err := first.run(t.addr); err != nil {
			return figures{}, err
		}
		l := first
		l.requests = 0
		f, m, n, err := through(t, l, 1)
		if err != nil {
			return f, err
		}
		return m.stored(f, n), nil
	}
}

// own copies a frame: connections patch theirs.
func own(p prebuilt) prebuilt {
	p.bytes = append([]byte(nil), p.bytes...)
	return p
}

// idleCPU waits first for what the start has left to do, which takes a JVM some seconds.
func idleCPU(t *target) (figures, error) {
	time.Sleep(10 * time.Second)
	return single(100 * measure.CPUShare(t.pid, 6*time.Second)), nil
}

func idleMemory(t *target) (figures, error) { return single(measure.AnonymousMB(t.pid)), nil }

func memoryNow(t *target) (figures, error) { return single(measure.AnonymousMB(t.pid)), nil }

// only tells whether a row is wanted.
func (o options) only(r row) bool {
	if o.quick && r.long {
		return false
	}
	for _, word := range strings.Split(o.rows, "|") {
		if strings.Contains(r.name, word) {
			return true
		}
	}
	return false
}
