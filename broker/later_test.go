package broker

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/remoting"
)

// TestADelayThatIsNoNumber: scenario R-03: an error with the same opaque, nothing stored, the connection stays.
func TestADelayThatIsNoNumber(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	c := b.dial()
	if a := c.call(remoting.SendMessage, sendFields("T", 0, "DELAY\x014x\x02"), []byte("x")); a.code == remoting.Success || !strings.Contains(a.remark, "4x") {
		t.Errorf("code %d, remark %q", a.code, a.remark)
	}
	c.want(remoting.Success, remoting.SendMessage, sendFields("T", 0, ""), []byte("y"))
	if b.count("T", 0) != 1 {
		t.Errorf("%d messages, want 1", b.count("T", 0))
	}
}

// TestDelayLevelsChangeAtRunTime: scenario R-04: a new set acts at once, comes back whole, also after a restart, and a set that cannot be
// parsed is refused.
func TestDelayLevelsChangeAtRunTime(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	c := b.dial()
	c.want(remoting.Success, remoting.UpdateBrokerConfig, nil, []byte("messageDelayLevel=1s 3s 7s"))
	told := func() string {
		for line := range strings.Lines(string(c.want(remoting.Success, remoting.GetBrokerConfig, nil, nil).body)) {
			if v, ok := strings.CutPrefix(strings.TrimSpace(line), "messageDelayLevel="); ok {
				return v
			}
		}
		return ""
	}
	if got := told(); got != "1s 3s 7s" {
		t.Errorf("messageDelayLevel is %q", got)
	}
	for _, bad := range []string{"1s 5q", "1s x", ""} {
		if a := c.call(remoting.UpdateBrokerConfig, nil, []byte("messageDelayLevel="+bad)); a.code == remoting.Success || !strings.Contains(a.remark, "messageDelayLevel") {
			t.Errorf("%q: code %d, remark %q", bad, a.code, a.remark)
		}
	}
	if got := told(); got != "1s 3s 7s" {
		t.Errorf("after what was refused messageDelayLevel is %q", got)
	}
	now := b.manual.NowMs()
	for i, want := range []struct {
		level string
		queue int32
		delay int64
	}{{"1", 0, 1000}, {"2", 1, 3000}, {"3", 2, 7000}, {"4", 2, 7000}} {
		c.want(remoting.Success, remoting.SendMessage, sendFields("T", 0, "DELAY\x01"+want.level+"\x02"), []byte("x"))
		at := int64(0)
		if i == 3 {
			at = 1
		}
		if e, ok := b.store.Queue("SCHEDULE_TOPIC_XXXX", want.queue).Entry(at); !ok || e.TagsCode != now+want.delay {
			t.Errorf("level %s is due %d ms after it was sent, want %d", want.level, e.TagsCode-now, want.delay)
		}
	}
	for _, step := range []struct {
		pass time.Duration
		come int64
	}{{999 * time.Millisecond, 0}, {time.Millisecond, 1}, {2 * time.Second, 2}, {3999 * time.Millisecond, 2}, {time.Millisecond, 4}} {
		b.manual.Advance(step.pass)
		if step.come > 0 {
			eventually(t, "what is due has come", func() bool { return b.count("T", 0) >= step.come })
		}
		if n := b.count("T", 0); n != step.come {
			t.Errorf("%d ms after the sends %d came, want %d", b.manual.NowMs()-now, n, step.come)
		}
	}
}

// TestDelayLevelsChangedAtRunTimeAreThereAfterARestart: scenario R-04.
func TestDelayLevelsChangedAtRunTimeAreThereAfterARestart(t *testing.T) {
	mem := vfs.NewMem()
	if err := mem.MkdirAll("/etc", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := vfs.WriteFileAtomic(mem, "/etc/broker.conf", []byte("brokerName=broker-a\n")); err != nil {
		t.Fatal(err)
	}
	b := newTestBroker(t, withConfig(func(c *conf.Config) { c.Broker.BrokerConfigPath = "/etc/broker.conf" }), func(o *Options) { o.FS = mem })
	b.dial().want(remoting.Success, remoting.UpdateBrokerConfig, nil, []byte("messageDelayLevel=1s 3s 7s"))
	saved, err := vfs.ReadFile(mem, "/etc/broker.conf", 1<<20)
	if err != nil || !strings.Contains(string(saved), "messageDelayLevel=1s 3s 7s\n") {
		t.Errorf("file %q, %v", saved, err)
	}
}

// TestTimerLimitsOverTheWire: scenario R-08.
func TestTimerLimitsOverTheWire(t *testing.T) {
	const day = 86_400_000
	b := newTestBroker(t)
	b.create("T", 1)
	c := b.dial()
	now := testNow.UnixMilli()
	send := func(properties string, code int32, remark string) {
		t.Helper()
		if a := c.call(remoting.SendMessage, sendFields("T", 0, properties), []byte("x")); a.code != code || !strings.Contains(a.remark, remark) {
			t.Errorf("%q: code %d, remark %q, want %d and %q", properties, a.code, a.remark, code, remark)
		}
	}
	send("TIMER_DELIVER_MS\x01"+itoa(now+3*day-5000)+"\x02", 0, "")
	send("TIMER_DELIVER_MS\x01"+itoa(now+3*day+60_000)+"\x02", remoting.MessageIllegal, "259200000ms")
	send("TIMER_DELIVER_MS\x01x\x02", remoting.MessageIllegal, "not a number")
	for _, key := range []string{"TIMER_DELAY_SEC", "TIMER_DELAY_MS"} {
		send(key+"\x019223372036854775807\x02", remoting.MessageIllegal, "259200000ms")
	}
	send("TIMER_DELIVER_MS\x01"+itoa(now-1000)+"\x02", 0, "")
	send("TIMER_DELIVER_MS\x01"+itoa(now-1)+"\x02TIMER_DEL_UNIQKEY\x01k\x02", remoting.MessageIllegal, "bigger than the current time")
	if n := b.count("T", 0); n != 1 {
		t.Errorf("%d messages were delivered at once, want 1", n)
	}
	c.want(remoting.Success, remoting.UpdateBrokerConfig, nil, []byte("timerMaxDelaySec=2592000"))
	send("TIMER_DELIVER_MS\x01"+itoa(now+5000)+"\x02", 0, "")
	send("TIMER_DELIVER_MS\x01"+itoa(now+29*day)+"\x02", 0, "")
	send("TIMER_DELIVER_MS\x01"+itoa(now+31*day)+"\x02", remoting.MessageIllegal, "2592000000ms")
}

// TestASlotThatIsFullOverTheWire: too many timers for one step of the wheel are refused, with the reason and the setting, until the limit is raised.
func TestASlotThatIsFullOverTheWire(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	c := b.dial()
	c.want(remoting.Success, remoting.UpdateBrokerConfig, nil, []byte("timerCongestNumEachSlot=2"))
	at := "TIMER_DELIVER_MS\x01" + itoa(testNow.UnixMilli()+60_500) + "\x02"
	for range 2 {
		c.want(remoting.Success, remoting.SendMessage, sendFields("T", 0, at), []byte("x"))
	}
	eventually(t, "both are in the wheel", func() bool { return b.pendingTimers(c)["T"] == 2 })
	a := c.call(remoting.SendMessage, sendFields("T", 0, at), []byte("x"))
	if a.code != remoting.SystemError && a.code != remoting.SystemBusy && a.code != remoting.MessageIllegal || !strings.Contains(a.remark, "timer message is under flow control") ||
		!strings.Contains(a.remark, "timerCongestNumEachSlot is 2") {
		t.Errorf("code %d, remark %q", a.code, a.remark)
	}
	c.want(remoting.Success, remoting.SendMessage, sendFields("T", 0, "TIMER_DELIVER_MS\x01"+itoa(testNow.UnixMilli()+62_500)+"\x02"), []byte("x"))
	c.want(remoting.Success, remoting.UpdateBrokerConfig, nil, []byte("timerCongestNumEachSlot=3"))
	c.want(remoting.Success, remoting.SendMessage, sendFields("T", 0, at), []byte("x"))
}

// TestACancelOfNobodyOverTheWire: scenario R-09: counts never go below zero, and cancels are delivered to nobody.
func TestACancelOfNobodyOverTheWire(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	c := b.dial()
	at := "TIMER_DELIVER_MS\x01" + itoa(testNow.UnixMilli()+5000) + "\x02"
	for i := range 3 {
		c.want(remoting.Success, remoting.SendMessage, sendFields("T", 0, at+"UNIQ_KEY\x01c"+itoa(int64(i))+"\x02TIMER_DEL_UNIQKEY\x01nobody\x02"), []byte("x"))
	}
	c.want(remoting.Success, remoting.SendMessage, sendFields("T", 0, at+"UNIQ_KEY\x01k\x02"), []byte("comes"))
	c.want(remoting.Success, remoting.SendMessage, sendFields("T", 0, "TIMER_DELIVER_MS\x01"+itoa(testNow.UnixMilli()+60_000)+"\x02UNIQ_KEY\x01later\x02"), []byte("y"))
	for range 60 {
		b.manual.Advance(100 * time.Millisecond)
		if n := b.pendingTimers(c)["T"]; n < 0 {
			t.Fatalf("%d timers are pending", n)
		}
	}
	eventually(t, "the timer has come", func() bool { return b.count("T", 0) == 1 })
	if r := b.stored("T", 0, 0); string(r.Body) != "comes" {
		t.Errorf("%q came", r.Body)
	}
	eventually(t, "one is pending", func() bool {
		b.manual.Advance(20 * time.Millisecond)
		return b.pendingTimers(c)["T"] == 1
	})
}

// pendingTimers are the counts of GET_TIMER_METRICS.
func (x *testBroker) pendingTimers(c *testClient) map[string]int64 {
	x.t.Helper()
	var m struct {
		TimingCount map[string]struct {
			Count int64 `json:"count"`
		} `json:"timingCount"`
	}
	if err := json.Unmarshal(c.want(remoting.Success, remoting.GetTimerMetrics, nil, nil).body, &m); err != nil {
		x.t.Fatal(err)
	}
	out := make(map[string]int64)
	for topic, v := range m.TimingCount {
		out[topic] = v.Count
	}
	return out
}
