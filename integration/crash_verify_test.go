package integration

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
)

// never is later than everything.
const never = 1 << 62

// crashReader reads all queues and compares them with the model.
type crashReader struct {
	m    *crashModel
	t    *testing.T
	next [crashQueues]int64
	// innerNext are those of the batch queues.
	innerNext [innerQueues]int64
	copies    map[string][]int64 // id -> store times
	early     int
	torn      int
}

// read reads what is new in the queues.
func (r *crashReader) read() {
	r.t.Helper()
	for q := range r.next {
		for r.page(q) {
		}
	}
	r.readInner()
}

// page reads one answer's worth and tells whether there may be more.
func (r *crashReader) page(q int) bool {
	t := r.t
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	resp, err := r.m.clients[0].Invoke(ctx, r.m.addr, pullCrash(int32(q), r.next[q]))
	cancel()
	if err != nil {
		t.Fatal(err)
	}
	var h remoting.PullMessageResponseHeader
	if err := resp.Decode(&h); err != nil {
		t.Fatal(err)
	}
	switch resp.Code {
	case remoting.Success:
	case remoting.PullNotFound:
		return false
	default:
		t.Fatalf("pull queue %d at %d: code %d %s, next %d", q, r.next[q], resp.Code, resp.Remark, h.NextBeginOffset)
	}
	for rest := resp.Body; len(rest) > 0; {
		var record message.Record
		n, err := message.DecodeRecord(rest, &record, true)
		if err != nil {
			t.Fatalf("queue %d offset %d: %v", q, r.next[q], err)
		}
		r.record(q, &record)
		rest = rest[n:]
	}
	if r.next[q] != h.NextBeginOffset {
		t.Fatalf("queue %d: next offset %d, records end at %d", q, h.NextBeginOffset, r.next[q])
	}
	return true
}

// record compares one record with what was sent, and with what a consumer saw in its place before.
func (r *crashReader) record(q int, record *message.Record) {
	t := r.t
	if record.QueueOffset != r.next[q] {
		t.Fatalf("queue %d: record says offset %d, its place is %d", q, record.QueueOffset, r.next[q])
	}
	if at := int(r.next[q]); at < len(r.m.seen[q]) && r.m.seen[q][at] != sum(record) {
		t.Errorf("queue %d offset %d: a consumer was given another message here before a kill, now it is %.60q", q, at, record.Body)
	}
	r.next[q]++
	id, _ := record.Properties.Get(message.KeyUniqueKey)
	tags, _ := record.Properties.Get(message.KeyTags)
	r.m.mu.Lock()
	s := r.m.sent[id]
	r.m.mu.Unlock()
	if s == nil {
		t.Fatalf("queue %d holds a message nobody sent: %.80q, properties %q", q, record.Body, record.Properties)
	}
	if string(record.Body) != id+strings.Repeat(" ", s.pad) || tags != "tag" {
		r.torn++
		t.Errorf("torn: %.80q, properties %q", record.Body, record.Properties)
	}
	due := s.due
	if s.kind == kindTimer {
		due -= r.m.timerEarly
	}
	if record.StoreTimestamp < due {
		r.early++
		t.Errorf("early: %s %s due %d, stored %d", s.kind, id, s.due, record.StoreTimestamp)
	}
	r.copies[strings.Clone(id)] = append(r.copies[id], record.StoreTimestamp)
}

// missing are the ids of what must be delivered up to a time, ms, and is not, yet.
func (r *crashReader) missing(until int64) []string {
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	return r.missingLocked(until)
}

func (r *crashReader) missingLocked(until int64) []string {
	var ids []string
	for id, s := range r.m.sent {
		if s.wanted() && s.due <= until && len(r.copies[id]) == 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// checkKeys looks some messages up by key.
func (r *crashReader) checkKeys() {
	checked := 0
	for id := range r.copies {
		if checked++; checked > 200 {
			return
		}
		key, s := id, r.m.sent[id]
		if s.kind == kindInner { // the key is that of the record
			key = id[:strings.LastIndexByte(id, '.')]
		}
		await(r.t, 20*time.Second, "key of "+id, func() bool {
			resp, err := r.m.clients[0].Invoke(r.t.Context(), r.m.addr, remoting.NewRequest(remoting.QueryMessage, &remoting.QueryMessageRequestHeader{
				Topic: topicOf(s.kind), Key: key, MaxNum: 8, BeginTimestamp: 0, EndTimestamp: 1 << 62,
			}))
			return err == nil && resp.Code == remoting.Success
		})
	}
}

// excused tells whether a kill explains that a message was delivered again: its copies lie on both sides of one, and the first just before.
func (r *crashReader) excused(kind string, times []int64) bool {
	if kind == kindPlain || kind == kindBatch || kind == kindInner {
		return false
	}
	for i := 1; i < len(times); i++ {
		if (kind == kindCommit || kind == kindUndecided) && r.m.within(times[i-1], times[i]) {
			continue
		}
		ok := slices.ContainsFunc(r.m.killed, func(at int64) bool {
			return times[i-1] <= at+1 && times[i] >= at && at-times[i-1] <= r.m.slack.Milliseconds()
		})
		if !ok {
			return false
		}
	}
	return true
}

// within tells whether both times lie in one of the spans in which a second commit of a transaction may become visible.
func (m *crashModel) within(a, b int64) bool {
	return slices.ContainsFunc(m.twice, func(span [2]int64) bool { return span[0] <= a && a <= b && b <= span[1] })
}

// report prints the outcome and fails the test for what must not be.
func (r *crashReader) report(rounds int) {
	t, m := r.t, r.m
	m.mu.Lock()
	defer m.mu.Unlock()
	acked, doubled, unsure := map[string]int{}, map[string]int{}, 0
	for id, s := range m.sent {
		times := r.copies[id]
		if s.acked {
			acked[s.kind]++
		} else if len(times) > 0 {
			unsure++
		}
		if s.forbidden() && len(times) > 0 {
			t.Errorf("delivered although %s: %s, acknowledged %t, decided %t", s.kind, id, s.acked, s.decided)
		}
		if len(times) < 2 {
			continue
		}
		doubled[s.kind]++
		slices.Sort(times)
		if !r.excused(s.kind, times) {
			t.Errorf("doubled: %s %s at %v, killed at %v", s.kind, id, times, around(m.killed, times))
		}
	}
	lost := r.missingLocked(never)
	asked := 0
	for id, n := range m.asked {
		if s := m.sent[id]; s != nil && s.decided {
			asked += n
		}
	}
	t.Logf("%d rounds: %d kills, %d kills of a start, %d stops, slowest start %v; acknowledged %v; delivered %d of %d sent, %d of them not acknowledged; lost %d, torn %d, early %d, doubled by a kill %v; asked about %d transactions, %d times about decided ones",
		rounds, m.kills, m.startKills, m.terms, m.slowest.Round(time.Millisecond), acked, len(r.copies), len(m.sent), unsure, len(lost), r.torn, r.early, doubled, len(m.asked), asked)
	for _, id := range lost[:min(len(lost), 10)] {
		t.Errorf("lost: %s %s, due %d, decided %t, asked %d times", m.sent[id].kind, id, m.sent[id].due, m.sent[id].decided, m.asked[id])
	}
	if len(lost) > 0 {
		t.Errorf("%d acknowledged messages are lost", len(lost))
	}
	for q := range m.seen {
		if int64(len(m.seen[q])) > r.next[q] {
			t.Errorf("queue %d has %d messages, a consumer was given %d", q, r.next[q], len(m.seen[q]))
		}
	}
}

// around are the kills near the copies of a message.
func around(killed, times []int64) string {
	var near []string
	for _, at := range killed {
		if at >= times[0]-5000 && at <= times[len(times)-1]+5000 {
			near = append(near, strconv.FormatInt(at, 10))
		}
	}
	return fmt.Sprint(near)
}
