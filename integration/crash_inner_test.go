package integration

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
)

// innerQueues is how many queues the topic of queue.type=BatchCQ has.
const innerQueues = 2

// place is an offset of a queue.
type place struct {
	queue  int
	offset int64
}

// makeInnerTopic makes the topic whose batches are stored as one record each.
func (m *crashModel) makeInnerTopic(t *testing.T) {
	t.Helper()
	cmd := remoting.NewRequest(remoting.UpdateAndCreateTopic, nil)
	for _, f := range [][2]string{
		{"topic", "inner"},
		{"defaultTopic", "TBW102"},
		{"readQueueNums", strconv.Itoa(innerQueues)},
		{"writeQueueNums", strconv.Itoa(innerQueues)},
		{"perm", "6"},
		{"topicFilterType", "SINGLE_TAG"},
		{"topicSysFlag", "0"},
		{"order", "false"},
		{"attributes", "+queue.type=BatchCQ"},
	} {
		cmd.AddExt(f[0], f[1])
	}
	resp, err := m.clients[0].Invoke(t.Context(), m.addr, cmd)
	if err != nil || resp.Code != remoting.Success {
		t.Fatalf("create topic inner: %v %+v", err, resp)
	}
}

// inner sends a message, or a batch of up to eight, to the topic of batch queues and notes the offset of each.
func (w *crashWorker) inner(ctx context.Context, h *remoting.SendMessageRequestHeader, id string) {
	h.Topic, h.QueueID = "inner", int32(w.random.IntN(innerQueues))
	list := make([]*sentMessage, 1+w.random.IntN(8))
	ids := make([]string, len(list))
	var content []byte
	for i := range list {
		list[i] = &sentMessage{kind: kindInner, pad: w.random.IntN(200)}
		ids[i] = id + "." + strconv.Itoa(i)
		w.m.register(ids[i], list[i])
		content, _ = message.AppendBatchEntry(content, message.BatchEntry{Body: list[i].innerBody(ids[i])}) // without properties there is no error
	}
	h.Properties = string(message.Properties(nil).Append(message.KeyUniqueKey, id))
	cmd := remoting.NewRequest(remoting.SendMessage, h)
	if h.Batch = remoting.Some(len(list) > 1); len(list) == 1 {
		content = list[0].innerBody(ids[0])
	}
	cmd.Body = content
	resp := w.invoke(ctx, cmd)
	var answer remoting.SendMessageResponseHeader
	if resp == nil || resp.Decode(&answer) != nil {
		return
	}
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	for i, s := range list {
		s.acked, s.place = true, &place{int(h.QueueID), answer.QueueOffset + int64(i)}
	}
}

func (s *sentMessage) innerBody(id string) []byte { return []byte(id + strings.Repeat(" ", s.pad)) }

// readInner reads what is new in the batch queues. Records lie one behind the other without a gap; each message is one that was sent, lies where its
// acknowledgement said, and is there once; of a batch there is all or nothing.
func (r *crashReader) readInner() {
	r.t.Helper()
	if !r.m.innerTopic {
		return
	}
	for q := range r.innerNext {
		for r.innerPage(q) {
		}
	}
}

func (r *crashReader) innerPage(q int) bool {
	t, next := r.t, &r.innerNext[q]
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	cmd := pullCrash(int32(q), *next)
	cmd.Header.(*remoting.PullMessageRequestHeader).Topic = "inner"
	resp, err := r.m.clients[0].Invoke(ctx, r.m.addr, cmd)
	if err != nil {
		t.Fatal(err)
	}
	switch resp.Code {
	case remoting.Success:
	case remoting.PullNotFound:
		return false
	default:
		t.Fatalf("pull batch queue %d at %d: code %d %s", q, *next, resp.Code, resp.Remark)
	}
	for rest := resp.Body; len(rest) > 0; {
		var record message.Record
		n, err := message.DecodeRecord(rest, &record, true)
		if err != nil || record.QueueOffset != *next {
			t.Fatalf("batch queue %d at %d: a record of offset %d, %v", q, *next, record.QueueOffset, err)
		}
		rest = rest[n:]
		r.innerRecord(q, &record)
	}
	return true
}

// innerRecord compares a record with what was sent.
func (r *crashReader) innerRecord(q int, record *message.Record) {
	t, next := r.t, &r.innerNext[q]
	t.Helper()
	bodies := [][]byte{record.Body}
	if record.SysFlag&message.SysInnerBatch != 0 {
		bodies = nil
		for batch := record.Body; len(batch) > 0; {
			e, rest, err := message.CutBatchEntry(batch)
			if err != nil {
				t.Fatalf("batch queue %d at %d: %v", q, *next, err)
			}
			bodies, batch = append(bodies, e.Body), rest
		}
		base, _ := record.Properties.Get(message.KeyInnerBase)
		num, _ := record.Properties.Get(message.KeyInnerNum)
		if base != strconv.FormatInt(*next, 10) || num != strconv.Itoa(len(bodies)) {
			t.Errorf("batch queue %d at %d: %d messages, INNER_BASE %s, INNER_NUM %s", q, *next, len(bodies), base, num)
		}
	}
	id, _ := record.Properties.Get(message.KeyUniqueKey)
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	for i, content := range bodies {
		part := id + "." + strconv.Itoa(i)
		s := r.m.sent[part]
		switch {
		case s == nil:
			t.Fatalf("batch queue %d holds a message nobody sent: %.80q", q, content)
		case string(content) != string(s.innerBody(part)):
			r.torn++
			t.Errorf("torn: batch queue %d at %d: %.80q", q, *next, content)
		case s.place != nil && *s.place != place{q, *next}:
			t.Errorf("%s was acknowledged at %+v and lies at %+v", part, *s.place, place{q, *next})
		}
		r.copies[part] = append(r.copies[part], record.StoreTimestamp)
		*next++
	}
	if r.m.sent[fmt.Sprint(id, ".", len(bodies))] != nil {
		t.Errorf("batch queue %d at %d: the batch %s has only %d messages", q, *next, id, len(bodies))
	}
}

// topicOf is where messages of a kind are read.
func topicOf(kind string) string {
	if kind == kindInner {
		return "inner"
	}
	return "crash"
}
