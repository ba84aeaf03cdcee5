package broker

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/remoting/body"
)

// orderKey names a queue as one group reads it in order.
type orderKey struct {
	topic   string
	group   string
	queueID int32
}

// orderInfo is what an ordered pop of a queue gave out last (QueueLevelConsumerManager.OrderInfo). Later messages of
// the queue stay back until all of these are acknowledged or visible again.
type orderInfo struct {
	popTime       int64
	invisibleTime int64
	offsets       []int64         // queue offsets, ascending
	nextVisible   map[int64]int64 // by offset, where it is not popTime + invisibleTime
	counts        map[int64]int32 // by offset: how often it was given out before; zero is left out
	lastConsume   int64
	acked         uint64 // bit i: offsets[i] is acknowledged
	attempt       string
}

func (o *orderInfo) visibleAt(i int) int64 {
	if at, ok := o.nextVisible[o.offsets[i]]; ok {
		return at
	}
	return o.popTime + o.invisibleTime
}

// freeAt is when the queue is free for the next pop, 0 when it is already.
func (o *orderInfo) freeAt(nowMs int64) int64 {
	var at int64
	for i := range o.offsets {
		if o.acked&(1<<i) == 0 {
			at = max(at, o.visibleAt(i))
		}
	}
	if at <= nowMs {
		return 0
	}
	return at
}

// blocks tells whether a pop has to wait for these messages. The attempt that got them may ask again.
func (o *orderInfo) blocks(attempt string, nowMs int64) bool {
	if attempt != "" && attempt == o.attempt {
		return false
	}
	return o.freeAt(nowMs) != 0
}

// next is the offset behind the acknowledged head of the messages.
func (o *orderInfo) next() int64 {
	for i, offset := range o.offsets {
		if o.acked&(1<<i) == 0 {
			return offset
		}
	}
	return o.offsets[len(o.offsets)-1] + 1
}

// countAgain carries the delivery counts over from the pop before.
func (o *orderInfo) countAgain(before *orderInfo) {
	if before.attempt != "" && before.attempt == o.attempt {
		o.counts = before.counts
		return
	}
	given := make(map[int64]bool, len(before.offsets))
	for _, offset := range before.offsets {
		given[offset] = true
	}
	for _, offset := range o.offsets {
		if given[offset] {
			if o.counts == nil {
				o.counts = make(map[int64]int32, len(o.offsets))
			}
			o.counts[offset] = before.counts[offset] + 1
		}
	}
}

// Results of popOrder.commit besides the next offset.
const (
	orderIllegal int64 = -1 // the offset is not one of those given out
	orderStale   int64 = -2 // the handle is of an earlier pop
)

// popOrder keeps what ordered pops gave out, in memory and in consumerOrderInfo.json. Safe for concurrent use.
type popOrder struct {
	clock clock.Clock
	file  *stateFile

	mu    sync.Mutex
	table map[orderKey]*orderInfo
}

func newPopOrder(c clock.Clock, files *stateFiles) *popOrder {
	p := &popOrder{clock: c, table: map[orderKey]*orderInfo{}}
	if files != nil {
		p.file = files.file("consumerOrderInfo.json", p.encode)
	}
	return p
}

// orderRestMs is after how long a queue's state is dropped when nothing was popped from it.
const orderRestMs = int64(24 * time.Hour / time.Millisecond)

// blocked tells whether an ordered pop of the queue must wait.
func (p *popOrder) blocked(key orderKey, attempt string, invisibleTime int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.table[key]
	if o == nil {
		return false
	}
	if o.invisibleTime <= 0 {
		o.invisibleTime = invisibleTime
	}
	return o.blocks(attempt, p.clock.NowMs())
}

// update notes what a pop gave out, adds the delivery counts to the answer, and tells when the queue is free again.
func (p *popOrder) update(key orderKey, attempt string, popTime, invisibleTime int64, offsets []int64, out *popOffsets) (freeAt int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.NowMs()
	o := &orderInfo{popTime: popTime, invisibleTime: invisibleTime, offsets: offsets, lastConsume: now, attempt: attempt}
	if before := p.table[key]; before != nil {
		o.countAgain(before)
	}
	p.table[key] = o
	smallest := int32(0)
	if len(o.counts) == len(offsets) {
		smallest = 1<<31 - 1
	}
	for _, offset := range offsets {
		if count, ok := o.counts[offset]; ok {
			out.addMessageCount(key.topic, key.queueID, offset, count)
			smallest = min(smallest, count)
		}
	}
	out.addQueueCount(key.topic, key.queueID, smallest)
	return o.freeAt(now)
}

// commit notes an acknowledged message and returns the offset that the group has reached, or orderIllegal or orderStale;
// and when the queue is free, 0 meaning now.
func (p *popOrder) commit(key orderKey, offset, popTime int64) (next, freeAt int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.table[key]
	if o == nil {
		return offset + 1, 0
	}
	if popTime != o.popTime {
		return orderStale, 0
	}
	for i, given := range o.offsets {
		if given == offset {
			o.acked |= 1 << i
			return o.next(), o.freeAt(p.clock.NowMs())
		}
	}
	return orderIllegal, 0
}

// delay makes a message of the pop at popTime visible again at another time, and tells when the queue is free then.
func (p *popOrder) delay(key orderKey, offset, popTime, visibleAt int64) (freeAt int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.table[key]
	if o == nil || o.popTime != popTime {
		return 0
	}
	if o.nextVisible == nil {
		o.nextVisible = map[int64]int64{}
	}
	o.nextVisible[offset] = visibleAt
	return o.freeAt(p.clock.NowMs())
}

// clear forgets what was given out of a queue: its offset has been reset.
func (p *popOrder) clear(key orderKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.table, key)
}

// removeTopic forgets a deleted topic.
func (p *popOrder) removeTopic(topic string) {
	p.removeIf(func(key orderKey, _ *orderInfo) bool { return key.topic == topic })
}

// removeGroup forgets a deleted group.
func (p *popOrder) removeGroup(group string) {
	p.removeIf(func(key orderKey, _ *orderInfo) bool { return key.group == group })
}

// clean forgets queues that are gone, by queues telling how many a topic has, and those that rest for a day
// (QueueLevelConsumerManager#autoClean).
func (p *popOrder) clean(queues func(topic, group string) int32) {
	now := p.clock.NowMs()
	p.removeIf(func(key orderKey, o *orderInfo) bool {
		return key.queueID >= queues(key.topic, key.group) || now-o.lastConsume > orderRestMs
	})
}

func (p *popOrder) removeIf(match func(orderKey, *orderInfo) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, o := range p.table {
		if match(key, o) {
			delete(p.table, key)
		}
	}
}

// pending lists the queues that are not free, with the time when they will be.
func (p *popOrder) pending(each func(key orderKey, freeAt int64)) {
	now := p.clock.NowMs()
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, o := range p.table {
		if at := o.freeAt(now); at != 0 {
			each(key, at)
		}
	}
}

// encode is the content of consumerOrderInfo.json.
func (p *popOrder) encode() []byte {
	p.mu.Lock()
	table := body.ConsumerOrderTable{Table: map[string]map[int32]body.ConsumerOrder{}}
	for key, o := range p.table {
		name := key.topic + "@" + key.group
		if table.Table[name] == nil {
			table.Table[name] = map[int32]body.ConsumerOrder{}
		}
		offsets := make([]int64, len(o.offsets))
		for i, offset := range o.offsets {
			offsets[i] = offset
			if i > 0 {
				offsets[i] -= o.offsets[0]
			}
		}
		table.Table[name][key.queueID] = body.ConsumerOrder{
			PopTime: o.popTime, InvisibleTime: o.invisibleTime, Offsets: offsets,
			OffsetNextVisibleTime: maps.Clone(o.nextVisible), OffsetConsumedCount: maps.Clone(o.counts),
			LastConsumeTimestamp: o.lastConsume, CommitOffsetBit: int64(o.acked), AttemptID: o.attempt,
		}
	}
	p.mu.Unlock()
	return body.EncodePretty(&table)
}

// load reads consumerOrderInfo.json. A broken file is set aside: what was given out may then be given out once more.
func (p *popOrder) load(log *logrus.Entry) error {
	_, err := p.file.load(func(data []byte) error {
		table, err := body.Decode[body.ConsumerOrderTable](data)
		if err != nil {
			return err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		for name, queues := range table.Table {
			topic, group, ok := strings.Cut(name, "@")
			if !ok {
				continue
			}
			for queueID, o := range queues {
				p.restoreLocked(orderKey{topic, group, queueID}, &o)
			}
		}
		return nil
	})
	if errors.Is(err, errBroken) {
		log.WithError(err).Error("consumerOrderInfo.json cannot be read, starting without it: ordered messages under way may be delivered again")
		p.file.setAside()
		return nil
	}
	return err
}

func (p *popOrder) restoreLocked(key orderKey, o *body.ConsumerOrder) {
	if len(o.Offsets) == 0 || len(o.Offsets) > 64 {
		return
	}
	offsets := slices.Clone(o.Offsets)
	for i := 1; i < len(offsets); i++ {
		offsets[i] += offsets[0]
	}
	p.table[key] = &orderInfo{
		popTime: o.PopTime, invisibleTime: max(o.InvisibleTime, 0), offsets: offsets, nextVisible: o.OffsetNextVisibleTime,
		counts: o.OffsetConsumedCount, lastConsume: o.LastConsumeTimestamp, acked: uint64(o.CommitOffsetBit), attempt: o.AttemptID,
	}
}
