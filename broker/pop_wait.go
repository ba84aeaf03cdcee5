package broker

import (
	"container/heap"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/store"
)

// popWait is one pop or notification that waits for a message.
type popWait struct {
	pop     *popRequest          // either this
	note    *notificationRequest // or that
	topic   string
	group   string
	queueID int32 // -1: any
	filter  store.Filter
	dueMs   int64 // when it gives up
	last    bool  // it has given up: it must be answered now

	heapAt int
}

// anyQueue stands for all queues of a topic.
const anyQueue = -1

// waitResult is what became of a request that wants to wait.
type waitResult uint8

const (
	waitHeld waitResult = iota
	waitFull            // too many wait
	waitOver            // its time is over, or it does not want to wait
)

// wakers is the number of goroutines that run woken pops.
const wakers = 2

// popWaits keeps pops, or notifications, that wait for a message (PopLongPollingService): by topic, group and queue, and
// one heap by the time at which they give up. Nothing polls. Safe for concurrent use.
type popWaits struct {
	clock clock.Clock
	// newestFirst: of several the one that came last is woken, as notifications are in the reference.
	newestFirst bool
	// run answers a woken request, or holds it again.
	run func(*popWait)

	count atomic.Int64

	mu      sync.Mutex
	topics  map[string]*waitingTopic // of topics that something has waited for; guarded by mu
	due     waitHeap                 // guarded by mu
	frees   freeHeap                 // ordered queues that become free; guarded by mu
	ready   []*popWait               // guarded by mu
	closed  bool                     // guarded by mu
	timer   chan struct{}
	wake    chan struct{}
	stop    chan struct{}
	workers sync.WaitGroup
}

// waitingTopic is what waits for messages of one topic.
type waitingTopic struct {
	generation uint64 // moves on with each message
	groups     map[string]map[int32][]*popWait
}

// maxWaitingTopics bounds the topics that are remembered when nothing waits for them any more.
const maxWaitingTopics = 10_000

func newPopWaits(c clock.Clock, newestFirst bool, run func(*popWait)) *popWaits {
	return &popWaits{
		clock: c, newestFirst: newestFirst, run: run, topics: map[string]*waitingTopic{},
		timer: make(chan struct{}, 1), wake: make(chan struct{}, wakers), stop: make(chan struct{}),
	}
}

func (w *popWaits) start() {
	w.workers.Go(w.timeOut)
	for range wakers {
		w.workers.Go(w.runReady)
	}
}

// close wakes everything for the last time and waits until it has been answered. Closing twice is safe.
func (w *popWaits) close() {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return
	}
	w.closed = true
	for len(w.due) > 0 {
		w.due[0].last = true
		w.wakeLocked(w.due[0])
	}
	w.mu.Unlock()
	close(w.stop)
	w.workers.Wait()
}

// idle tells that nothing waits and nobody counts arrivals: the hot path then does nothing.
func (w *popWaits) idle() bool { return w.count.Load() == 0 }

// generation is a number that moves on with each message of a topic and its retry topics. From the call on the topic's
// messages are counted.
func (w *popWaits) generation(topic string) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.topicLocked(topic).generation
}

func (w *popWaits) topicLocked(topic string) *waitingTopic {
	t := w.topics[topic]
	if t != nil {
		return t
	}
	if len(w.topics) >= maxWaitingTopics {
		for name, other := range w.topics {
			if len(other.groups) == 0 {
				delete(w.topics, name)
				w.count.Add(-1)
			}
		}
	}
	t = &waitingTopic{groups: map[string]map[int32][]*popWait{}}
	w.topics[topic] = t
	w.count.Add(1)
	return t
}

// hold keeps a request that was born at bornMs until a message comes or pollMs have passed, if no message has come since
// seen.
func (w *popWaits) hold(r *popWait, bornMs, pollMs int64, seen uint64, c *conf.Config) waitResult {
	if pollMs <= 0 {
		return waitOver
	}
	// The answer must be there before the client stops waiting for it.
	r.dueMs = bornMs + pollMs - min(lateMs, pollMs/4)
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.topicLocked(r.topic)
	queues := t.groups[r.group]
	switch {
	case w.closed || w.clock.NowMs() >= r.dueMs:
		return waitOver
	case len(w.due) >= int(c.Broker.MaxPopPollingSize), len(queues[r.queueID]) > int(c.Broker.PopPollingSize):
		return waitFull
	}
	if queues == nil {
		queues = map[int32][]*popWait{}
		t.groups[r.group] = queues
	}
	queues[r.queueID] = append(queues[r.queueID], r)
	heap.Push(&w.due, r)
	if w.due[0] == r {
		signal(w.timer)
	}
	if t.generation != seen {
		w.wakeLocked(r)
	}
	return waitHeld
}

// polling is how many requests wait for a queue.
func (w *popWaits) polling(topic, group string, queueID int32) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := w.topics[topic]; t != nil {
		return len(t.groups[group][queueID])
	}
	return 0
}

// arrived wakes, for each group, one request that waits for any queue and one that waits for the message's.
func (w *popWaits) arrived(a *store.Arrival) {
	topic, group := a.Topic, ""
	if message.IsRetryTopic(topic) {
		if topic, group = retriedFrom(a); topic == "" {
			return
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.topics[topic]
	if t == nil {
		return
	}
	t.generation++
	if group != "" {
		w.wakeGroupLocked(t.groups[group], a, false)
		return
	}
	for _, queues := range t.groups {
		w.wakeGroupLocked(queues, a, true)
	}
}

// retriedFrom is the topic and group of a message in a pop retry topic, "" for one of another retry topic.
func retriedFrom(a *store.Arrival) (topic, group string) {
	var r message.Record
	if _, err := message.DecodeRecord(a.Record(), &r, false); err != nil {
		return "", ""
	}
	group, ok := r.Properties.Get(message.KeyOriginGroup)
	if !ok {
		return "", ""
	}
	origin := message.PopRetryOrigin(a.Topic, group)
	if origin == a.Topic {
		return "", ""
	}
	return origin, group
}

func (w *popWaits) wakeGroupLocked(queues map[int32][]*popWait, a *store.Arrival, filtered bool) {
	for _, id := range [...]int32{anyQueue, a.QueueID} {
		list := queues[id]
		for i := range list {
			r := list[i]
			if w.newestFirst {
				r = list[len(list)-1-i]
			}
			if !filtered || wants(r.filter, a) {
				w.wakeLocked(r)
				break
			}
		}
	}
}

// wakeOne wakes a request that waits for a queue: there is more to read.
func (w *popWaits) wakeOne(topic, group string, queueID int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := w.topics[topic]; t != nil {
		if list := t.groups[group][queueID]; len(list) > 0 {
			w.wakeLocked(list[0])
		}
	}
}

// wakeQueue wakes who waits for a queue or for any of its topic: an ordered queue is free.
func (w *popWaits) wakeQueue(key orderKey) {
	w.wakeOne(key.topic, key.group, anyQueue)
	w.wakeOne(key.topic, key.group, key.queueID)
}

// wakeAt wakes who waits for an ordered queue when it becomes free; 0 means now.
func (w *popWaits) wakeAt(key orderKey, freeAt int64) {
	if freeAt == 0 {
		w.wakeQueue(key)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || len(w.frees) >= maxPopFlights {
		return
	}
	heap.Push(&w.frees, queueFree{key, freeAt})
	if w.frees[0].atMs == freeAt {
		signal(w.timer)
	}
}

func (w *popWaits) wakeLocked(r *popWait) {
	t := w.topics[r.topic]
	queues := t.groups[r.group]
	list := queues[r.queueID]
	for i := range list {
		if list[i] == r {
			list = append(list[:i], list[i+1:]...)
			break
		}
	}
	queues[r.queueID] = list
	if len(list) == 0 {
		delete(queues, r.queueID)
	}
	if len(queues) == 0 {
		delete(t.groups, r.group)
	}
	heap.Remove(&w.due, r.heapAt)
	w.ready = append(w.ready, r)
	signal(w.wake)
}

func (w *popWaits) timeOut() {
	timer := w.clock.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(w.expire())
		select {
		case <-w.stop:
			return
		case <-w.timer:
		case <-timer.C():
		}
	}
}

// expire wakes what gives up and what waits for queues that are free, and tells how long until the next one.
func (w *popWaits) expire() time.Duration {
	w.mu.Lock()
	now := w.clock.NowMs()
	for len(w.due) > 0 && w.due[0].dueMs <= now {
		w.due[0].last = true
		w.wakeLocked(w.due[0])
	}
	var free []orderKey
	for len(w.frees) > 0 && w.frees[0].atMs <= now {
		if f, ok := heap.Pop(&w.frees).(queueFree); ok {
			free = append(free, f.key)
		}
	}
	wait := time.Hour
	if len(w.due) > 0 {
		wait = clock.Until(w.clock, w.due[0].dueMs)
	}
	if len(w.frees) > 0 {
		wait = min(wait, clock.Until(w.clock, w.frees[0].atMs))
	}
	w.mu.Unlock()
	for _, key := range free {
		w.wakeQueue(key)
	}
	return wait
}

func (w *popWaits) runReady() {
	for {
		r, more := w.takeReady()
		if r != nil {
			if more {
				signal(w.wake)
			}
			w.run(r)
			continue
		}
		select {
		case <-w.wake:
		case <-w.stop:
			if r, _ := w.takeReady(); r != nil {
				w.run(r)
				continue
			}
			return
		}
	}
}

func (w *popWaits) takeReady() (r *popWait, more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.ready) == 0 {
		return nil, false
	}
	r, w.ready[0] = w.ready[0], nil
	w.ready = w.ready[1:]
	return r, len(w.ready) > 0
}

// waitHeap orders requests by the time at which they give up.
type waitHeap []*popWait

func (h waitHeap) Len() int           { return len(h) }
func (h waitHeap) Less(i, j int) bool { return h[i].dueMs < h[j].dueMs }

func (h waitHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].heapAt, h[j].heapAt = i, j
}

// Push is for container/heap.
func (h *waitHeap) Push(x any) {
	r := x.(*popWait) //nolint:errcheck,forcetypeassert // only popWaits calls it
	r.heapAt = len(*h)
	*h = append(*h, r)
}

// Pop is for container/heap.
func (h *waitHeap) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return r
}

// queueFree is when an ordered queue becomes free.
type queueFree struct {
	key  orderKey
	atMs int64
}

type freeHeap []queueFree

func (h freeHeap) Len() int           { return len(h) }
func (h freeHeap) Less(i, j int) bool { return h[i].atMs < h[j].atMs }
func (h freeHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push is for container/heap.
func (h *freeHeap) Push(x any) { *h = append(*h, x.(queueFree)) } //nolint:errcheck,forcetypeassert // only popWaits calls it

// Pop is for container/heap.
func (h *freeHeap) Pop() any {
	last := len(*h) - 1
	f := (*h)[last]
	*h = (*h)[:last]
	return f
}
