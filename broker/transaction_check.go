package broker

import (
	"errors"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
	"github.com/rocketd/rocketd/store"
)

const (
	// checkRetry is how long to wait after a check that could not be stored.
	checkRetry = time.Second
	// saveEvery is how often the progress offsets are brought up to date.
	saveEvery = time.Second
	// relocateSpan is how far the half topic may go on behind an undecided message before that one is stored anew at the
	// end: what lies between is read at each start.
	relocateSpan = 100_000
	// maxCheckBuffered bounds the bytes that wait for a producer before it is asked no more for a while.
	maxCheckBuffered = 1 << 20
)

// checker asks producers about half messages that are due.
type checker struct {
	wake chan struct{}
	stop chan struct{}
	done chan struct{}

	// Of the goroutine that asks: how many questions were logged in the second that began at secondMs, and how many were not.
	secondMs         int64
	logged, unlogged int
}

// maxLoggedChecks bounds the questions to producers, and what is given up, that are logged one by one in a second.
const maxLoggedChecks = 20

// mayLog tells whether a question is to be logged by itself, and how many of the second before were not.
func (c *checker) mayLog(nowMs int64) (log bool, left int) {
	if nowMs-c.secondMs >= 1000 || nowMs < c.secondMs {
		left = c.unlogged
		c.secondMs, c.logged, c.unlogged = nowMs, 0, 0
	}
	if c.logged < maxLoggedChecks {
		c.logged++
		return true, left
	}
	c.unlogged++
	return false, left
}

func (c *checker) init() {
	c.wake, c.stop, c.done = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
}

func (c *checker) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// start asks and writes from now on. load must have been called.
func (t *transactions) start() {
	t.op.start()
	t.metrics.start()
	go t.check()
}

// close ends the asking, writes what waits and saves the progress.
func (t *transactions) close() error {
	close(t.checker.stop)
	<-t.checker.done
	err := errors.Join(t.op.close(), t.metrics.close())
	t.saveOffsets()
	return err
}

func (t *transactions) check() {
	defer close(t.checker.done)
	timer := t.b.clock.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-t.checker.stop:
			return
		case <-t.checker.wake:
		case <-timer.C():
		}
		if !t.b.serving.Load() {
			timer.Reset(awaitServing)
			continue
		}
		wait := saveEvery
		for {
			next, ok := t.nextDue()
			if !ok {
				break
			}
			if next > 0 {
				wait = min(wait, next)
				break
			}
			t.checkFirst()
			select {
			case <-t.checker.stop:
				return
			default:
			}
		}
		t.relocate()
		t.saveOffsets()
		timer.Reset(wait)
	}
}

// nextDue is how long until the next half message is due; false when none is pending.
func (t *transactions) nextDue() (time.Duration, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.pending.next()
	if h == nil {
		return 0, false
	}
	return time.Duration(h.due-t.b.clock.NowMs()) * time.Millisecond, true
}

// checkFirst acts on the half message that is due first.
func (t *transactions) checkFirst() {
	t.mu.Lock()
	h := t.pending.next()
	if h == nil {
		t.mu.Unlock()
		return
	}
	key := h.key
	t.mu.Unlock()

	lock := &t.decisions[key%decisionLocks]
	lock.Lock()
	defer lock.Unlock()
	now := t.b.clock.NowMs()
	t.mu.Lock()
	h = t.pending.get(key)
	if h == nil || h.due > now {
		t.mu.Unlock()
		return // decided or postponed meanwhile
	}
	// Whatever happens below, this one is not due again at once.
	t.pending.postpone(h, now+max(t.b.config().Broker.TransactionCheckInterval, 1))
	group := t.pending.names.name(h.group)
	copied := *h
	t.mu.Unlock()
	t.act(h, &copied, group, now)
}

// act gives a half message up, or asks its producer. seen is a copy of h. The decision lock of h is held.
func (t *transactions) act(h, seen *pendingHalf, group string, now int64) {
	c := t.b.config()
	given := seen.checks >= c.Broker.TransactionCheckMax || now-seen.since > int64(c.Store.FileReservedTime)*3600_000
	var conn *remoting.Conn
	if !given {
		conn = t.b.producers.pick(group)
		if conn == nil && group != "" {
			return // nobody to ask: it waits for a producer until its time is over
		}
		if conn != nil && conn.OutboundBuffered() > maxCheckBuffered {
			t.postpone(h, now+checkRetry.Milliseconds())
			return // the producer has not read what it was asked before
		}
	}
	record, err := t.b.store.Record(seen.physical)
	if err != nil {
		t.lost(h, seen, err)
		return
	}
	defer record.Release()
	var r message.Record
	if _, err := message.DecodeRecord(record.Bytes(), &r, false); err != nil {
		t.lost(h, seen, err)
		return
	}
	half, _ := readHalf(&r)
	if seen.recovered {
		if t.indexBehind() {
			t.postpone(h, now+checkRetry.Milliseconds())
			return // the index, which knows of commits, is not there yet
		}
		if t.committedAlready(&half) {
			t.finish(&half, h, true)
			return
		}
	}
	if given {
		t.giveUp(h, &half)
		return
	}
	if conn == nil {
		if conn = t.b.producers.pick(half.group); conn == nil {
			return
		}
	}
	t.ask(h, &half, conn)
}

// ask stores the half message anew with its count of checks and sends it to a producer
// (AbstractTransactionalMessageCheckListener#sendCheckMessage).
func (t *transactions) ask(h *pendingHalf, half *halfRecord, conn *remoting.Conn) {
	checks := half.checks + 1
	properties := half.Properties.With(message.KeyTransactionCheckTimes, itoa(checks))
	placed, err := t.b.store.Put(copyHalf(half, properties))
	if err != nil {
		t.postpone(h, t.b.clock.NowMs()+checkRetry.Milliseconds())
		if t.b.warnings.allow("transaction check") {
			t.b.log.WithError(err).Warn("a check of a transaction cannot be stored, trying again")
		}
		return
	}
	t.b.stats.putInternal(message.TopicTransHalf, int(placed.Size))
	request, err := t.checkRequest(half, properties, placed)
	if err == nil {
		err = conn.Oneway(request)
	}
	log, left := t.checker.mayLog(t.b.clock.NowMs())
	if left > 0 {
		t.b.log.WithField("questions", left).Info("producers asked about more transactions, or more given up, than are logged one by one")
	}
	if !log {
		return
	}
	entry := t.b.log.WithFields(logrus.Fields{
		"transaction": cloned(half.uniqueKey), "topic": cloned(half.topic), "group": cloned(half.group), "check": checks,
		"of": t.b.config().Broker.TransactionCheckMax, "producer": conn.RemoteAddr().String(),
	})
	if err != nil {
		entry.WithError(err).Warn("producer could not be asked about a transaction")
		return
	}
	entry.Info("producer asked about a transaction")
}

// checkRequest is CHECK_TRANSACTION_STATE: the new copy of the half message with its real topic and queue.
func (t *transactions) checkRequest(half *halfRecord, properties message.Properties, placed store.Placed) (*remoting.Command, error) {
	id := message.OffsetMessageID(half.StoreHost, placed.PhysicalOffset)
	key := cloned(half.uniqueKey)
	request := remoting.NewRequest(remoting.CheckTransactionState, &remoting.CheckTransactionStateRequestHeader{
		Topic: message.TopicTransHalf, TranStateTableOffset: placed.QueueOffset, CommitLogOffset: placed.PhysicalOffset,
		MsgID: key, TransactionID: key, OffsetMsgID: id,
	})
	request.Ext = []remoting.ExtField{{Key: "bname", Value: t.b.config().Broker.BrokerName}}
	shown := copyHalf(half, properties)
	shown.Topic, shown.QueueID = half.topic, half.queueID
	content, err := message.AppendRecord(nil, shown, message.Placement{
		PhysicalOffset: placed.PhysicalOffset, QueueOffset: placed.QueueOffset, StoreTimestamp: placed.StoreTimestamp,
	})
	request.Body = content
	return request, err
}

// giveUp moves a half message to TRANS_CHECK_MAX_TIME_TOPIC (DefaultTransactionalMessageCheckListener#resolveDiscardMsg).
func (t *transactions) giveUp(h *pendingHalf, half *halfRecord) {
	topic, err := t.b.topics.createIfAbsent(checkMaxTopic())
	if topic == nil {
		t.postpone(h, t.b.clock.NowMs()+checkRetry.Milliseconds())
		t.b.log.WithError(err).Warn("topic of given-up transactions cannot be created")
		return
	}
	m := copyHalf(half, half.Properties)
	m.Topic, m.QueueID = message.TopicTransCheckMaxTime, 0
	placed, err := t.b.store.Put(m)
	if err != nil {
		t.postpone(h, t.b.clock.NowMs()+checkRetry.Milliseconds())
		if t.b.warnings.allow("transaction given up") {
			t.b.log.WithError(err).Warn("a given-up transaction cannot be stored, trying again")
		}
		return
	}
	t.b.stats.putInternal(message.TopicTransCheckMaxTime, int(placed.Size))
	if log, _ := t.checker.mayLog(t.b.clock.NowMs()); log {
		t.b.log.WithFields(logrus.Fields{
			"transaction": cloned(half.uniqueKey), "topic": cloned(half.topic), "group": cloned(half.group), "checks": half.checks,
		}).Warn("transaction given up, its message is in " + message.TopicTransCheckMaxTime)
	}
	t.forget(h)
}

// checkMaxTopic is the topic of given-up half messages (TopicConfigManager#createTopicOfTranCheckMaxTime).
func checkMaxTopic() *body.TopicConfig {
	topic := body.NewTopicConfig(message.TopicTransCheckMaxTime)
	topic.ReadQueueNums, topic.WriteQueueNums, topic.Perm = 1, 1, permBoth
	return topic
}

// lost drops a half message whose record is gone from the log.
func (t *transactions) lost(h, seen *pendingHalf, err error) {
	if errors.Is(err, store.ErrNotFound) && seen.physical >= t.b.store.MinPhysicalOffset() || store.Unread(err) {
		if store.Unread(err) && t.b.warnings.allow("half message") {
			t.b.log.WithError(err).WithField("offset", seen.offset).Warn("a half message cannot be read, trying again later")
		}
		t.postpone(h, t.b.clock.NowMs()+checkRetry.Milliseconds())
		return
	}
	t.b.log.WithError(err).WithField("offset", seen.offset).Error("half message is gone from the log before it was decided")
	t.forget(h)
}

// forget takes h out of what is pending and has the op topic say so.
func (t *transactions) forget(h *pendingHalf) {
	t.mu.Lock()
	if t.pending.get(h.key) != h {
		t.mu.Unlock()
		return
	}
	t.pending.remove(h)
	t.metrics.countLocked(h.topic, -1)
	offset := h.offset
	t.mu.Unlock()
	t.op.add(offset)
}

func (t *transactions) postpone(h *pendingHalf, due int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pending.get(h.key) == h {
		t.pending.postpone(h, due)
	}
}

// relocate stores the oldest undecided half message anew at the end, without asking, when far more has been decided behind
// it: the progress offset is held back by it. The property TRAN_PREPARED_QUEUE_OFFSET tells the reference where it was
// (TransactionalMessageBridge#renewImmunityHalfMessageInner).
func (t *transactions) relocate() {
	t.mu.Lock()
	h := t.pending.first
	if h == nil || t.arrivedTo-h.offset < max(relocateSpan, 4*int64(t.pending.count())) {
		t.mu.Unlock()
		return
	}
	key, physical, offset := h.key, h.physical, h.offset
	t.mu.Unlock()

	lock := &t.decisions[key%decisionLocks]
	lock.Lock()
	defer lock.Unlock()
	t.mu.Lock()
	still := t.pending.get(key) == h && h.offset == offset
	due := h.due
	t.mu.Unlock()
	if !still {
		return
	}
	record, err := t.b.store.Record(physical)
	if err != nil {
		return
	}
	defer record.Release()
	var r message.Record
	if _, err := message.DecodeRecord(record.Bytes(), &r, false); err != nil {
		return
	}
	half, _ := readHalf(&r)
	properties := half.Properties
	if !half.prepared {
		properties = properties.With(message.KeyPreparedQueueOffset, decimal(r.QueueOffset))
	}
	if _, err := t.b.store.Put(copyHalf(&half, properties)); err == nil {
		t.postpone(h, due) // the new copy does not begin a new term
		t.checker.signal()
	}
}

// saveOffsets commits how far the half and op topics need no more reading.
func (t *transactions) saveOffsets() {
	t.mu.Lock()
	now := transactionOffsets{half: min(t.pending.lowest(), t.arrivedTo)}
	now.op = t.op.position(now.half)
	changed := now != t.saved
	t.saved = now
	t.mu.Unlock()
	if changed {
		t.b.offsets.commit(message.GroupTransaction, message.TopicTransHalf, 0, now.half, "")
		t.b.offsets.commit(message.GroupTransaction, message.TopicTransOpHalf, 0, now.op, "")
	}
}
