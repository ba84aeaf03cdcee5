package schedule

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"go.uber.org/goleak"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/modeltest"
	"github.com/rocketd/rocketd/internal/relay"
	"github.com/rocketd/rocketd/internal/relay/relaytest"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/store"
)

func TestMain(m *testing.M) {
	modeltest.Fix()
	goleak.VerifyTestMain(m)
}

// begin is where the clock of the tests starts, ms.
const begin = 1_700_000_000_000

// bench is a Schedule over a log in memory whose rounds the test runs itself.
type bench struct {
	t      testing.TB
	clock  *clock.Manual
	log    *relaytest.Log
	dir    string
	fs     *vfs.Mem
	levels *Levels
	s      *Schedule
}

func newBench(tb testing.TB, levels string) *bench {
	tb.Helper()
	b := &bench{t: tb, clock: clock.NewManual(time.UnixMilli(begin)), dir: "store", fs: vfs.NewMem()}
	var err error
	if b.levels, err = ParseLevels(levels); err != nil {
		tb.Fatal(err)
	}
	b.log = relaytest.New(b.clock)
	b.log.DeliverTime = b.levels.DeliverTime
	b.open()
	return b
}

func (b *bench) open() {
	b.t.Helper()
	b.log.Detach()
	s, err := New(Options{Store: b.log, FS: b.fs, Dir: b.dir, Clock: b.clock, Log: quiet(), Levels: b.levels})
	if err != nil {
		b.t.Fatal(err)
	}
	b.s = s
}

func quiet() *logrus.Entry {
	l := logrus.New()
	l.SetOutput(io.Discard)
	return logrus.NewEntry(l)
}

// send delays a message to queue 0 of a topic.
func (b *bench) send(topic string, level int, body string) {
	b.t.Helper()
	m := message.Message{Topic: topic, Body: []byte(body), Properties: message.Properties("DELAY\x01" + strconv.Itoa(level) + "\x02")}
	if done, err := b.s.Transform(&m); !done || err != nil {
		b.t.Fatalf("transform: %v, %v", done, err)
	}
	if err := b.log.Send(m); err != nil {
		b.t.Fatal(err)
	}
}

// settle runs rounds until there is nothing to do now.
func (b *bench) settle() {
	b.t.Helper()
	for range 100_000 {
		if _, busy := b.s.round(); !busy {
			return
		}
	}
	b.t.Fatal("rounds do not end")
}

// pass lets time pass in steps of ms and settles after each.
func (b *bench) pass(d, step time.Duration) {
	b.t.Helper()
	for ; d > 0; d -= step {
		b.clock.Advance(min(d, step))
		b.settle()
	}
}

func (b *bench) bodies(topic string) []string {
	var out []string
	for _, m := range b.log.Messages(topic, 0) {
		out = append(out, string(m.Body))
	}
	return out
}

func (b *bench) want(topic string, bodies ...string) {
	b.t.Helper()
	if got := b.bodies(topic); fmt.Sprint(got) != fmt.Sprint(bodies) {
		b.t.Errorf("topic %s has %.20v, want %.20v", topic, got, bodies)
	}
}

func TestAMessageComesWhenItIsDueAndNotAMillisecondBefore(t *testing.T) {
	b := newBench(t, DefaultLevels)
	b.send("T", 1, "a")
	b.send("T", 2, "b")
	b.settle()
	next, _ := b.s.round()
	if next != begin+1000 {
		t.Errorf("sleeps until %d, want %d", next, begin+1000)
	}
	b.pass(999*time.Millisecond, time.Second)
	b.want("T")
	b.pass(time.Millisecond, time.Millisecond)
	b.want("T", "a")
	b.pass(3999*time.Millisecond, time.Second)
	b.want("T", "a")
	b.pass(time.Millisecond, time.Millisecond)
	b.want("T", "a", "b")
	if b.s.lateness.Max() != 0 {
		t.Errorf("lateness %d ms, want 0", b.s.lateness.Max())
	}
}

func TestADeliveredMessageKeepsItsProperties(t *testing.T) {
	b := newBench(t, DefaultLevels)
	m := message.Message{
		Topic: "T", QueueID: 3, Body: []byte("x"), Flag: 7, BornTimestamp: 5, ReconsumeTimes: 1, WaitStored: true,
		SysFlag: message.TransactionCommit | message.SysCompressed, PreparedTransactionOffset: 77,
		Properties: message.Properties("TAGS\x01A\x02DELAY\x0119\x02WAIT\x01true\x02"),
	}
	if done, err := b.s.Transform(&m); !done || err != nil {
		t.Fatal(done, err)
	}
	if err := b.log.Send(m); err != nil {
		t.Fatal(err)
	}
	b.pass(2*time.Hour, time.Hour)
	got := b.log.Messages("T", 3)
	if len(got) != 1 {
		t.Fatalf("%d messages, want 1", len(got))
	}
	r := got[0]
	// messages.md §4: the stored string still has DELAY, REAL_TOPIC, REAL_QID.
	want := "TAGS\x01A\x02WAIT\x01true\x02DELAY\x0118\x02REAL_TOPIC\x01T\x02REAL_QID\x013\x02"
	if string(r.Properties) != want || r.Flag != 7 || r.BornTimestamp != 5 || r.ReconsumeTimes != 1 || r.PreparedTransactionOffset != 0 ||
		r.SysFlag != message.TransactionCommit|message.SysCompressed || string(r.Body) != "x" {
		t.Errorf("got %+v with %q, want %q", r.Message, r.Properties, want)
	}
}

func TestABacklogKeepsItsOrderAndStarvesNoOtherLevel(t *testing.T) {
	b := newBench(t, "1s 1s")
	const n = 20 * batchSize
	for i := range n {
		b.send("T", 1, strconv.Itoa(i))
	}
	b.send("U", 2, "u")
	b.clock.Advance(time.Second)
	b.s.round()
	if len(b.bodies("U")) != 1 {
		t.Error("level 2 waits for the backlog of level 1")
	}
	if got := len(b.bodies("T")); got != batchSize {
		t.Errorf("one round delivered %d of the backlog, want %d", got, batchSize)
	}
	b.settle()
	for i, body := range b.bodies("T") {
		if body != strconv.Itoa(i) {
			t.Fatalf("message %d is %s", i, body)
		}
	}
	if got := len(b.bodies("T")); got != n {
		t.Errorf("%d messages, want %d", got, n)
	}
}

func TestACleanRestartDeliversExactlyOnce(t *testing.T) {
	b := newBench(t, "1s 10s")
	for i := range 300 {
		b.send("T", 1+i%2, strconv.Itoa(i))
	}
	b.pass(time.Second, time.Second)
	if err := b.s.Close(); err != nil {
		t.Fatal(err)
	}
	b.open()
	b.settle()
	if got := len(b.bodies("T")); got != 150 {
		t.Errorf("after the restart: %d messages, want 150", got)
	}
	b.clock.Advance(time.Hour) // while it is down
	if err := b.s.Close(); err != nil {
		t.Fatal(err)
	}
	b.open()
	b.settle()
	seen := map[string]int{}
	for _, body := range b.bodies("T") {
		seen[body]++
	}
	if len(seen) != 300 || len(b.bodies("T")) != 300 {
		t.Errorf("%d messages, %d different ones, want 300", len(b.bodies("T")), len(seen))
	}
}

func TestAfterAKillOnlyTheLastOnesComeAgain(t *testing.T) {
	b := newBench(t, "1s")
	for i := range 1000 {
		b.send("T", 1, strconv.Itoa(i))
		b.clock.Advance(time.Millisecond)
	}
	delivered := map[string]int64{}
	for range 500 {
		b.clock.Advance(time.Millisecond)
		b.settle()
		for _, body := range b.bodies("T") {
			if _, ok := delivered[body]; !ok {
				delivered[body] = b.clock.NowMs()
			}
		}
	}
	killed := b.clock.NowMs()
	b.open() // without Close
	b.pass(2*time.Second, 10*time.Millisecond)
	times := map[string]int{}
	for _, body := range b.bodies("T") {
		times[body]++
	}
	again := 0
	for i := range 1000 {
		body := strconv.Itoa(i)
		switch times[body] {
		case 1:
		case 2:
			again++
			if at := delivered[body]; killed-at > 100 {
				t.Errorf("%s came %d ms before the kill and again after it", body, killed-at)
			}
		default:
			t.Errorf("%s came %d times", body, times[body])
		}
	}
	if again > 100 {
		t.Errorf("%d messages came twice", again)
	}
}

func TestAFailedPutIsTriedAgainInOrder(t *testing.T) {
	b := newBench(t, "1s")
	for i := range 10 {
		b.send("T", 1, strconv.Itoa(i))
	}
	full := errors.New("disk is full")
	b.log.FailPut = func(m *message.Message) error {
		if string(m.Body) == "4" {
			return full
		}
		return nil
	}
	b.pass(time.Second, time.Second)
	b.want("T", "0", "1", "2", "3")
	b.pass(time.Second, 50*time.Millisecond)
	b.want("T", "0", "1", "2", "3")
	b.log.FailPut = nil
	b.pass(100*time.Millisecond, 50*time.Millisecond)
	b.want("T", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9")
}

func TestARefusedOrMissingMessageIsSkipped(t *testing.T) {
	b := newBench(t, "1s")
	for i := range 5 {
		b.send("T", 1, strconv.Itoa(i))
	}
	bad := message.Message{Topic: message.TopicSchedule, Body: []byte("no target"), Properties: message.Properties("DELAY\x011\x02")}
	if err := b.log.Send(bad); err != nil {
		t.Fatal(err)
	}
	b.send("T", 1, "5")
	b.log.FailPut = func(m *message.Message) error {
		if string(m.Body) == "2" {
			return fmt.Errorf("%w: too long", relay.ErrRefused)
		}
		return nil
	}
	b.log.FailRecord = func(offset int64) error {
		if offset == 0 {
			return errNotThere
		}
		return nil
	}
	b.pass(time.Second, time.Second)
	b.want("T", "1", "3", "4", "5")
	if got := b.s.Stats().Skipped; got != 3 {
		t.Errorf("%d skipped, want 3", got)
	}
}

func TestARecordThatCannotBeReadForAWhileIsNotLost(t *testing.T) {
	b := newBench(t, "1s")
	b.send("T", 1, "a")
	b.log.FailRecord = func(int64) error { return errors.New("input/output error") }
	b.pass(3*time.Second, 50*time.Millisecond)
	b.want("T")
	b.log.FailRecord = nil
	b.pass(200*time.Millisecond, 50*time.Millisecond)
	b.want("T", "a")
}

func TestRetentionSkipsWhatIsGone(t *testing.T) {
	b := newBench(t, "10s")
	b.send("T", 1, "old")
	b.clock.Advance(time.Second)
	b.send("T", 1, "new")
	keep := b.s.KeepFrom()
	b.settle()
	if b.s.KeepFrom() != 0 {
		t.Errorf("keeps from %d, want 0 (was %d)", b.s.KeepFrom(), keep)
	}
	b.log.DropOlder(begin + 1000)
	b.pass(11*time.Second, time.Second)
	b.want("T", "new")
}

func TestAStepBackOfTheClockNeitherFiresEarlyNorStalls(t *testing.T) {
	b := newBench(t, "10s")
	b.send("T", 1, "before")
	b.settle()
	b.clock.Step(-time.Hour)
	b.settle()
	b.send("T", 1, "after")
	b.pass(9999*time.Millisecond, 333*time.Millisecond)
	b.want("T") // ten seconds have not passed by the broker's clock since either was sent
	b.pass(time.Second, time.Millisecond)
	b.want("T", "before", "after")
}

func TestASmallStepBackJustMakesItWait(t *testing.T) {
	b := newBench(t, "10s")
	b.send("T", 1, "a")
	b.pass(9*time.Second, time.Second)
	b.clock.Step(-900 * time.Millisecond)
	b.pass(1899*time.Millisecond, 100*time.Millisecond)
	b.want("T")
	b.pass(time.Millisecond, time.Millisecond)
	b.want("T", "a")
}

func TestAStepForwardDeliversWhatBecameDue(t *testing.T) {
	b := newBench(t, "10s 20s")
	b.send("T", 1, "a")
	b.send("T", 2, "b")
	b.settle()
	b.clock.Step(15 * time.Second)
	b.settle()
	b.want("T", "a")
	b.pass(5*time.Second, time.Second)
	b.want("T", "a", "b")
}

func TestLevelsChangeAtOnce(t *testing.T) {
	b := newBench(t, "1h 10s")
	b.send("T", 1, "waits")
	b.send("U", 2, "level that goes")
	b.settle()
	if err := b.s.SetLevels("5s 7q"); !errors.Is(err, ErrLevels) {
		t.Errorf("got %v, want refused", err)
	}
	if err := b.s.SetLevels("5s"); err != nil {
		t.Fatal(err)
	}
	b.settle()
	b.send("T", 1, "new")
	b.send("T", 2, "clamped")
	b.pass(5*time.Second, time.Second)
	b.want("T", "waits", "new", "clamped")
	b.want("U")
	b.pass(5*time.Second, time.Second)
	b.want("U", "level that goes")
	if err := b.s.SetLevels("5s 1s 2s"); err != nil {
		t.Fatal(err)
	}
	b.send("V", 3, "level that came")
	b.pass(2*time.Second, time.Second)
	b.want("V", "level that came")
}

func TestLevelsThatAreGoneAtTheNextStartAreStillDelivered(t *testing.T) {
	b := newBench(t, "1s 10s")
	b.send("T", 2, "a")
	if err := b.s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.levels.Set("1s"); err != nil {
		t.Fatal(err)
	}
	b.open()
	b.pass(10*time.Second, time.Second)
	b.want("T", "a")
}

func TestWithSyncFlushAnOffsetIsWrittenOnlyWhenTheDiskHasTheMessage(t *testing.T) {
	b := newBench(t, "1s")
	b.log.Lag = true
	b.send("T", 1, "a")
	_ = b.log.Flush()
	b.pass(2*time.Second, 100*time.Millisecond)
	b.want("T", "a")
	if table, err := loadOffsets(b.fs, b.s.path); err != nil || table.Offsets["1"] != 0 {
		t.Errorf("offsets %v, %v were written before the flush", table.Offsets, err)
	}
	_ = b.log.Flush()
	b.pass(200*time.Millisecond, 50*time.Millisecond)
	if table, err := loadOffsets(b.fs, b.s.path); err != nil || table.Offsets["1"] != 1 {
		t.Errorf("offsets %v, %v after the flush, want 1", table.Offsets, err)
	}
}

func TestOffsetsOfApache(t *testing.T) {
	b := newBench(t, "1s 5s")
	for i := range 4 {
		b.send("T", 2, strconv.Itoa(i))
	}
	// As the 5.5.0 broker writes it.
	text := "{\n\t\"dataVersion\":{\n\t\t\"counter\":8,\n\t\t\"stateVersion\":0,\n\t\t\"timestamp\":1700000000000\n\t},\n\t\"offsetTable\":{2:3\n\t}\n}"
	if err := relay.ReplaceFile(b.fs, b.s.path, []byte(text), relay.Quick); err != nil {
		t.Fatal(err)
	}
	b.open()
	b.pass(5*time.Second, time.Second)
	b.want("T", "3")
	if err := b.s.Close(); err != nil {
		t.Fatal(err)
	}
	table, err := loadOffsets(b.fs, b.s.path)
	if err != nil || table.Offsets["2"] != 4 || table.DataVersion.Counter <= 8 {
		t.Errorf("wrote %+v, %v", table, err)
	}
}

func TestDamagedOffsetsAreReadFromTheCopy(t *testing.T) {
	good := `{"dataVersion":{"counter":1,"stateVersion":0,"timestamp":1},"offsetTable":{"1":2}}`
	for name, damaged := range map[string]string{
		"empty": "", "zeros": "\x00\x00\x00\x00", "half": good[:len(good)/2], "bad level": `{"offsetTable":{"x":1}}`, "negative": `{"offsetTable":{"1":-1}}`,
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "delayOffset.json")
		if err := os.WriteFile(path, []byte(damaged), 0o644); err != nil {
			t.Fatal(err)
		}
		if table, problem := loadOffsets(vfs.OS{}, path); problem == nil || len(table.Offsets) != 0 {
			t.Errorf("%s without a copy: got %v, %v", name, table, problem)
		}
		if err := os.WriteFile(path+".bak", []byte(good), 0o644); err != nil {
			t.Fatal(err)
		}
		if table, problem := loadOffsets(vfs.OS{}, path); problem == nil || table.Offsets["1"] != 2 {
			t.Errorf("%s with a copy: got %v, %v", name, table, problem)
		}
	}
}

func TestViews(t *testing.T) {
	b := newBench(t, "1s 5s")
	b.send("T", 1, "a")
	b.send("T", 2, "b")
	b.send("T", 2, "c")
	b.pass(time.Second, time.Second)
	if got := fmt.Sprint(b.s.Offsets()); got != "[{1 1 1} {2 0 2}]" {
		t.Errorf("offsets %s", got)
	}
	p := b.s.Pending()
	if p[0].Count != 0 || p[0].NextDue != 0 || p[1].Count != 2 || p[1].NextDue != begin+5000 || p[1].Delay != 5*time.Second {
		t.Errorf("pending %+v", p)
	}
	if got, err := parseOffsets(b.s.OffsetsJSON()); err != nil || got.Offsets["1"] != 1 {
		t.Errorf("offsets as JSON: %+v, %v", got, err)
	}
}

var errNotThere = fmt.Errorf("%w: gone", store.ErrNotFound)

func FuzzParseOffsets(f *testing.F) {
	f.Add("{\"dataVersion\":{\"counter\":2},\"offsetTable\":{3:1}}")
	f.Fuzz(func(t *testing.T, s string) {
		table, err := parseOffsets([]byte(s))
		if err != nil {
			return
		}
		again, err := parseOffsets(table.encode())
		if err != nil || len(again.Offsets) != len(table.Offsets) {
			t.Errorf("%q: %v, %v", s, again, err)
		}
	})
}

func TestLargeMessagesArePutInSmallBatches(t *testing.T) {
	b := newBench(t, "1s")
	for range 20 {
		b.send("T", 1, strings.Repeat("x", 300_000))
	}
	b.clock.Advance(2 * time.Second)
	b.s.round()
	if n := len(b.bodies("T")); n < 1 || n > 5 {
		t.Errorf("one round put %d messages of 300 kB", n)
	}
	b.settle()
	if n := len(b.bodies("T")); n != 20 {
		t.Errorf("%d came, want 20", n)
	}
}
