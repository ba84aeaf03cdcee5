package timer

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

func TestCalendarKeepsTheOrderOfDelivery(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	var c calendar
	for round := range 200 {
		var want []mark
		pop := func() {
			t.Helper()
			least := slices.MinFunc(want, func(a, b mark) int {
				if a.before(b) {
					return -1
				}
				return 1
			})
			if got := c.first(); got != least {
				t.Fatalf("round %d: first is %v, want %v", round, got, least)
			}
			if got := c.pop().mark; got != least {
				t.Fatalf("round %d: popped %v, want %v", round, got, least)
			}
			want = slices.DeleteFunc(want, func(m mark) bool { return m == least })
		}
		for _, pos := range rnd.Perm(1 + rnd.IntN(100)) {
			m := mark{int64(rnd.IntN(1 + round%7*5)), int64(pos)}
			c.push(entry{mark: m, offset: m.pos})
			want = append(want, m)
			if rnd.IntN(3) == 0 {
				pop()
			}
		}
		seen := 0
		c.each(func(e *entry) {
			seen++
			if !slices.Contains(want, e.mark) || e.offset != e.pos {
				t.Fatalf("round %d: %+v is there, want one of %v", round, *e, want)
			}
		})
		if seen != len(want) || c.len() != len(want) {
			t.Fatalf("round %d: %d timers, length %d, want %d", round, seen, c.len(), len(want))
		}
		if round%5 == 0 {
			c.clear(round % 10 * 100)
			if c.len() != 0 {
				t.Fatalf("round %d: %d timers are left", round, c.len())
			}
			continue
		}
		for len(want) > 0 {
			pop()
		}
	}
	if size := unsafe.Sizeof(node{}); size != 64 {
		t.Errorf("a timer takes %d bytes, want 64", size)
	}
}

func BenchmarkCalendar(b *testing.B) {
	const open = 100_000
	rnd := rand.New(rand.NewPCG(7, 8))
	var c calendar
	for i := range open {
		c.push(entry{mark: mark{rnd.Int64N(3000), int64(i)}})
	}
	pos := int64(open)
	b.ReportAllocs()
	for b.Loop() {
		e := c.pop()
		c.push(entry{mark: mark{e.out + 1 + rnd.Int64N(3000), pos}})
		pos++
	}
}
