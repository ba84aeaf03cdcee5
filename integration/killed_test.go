package integration

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"

	"github.com/rocketd/rocketd/integration/peer"
)

const (
	killedKeys = 4
	killedEach = 300 // numbers of a key
	// takeOverWithin is the longest time after which the survivor reads the queues of a killed member of rocketd: 5 s are promised for the lock,
	// a client may ask again only after 20 s, the rest is the machine's. Apache's locks stand for 60 s.
	takeOverWithin = 50 * time.Second
)

// TestKilledOrderlyConsumer kills one of two processes that consume a topic in order: the other one goes on where it had got to, no message
// is lost and each key keeps its order.
func TestKilledOrderlyConsumer(t *testing.T) { //nolint:tparallel // its parts share the two processes
	t.Parallel() // it waits more than it works
	peer.NeedJava(t)
	rlog.SetLogLevel("fatal")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	brokers, versions := []string{"apache", "rocketd"}, peer.ClientVersions
	if os.Getenv(tableVariable) == "" { // Apache takes over a minute
		brokers, versions = []string{"rocketd"}, versions[len(versions)-1:]
	}
	var mu sync.Mutex
	seen := map[string]map[string]peer.Scenario{} // by client, then by broker
	note := func(client, broker string, k *killed) {
		mu.Lock()
		defer mu.Unlock()
		if seen[client] == nil {
			seen[client] = map[string]peer.Scenario{}
		}
		seen[client][broker] = k.result(t, client+" at "+broker, broker == "rocketd")
	}
	var wait sync.WaitGroup
	for _, broker := range brokers {
		c := peer.Start(t, broker, t.TempDir())
		for _, version := range versions {
			wait.Go(func() {
				k := newKilled()
				run := peer.ScenarioRun{Version: version, Namesrv: c.Namesrv, Prefix: "k" + strings.ReplaceAll(version, ".", "")}
				k.run(func() {
					run.Only, run.Watch = []string{"killed_orderly"}, peer.Watch{See: k.seeSurvivor}
					k.survivor = peer.RunScenarios(t, run)["killed_orderly"]
				}, func() {
					run := run
					run.Only, run.Watch = []string{"killed_orderly_victim"}, peer.Watch{See: k.seeVictim, Kill: k.kill}
					peer.RunScenarios(t, run)
				})
				note("Java "+version, broker, k)
			})
		}
		wait.Go(func() {
			k := newKilled()
			name := "go_killed_" + broker // the client shares what has one name in one process
			k.run(func() { k.survivor = goSurvivor(t, &goEnv{namesrv: c.Namesrv, name: name}, k.seeSurvivor) }, func() {
				cmd := exec.Command(self, "-test.run=^TestGoVictim$")
				cmd.Env = append(os.Environ(), goVictimVariable+"="+c.Namesrv+" "+name)
				peer.RunProgram(t, cmd, "Go victim", 5*time.Minute, peer.Watch{See: k.seeVictim, Kill: k.kill})
			})
			note("Go 2.1.3", broker, k)
		})
	}
	wait.Wait()
	for client, by := range seen {
		addRow(client, by["apache"], by["rocketd"])
		t.Run(client, func(t *testing.T) {
			if len(brokers) == 1 {
				by["apache"] = peer.Scenario{Name: "killed_orderly", OK: true}
			}
			compare(t, by["apache"], map[string]peer.Scenario{"killed_orderly": by["rocketd"]})
		})
	}
	writeTable(t)
}

// killed is the story of two consumers of which one is killed.
type killed struct {
	survivor peer.Scenario
	started  chan struct{} // closed when the survivor has got something: the victim joins then
	kill     chan struct{} // closed when the victim is to be killed
	once     [2]sync.Once  // of started and kill

	mu       sync.Mutex
	sights   []sight // guarded by mu
	ofVictim int     // how many of them are the victim's; guarded by mu
	killedMs int64   // guarded by mu
}

// sight is a message that one of the two got.
type sight struct {
	atMs   int64
	victim bool
	key, n int
}

func newKilled() *killed { return &killed{started: make(chan struct{}), kill: make(chan struct{})} }

func (k *killed) run(survivor, victim func()) {
	var wait sync.WaitGroup
	wait.Go(func() {
		defer func() { // it may have got nothing, or the victim too little
			k.once[0].Do(func() { close(k.started) })
			k.once[1].Do(func() { close(k.kill) })
		}()
		survivor()
	})
	wait.Go(func() { <-k.started; victim() })
	wait.Wait()
}

func (k *killed) seeSurvivor(line string) {
	if k.see(line, false) {
		k.once[0].Do(func() { close(k.started) })
	}
}

// seeVictim has the victim killed in the middle of its work.
func (k *killed) seeVictim(line string) {
	if !k.see(line, true) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ofVictim++; k.ofVictim == 60 {
		k.once[1].Do(func() {
			k.killedMs = time.Now().UnixMilli()
			close(k.kill)
		})
	}
}

func (k *killed) see(line string, victim bool) bool {
	parts := strings.Split(line, "\t")
	if len(parts) != 3 || parts[0] != "SEEN" {
		return false
	}
	key, n, _ := strings.Cut(parts[2], ":")
	s := sight{victim: victim}
	var errs [3]error
	s.atMs, errs[0] = strconv.ParseInt(parts[1], 10, 64)
	s.key, errs[1] = strconv.Atoi(key)
	s.n, errs[2] = strconv.Atoi(n)
	if errs != [3]error{} {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sights = append(k.sights, s)
	return true
}

// result judges what the two saw together.
func (k *killed) result(t *testing.T, what string, exact bool) peer.Scenario {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.survivor
	s.Name = "killed_orderly"
	if s.Facts == nil {
		s.Facts = map[string]string{}
	}
	must := func(holds bool, format string, args ...any) {
		if !holds {
			s.OK = false
			s.Reason += fmt.Sprintf(format, args...) + "; "
		}
	}
	must(k.killedMs > 0, "the victim got %d messages and was never killed", k.ofVictim)
	slices.SortStableFunc(k.sights, func(a, b sight) int { return int(a.atMs - b.atMs) })
	var slowest time.Duration
	for key := range killedKeys {
		next, owned, back := 0, false, int64(0) // owned: by the victim when it was killed
		for _, at := range k.sights {
			if at.key != key {
				continue
			}
			must(at.n <= next, "key %d: %d came before %d", key, at.n, next)
			next = max(next, at.n+1)
			switch {
			case at.atMs <= k.killedMs || at.victim:
				owned = at.victim
			case back == 0:
				back = at.atMs
			}
		}
		must(next == killedEach, "key %d: got up to %d", key, next)
		if owned {
			slowest = max(slowest, time.Duration(back-k.killedMs)*time.Millisecond)
		}
	}
	t.Logf("%s: the survivor reads the queues of the victim %v after its end", what, slowest)
	must(!exact || slowest < takeOverWithin, "the survivor takes over after %v", slowest)
	if !s.OK {
		t.Logf("%s: %s", what, s.Reason)
	}
	return s
}

// goVictimVariable has the name server and the name of the consumer that this test program becomes.
const goVictimVariable = "GO_VICTIM"

// TestGoVictim is no test: it is the process that TestKilledOrderlyConsumer kills.
func TestGoVictim(t *testing.T) {
	namesrv, name, ok := strings.Cut(os.Getenv(goVictimVariable), " ")
	if !ok {
		t.Skip("started by TestKilledOrderlyConsumer")
	}
	rlog.SetLogLevel("fatal")
	e := &goEnv{namesrv: namesrv, name: name}
	e.consumeOrderly(t, func(line string) { fmt.Println(line) })
	<-time.After(5 * time.Minute)
}

// consumeOrderly consumes in order and tells of each message.
func (e *goEnv) consumeOrderly(t *testing.T, tell func(line string)) *inbox {
	t.Helper()
	var i inbox
	i.told = func(m *primitive.MessageExt) { tell(fmt.Sprintf("SEEN\t%d\t%s", time.Now().UnixMilli(), m.Body)) }
	e.consume(t, &i, everything, consumer.WithConsumerOrder(true))
	return &i
}

// goSurvivor is killed_orderly with the Go client.
func goSurvivor(t *testing.T, e *goEnv, tell func(line string)) peer.Scenario {
	s := peer.Scenario{OK: true}
	p := e.producer(t, producer.WithQueueSelector(producer.NewHashQueueSelector()))
	send := func(n int) {
		for key := range killedKeys {
			m := primitive.NewMessage(e.topic(), fmt.Appendf(nil, "%d:%d", key, n)).WithShardingKey(strconv.Itoa(key))
			if _, err := p.SendSync(context.Background(), m); err != nil {
				s.OK, s.Reason = false, err.Error()
			}
		}
	}
	send(0)
	i := e.consumeOrderly(t, tell)
	for n := 1; n < killedEach; n++ {
		send(n)
		time.Sleep(50 * time.Millisecond)
	}
	last := func() (got int) {
		bodies := i.bodies()
		for key := range killedKeys {
			got += bodies[fmt.Sprintf("%d:%d", key, killedEach-1)]
		}
		return got
	}
	for deadline := time.Now().Add(150 * time.Second); last() < killedKeys && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
	}
	return s
}
