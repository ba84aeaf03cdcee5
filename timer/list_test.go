package timer

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/rocketd/rocketd/message"
)

// listAll reads all pages and returns the due times, ms after begin.
func (b *bench) listAll(q ListQuery) (due []int64, pages int) {
	b.t.Helper()
	for {
		list, more, err := b.tm.List(b.t.Context(), q)
		if err != nil {
			b.t.Fatal(err)
		}
		pages++
		for _, p := range list {
			due = append(due, p.DueMs-begin)
		}
		if !more || len(list) == 0 {
			return due, pages
		}
		q.After = list[len(list)-1].ListPlace
	}
}

func TestListGoesThroughAllPendingTimersInOrder(t *testing.T) {
	b := newBench(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	var want []int64
	for i := range 500 {
		ms := 1 + rnd.Int64N(60_000)
		if i%3 == 0 {
			ms = 30_000 + ms%5 // many in few milliseconds
		}
		want = append(want, ms)
		b.at(strconv.Itoa(i), time.Duration(ms)*time.Millisecond)
	}
	slices.Sort(want)
	b.settle()
	for _, limit := range []int{1, 7, 250, 1000} {
		got, pages := b.listAll(ListQuery{Limit: limit})
		if !slices.Equal(got, want) {
			t.Errorf("with pages of %d: %d timers, want %d: %v", limit, len(got), len(want), got)
		}
		if pages > len(want)/limit+2 {
			t.Errorf("with pages of %d: %d pages", limit, pages)
		}
	}
	b.pass(30*time.Second+2*time.Millisecond, time.Second)
	gone, _ := slices.BinarySearch(want, 30_003)
	if got, _ := b.listAll(ListQuery{Limit: 50}); !slices.Equal(got, want[gone:]) {
		t.Errorf("later %d timers are pending, want %d", len(got), len(want)-gone)
	}
	later, _ := slices.BinarySearch(want, 50_000)
	if got, _ := b.listAll(ListQuery{FromMs: begin + 50_000}); !slices.Equal(got, want[later:]) {
		t.Errorf("%d timers from 50 s on, want %d", len(got), len(want)-later)
	}
}

func TestListTellsCancelsRollsAndTopics(t *testing.T) {
	b := newBench(t, func(b *bench) { b.conf.TimerRollWindowSlot = 10 })
	b.at("a", 5*time.Second)
	b.cancel("a", 5*time.Second)
	b.at("far", time.Minute)
	b.settle()
	list, more, err := b.tm.List(t.Context(), ListQuery{})
	if err != nil || more || len(list) != 3 {
		t.Fatal(list, more, err)
	}
	if a, c, far := list[0], list[1], list[2]; a.DueMs != begin+5000 || a.Cancels || a.Rolls || !c.Cancels || c.DueMs != begin+5000 || !far.Rolls || far.DueMs >= begin+60_000 ||
		far.TopicHash != message.JavaHash("T") || far.EnqueuedMs != begin {
		t.Errorf("got %+v", list)
	}
	if list, _, err := b.tm.List(t.Context(), ListQuery{HasHash: true, Hash: message.JavaHash("other")}); err != nil || len(list) != 0 {
		t.Errorf("of another topic: %+v, %v", list, err)
	}
	b.pass(6*time.Second, time.Second)
	if list, _, err := b.tm.List(t.Context(), ListQuery{}); err != nil || len(list) != 1 || !list[0].Rolls {
		t.Errorf("after the first one: %+v, %v", list, err)
	}
}

func TestListOfNothingAndUntilItIsCancelled(t *testing.T) {
	b := newBench(t)
	if list, more, err := b.tm.List(t.Context(), ListQuery{Limit: -1}); err != nil || more || len(list) != 0 {
		t.Error(list, more, err)
	}
	for i := range 5000 {
		b.at(strconv.Itoa(i), 9*time.Second)
	}
	b.settle()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := b.tm.List(ctx, ListQuery{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
