package broker

import (
	"container/heap"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/store"
)

// queueKey names a queue.
type queueKey struct {
	topic   string
	queueID int32
}

// heldPull is what a pull needs to be held. Guarded by holdTable.mu.
type heldPull struct {
	key    queueKey
	dueMs  int64
	at     int // in the queue's list
	heapAt int // in the table's heap
}

// holdTable keeps pulls that wait for a message (the reference's PullRequestHoldService): a list for each queue, looked at
// when a message arrives there, and one heap by the time at which they give up. Nothing polls. Safe for concurrent use.
type holdTable struct {
	clock clock.Clock
	// drop takes back a woken pull whose event loop has ended.
	drop func(*pull)

	count atomic.Int64 // held now: arrivals look at it before they lock

	mu     sync.Mutex
	queues map[queueKey][]*pull // guarded by mu
	due    holdHeap             // guarded by mu
	closed bool                 // guarded by mu

	timer chan struct{} // the earliest time has changed; holds at most one token
	stop  chan struct{}
	done  sync.WaitGroup
	woken sync.WaitGroup // pulls on their way to their event loop
}

func newHoldTable(c clock.Clock, drop func(*pull)) *holdTable {
	return &holdTable{clock: c, drop: drop, queues: map[queueKey][]*pull{}, timer: make(chan struct{}, 1), stop: make(chan struct{})}
}

// start begins to time out.
func (t *holdTable) start() { t.done.Go(t.timeOut) }

// hold keeps p until a message for it arrives or timeout has passed. It is false when limit pulls are held already or the
// table is closed. p owns its strings; it belongs to the table until its event loop gets it.
func (t *holdTable) hold(p *pull, timeout time.Duration, limit int64) bool {
	state := stateOf(p.conn)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.count.Load() >= limit || state.holds == nil {
		return false
	}
	key := queueKey{topic: p.get.Topic, queueID: p.get.QueueID}
	list := t.queues[key]
	p.held = heldPull{key: key, dueMs: t.clock.NowMs() + timeout.Milliseconds(), at: len(list)}
	t.queues[key] = append(list, p)
	heap.Push(&t.due, p)
	state.holds[p] = struct{}{}
	t.count.Add(1)
	if t.due[0] == p {
		signal(t.timer)
	}
	return true
}

// arrived wakes the pulls that wait for this message.
func (t *holdTable) arrived(a store.Arrival) {
	if t.count.Load() == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	// A topic's name in a record aliases it: as a key to look up it is good enough.
	list := t.queues[queueKey{topic: a.Topic, queueID: a.QueueID}]
	for i := len(list) - 1; i >= 0; i-- {
		p := list[i]
		if a.QueueOffset >= p.get.Offset && wants(p.filter, &a) {
			t.wakeLocked(p)
		}
	}
}

// wants tells whether a filter lets a message pass.
func wants(f store.Filter, a *store.Arrival) bool {
	if f == nil {
		return true
	}
	if !f.MatchTagsCode(a.TagsCode) {
		return false
	}
	record := a.Record()
	return record == nil || f.MatchRecord(record)
}

// wakeQueue wakes what is held of a queue for group, or for all groups when it is empty.
func (t *holdTable) wakeQueue(topic string, queueID int32, group string) {
	t.wakeIf(func(p *pull) bool {
		return p.header.Topic == topic && p.header.QueueID == queueID && (group == "" || p.header.ConsumerGroup == group)
	})
}

// wakeTopic wakes what is held of a topic.
func (t *holdTable) wakeTopic(topic string) {
	t.wakeIf(func(p *pull) bool { return p.header.Topic == topic })
}

// wakeAll wakes everything.
func (t *holdTable) wakeAll() { t.wakeIf(func(*pull) bool { return true }) }

func (t *holdTable) wakeIf(match func(*pull) bool) {
	if t.count.Load() == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	matching := make([]*pull, 0, len(t.due))
	for _, p := range t.due {
		if match(p) {
			matching = append(matching, p)
		}
	}
	for _, p := range matching {
		t.wakeLocked(p)
	}
}

func (t *holdTable) wakeLocked(p *pull) {
	t.removeLocked(p)
	t.woken.Add(1)
	if !p.conn.Run(p.again) {
		t.woken.Done()
		t.drop(p)
	}
}

// removeLocked takes p out of its list, the heap and its connection.
func (t *holdTable) removeLocked(p *pull) {
	h := &p.held
	list := t.queues[h.key]
	last := len(list) - 1
	list[h.at] = list[last]
	list[h.at].held.at = h.at
	list[last] = nil
	if last == 0 {
		delete(t.queues, h.key)
	} else {
		t.queues[h.key] = list[:last]
	}
	heap.Remove(&t.due, h.heapAt)
	delete(stateOf(p.conn).holds, p)
	t.count.Add(-1)
}

// opened prepares the state of a new connection to hold pulls.
func (t *holdTable) opened(s *connState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.holds = map[*pull]struct{}{}
}

// connClosed drops what the connection had held; drop gets each of them.
func (t *holdTable) connClosed(s *connState, drop func(*pull)) {
	t.mu.Lock()
	dropped := make([]*pull, 0, len(s.holds))
	for p := range s.holds {
		dropped = append(dropped, p)
	}
	for _, p := range dropped {
		t.removeLocked(p)
	}
	s.holds = nil
	t.mu.Unlock()
	for _, p := range dropped {
		drop(p)
	}
}

// held is the number of pulls that are held.
func (t *holdTable) held() int64 { return t.count.Load() }

// close wakes everything, waits until all of it has been run, and ends the goroutine. Nothing can be held afterwards.
func (t *holdTable) close() {
	t.mu.Lock()
	already := t.closed
	t.closed = true
	t.mu.Unlock()
	if already {
		return
	}
	t.wakeAll()
	close(t.stop)
	t.done.Wait()
	t.woken.Wait()
}

func (t *holdTable) timeOut() {
	timer := t.clock.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		t.mu.Lock()
		now := t.clock.NowMs()
		for len(t.due) > 0 && t.due[0].held.dueMs <= now {
			t.wakeLocked(t.due[0])
		}
		wait := time.Hour
		if len(t.due) > 0 {
			wait = clock.Until(t.clock, t.due[0].held.dueMs)
		}
		t.mu.Unlock()
		timer.Reset(wait)
		select {
		case <-t.stop:
			return
		case <-t.timer:
		case <-timer.C():
		}
	}
}

// signal puts a token into a channel that has room for it.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// holdHeap orders pulls by the time at which they give up.
type holdHeap []*pull

func (h holdHeap) Len() int           { return len(h) }
func (h holdHeap) Less(i, j int) bool { return h[i].held.dueMs < h[j].held.dueMs }

func (h holdHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].held.heapAt, h[j].held.heapAt = i, j
}

// Push implements heap.Interface.
func (h *holdHeap) Push(x any) {
	p := x.(*pull) //nolint:errcheck,forcetypeassert // only holdTable calls it
	p.held.heapAt = len(*h)
	*h = append(*h, p)
}

// Pop implements heap.Interface.
func (h *holdHeap) Pop() any {
	last := len(*h) - 1
	p := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return p
}

// holdPull keeps a pull for which there is nothing yet. p owns its strings.
func (b *Broker) holdPull(p *pull) {
	c := b.config()
	timeout := time.Duration(min(max(0, p.header.SuspendTimeoutMillis), maxSuspend.Milliseconds())) * time.Millisecond
	if !c.Broker.LongPollingEnable {
		timeout = time.Duration(c.Broker.ShortPollingTimeMills) * time.Millisecond
	}
	p.first = false
	p.replier.Hold()
	offset, topic, queueID := p.get.Offset, p.get.Topic, p.get.QueueID
	if !b.holds.hold(p, timeout, int64(c.Rocketd.MaxHeldPulls)) {
		if p.conn.Closed() {
			b.freePull(p)
			return
		}
		p.refuse(remoting.SystemBusy, "", "the broker holds as many pulls as it may: maxHeldPulls is %d", c.Rocketd.MaxHeldPulls)
		b.answerPull(p, false)
		return
	}
	// A message that arrived between the read and the hold has found nobody to wake. p may be gone from here on.
	if q := b.store.Queue(topic, queueID); q != nil && q.MaxOffset() > offset {
		b.holds.wakeOffset(queueKey{topic: topic, queueID: queueID}, q.MaxOffset())
	}
}

// wakeOffset wakes what is held of a queue below its end.
func (t *holdTable) wakeOffset(key queueKey, end int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.queues[key]
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].get.Offset < end {
			t.wakeLocked(list[i])
		}
	}
}
