package timer

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/internal/relay"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/store"
)

func TestATimerComesAtItsMillisecond(t *testing.T) {
	b := newBench(t)
	b.at("c", 2000*time.Millisecond)
	b.at("a", 1*time.Millisecond)
	b.at("d", 2001*time.Millisecond)
	b.at("b", 1999*time.Millisecond)
	b.settle()
	b.want()
	b.pass(time.Millisecond, time.Millisecond)
	b.want("a")
	b.pass(1997*time.Millisecond, time.Second)
	b.want("a")
	next, _ := b.tm.round()
	if next != begin+1999 {
		t.Errorf("sleeps until %+d, want +1999", next-begin)
	}
	b.pass(time.Millisecond, time.Millisecond)
	b.want("a", "b")
	b.pass(time.Millisecond, time.Millisecond)
	b.want("a", "b", "c")
	b.pass(time.Millisecond, time.Millisecond)
	b.want("a", "b", "c", "d")
	if late := b.tm.Stats().MaxLateness; late != 0 {
		t.Errorf("as late as %d ms", late)
	}
}

func TestRelativeDelays(t *testing.T) {
	b := newBench(t)
	if err := b.sendWith("sec", "TIMER_DELAY_SEC", "2", "TIMER_DELAY_MS", "1", "TIMER_DELIVER_MS", "1"); err != nil {
		t.Fatal(err)
	}
	if err := b.sendWith("ms", "TIMER_DELAY_MS", "1500", "TIMER_DELIVER_MS", "1"); err != nil {
		t.Fatal(err)
	}
	b.pass(1499*time.Millisecond, time.Second)
	b.want()
	b.pass(time.Millisecond, time.Millisecond)
	b.want("ms")
	b.pass(499*time.Millisecond, 100*time.Millisecond)
	b.want("ms")
	b.pass(time.Millisecond, time.Millisecond)
	b.want("ms", "sec")
}

func TestADeliveredTimerKeepsItsPropertiesAndTellsItsTimes(t *testing.T) {
	b := newBench(t)
	p := message.Properties("TAGS\x01A\x02UNIQ_KEY\x01K\x02TIMER_DELIVER_MS\x01" + strconv.Itoa(begin+5000))
	m := message.Message{
		Topic: "T", QueueID: 3, Body: []byte("x"), Flag: 7, BornTimestamp: 5, ReconsumeTimes: 1, WaitStored: true,
		SysFlag: message.TransactionCommit | message.SysCompressed, PreparedTransactionOffset: 77, Properties: p,
	}
	if out, err := b.tm.Transform(&m); out == 0 || err != nil {
		t.Fatal(out, err)
	}
	if m.Topic != "rmq_sys_wheel_timer" || m.QueueID != 0 {
		t.Errorf("went to %s/%d", m.Topic, m.QueueID)
	}
	if err := b.log.Send(m); err != nil {
		t.Fatal(err)
	}
	b.pass(5*time.Second, time.Second)
	got := b.log.Messages("T", 3)
	if len(got) != 1 {
		t.Fatalf("%d messages, want 1", len(got))
	}
	r := got[0]
	want := string(p) + "\x02TIMER_OUT_MS\x01" + strconv.Itoa(begin+4999) + "\x02REAL_TOPIC\x01T\x02REAL_QID\x013\x02" +
		"TIMER_ENQUEUE_MS\x01" + strconv.Itoa(begin) + "\x02TIMER_DEQUEUE_MS\x01" + strconv.Itoa(begin+5000) + "\x02"
	if string(r.Properties) != want || r.Flag != 7 || r.BornTimestamp != 5 || r.ReconsumeTimes != 1 || r.PreparedTransactionOffset != 0 ||
		r.SysFlag != message.TransactionCommit|message.SysCompressed || string(r.Body) != "x" {
		t.Errorf("got %+v\nwith %q\nwant %q", r.Message, r.Properties, want)
	}
	again := message.Message{Topic: "T", Body: r.Body, Properties: r.Properties}
	if out, err := b.tm.Transform(&again); out != 0 || err != nil {
		t.Errorf("a delivered timer is a timer again: %v, %v", out, err)
	}
}

func TestATimerThatCameTooLateIsMarkedAsNeverEnqueued(t *testing.T) {
	b := newBench(t)
	b.at("a", 10*time.Millisecond)
	b.clock.Advance(20 * time.Millisecond)
	b.settle()
	got := b.log.Messages("T", 0)
	if len(got) != 1 {
		t.Fatalf("%d messages, want 1", len(got))
	}
	// TimerMessageStore: enqueueTime Long.MAX_VALUE.
	if v, _ := got[0].Properties.Get("TIMER_ENQUEUE_MS"); v != "9223372036854775807" {
		t.Errorf("TIMER_ENQUEUE_MS is %q", v)
	}
}

func TestTransformLimits(t *testing.T) {
	const day = 24 * 60 * 60 * 1000
	const none, timer, illegal = "not a timer", "timer", "illegal"
	in := func(ms int64) string { return strconv.FormatInt(begin+ms, 10) }
	for _, c := range []struct {
		name       string
		maxDays    int32
		properties []string
		want       string
	}{
		{"nothing", 3, nil, none},
		{"within the limit", 3, []string{"TIMER_DELIVER_MS", in(3*day - 5000)}, timer},
		{"at the limit", 3, []string{"TIMER_DELIVER_MS", in(3 * day)}, timer},
		{"over the limit", 3, []string{"TIMER_DELIVER_MS", in(3*day + 60_000)}, illegal},
		{"past", 3, []string{"TIMER_DELIVER_MS", in(-1000)}, none},
		{"now", 3, []string{"TIMER_DELIVER_MS", in(0)}, none},
		{"negative", 3, []string{"TIMER_DELAY_SEC", "-5"}, none},
		{"no number", 3, []string{"TIMER_DELIVER_MS", "x"}, illegal},
		{"greatest seconds", 3, []string{"TIMER_DELAY_SEC", "9223372036854775807"}, illegal},
		{"greatest milliseconds", 3, []string{"TIMER_DELAY_MS", "9223372036854775807"}, illegal},
		{"greatest time", 3, []string{"TIMER_DELIVER_MS", "9223372036854775807"}, illegal},
		{"seconds that overflow as milliseconds", 3, []string{"TIMER_DELAY_SEC", "9223372036854775"}, illegal},
		{"more digits than a number has", 3, []string{"TIMER_DELAY_SEC", "99999999999999999999"}, illegal},
		{"and below zero", 3, []string{"TIMER_DELAY_SEC", "-99999999999999999999"}, none},
		{"least seconds", 3, []string{"TIMER_DELAY_SEC", "-9223372036854775808"}, none},
		{"cancel of the past", 3, []string{"TIMER_DELIVER_MS", in(-1), "TIMER_DEL_UNIQKEY", "K"}, illegal},
		{"cancel of the future", 3, []string{"TIMER_DELIVER_MS", in(5000), "TIMER_DEL_UNIQKEY", "K"}, timer},
		{"delay level wins", 3, []string{"DELAY", "1", "TIMER_DELIVER_MS", in(20_000)}, none},
		{"delay level 0 does not", 3, []string{"DELAY", "0", "TIMER_DELIVER_MS", in(20_000)}, timer},
		{"was a timer", 3, []string{"TIMER_OUT_MS", in(0), "TIMER_DELIVER_MS", in(20_000)}, none},
		{"30 days: soon", 30, []string{"TIMER_DELIVER_MS", in(5000)}, timer},
		{"30 days: 29 days", 30, []string{"TIMER_DELIVER_MS", in(29 * day)}, timer},
		{"30 days: 31 days", 30, []string{"TIMER_DELIVER_MS", in(31 * day)}, illegal},
	} {
		b := newBench(t, func(b *bench) { b.conf.TimerMaxDelaySec = c.maxDays * 86400 })
		p := message.Properties("a\x01b\x02")
		for i := 0; i < len(c.properties); i += 2 {
			p = p.Append(c.properties[i], c.properties[i+1])
		}
		m := message.Message{Topic: "T", QueueID: 4, Properties: p}
		out, err := b.tm.Transform(&m)
		switch c.want {
		case none:
			if out != 0 || err != nil || m.Topic != "T" || m.QueueID != 4 {
				t.Errorf("%s: got %v, %v", c.name, out, err)
			}
		case timer:
			if out == 0 || err != nil || m.Topic != "rmq_sys_wheel_timer" || m.QueueID != 0 {
				t.Errorf("%s: got %v, %v", c.name, out, err)
			}
		case illegal:
			limit := fmt.Sprintf("the max delay %dms;", int64(c.maxDays)*day)
			if out != 0 || !errors.Is(err, ErrIllegal) || !strings.Contains(err.Error(), limit) || string(m.Properties) != string(p) {
				t.Errorf("%s: got %v, %v, want illegal with %q", c.name, out, err, limit)
			}
		}
	}
}

func TestTheLevelTakesTheTimerPropertiesAway(t *testing.T) {
	b := newBench(t)
	m := message.Message{Topic: "T", Properties: message.Properties("TIMER_DELIVER_MS\x019\x02DELAY\x011\x02TIMER_DELAY_SEC\x013\x02TIMER_DELAY_MS\x014\x02")}
	if out, err := b.tm.Transform(&m); out != 0 || err != nil || string(m.Properties) != "DELAY\x011\x02" {
		t.Errorf("got %v, %v, %q", out, err, m.Properties)
	}
}

func TestTransformWhenDisabled(t *testing.T) {
	b := newBench(t, func(b *bench) { b.conf.TimerWheelEnable = false })
	if err := b.sendWith("a", "TIMER_DELAY_SEC", "1"); !errors.Is(err, ErrDisabled) ||
		err.Error() != "accurate timer message is not enabled, timerWheelEnable is false" {
		t.Errorf("got %v", err)
	}
	if err := b.sendWith("a"); err != nil {
		t.Errorf("an ordinary message: %v", err)
	}
}

func TestFlowControlCountsASlot(t *testing.T) {
	b := newBench(t, func(b *bench) { b.conf.TimerCongestNumEachSlot = 3 })
	for i := range 3 {
		b.at(strconv.Itoa(i), 5500*time.Millisecond+time.Duration(i)*time.Millisecond)
	}
	b.settle()
	err := b.sendWith("x", "TIMER_DELAY_MS", "5900")
	if !errors.Is(err, ErrFlowControl) || !strings.Contains(err.Error(), "timerCongestNumEachSlot is 3") {
		t.Errorf("got %v, want flow control that names the limit", err)
	}
	b.at("next slot", 6500*time.Millisecond)
	b.conf.TimerCongestNumEachSlot = 4
	b.tm.Configure(&b.conf)
	b.at("3", 5900*time.Millisecond)
	b.pass(7*time.Second, time.Second)
	b.want("0", "1", "2", "3", "next slot")
}

func TestCancel(t *testing.T) {
	b := newBench(t)
	b.at("gone", 5000*time.Millisecond)
	b.at("gone too", 5001*time.Millisecond)
	b.at("stays", 5002*time.Millisecond)
	b.at("other second", 6500*time.Millisecond)
	b.settle()
	b.cancel("gone", 5000*time.Millisecond)
	if err := b.sendWith("long key", "TIMER_DELIVER_MS", strconv.Itoa(begin+5500), "TIMER_DEL_UNIQKEY", "T+Kgone too"); err != nil {
		t.Fatal(err)
	}
	b.cancel("unknown", 5000*time.Millisecond)
	b.cancel("other second", 9000*time.Millisecond)
	b.settle()
	if got := b.tm.TopicCounts(); len(got) != 1 || got[0] != (TopicCount{"T", 0}) {
		t.Errorf("pending %v, want none: as many cancels as timers", got)
	}
	b.pass(10*time.Second, 100*time.Millisecond)
	b.want("stays", "other second")
	if got := b.tm.TopicCounts(); got[0].Count != 0 {
		t.Errorf("pending %v, want none", got)
	}
	if got := b.tm.Stats(); got.Cancelled != 2 || got.Delivered != 2 || got.Skipped != 0 {
		t.Errorf("stats %+v", got)
	}
}

func TestACancelInTheLastMillisecond(t *testing.T) {
	b := newBench(t)
	b.at("a", 5500*time.Millisecond)
	b.pass(5499*time.Millisecond, 499*time.Millisecond)
	b.cancel("a", 5500*time.Millisecond)
	b.clock.Advance(time.Millisecond) // the worker had no chance to see the cancel before
	b.settle()
	b.want()
	b.pass(5*time.Second, time.Second)
	b.want()
}

func TestCountsNeverGoBelowZero(t *testing.T) {
	b := newBench(t)
	for i := range 5 {
		b.cancel("unknown"+strconv.Itoa(i), 3*time.Second)
	}
	b.settle()
	check := func(want int64) {
		t.Helper()
		if got := b.tm.TopicCounts(); len(got) != 1 || got[0].Count != want {
			t.Errorf("at %+d ms: pending %v, want %d", b.clock.NowMs()-begin, got, want)
		}
	}
	check(0)
	b.at("a", 10*time.Second)
	b.settle()
	check(0)
	b.pass(5*time.Second, time.Second)
	check(1)
	b.pass(5*time.Second, time.Second)
	check(0)
}

func TestCancelsMeetRolledTimers(t *testing.T) {
	// scenarios.md R-09: roll window 5 s, timers for +8, +13, +18 s, cancelled at +3 s, and one that is not.
	b := newBench(t, func(b *bench) { b.conf.TimerRollWindowSlot = 5 })
	for _, s := range []int{8, 13, 18, 23} {
		b.at(strconv.Itoa(s), time.Duration(s)*time.Second)
	}
	b.pass(3*time.Second, 50*time.Millisecond)
	for _, s := range []int{8, 13, 18} {
		b.cancel(strconv.Itoa(s), time.Duration(s)*time.Second)
	}
	b.cancel("unknown", 18*time.Second)
	b.pass(19999*time.Millisecond, 50*time.Millisecond)
	b.want()
	b.pass(time.Millisecond, time.Millisecond)
	b.want("23")
	if got := b.tm.Stats(); got.Cancelled != 3 || got.Rolled == 0 {
		t.Errorf("stats %+v", got)
	}
	if got := b.tm.TopicCounts(); got[0].Count != 0 {
		t.Errorf("pending %v, want none", got)
	}
	times, _ := b.log.Messages("T", 0)[0].Properties.Get("TIMER_ROLL_TIMES")
	if times != "4" {
		t.Errorf("TIMER_ROLL_TIMES is %q, want 4", times)
	}
}

func TestRollWindowOfTwoSlots(t *testing.T) {
	for _, ms := range []int{2000, 2001, 2999, 3000, 3001, 4567, 9999, 10_000} {
		b := newBench(t, func(b *bench) { b.conf.TimerRollWindowSlot = 2 })
		b.clock.Advance(time.Duration(ms%7*100) * time.Millisecond)
		b.at("a", time.Duration(ms)*time.Millisecond)
		b.cancel("b", time.Duration(ms)*time.Millisecond)
		b.at("b", time.Duration(ms)*time.Millisecond)
		left := begin + int64(ms) - b.clock.NowMs()
		b.pass(time.Duration(left-1)*time.Millisecond, 10*time.Millisecond)
		b.want()
		b.pass(time.Millisecond, time.Millisecond)
		b.want("a")
	}
}

func TestFailedPutsAreTriedAgainInOrder(t *testing.T) {
	b := newBench(t)
	for i := range 10 {
		b.at(strconv.Itoa(i), time.Second+time.Duration(i)*time.Millisecond)
	}
	b.log.FailPut = func(m *message.Message) error {
		if m.Topic == "T" && string(m.Body) == "4" {
			return errors.New("disk is full")
		}
		return nil
	}
	b.pass(3*time.Second, 50*time.Millisecond)
	b.want("0", "1", "2", "3")
	b.log.FailPut = nil
	b.pass(100*time.Millisecond, 50*time.Millisecond)
	b.want("0", "1", "2", "3", "4", "5", "6", "7", "8", "9")
}

func TestARefusedTimerIsSkipped(t *testing.T) {
	b := newBench(t)
	for i := range 4 {
		b.at(strconv.Itoa(i), time.Second+time.Duration(i)*time.Millisecond)
	}
	b.log.FailPut = func(m *message.Message) error {
		if m.Topic == "T" && string(m.Body) == "1" {
			return fmt.Errorf("%w: too long", relay.ErrRefused)
		}
		return nil
	}
	b.pass(2*time.Second, 50*time.Millisecond)
	b.want("0", "2", "3")
	if got := b.tm.Stats().Skipped; got != 1 {
		t.Errorf("%d skipped, want 1", got)
	}
	if got := b.tm.TopicCounts(); got[0].Count != 0 {
		t.Errorf("pending %v, want none", got)
	}
}

func TestAMissingOrUnreadableRecord(t *testing.T) {
	b := newBench(t)
	b.at("missing", time.Second)
	b.at("unreadable", time.Second)
	b.at("good", time.Second)
	b.settle()
	unreadable := b.log.Messages(message.TopicTimer, 0)[1].PhysicalOffset
	fails := true
	b.log.FailRecord = func(offset int64) error {
		switch {
		case offset == 0:
			return fmt.Errorf("%w: removed", store.ErrNotFound)
		case offset == unreadable && fails:
			return errors.New("input/output error")
		}
		return nil
	}
	b.pass(2*time.Second, 50*time.Millisecond)
	b.want()
	fails = false
	b.pass(time.Second, 50*time.Millisecond)
	b.want("unreadable", "good")
	if got := b.tm.Stats().Skipped; got != 1 {
		t.Errorf("%d skipped, want 1", got)
	}
}

func TestGarbageInTheSystemTopicIsSkipped(t *testing.T) {
	b := newBench(t)
	for _, p := range []string{"", "TIMER_OUT_MS\x01x\x02REAL_TOPIC\x01T\x02", "TIMER_OUT_MS\x01-5\x02REAL_TOPIC\x01T\x02", "TIMER_OUT_MS\x01" + strconv.Itoa(begin+100) + "\x02"} {
		if err := b.log.Send(message.Message{Topic: message.TopicTimer, Body: []byte("garbage"), Properties: message.Properties(p)}); err != nil {
			t.Fatal(err)
		}
	}
	b.at("good", time.Second)
	b.pass(2*time.Second, 50*time.Millisecond)
	b.want("good")
	if got := b.tm.Stats().Skipped; got != 4 {
		t.Errorf("%d skipped, want 4", got)
	}
}

func TestTracesThatDoNotFitAreLeftOut(t *testing.T) {
	b := newBench(t)
	fill := strings.Repeat("x", message.MaxProperties-160)
	if err := b.sendWith("big", "TIMER_DELAY_SEC", "1", "fill", fill); err != nil {
		t.Fatal(err)
	}
	b.pass(time.Second, time.Second)
	b.want("big")
}

func TestMoreTimersInASlotThanMemoryMayHold(t *testing.T) {
	b := newBench(t, func(b *bench) { b.most = 50; b.conf.MappedFileSizeTimerLog = 100_000 })
	var want []string
	for i := range 400 {
		body := strconv.Itoa(1000 + (i*37)%400)
		b.at(body, 5*time.Second+time.Duration((i*37)%400)*time.Millisecond)
	}
	for i := range 400 {
		want = append(want, strconv.Itoa(1000+i))
	}
	b.cancel("1007", 5007*time.Millisecond)
	want = append(want[:7], want[8:]...)
	b.pass(4*time.Second, time.Second)
	if n := b.tm.window.timers.len(); n > 50 {
		t.Errorf("%d timers in memory, want at most 50", n)
	}
	for ms := range 1400 {
		b.clock.Advance(time.Millisecond)
		if ms == 1199 { // while the slot is partly in memory
			b.at("late", 5201*time.Millisecond)
			b.at("later", 5399*time.Millisecond)
		}
		b.settle()
	}
	want = append(want[:201], append([]string{"late"}, want[201:]...)...)
	want = append(want, "later")
	got := b.bodies()
	if len(got) != len(want) {
		t.Fatalf("%d messages, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("message %d is %s, want %s", i, got[i], want[i])
		}
	}
}

func TestAStepOfTheClock(t *testing.T) {
	b := newBench(t)
	b.at("a", 10*time.Second)
	b.at("b", 100*time.Second)
	b.pass(5*time.Second, time.Second)
	b.clock.Step(-time.Hour)
	b.settle()
	b.pass(time.Minute, time.Second)
	b.want()
	b.at("during", -time.Hour+2*time.Minute)
	b.pass(time.Hour, 10*time.Second)
	b.want("during", "a")
	b.clock.Step(-30 * time.Second)
	b.at("again", 12*time.Second)
	b.pass(20*time.Second, time.Second)
	b.want("during", "a", "again")
	b.clock.Step(time.Minute)
	b.settle()
	b.pass(time.Minute, time.Second)
	b.want("during", "a", "again", "b")
}

func TestViews(t *testing.T) {
	b := newBench(t)
	b.at("a", 90*time.Second)
	b.at("b", 91*time.Second)
	b.at("c", 300*time.Second)
	b.cancel("c", 300*time.Second)
	if err := b.sendTo("U", "d", 301*time.Second); err != nil {
		t.Fatal(err)
	}
	b.settle()
	b.flush()
	r, err := b.tm.Pending(t.Context(), PendingQuery{Bucket: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	minute := int64(begin - begin%60_000)
	if r.Total != 3 || fmt.Sprint(r.Buckets) != fmt.Sprintf("[{%d 2} {%d 1}]", (begin+90_000)/60_000*60_000, (begin+301_000)/60_000*60_000) {
		t.Errorf("minute %d: %+v", minute, r)
	}
	if fmt.Sprint(r.Topics) != "[{T 2} {U 1}]" || r.OldestMs != begin || r.NextDue != begin+89_000 || r.Behind != 0 {
		t.Errorf("%+v", r)
	}
	r, err = b.tm.Pending(t.Context(), PendingQuery{Bucket: time.Hour, Topic: "T"})
	if err != nil || r.Total != 2 || len(r.Buckets) != 1 {
		t.Errorf("of T: %+v, %v", r, err)
	}
	b.pass(89_500*time.Millisecond, time.Second)
	if r, err = b.tm.Pending(t.Context(), PendingQuery{}); err != nil || r.NextDue != begin+90_000 || r.Total != 3 {
		t.Errorf("soon: %+v, %v", r, err)
	}
	want := fmt.Sprintf(`{"dataVersion":{"counter":%d,"stateVersion":0,"timestamp":%d},"timingCount":{"T":{"count":2,"timeStamp":%d},"U":{"count":1,"timeStamp":%d}}}`,
		5, begin, begin, begin)
	if got := string(b.tm.MetricsJSON()); got != want {
		t.Errorf("metrics %s\nwant %s", got, want)
	}
	if got := len(b.tm.Checkpoint()); got != 56 {
		t.Errorf("checkpoint of %d bytes, want 56", got)
	}
	b.tm.ForgetTopics(func(topic string) bool { return topic == "U" })
	if got := fmt.Sprint(b.tm.TopicCounts()); got != "[{T 2}]" {
		t.Errorf("after U is gone: %s", got)
	}
}

func (b *bench) sendTo(topic, body string, after time.Duration) error {
	m := message.Message{Topic: topic, Body: []byte(body), Properties: message.Properties(nil).
		Append("TIMER_DELIVER_MS", strconv.FormatInt(begin+after.Milliseconds(), 10))}
	if _, err := b.tm.Transform(&m); err != nil {
		return err
	}
	return b.log.Send(m)
}

func TestLargeMessagesArePutInSmallBatches(t *testing.T) {
	b := newBench(t)
	for i := range 20 {
		m := message.Message{Topic: "T", Body: make([]byte, 300_000), Properties: message.Properties("TIMER_DELAY_MS\x01" + strconv.Itoa(1000+i) + "\x02")}
		if out, err := b.tm.Transform(&m); out == 0 || err != nil {
			t.Fatal(out, err)
		}
		if err := b.log.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	b.settle()
	b.clock.Advance(2 * time.Second)
	b.tm.round()
	if n := len(b.bodies()); n < 1 || n > 5 {
		t.Errorf("one round put %d messages of 300 kB", n)
	}
	b.settle()
	if n := len(b.bodies()); n != 20 {
		t.Errorf("%d came, want 20", n)
	}
}
