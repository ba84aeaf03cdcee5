package integration

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rocketd/rocketd/integration/peer"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
)

// TestKillLosesNothing kills the broker with SIGKILL in the middle of sends, batches, delays, timers and offset commits,
// starts it again, and compares what was acknowledged with what is delivered. CRASH_ROUNDS sets the number of rounds.
func TestKillLosesNothing(t *testing.T) {
	rounds := 4
	if s := os.Getenv("CRASH_ROUNDS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		rounds = n
	}
	m := newCrashModel(t)
	defer m.client.Close()
	for round := range rounds {
		m.round(t, round)
	}
	m.verify(t, rounds)
}

const crashQueues = 4

// crashModel remembers what the broker acknowledged.
type crashModel struct {
	dir           string
	namesrv, port string
	client        *remoting.Client
	settings      []string

	mu     sync.Mutex
	acked  map[string]int64 // body -> earliest delivery time in ms
	sent   map[string]int64 // body -> earliest delivery time, also of those not acknowledged
	offset int64            // last acknowledged consumer offset
}

func newCrashModel(t *testing.T) *crashModel {
	t.Helper()
	m := &crashModel{
		dir: t.TempDir(), client: remoting.NewClient(remoting.ClientOptions{}), acked: map[string]int64{}, sent: map[string]int64{},
		namesrv: strconv.Itoa(peer.FreePorts(t)), port: strconv.Itoa(peer.FreePorts(t)),
		// Small files, so that kills also hit the step from one file to the next.
		settings: []string{"mappedFileSizeCommitLog=4194304", "mappedFileSizeConsumeQueue=60000"},
	}
	return m
}

func (m *crashModel) broker() string { return net.JoinHostPort("127.0.0.1", m.port) }

func (m *crashModel) start(t *testing.T) *peer.Cluster {
	t.Helper()
	return peer.StartRocketdAt(t, m.dir, m.namesrv, m.port, m.settings...)
}

// round runs load for a random time and kills the broker under it.
func (m *crashModel) round(t *testing.T, round int) {
	t.Helper()
	c := m.start(t)
	ctx, cancel := context.WithCancel(context.Background())
	var load sync.WaitGroup
	var count atomic.Int64
	for worker := range 6 {
		load.Go(func() {
			random := rand.New(rand.NewPCG(uint64(round), uint64(worker)))
			for n := 0; ctx.Err() == nil; n++ {
				m.one(ctx, random, fmt.Sprintf("r%d w%d n%d", round, worker, n))
				count.Add(1)
			}
		})
	}
	load.Go(func() {
		for ctx.Err() == nil {
			m.commitOffset(ctx)
		}
	})
	await(t, 30*time.Second, "load", func() bool { return count.Load() > 200 })
	time.Sleep(time.Duration(rand.IntN(700)) * time.Millisecond)
	c.Kill(t)
	cancel()
	load.Wait()
}

// one sends one message of a random kind, or a batch, and notes it when acknowledged.
func (m *crashModel) one(ctx context.Context, random *rand.Rand, body string) {
	h := &remoting.SendMessageRequestHeader{
		ProducerGroup: "P", Topic: "crash", DefaultTopic: "TBW102", DefaultTopicQueueNums: crashQueues,
		QueueID: int32(random.IntN(crashQueues)), BornTimestamp: time.Now().UnixMilli(),
	}
	due := int64(0)
	body += strings.Repeat(" ", random.IntN(600))
	switch random.IntN(6) {
	case 0:
		level := 1 + random.IntN(2)
		h.Properties = "DELAY\x01" + strconv.Itoa(level) + "\x02"
		due = time.Now().UnixMilli() + int64([]int{0, 1000, 5000}[level])
	case 1:
		due = time.Now().UnixMilli() + 500 + int64(random.IntN(3000))
		h.Properties = "TIMER_DELIVER_MS\x01" + strconv.FormatInt(due, 10) + "\x02"
	case 2:
		m.batch(ctx, h, body)
		return
	}
	m.note(m.sent, body, due)
	cmd := remoting.NewRequest(remoting.SendMessage, h)
	cmd.Body = []byte(body)
	if m.invoke(ctx, cmd) {
		m.note(m.acked, body, due)
	}
}

func (m *crashModel) batch(ctx context.Context, h *remoting.SendMessageRequestHeader, body string) {
	h.Batch = remoting.Some(true)
	var entries []byte
	bodies := make([]string, 5)
	for i := range bodies {
		bodies[i] = fmt.Sprintf("%s batch %d", body, i)
		entry := make([]byte, 0, 32+len(bodies[i]))
		entry = binary.BigEndian.AppendUint32(entry, uint32(22+len(bodies[i])))
		entry = append(entry, make([]byte, 12)...)
		entry = binary.BigEndian.AppendUint32(entry, uint32(len(bodies[i])))
		entry = append(entry, bodies[i]...)
		entries = append(entries, append(entry, 0, 0)...)
		m.note(m.sent, bodies[i], 0)
	}
	cmd := remoting.NewRequest(remoting.SendMessage, h)
	cmd.Body = entries
	if m.invoke(ctx, cmd) {
		for _, b := range bodies {
			m.note(m.acked, b, 0)
		}
	}
}

func (m *crashModel) note(table map[string]int64, body string, due int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	table[body] = due
}

func (m *crashModel) invoke(ctx context.Context, cmd *remoting.Command) bool {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	resp, err := m.client.Invoke(ctx, m.broker(), cmd)
	return err == nil && resp.Code == remoting.Success
}

func (m *crashModel) commitOffset(ctx context.Context) {
	m.mu.Lock()
	next := m.offset + 1
	m.mu.Unlock()
	if m.invoke(ctx, remoting.NewRequest(remoting.UpdateConsumerOffset, &remoting.UpdateConsumerOffsetRequestHeader{
		ConsumerGroup: "G", Topic: "crash", QueueID: 0, CommitOffset: next,
	})) {
		m.mu.Lock()
		m.offset = next
		m.mu.Unlock()
	}
}

// verify starts the broker a last time and reads every queue: all acknowledged messages are there, none early, none torn.
func (m *crashModel) verify(t *testing.T, rounds int) {
	t.Helper()
	c := m.start(t)
	defer c.Stop(t)
	got := map[string]int{}
	early := 0
	read := func() {
		clear(got)
		early = 0
		for q := range int32(crashQueues) {
			for _, r := range m.pullAll(t, q) {
				body := string(r.Body)
				got[body]++
				due, known := m.sent[body]
				if !known {
					t.Fatalf("queue %d holds a message nobody sent: %.80q", q, body)
				}
				if r.StoreTimestamp < due {
					early++
				}
			}
		}
	}
	missing := func() int {
		n := 0
		for body := range m.acked {
			if got[body] == 0 {
				n++
			}
		}
		return n
	}
	deadline := time.Now().Add(20 * time.Second)
	for read(); missing() > 0 && time.Now().Before(deadline); read() {
		time.Sleep(200 * time.Millisecond)
	}
	doubled := 0
	for _, n := range got {
		if n > 1 {
			doubled++
		}
	}
	t.Logf("%d rounds: %d acknowledged, %d delivered, %d lost, %d early, %d doubled", rounds, len(m.acked), len(got), missing(), early, doubled)
	if n := missing(); n > 0 {
		shown := 0
		for body, due := range m.acked {
			if got[body] == 0 && shown < 10 {
				shown++
				t.Errorf("lost: %.60q due %d", body, due)
			}
		}
		t.Errorf("%d acknowledged messages are lost", n)
	}
	if early > 0 {
		t.Errorf("%d messages were delivered early", early)
	}
}

func (m *crashModel) pullAll(t *testing.T, queue int32) []message.Record {
	t.Helper()
	var all []message.Record
	for offset := int64(0); ; {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		resp, err := m.client.Invoke(ctx, m.broker(), remoting.NewRequest(remoting.PullMessage, &remoting.PullMessageRequestHeader{
			ConsumerGroup: "check", Topic: "crash", QueueID: queue, QueueOffset: offset, MaxMsgNums: 32, SysFlag: 4, Subscription: "*",
		}))
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		var h remoting.PullMessageResponseHeader
		if err := resp.Decode(&h); err != nil {
			t.Fatal(err)
		}
		switch resp.Code {
		case remoting.Success:
		case remoting.PullNotFound:
			return all
		case remoting.PullRetryImmediately, remoting.PullOffsetMoved:
			if h.NextBeginOffset == offset {
				t.Fatalf("queue %d: no progress at %d: code %d %s", queue, offset, resp.Code, resp.Remark)
			}
			offset = h.NextBeginOffset
			continue
		default:
			t.Fatalf("pull queue %d at %d: code %d %s", queue, offset, resp.Code, resp.Remark)
		}
		for body := resp.Body; len(body) > 0; {
			var r message.Record
			n, err := message.DecodeRecord(body, &r, true)
			if err != nil {
				t.Fatalf("queue %d offset %d: %v", queue, offset, err)
			}
			if r.QueueOffset != offset {
				t.Fatalf("queue %d: record says offset %d, its place is %d", queue, r.QueueOffset, offset)
			}
			all = append(all, r)
			body = body[n:]
			offset++
		}
		if offset != h.NextBeginOffset {
			t.Fatalf("queue %d: next offset %d, records end at %d", queue, h.NextBeginOffset, offset)
		}
	}
}
