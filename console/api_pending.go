package console

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/timer"
)

func (c *Console) pendingTimers(r *http.Request) (PendingAnswer, error) {
	values := r.URL.Query()
	q := timer.ListQuery{}
	var err error
	if text := values.Get("limit"); text != "" {
		if q.Limit, err = strconv.Atoi(text); err != nil || q.Limit < 1 || q.Limit > timer.MaxListed {
			return PendingAnswer{}, bad(fmt.Sprintf("parameter limit is %s, want 1 to %d", quoted(text), timer.MaxListed))
		}
	}
	if text := values.Get("fromMs"); text != "" {
		if q.FromMs, err = strconv.ParseInt(text, 10, 64); err != nil || q.FromMs < 0 {
			return PendingAnswer{}, bad("parameter fromMs is " + quoted(text) + ", want milliseconds since 1970")
		}
	}
	if text := values.Get("after"); text != "" {
		out, pos, ok := strings.Cut(text, "-")
		var err2 error
		q.After.OutMs, err = strconv.ParseInt(out, 10, 64)
		q.After.Pos, err2 = strconv.ParseInt(pos, 10, 64)
		if !ok || err != nil || err2 != nil {
			return PendingAnswer{}, bad("parameter after is " + quoted(text) + ", want next of the page before")
		}
	}
	if topic := values.Get("topic"); topic != "" {
		q.Hash, q.HasHash = message.JavaHash(topic), true
	}
	list, more, err := c.o.Broker.Timer().List(r.Context(), q)
	if err != nil {
		return PendingAnswer{}, err
	}
	out := PendingAnswer{NowMs: c.o.Clock.NowMs(), Timers: []PendingTimer{}}
	for i := range list {
		if t := c.pendingTimer(&list[i]); values.Get("topic") == "" || t.Topic == values.Get("topic") {
			out.Timers = append(out.Timers, t)
		}
	}
	if more && len(list) > 0 {
		last := list[len(list)-1].ListPlace
		out.Next = fmt.Sprintf("%d-%d", last.OutMs, last.Pos)
	}
	return out, nil
}

// pendingTimer reads what a unit of the timer log is for.
func (c *Console) pendingTimer(p *timer.PendingTimer) PendingTimer {
	t := PendingTimer{DueMs: p.DueMs, LeavesMs: p.DueMs, EnqueuedMs: p.EnqueuedMs, Rolls: p.Rolls, Size: p.Size}
	record, err := c.o.Broker.Store().Record(p.PhysicalOffset)
	if err != nil {
		return t
	}
	defer record.Release()
	var r message.Record
	if _, err := message.DecodeRecord(record.Bytes(), &r, false); err != nil {
		return t
	}
	t.ID = message.OffsetMessageID(r.StoreHost, r.PhysicalOffset)
	r.Properties.Range(func(key, value string) bool {
		switch key {
		case message.KeyRealTopic:
			t.Topic = strings.Clone(value)
		case message.KeyRealQueueID:
			if n, err := strconv.ParseInt(value, 10, 32); err == nil {
				t.Queue = int32(n)
			}
		case message.KeyUniqueKey:
			t.UniqueKey = strings.Clone(value)
		case message.KeyTags:
			t.Tags = strings.Clone(value)
		case message.KeyKeys:
			t.Keys = strings.Clone(value)
		case message.KeyTimerDelUniqueKey:
			t.Cancels = strings.Clone(value)
		case message.KeyTimerOutMs:
			if ms, err := strconv.ParseInt(value, 10, 64); err == nil && p.Rolls {
				t.DueMs = ms + 1
			}
		}
		return true
	})
	return t
}
