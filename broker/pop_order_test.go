package broker

import (
	"testing"
	"time"

	"github.com/rocketd/rocketd/internal/vfs"
)

// TestPopOrderBlocks goes through the life of one queue as ordered pop sees it.
func TestPopOrderBlocks(t *testing.T) {
	x := newTables(t, nil)
	p := newPopOrder(x.clock, x.files)
	key := orderKey{"orders", "billing", 2}
	if p.blocked(key, "a1", 60_000) {
		t.Fatal("an untouched queue blocks")
	}
	var out popOffsets
	popTime := x.clock.NowMs()
	if at := p.update(key, "a1", popTime, 60_000, []int64{10, 11, 13}, &out); at != popTime+60_000 {
		t.Errorf("free at %d, want %d", at, popTime+60_000)
	}
	if got := out.order.String(); got != "0 2 0" {
		t.Errorf("first delivery: counts %q", got)
	}
	if !p.blocked(key, "a2", 60_000) || p.blocked(key, "a1", 60_000) {
		t.Error("another attempt is let in, or the same one is not")
	}
	for _, step := range []struct {
		offset, popTime, next int64
	}{
		{12, popTime, orderIllegal},
		{10, popTime + 1, orderStale},
		{11, popTime, 10}, // 10 is not acknowledged yet
		{10, popTime, 13},
		{10, popTime, 13}, // once more
	} {
		if next, _ := p.commit(key, step.offset, step.popTime); next != step.next {
			t.Errorf("ack of %d: next offset %d, want %d", step.offset, next, step.next)
		}
	}
	if !p.blocked(key, "a2", 60_000) {
		t.Error("13 is out and the queue is free")
	}
	// The consumer gives 13 back: visible in 5 s.
	if at := p.delay(key, 13, popTime, popTime+5000); at != popTime+5000 {
		t.Errorf("free at %d, want %d", at, popTime+5000)
	}
	x.clock.Advance(5 * time.Second)
	if p.blocked(key, "a2", 60_000) {
		t.Error("all is visible again and the queue blocks")
	}
	out = popOffsets{}
	p.update(key, "a2", x.clock.NowMs(), 60_000, []int64{13, 14}, &out)
	if got := out.order.String(); got != "0 qo2%13 1;0 2 0" {
		t.Errorf("second delivery of 13: counts %q", got)
	}
	// The same attempt again: the counts stay.
	out = popOffsets{}
	p.update(key, "a2", x.clock.NowMs(), 60_000, []int64{13, 14}, &out)
	if got := out.order.String(); got != "0 qo2%13 1;0 2 0" {
		t.Errorf("same attempt: counts %q", got)
	}
	x.clock.Advance(time.Minute)
	out = popOffsets{}
	p.update(key, "a3", x.clock.NowMs(), 60_000, []int64{13, 14}, &out)
	if got := out.order.String(); got != "0 qo2%13 2;0 qo2%14 1;0 2 1" {
		t.Errorf("third delivery of 13: counts %q", got)
	}
	if next, freeAt := p.commit(key, 13, x.clock.NowMs()); next != 14 || freeAt == 0 {
		t.Errorf("next %d, free at %d", next, freeAt)
	}
	if next, freeAt := p.commit(key, 14, x.clock.NowMs()); next != 15 || freeAt != 0 {
		t.Errorf("next %d, free at %d", next, freeAt)
	}
	if next, _ := p.commit(orderKey{"orders", "other", 2}, 5, 1); next != 6 {
		t.Errorf("unknown queue: next %d, want 6", next)
	}
}

// referenceOrder is consumerOrderInfo.json as the reference writes it.
const referenceOrder = `{"orderInfoCount":1,"orderedConsumptionLevel":"QUEUE","table":{"orders@billing":{2:{"a":"a1","cm":2,"i":60000,` +
	`"l":1796069545236,"o":[10,1,3],"oc":{10:1},"ot":{13:1773501000000},"popTime":1773500960000}}}}`

func TestPopOrderFile(t *testing.T) {
	fs := vfs.NewMem()
	x := newTables(t, fs)
	p := newPopOrder(x.clock, x.files)
	key := orderKey{"orders", "billing", 2}
	var out popOffsets
	popTime := x.clock.NowMs()
	p.update(key, "a1", popTime, 60_000, []int64{10, 11, 13}, &out)
	p.commit(key, 11, popTime)
	p.delay(key, 13, popTime, popTime+90_000)
	if err := p.file.save(); err != nil {
		t.Fatal(err)
	}
	again := newPopOrder(x.clock, x.files)
	if err := again.load(x.log); err != nil {
		t.Fatal(err)
	}
	if !again.blocked(key, "a2", 60_000) || again.blocked(key, "a1", 60_000) {
		t.Error("the restored queue blocks the wrong ones")
	}
	if next, freeAt := again.commit(key, 10, popTime); next != 13 || freeAt != popTime+90_000 {
		t.Errorf("next %d, free at %d", next, freeAt)
	}

	again.clean(func(topic, group string) int32 { return 2 })
	if again.blocked(key, "a2", 60_000) {
		t.Error("queue 2 of a topic with 2 queues blocks")
	}

	x.write(t, "consumerOrderInfo.json", "{broken")
	broken := newPopOrder(x.clock, x.files)
	if err := broken.load(x.log); err != nil || len(x.logged.with("consumerOrderInfo.json")) == 0 {
		t.Errorf("broken file: %v, %v", err, x.logged.lines)
	}
}

func TestPopOrderReadsTheReferencesFile(t *testing.T) {
	x := newTables(t, nil)
	x.write(t, "consumerOrderInfo.json", referenceOrder)
	p := newPopOrder(x.clock, x.files)
	if err := p.load(x.log); err != nil {
		t.Fatal(err)
	}
	o := p.table[orderKey{"orders", "billing", 2}]
	if o == nil {
		t.Fatalf("table %v", p.table)
	}
	if o.offsets[0] != 10 || o.offsets[1] != 11 || o.offsets[2] != 13 || o.acked != 2 || o.counts[10] != 1 || o.attempt != "a1" ||
		o.nextVisible[13] != 1773501000000 || o.popTime != 1773500960000 || o.invisibleTime != 60000 {
		t.Errorf("%+v", o)
	}
}
