package broker

import (
	"strings"
	"testing"
)

// TestPopHandleText compares with ExtraInfoUtil.buildExtraInfo of the reference.
func TestPopHandleText(t *testing.T) {
	for _, want := range []struct {
		text   string
		handle popHandle
		topic  string
	}{
		{
			"41 1700000000123 60000 3 0 broker-a 2 45",
			popHandle{41, 1700000000123, 60000, 3, "0", "broker-a", 2, 45},
			"orders",
		},
		{
			"41 1700000000123 60000 3 1 broker-a 0",
			popHandle{41, 1700000000123, 60000, 3, "1", "broker-a", 0, -1},
			"%RETRY%billing_orders",
		},
		{
			"41 1700000000123 60000 999 2 broker-a 0 7",
			popHandle{41, 1700000000123, 60000, 999, "2", "broker-a", 0, 7},
			"%RETRY%billing+orders",
		},
	} {
		if got := want.handle.String(); got != want.text {
			t.Errorf("handle %q, want %q", got, want.text)
		}
		h, err := parsePopHandle(want.text)
		if err != nil || h != want.handle {
			t.Errorf("%q is %+v (%v)", want.text, h, err)
		}
		if topic, err := popTopicOfFlag("orders", "billing", h.retryFlag); err != nil || topic != want.topic {
			t.Errorf("%q points into %q (%v), want %q", want.text, topic, err, want.topic)
		}
		if got := retryFlag(want.topic); got != h.retryFlag {
			t.Errorf("flag of %s is %s", want.topic, got)
		}
		if h.reviveTime() != 1700000060123 {
			t.Errorf("%q revives at %d", want.text, h.reviveTime())
		}
	}
	if h, _ := parsePopHandle("1 2 3 999 0 b"); !h.ordered() {
		t.Error("999 is not ordered")
	}
}

func TestPopHandleErrors(t *testing.T) {
	for _, want := range []struct{ text, problem string }{
		{"", "6 are needed"},
		{"1 2 3 4 0", "6 are needed"},
		{"x 2 3 4 0 b 1", "ckQueueOffset"},
		{"1 x 3 4 0 b 1", "popTime"},
		{"1 2 x 4 0 b 1", "invisibleTime"},
		{"1 2 3 4294967296 0 b 1", "reviveQid"},
	} {
		if _, err := parsePopHandle(want.text); err == nil || !strings.Contains(err.Error(), want.problem) {
			t.Errorf("%q: %v, want something about %q", want.text, err, want.problem)
		}
	}
	if _, err := popTopicOfFlag("orders", "billing", "3"); err == nil {
		t.Error("retry flag 3 is accepted")
	}
}

// TestPopOffsetLists compares with ExtraInfoUtil of the reference.
func TestPopOffsetLists(t *testing.T) {
	var p popOffsets
	p.add("orders", 2, 41, []int64{41, 42, 45})
	p.add("%RETRY%billing_orders", 0, 7, []int64{7})
	p.addQueueCount("orders", 2, 0)
	p.addMessageCount("orders", 2, 45, 3)
	for _, want := range [][2]string{
		{p.start.String(), "0 2 41;1 0 7"},
		{p.msgs.String(), "0 2 41,42,45;1 0 7"},
		{p.order.String(), "0 2 0;0 qo2%45 3"},
	} {
		if want[0] != want[1] {
			t.Errorf("%q, want %q", want[0], want[1])
		}
	}
}

func FuzzPopHandle(f *testing.F) {
	for _, s := range []string{"41 1700000000123 60000 3 0 broker-a 2 45", "1 2 3 999 0 b", "a b c d e f", "-1 -1 -1 -1 2 b -1 -1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, err := parsePopHandle(s)
		if err != nil {
			return
		}
		again, err := parsePopHandle(h.String())
		if err != nil {
			t.Fatalf("%q becomes %q: %v", s, h.String(), err)
		}
		h.queueOffset, again.queueOffset = max(h.queueOffset, -1), max(again.queueOffset, -1)
		if again != h {
			t.Fatalf("%q: %+v becomes %+v", s, h, again)
		}
	})
}
