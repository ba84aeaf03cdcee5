package broker

import (
	"strings"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/store"
)

func (b *Broker) transactionRoutes() []remoting.Route {
	return []remoting.Route{
		{Code: remoting.EndTransaction, Lane: laneTransaction, Handle: b.endTransaction},
		{Code: remoting.ResumeCheckHalfMessage, Lane: laneAdmin, Handle: b.resumeCheck},
	}
}

// decisionLocks is the number of locks that serialise decisions: two about one half message never run together.
const decisionLocks = 64

// transactions decides about half messages and asks producers about those they left undecided
// (TransactionalMessageServiceImpl).
//
// The half topic and the op topic are the truth, in the reference's form: a half message is undecided unless an op
// message names its queue offset. In memory stands what is undecided (pendingHalves), so that nothing is ever scanned
// but at the start. To ask a producer a half message is stored anew with its count of checks, and the old copy is done
// with; the copies have one unique key, by which a decision about any of them is one about the half message.
//
// Lock order: decisions, then mu. Nothing is stored with mu held.
type transactions struct {
	b  *Broker
	op *opLog

	decisions [decisionLocks]sync.Mutex

	mu      sync.Mutex
	pending *pendingHalves // guarded by mu, like all below
	// arrivedTo is the offset in the half topic that the next one to become visible has.
	arrivedTo int64
	// early holds half messages that were decided before they became visible.
	early map[int64]struct{}
	// recent remembers decisions, so that a client that repeats itself gets the same answer.
	recent  recentDecisions
	metrics transactionMetrics
	saved   transactionOffsets // what has been committed to the offset table

	checker checker
}

// transactionOffsets are the two progress offsets of CID_RMQ_SYS_TRANS.
type transactionOffsets struct{ half, op int64 }

func newTransactions(b *Broker) *transactions {
	t := &transactions{b: b, pending: newPendingHalves(), early: map[int64]struct{}{}}
	t.op = newOpLog(b)
	t.metrics.init(b, t)
	t.checker.init()
	return t
}

// endTransaction commits or rolls back a half message (EndTransactionProcessor). Clients send it one-way.
func (b *Broker) endTransaction(c *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.EndTransactionRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	if b.isSlave() {
		return nil, remoting.Errorf(remoting.SlaveNotAvailable, "transactions end on the master, this is a slave")
	}
	if h.CommitOrRollback != message.TransactionCommit && h.CommitOrRollback != message.TransactionRollback {
		// Not decided yet, or nothing known: the reference gives no answer at all.
		return success(), nil
	}
	if h.CommitOrRollback == message.TransactionRollback || h.FromTransactionCheck.Or(false) {
		b.log.WithFields(logrus.Fields{
			"group": h.ProducerGroup, "transaction": h.TransactionID, "client": caller(c), "offset": h.TranStateTableOffset,
			"commit": h.CommitOrRollback == message.TransactionCommit, "checked": h.FromTransactionCheck.Or(false),
		}).Debug("transaction ends")
	}
	record, err := b.store.Record(h.CommitLogOffset)
	if err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "Find prepared transaction message failed")
	}
	defer record.Release()
	var r message.Record
	if _, err := message.DecodeRecord(record.Bytes(), &r, false); err != nil || r.Topic != message.TopicTransHalf {
		return nil, remoting.Errorf(remoting.SystemError, "Find prepared transaction message failed")
	}
	half, ok := readHalf(&r)
	switch {
	case !ok:
		return nil, remoting.Errorf(remoting.SystemError, "Find prepared transaction message failed")
	case half.group != h.ProducerGroup:
		return nil, remoting.Errorf(remoting.SystemError, "The producer group wrong")
	case r.QueueOffset != h.TranStateTableOffset:
		return nil, remoting.Errorf(remoting.SystemError, "The transaction state table offset wrong")
	case r.PhysicalOffset != h.CommitLogOffset:
		return nil, remoting.Errorf(remoting.SystemError, "The commit log offset wrong")
	}
	if err := b.transactions.decide(&half, h.CommitOrRollback == message.TransactionCommit); err != nil {
		return nil, err
	}
	return success(), nil
}

// decide carries out the decision about a half message, if it is the first one.
func (t *transactions) decide(half *halfRecord, commit bool) error {
	key := t.hash(half.uniqueKey)
	lock := &t.decisions[key%decisionLocks]
	lock.Lock()
	defer lock.Unlock()

	t.mu.Lock()
	pending := t.pending.get(key)
	before, known := t.recent.get(key)
	arriving := half.QueueOffset >= t.arrivedTo
	recovered := pending != nil && pending.recovered
	t.mu.Unlock()

	switch {
	case pending == nil && known:
		return repeated(before, commit)
	case pending == nil && !arriving:
		return t.decideUnknown(half, commit)
	case recovered && t.committedAlready(half):
		t.finish(half, pending, true)
		return repeated(true, commit)
	case recovered && t.indexBehind():
		return errNotKnownYet()
	}
	return t.carryOut(half, pending, commit)
}

// indexBehind tells whether the index, which knows of commits, has yet to take up what a start found in the log.
func (t *transactions) indexBehind() bool {
	return t.b.store.IndexedOffset() < t.b.store.Recovery().LogEnd
}

func errNotKnownYet() error {
	return remoting.Errorf(remoting.SystemBusy, "the index is being built after the start: whether the transaction has been decided before is not known yet")
}

// repeated is the answer to a decision about what has been decided before.
func repeated(before, now bool) error {
	if before == now {
		return nil
	}
	words := map[bool]string{true: "committed", false: "rolled back"}
	return remoting.Errorf(remoting.IllegalOperation, "the transaction has been %s before, the first decision stands", words[before])
}

// decideUnknown is for a half message that is not pending: its decision is long ago, or it was given up and lies in
// TRANS_CHECK_MAX_TIME_TOPIC, where a late decision still finds it.
func (t *transactions) decideUnknown(half *halfRecord, commit bool) error {
	switch {
	case t.committedAlready(half):
		return repeated(true, commit)
	case t.rolledBackLate(half):
		return repeated(false, commit)
	case t.indexBehind():
		return errNotKnownYet()
	case t.givenUp(half) && commit:
		return t.carryOut(half, nil, true)
	case t.givenUp(half):
		return t.rollBackLate(half)
	default:
		return remoting.Errorf(remoting.IllegalOperation, "the transaction is not pending: it has been committed, rolled back or removed before")
	}
}

// carryOut stores what a decision means. pending may be nil: then the half message is not visible yet, or was given up.
func (t *transactions) carryOut(half *halfRecord, pending *pendingHalf, commit bool) error {
	if commit {
		placed, err := t.b.deliver(committedMessage(half))
		if err != nil {
			return err
		}
		t.b.stats.putInternal(half.topic, int(placed.Size))
		d := ensure(&t.b.stats.traffic.topic(half.topic).decided)
		d.commits.Add(1)
		d.latency.add(&finishBounds, max(0, t.b.clock.NowMs()-half.BornTimestamp)/1000)
		t.finish(half, pending, true)
		return nil
	}
	// All copies of the half message are named before the answer: one that a kill forgets would be asked about again.
	done := []int64{half.QueueOffset}
	t.mu.Lock()
	if pending != nil && pending.offset != half.QueueOffset {
		done = append(done, pending.offset)
	}
	t.mu.Unlock()
	if err := t.op.addNow(done...); err != nil {
		return remoting.Errorf(remoting.SystemError, "the rollback cannot be stored: %v", err)
	}
	ensure(&t.b.stats.traffic.topic(half.topic).decided).rollbacks.Add(1)
	t.finish(half, pending, false)
	return nil
}

// rollBackLate stores the rollback of a half message that was given up. That it was may wait to be written yet, and a start would take it for
// pending: that comes first. The op message of the rollback names the unique key, by which later decisions find it.
func (t *transactions) rollBackLate(half *halfRecord) error {
	err := t.op.addNow(half.QueueOffset)
	if err == nil {
		err = t.op.putKeyed(half.QueueOffset, half.uniqueKey)
	}
	if err != nil {
		return remoting.Errorf(remoting.SystemError, "the rollback cannot be stored: %v", err)
	}
	ensure(&t.b.stats.traffic.topic(half.topic).decided).rollbacks.Add(1)
	t.finish(half, nil, false)
	return nil
}

// finish takes a decided half message out of what is pending, and has the op topic say so.
func (t *transactions) finish(half *halfRecord, pending *pendingHalf, committed bool) {
	key := t.hash(half.uniqueKey)
	done := []int64{half.QueueOffset}
	t.mu.Lock()
	if pending != nil && pending == t.pending.get(key) {
		if pending.offset != half.QueueOffset {
			done = append(done, pending.offset)
		}
		t.pending.remove(pending)
		t.metrics.countLocked(pending.topic, -1)
	}
	if half.QueueOffset >= t.arrivedTo {
		t.early[half.QueueOffset] = struct{}{}
	}
	t.recent.put(key, committed)
	t.mu.Unlock()
	if !committed {
		return // written already
	}
	for _, offset := range done {
		t.op.add(offset)
	}
}

func (t *transactions) hash(uniqueKey string) uint64 { return t.pending.hash(uniqueKey) }

// committedAlready tells whether the log holds what a commit made of the half message, found by its unique key in the
// index: the op message may have been lost with a killed process.
func (t *transactions) committedAlready(half *halfRecord) bool {
	for _, topic := range []string{half.topic, message.TopicSchedule, message.TopicTimer} {
		if t.stored(topic, half.uniqueKey, func(r *message.Record) bool {
			return r.TransactionType() == message.TransactionCommit
		}) {
			return true
		}
	}
	return false
}

// givenUp tells whether the half message lies in TRANS_CHECK_MAX_TIME_TOPIC.
func (t *transactions) givenUp(half *halfRecord) bool {
	return t.stored(message.TopicTransCheckMaxTime, half.uniqueKey, func(*message.Record) bool { return true })
}

// rolledBackLate tells whether the half message was rolled back after it had been given up.
func (t *transactions) rolledBackLate(half *halfRecord) bool {
	return t.stored(message.TopicTransOpHalf, half.uniqueKey, func(*message.Record) bool { return true })
}

// stored tells whether one of the newest messages of topic with the unique key is as wanted.
func (t *transactions) stored(topic, uniqueKey string, wanted func(*message.Record) bool) bool {
	const most = 16
	slices, err := t.b.store.Query(topic, uniqueKey, most, 0, 1<<62)
	if err != nil {
		t.b.log.WithError(err).WithField("topic", topic).Warn("index cannot be read, a transaction's state is not sure")
		return false
	}
	found := false
	for _, s := range slices {
		var r message.Record
		if _, err := message.DecodeRecord(s.Bytes(), &r, false); err == nil && !found {
			key, _ := r.Properties.Get(message.KeyUniqueKey)
			found = key == uniqueKey && wanted(&r)
		}
		s.Release()
	}
	return found
}

// arrived takes up half messages when they become visible. It runs on the dispatch path.
func (t *transactions) arrived(a store.Arrival) {
	if a.Topic != message.TopicTransHalf || a.QueueID != 0 {
		return
	}
	var r message.Record
	if _, err := message.DecodeRecord(a.Record(), &r, false); err != nil {
		t.b.log.WithError(err).WithField("offset", a.QueueOffset).Error("half message cannot be read")
		r = message.Record{}
	}
	t.take(&r, a.QueueOffset, a.PhysicalOffset, false)
}

// take notes a record of the half topic as the newest copy of its half message.
func (t *transactions) take(r *message.Record, offset, physical int64, recovered bool) {
	half, ok := readHalf(r)
	c := &t.b.config().Broker
	key := t.hash(half.uniqueKey)
	t.mu.Lock()
	defer t.mu.Unlock()
	if offset < t.arrivedTo && !recovered {
		return
	}
	t.arrivedTo = max(t.arrivedTo, offset+1)
	if !ok {
		return // nothing can become of it
	}
	if _, decided := t.early[offset]; decided {
		delete(t.early, offset)
		return
	}
	since := r.StoreTimestamp
	if half.prepared {
		since = min(since, r.BornTimestamp) // it may have been stored anew any number of times
	}
	due := since + half.firstCheckAfter(c.TransactionTimeOut)
	if half.checks > 0 {
		due = r.StoreTimestamp + c.TransactionCheckInterval
	}
	if known := t.pending.get(key); known != nil {
		t.op.add(known.offset)
		t.pending.move(known, offset, physical)
		known.checks = half.checks
		t.pending.postpone(known, due)
		t.checker.signal()
		return
	}
	h := &pendingHalf{
		key: key, offset: offset, physical: physical, since: since, due: due, checks: half.checks,
		group: t.pending.names.number(half.group), topic: t.pending.names.number(half.topic), recovered: recovered,
	}
	t.pending.add(h)
	t.metrics.countLocked(h.topic, 1)
	if t.pending.next() == h {
		t.checker.signal()
	}
}

// resumeCheck puts a given-up half message back: its producer is asked anew (AdminBrokerProcessor#resumeCheckHalfMessage).
func (b *Broker) resumeCheck(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	const failed = "Exception was thrown when putting message back to RMQ_SYS_TRANS_HALF_TOPIC."
	var h remoting.ResumeCheckHalfMessageRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	_, offset, err := message.ParseOffsetMessageID(h.MsgID)
	if err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "%s msgId: %v", failed, err)
	}
	record, err := b.store.Record(offset)
	if err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "%s msgId %s: %v", failed, h.MsgID, err)
	}
	defer record.Release()
	var r message.Record
	if _, err := message.DecodeRecord(record.Bytes(), &r, false); err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "%s msgId %s: %v", failed, h.MsgID, err)
	}
	half, ok := readHalf(&r)
	if !ok {
		return nil, remoting.Errorf(remoting.SystemError, "%s msgId %s: the message has no property %s", failed, h.MsgID, message.KeyRealTopic)
	}
	m := copyHalf(&half, r.Properties.With(message.KeyTransactionCheckTimes, "0"))
	m.QueueID = 0
	if _, err := b.store.Put(m); err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "Put message back to RMQ_SYS_TRANS_HALF_TOPIC failed. %v", err)
	}
	b.log.WithFields(logrus.Fields{"topic": half.topic, "transaction": strings.Clone(half.uniqueKey)}).Info("checks of a transaction resumed")
	return success(), nil
}
