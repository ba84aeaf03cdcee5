package broker

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/remoting"
)

// recordsFail lets reads of single records fail with EIO. They begin with the first 8 bytes; schedule and timer, which read larger pieces, go on.
func recordsFail(c vfs.Call) vfs.Action {
	if c.Op == vfs.OpRead && strings.Contains(c.Path, "commitlog") && c.Size == 8 {
		return vfs.Action{Err: syscall.EIO}
	}
	return vfs.Action{}
}

// TestHalfMessageThatCannotBeReadNow: it stays undecided, and its producer is asked once it can be read again.
func TestHalfMessageThatCannotBeReadNow(t *testing.T) {
	fault := vfs.NewFault(vfs.NewMem())
	b := newTestBroker(t, withConfig(quickChecks), func(o *Options) { o.FS = fault })
	b.create("T", 2)
	c := b.dial()
	c.produce()
	c.sendHalf("k1")
	fault.SetRule(recordsFail)
	eventually(t, "the check meets the error", func() bool {
		b.manual.Advance(time.Second)
		return len(b.logged.with("a half message cannot be read", "input/output error")) > 0
	})
	if b.inUse() != 1 {
		t.Fatal("it is forgotten")
	}
	if a := c.call(remoting.ViewMessageByID, fields{"offset", "0"}, nil); a.code != remoting.SystemError || !strings.Contains(a.remark, "input/output error") {
		t.Errorf("view: %d %q", a.code, a.remark)
	}
	fault.SetRule(nil)
	b.asked(c, "k1", "1", 100*time.Millisecond)
}

// TestReviveTopicThatCannotBeReadNow: checkpoints that cannot be read are not passed over, so what was given out comes back.
func TestReviveTopicThatCannotBeReadNow(t *testing.T) {
	fault := vfs.NewFault(vfs.NewMem())
	b := newTestBroker(t, func(o *Options) { o.FS = fault })
	b.create("T", 1)
	b.put("T", 0, 2, "")
	c := b.dial()
	f := popFields("G", "T", 0, 2, 10*time.Second)
	if got := c.pop(f); len(got) != 2 {
		t.Fatalf("%d messages", len(got))
	}
	fault.SetRule(recordsFail)
	eventually(t, "the reviver meets the error", func() bool {
		b.manual.Advance(time.Second)
		return len(b.logged.with("a message of the revive topic cannot be read, trying again later")) > 0
	})
	fault.SetRule(nil)
	back := b.collect(c, f, 2, 200*time.Millisecond)
	if !slices.Equal(bodies(back), []string{"body 0", "body 1"}) {
		t.Errorf("came back: %v", bodies(back))
	}
}
