package integration

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// Kinds of messages that the crash test sends.
const (
	kindPlain     = "plain"
	kindBatch     = "batch"
	kindInner     = "inner" // in a topic of queue.type=BatchCQ, alone or in a batch
	kindDelay     = "delay"
	kindTimer     = "timer"
	kindCommit    = "commit"    // a transaction that its producer commits
	kindRollback  = "rollback"  // … and one that it rolls back
	kindUndecided = "undecided" // committed when the broker asks
)

// sentMessage is what the model knows of one message. Guarded by crashModel.mu.
type sentMessage struct {
	kind string
	pad  int   // blanks behind the id in the body
	due  int64 // not to be delivered before, ms
	// acked: the broker said that it is stored; of a transaction, as half message.
	acked bool
	// decided: the broker acknowledged the end of the transaction.
	decided bool
	// place is where the acknowledgement said it is, of kindInner.
	place *place
}

// wanted tells whether it must be delivered in the end.
func (s *sentMessage) wanted() bool { return s.acked && s.kind != kindRollback }

// forbidden tells whether it must never be delivered: rolled back, or a transaction whose producer does not know that it began.
func (s *sentMessage) forbidden() bool {
	switch s.kind {
	case kindCommit, kindUndecided:
		return !s.acked
	}
	return s.kind == kindRollback
}

// crashWorker is one client of the load.
type crashWorker struct {
	m      *crashModel
	client *remoting.Client
	random *rand.Rand
}

func (w *crashWorker) heartbeat(ctx context.Context) {
	cmd := remoting.NewRequest(remoting.HeartBeat, nil)
	cmd.Body = body.Encode(&body.HeartbeatData{ClientID: fmt.Sprintf("crash@%p", w.client), ProducerDataSet: []body.ProducerData{{GroupName: "P"}}})
	w.invoke(ctx, cmd)
}

func (w *crashWorker) invoke(ctx context.Context, cmd *remoting.Command) *remoting.Command {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	resp, err := w.client.Invoke(ctx, w.m.addr, cmd)
	if err != nil || resp.Code != remoting.Success {
		time.Sleep(time.Millisecond)
		return nil
	}
	return resp
}

// register notes a message before it is sent.
func (m *crashModel) register(id string, s *sentMessage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sent[id] = s
}

// ack notes that it was acknowledged.
func (m *crashModel) ack(s *sentMessage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.acked = true
}

// one sends one message of a random kind, or a batch, and notes it when acknowledged.
func (w *crashWorker) one(ctx context.Context, id string) {
	s := &sentMessage{kind: kindPlain, pad: w.random.IntN(600)}
	h := &remoting.SendMessageRequestHeader{
		ProducerGroup: "P", Topic: "crash", DefaultTopic: "TBW102", DefaultTopicQueueNums: crashQueues,
		QueueID: int32(w.random.IntN(crashQueues)), BornTimestamp: time.Now().UnixMilli(),
	}
	properties := message.Properties(nil).Append(message.KeyUniqueKey, id).Append(message.KeyTags, "tag")
	switch w.random.IntN(9) {
	case 0:
		level := w.random.IntN(len(w.m.levels))
		s.kind, s.due = kindDelay, time.Now().UnixMilli()+w.m.levels[level]
		properties = properties.Append(message.KeyDelayLevel, strconv.Itoa(level+1))
	case 1:
		if w.m.timerSpan == 0 {
			break // a broker without timers
		}
		s.kind, s.due = kindTimer, time.Now().UnixMilli()+500+w.random.Int64N(w.m.timerSpan)
		properties = properties.Append(message.KeyTimerDeliverMs, strconv.FormatInt(s.due, 10))
	case 2:
		w.batch(ctx, h, id)
		return
	case 4:
		if w.m.innerTopic {
			w.inner(ctx, h, id)
			return
		}
	case 3:
		s.kind = []string{kindCommit, kindCommit, kindRollback, kindUndecided}[w.random.IntN(4)]
		w.transaction(ctx, h, id, s, properties)
		return
	}
	if w.send(ctx, h, id, s, properties) != nil {
		w.m.ack(s)
	}
}

func (w *crashWorker) send(ctx context.Context, h *remoting.SendMessageRequestHeader, id string, s *sentMessage, properties message.Properties) *remoting.Command {
	w.m.register(id, s)
	h.Properties = string(properties)
	cmd := remoting.NewRequest(remoting.SendMessage, h)
	cmd.Body = []byte(id + strings.Repeat(" ", s.pad))
	return w.invoke(ctx, cmd)
}

func (w *crashWorker) batch(ctx context.Context, h *remoting.SendMessageRequestHeader, id string) {
	h.Batch = remoting.Some(true)
	var entries []byte
	list := make([]*sentMessage, 5)
	for i := range list {
		list[i] = &sentMessage{kind: kindBatch, pad: w.random.IntN(200)}
		part := id + "." + strconv.Itoa(i)
		w.m.register(part, list[i])
		content := part + strings.Repeat(" ", list[i].pad)
		properties := message.Properties(nil).Append(message.KeyUniqueKey, part).Append(message.KeyTags, "tag")
		entry := binary.BigEndian.AppendUint32(nil, uint32(22+len(content)+len(properties)))
		entry = append(entry, make([]byte, 12)...)
		entry = binary.BigEndian.AppendUint32(entry, uint32(len(content)))
		entry = append(entry, content...)
		entry = binary.BigEndian.AppendUint16(entry, uint16(len(properties)))
		entries = append(append(entries, entry...), properties...)
	}
	cmd := remoting.NewRequest(remoting.SendMessage, h)
	cmd.Body = entries
	if w.invoke(ctx, cmd) == nil {
		return
	}
	for _, s := range list {
		w.m.ack(s)
	}
}

// transaction sends a half message and decides about it, or leaves that to the broker's question.
func (w *crashWorker) transaction(ctx context.Context, h *remoting.SendMessageRequestHeader, id string, s *sentMessage, properties message.Properties) {
	h.SysFlag = message.TransactionPrepared
	resp := w.send(ctx, h, id, s, properties.Append(message.KeyTransactionPrepared, "true").Append(message.KeyProducerGroup, "P"))
	if resp == nil {
		return
	}
	w.m.ack(s)
	if s.kind == kindUndecided {
		return
	}
	var placed remoting.SendMessageResponseHeader
	if resp.Decode(&placed) != nil {
		return
	}
	_, physical, err := message.ParseOffsetMessageID(placed.MsgID)
	if err != nil {
		return
	}
	end := &remoting.EndTransactionRequestHeader{
		Topic: "crash", ProducerGroup: "P", TranStateTableOffset: placed.QueueOffset, CommitLogOffset: physical, CommitOrRollback: decision(s), MsgID: id, TransactionID: id,
	}
	if w.invoke(ctx, remoting.NewRequest(remoting.EndTransaction, end)) != nil {
		w.m.mu.Lock()
		s.decided = true
		w.m.mu.Unlock()
	}
}

// decision is how the producer ends a transaction.
func decision(s *sentMessage) int32 {
	if s.forbidden() {
		return message.TransactionRollback
	}
	return message.TransactionCommit
}

// handle answers the broker's questions about transactions as a producer does: by what it did itself.
func (m *crashModel) handle(addr string, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.CheckTransactionStateRequestHeader
	if req.Code != remoting.CheckTransactionState || req.Decode(&h) != nil {
		return nil, nil
	}
	m.mu.Lock()
	s := m.sent[h.TransactionID]
	if s == nil {
		s = &sentMessage{kind: kindRollback}
	}
	m.asked[h.TransactionID]++
	end := remoting.NewRequest(remoting.EndTransaction, &remoting.EndTransactionRequestHeader{
		Topic: "crash", ProducerGroup: "P", TranStateTableOffset: h.TranStateTableOffset, CommitLogOffset: h.CommitLogOffset, CommitOrRollback: decision(s),
		FromTransactionCheck: remoting.Some(true), MsgID: h.MsgID, TransactionID: h.TransactionID,
	})
	client := m.clients[len(m.asked)%len(m.clients)]
	m.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = client.Oneway(ctx, addr, end)
	return nil, nil
}

// consume reads the queues from where it stopped, remembers what it saw, and commits its offsets.
func (m *crashModel) consume(ctx context.Context) {
	w := crashWorker{m: m, client: m.clients[0]}
	for q := 0; ctx.Err() == nil; q = (q + 1) % crashQueues {
		resp := w.invoke(ctx, pullCrash(int32(q), int64(len(m.seen[q]))))
		if resp == nil {
			continue
		}
		for rest := resp.Body; len(rest) > 0; {
			var r message.Record
			n, err := message.DecodeRecord(rest, &r, true)
			if err != nil {
				break // verify finds it
			}
			m.seen[q] = append(m.seen[q], sum(&r))
			rest = rest[n:]
		}
		next := int64(len(m.seen[q]))
		m.mu.Lock()
		m.offsets[q].tried = next
		m.mu.Unlock()
		if w.invoke(ctx, remoting.NewRequest(remoting.UpdateConsumerOffset, &remoting.UpdateConsumerOffsetRequestHeader{
			ConsumerGroup: "G", Topic: "crash", QueueID: int32(q), CommitOffset: next,
		})) != nil {
			m.mu.Lock()
			m.offsets[q].acked = append(m.offsets[q].acked, ackedPoint{time.Now(), next})
			m.mu.Unlock()
		}
	}
}

func pullCrash(queue int32, offset int64) *remoting.Command {
	return remoting.NewRequest(remoting.PullMessage, &remoting.PullMessageRequestHeader{
		ConsumerGroup: "check", Topic: "crash", QueueID: queue, QueueOffset: offset, MaxMsgNums: 32, SysFlag: 4, Subscription: "*",
	})
}

// sum tells records apart.
func sum(r *message.Record) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(r.Body)
	_, _ = h.Write(r.Properties)
	_, _ = fmt.Fprint(h, r.PhysicalOffset, r.QueueOffset)
	return h.Sum64()
}
