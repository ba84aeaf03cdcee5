package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rocketd/rocketd/integration/peer"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/store"
)

// TestKillLosesNothing kills the broker with SIGKILL in the middle of sends, batches, delays, timers, transactions and offset
// commits of several clients, starts it again, and compares what was acknowledged with what is delivered: nothing lost, torn,
// early, or out of place, and nothing doubled that a kill does not excuse. Some rounds end with SIGTERM, some with a kill in the
// middle of a start. CRASH_ROUNDS sets the number of rounds.
func TestKillLosesNothing(t *testing.T) {
	rounds := 4
	if s := os.Getenv("CRASH_ROUNDS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		rounds = n
	}
	peer.Rocketd(t) // is built before the first start
	for _, flush := range []string{"ASYNC_FLUSH", "SYNC_FLUSH"} {
		t.Run(flush, func(t *testing.T) {
			m := newCrashModel(t, "flushDiskType="+flush)
			for round := range rounds {
				m.round(t, round)
			}
			m.verify(t, rounds)
		})
	}
}

const (
	crashQueues  = 4
	crashClients = 6
)

// crashTraits are the delays that are sent, and what the broker promises.
type crashTraits struct {
	levels    []int64 // delay levels, ms; the first is level 1
	timerSpan int64   // timers are due in between half a second and so much more, ms
	// timerEarly is how much too early timers may be, ms.
	timerEarly int64
	// slack is how far before a kill the first copy of a doubled message may lie: delays and timers write down what they have
	// delivered at most 50 ms later, with SYNC_FLUSH not before it is on disk, and both clocks are coarse.
	slack time.Duration
	// offsetSlack: an offset committed longer before a kill than that is not lost.
	offsetSlack time.Duration
	// innerTopic: there is a topic with batch queues.
	innerTopic bool
}

// crashModel remembers what the broker acknowledged and how it was ended.
type crashModel struct {
	crashTraits
	dir           string
	addr          string // of the broker
	namesrv, port string
	settings      []string
	clients       []*remoting.Client
	kills, terms  int
	startKills    int
	slowest       time.Duration // of the starts

	mu     sync.Mutex
	sent   map[string]*sentMessage // by id
	asked  map[string]int          // how often the broker asked about a transaction
	killed []int64                 // when, ms
	// twice are the times in which Apache's broker ran: what it asks about while its operations wait to be written it commits twice.
	twice [][2]int64
	// Per queue.
	seen    [crashQueues][]uint64 // hashes of what a consumer was given, in the order of the queue
	offsets [crashQueues]offsetHistory
}

// offsetHistory is what became of the offset commits of a queue.
type offsetHistory struct {
	tried int64        // the last that was sent
	acked []ackedPoint // since the start of the round, and the last of those before
}

type ackedPoint struct {
	at     time.Time
	offset int64
}

func newCrashModel(t *testing.T, settings ...string) *crashModel {
	t.Helper()
	m := &crashModel{
		crashTraits: crashTraits{levels: []int64{1000, 5000}, timerSpan: 3000, slack: time.Second, offsetSlack: time.Second, innerTopic: true},
		dir:         t.TempDir(), sent: map[string]*sentMessage{}, asked: map[string]int{},
		namesrv: strconv.Itoa(peer.FreePorts(t)), port: strconv.Itoa(peer.FreePorts(t)),
		// Small files, so that kills also hit the step from one file to the next.
		settings: append(settings, "mappedFileSizeCommitLog=4194304", "mappedFileSizeConsumeQueue=60000", "maxHashSlotNum=50000", "maxIndexNum=200000",
			"transactionTimeOut=1500", "transactionCheckInterval=1000"),
	}
	m.addr = net.JoinHostPort("127.0.0.1", m.port)
	m.connect(t)
	return m
}

func (m *crashModel) connect(t *testing.T) {
	t.Helper()
	for range crashClients {
		c := remoting.NewClient(remoting.ClientOptions{Handle: m.handle})
		t.Cleanup(c.Close)
		m.clients = append(m.clients, c)
	}
}

func (m *crashModel) start(t *testing.T) *peer.Cluster {
	t.Helper()
	return peer.StartRocketdAt(t, m.dir, m.namesrv, m.port, m.settings...)
}

// round runs load for a random time and ends the broker under it.
func (m *crashModel) round(t *testing.T, round int) {
	t.Helper()
	if round%5 == 4 {
		m.killStart(t)
	}
	begun := time.Now()
	c := m.start(t)
	m.slowest = max(m.slowest, time.Since(begun))
	m.checkOffsets(t)
	if round == 0 {
		m.makeInnerTopic(t)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var load sync.WaitGroup
	var count atomic.Int64
	for worker := range crashClients {
		load.Go(func() {
			w := crashWorker{m: m, client: m.clients[worker], random: rand.New(rand.NewPCG(uint64(round), uint64(worker)))}
			w.heartbeat(ctx)
			for n := 0; ctx.Err() == nil; n++ {
				w.one(ctx, fmt.Sprintf("r%d.w%d.n%d", round, worker, n))
				count.Add(1)
			}
		})
	}
	load.Go(func() { m.consume(ctx) })
	await(t, 30*time.Second, "load", func() bool { return count.Load() > 200 })
	time.Sleep(time.Duration(rand.IntN(900)) * time.Millisecond)
	if round%7 == 6 {
		m.terms++
		c.Stop(t)
		if code := c.ExitCode(); code != 0 {
			t.Errorf("round %d: exit code %d after SIGTERM:\n%s", round, code, c.Log())
		}
	} else {
		m.kills++
		c.Kill(t)
	}
	m.ended()
	cancel()
	load.Wait()
}

// killStart kills the broker while it starts.
func (m *crashModel) killStart(t *testing.T) {
	t.Helper()
	args := []string{"--data", m.dir, "--host", "127.0.0.1", "--namesrv-port", m.namesrv, "--broker-port", m.port, "--http-port", "-1", "--set", "brokerName=broker-a"}
	cmd := exec.Command(peer.Rocketd(t), append(args, peer.Sets(m.settings)...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Duration(rand.IntN(80)) * time.Millisecond)
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	m.startKills++
	m.ended()
}

// ended notes that the broker ended just now.
func (m *crashModel) ended() {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.killed = append(m.killed, now.UnixMilli())
	for q := range m.offsets {
		h := &m.offsets[q]
		// What was committed in time must be there, what came later may be.
		for len(h.acked) > 1 && now.Sub(h.acked[1].at) > m.offsetSlack {
			h.acked = h.acked[1:]
		}
	}
}

// checkOffsets compares the consumer offsets with what was committed before the broker ended.
func (m *crashModel) checkOffsets(t *testing.T) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for q := range m.offsets {
		h := &m.offsets[q]
		if h.tried == 0 {
			continue
		}
		least := int64(0)
		if len(h.acked) > 0 && time.UnixMilli(m.killed[len(m.killed)-1]).Sub(h.acked[0].at) > m.offsetSlack {
			least = h.acked[0].offset
		}
		resp, err := m.clients[0].Invoke(t.Context(), m.addr, remoting.NewRequest(remoting.QueryConsumerOffset, &remoting.QueryConsumerOffsetRequestHeader{
			ConsumerGroup: "G", Topic: "crash", QueueID: int32(q),
		}))
		if err != nil {
			t.Fatal(err)
		}
		if resp.Code == remoting.QueryNotFound && least == 0 {
			continue
		}
		var got remoting.QueryConsumerOffsetResponseHeader
		if resp.Code != remoting.Success || resp.Decode(&got) != nil {
			t.Errorf("offset of queue %d: code %d %s", q, resp.Code, resp.Remark)
			continue
		}
		if got.Offset < least || got.Offset > h.tried {
			t.Errorf("offset of queue %d is %d after a kill: %d was acknowledged more than %v before, %d was the last one tried", q, got.Offset, least, m.offsetSlack, h.tried)
		}
		// From now on that is what the broker has.
		h.acked = []ackedPoint{{time.Now(), got.Offset}}
	}
}

// verify starts the broker a last time and reads every queue: everything acknowledged is there, nothing early, torn or invented.
func (m *crashModel) verify(t *testing.T, rounds int) {
	t.Helper()
	m.storeCheck(t)
	c := m.start(t)
	m.checkOffsets(t)
	for i := range m.clients {
		w := crashWorker{m: m, client: m.clients[i]}
		w.heartbeat(t.Context())
	}
	r := &crashReader{m: m, t: t, copies: map[string][]int64{}}
	begun := time.Now()
	for r.read(); len(r.missing(never)) > 0 && time.Since(begun) < time.Minute; r.read() {
		time.Sleep(200 * time.Millisecond)
	}
	t.Logf("all is delivered %v after the last start", time.Since(begun).Round(time.Millisecond))
	r.checkKeys()
	t.Logf("keys are found after %v", time.Since(begun).Round(time.Millisecond))
	r.report(rounds)
	c.Stop(t)
	if code := c.ExitCode(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, c.Log())
	}
	m.storeCheck(t)
}

// storeCheck runs `rocketd store check` on the directory.
func (m *crashModel) storeCheck(t *testing.T) {
	t.Helper()
	out, err := exec.Command(peer.Rocketd(t), append([]string{"store", "check", "--json", m.dir}, peer.Sets(m.settings)...)...).Output()
	var report store.CheckReport
	if e := json.Unmarshal(out, &report); e != nil {
		t.Fatalf("store check: %v, %v\n%.1000s", err, e, out)
	}
	if err != nil || report.Damaged() || report.Sealed > 0 {
		t.Errorf("store check: %v, %d sealed", err, report.Sealed)
		for _, p := range report.Problems {
			if p.Severity == store.Damage {
				t.Error(p)
			}
		}
	}
	t.Logf("store check: %d records, %d entries, %d keys, %d damages, %d warnings", report.Records, report.Entries, report.Keys, report.Damages, report.Warnings)
}
