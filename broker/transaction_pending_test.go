package broker

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// checkOrder compares what is pending with a plain list.
func checkOrder(t *testing.T, p *pendingHalves, want map[int64]int64) {
	t.Helper()
	var offsets []int64
	for h := p.first; h != nil; h = h.behind {
		offsets = append(offsets, h.offset)
		if due, ok := want[h.offset]; !ok || due != h.due {
			t.Fatalf("offset %d is due %d, want %d (%v)", h.offset, h.due, due, ok)
		}
	}
	if len(offsets) != len(want) || len(p.due) != len(want) || p.count() != len(want) || !slices.IsSorted(offsets) {
		t.Fatalf("%d in order %v, %d in the heap, %d in the table, want %d", len(offsets), slices.IsSorted(offsets), len(p.due), p.count(), len(want))
	}
	lowest, earliest := int64(math.MaxInt64), int64(math.MaxInt64)
	for offset, due := range want {
		lowest, earliest = min(lowest, offset), min(earliest, due)
	}
	if p.lowest() != lowest {
		t.Fatalf("lowest %d, want %d", p.lowest(), lowest)
	}
	if h := p.next(); (h == nil) != (len(want) == 0) || h != nil && h.due != earliest {
		t.Fatalf("next %+v, want due %d", h, earliest)
	}
}

// TestPendingHalves does random things and compares with a map at each step.
func TestPendingHalves(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	p := newPendingHalves()
	want := map[int64]int64{}
	var list []*pendingHalf
	next := int64(0)
	for range 3000 {
		switch n := random.IntN(10); {
		case n < 4 || len(list) == 0:
			h := &pendingHalf{key: p.hash(fmt.Sprint("key ", next)), offset: next, due: random.Int64N(1000)}
			p.add(h)
			list = append(list, h)
			want[h.offset] = h.due
			next++
		case n < 6:
			i := random.IntN(len(list))
			p.remove(list[i])
			delete(want, list[i].offset)
			list = slices.Delete(list, i, i+1)
		case n < 8:
			h := list[random.IntN(len(list))]
			delete(want, h.offset)
			p.move(h, next, next*100)
			want[h.offset] = h.due
			next++
		default:
			h := list[random.IntN(len(list))]
			p.postpone(h, random.Int64N(2000))
			want[h.offset] = h.due
		}
		checkOrder(t, p, want)
	}
	for _, h := range list {
		if p.get(h.key) != h {
			t.Fatal("not found by its key")
		}
	}
}

func TestPendingHalfIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(pendingHalf{}); size > 96 {
		t.Errorf("%d bytes for an undecided message", size)
	}
}

func TestNameTable(t *testing.T) {
	var names nameTable
	if a, b, again := names.number("a"), names.number("b"), names.number("a"); a != 0 || b != 1 || again != 0 {
		t.Errorf("numbers %d %d %d", a, b, again)
	}
	if names.name(1) != "b" || names.name(2) != "" || names.name(-1) != "" {
		t.Error("names differ")
	}
	for i := range maxPendingNames + 10 {
		names.number(fmt.Sprint(i))
	}
	if len(names.names) != maxPendingNames || names.number("one more") != -1 {
		t.Errorf("%d names", len(names.names))
	}
}

// TestParseOp reads bodies of both forms: the reference's batches end in a comma, its older ones hold one offset.
func TestParseOp(t *testing.T) {
	for _, want := range []struct {
		text    string
		offsets []int64
	}{
		{"0,0,", []int64{0, 0}},
		{"17", []int64{17}},
		{"1,2,3", []int64{1, 2, 3}},
		{"", nil},
		{",,", nil},
		{"x,5,", []int64{5}},
		{"9223372036854775807,", []int64{math.MaxInt64}},
		{"99999999999999999999,", nil},
	} {
		if got := parseOp(want.text); !slices.Equal(got, want.offsets) {
			t.Errorf("%q: %v, want %v", want.text, got, want.offsets)
		}
	}
}

func TestOffsetSet(t *testing.T) {
	s := newOffsetSet(100, 300)
	for _, offset := range []int64{99, 100, 163, 164, 299, 300, 1 << 40, -5, math.MinInt64, math.MaxInt64} {
		s.add(offset)
	}
	for offset, want := range map[int64]bool{
		99: false, 100: true, 101: false, 163: true, 164: true, 299: true, -5: false, 1 << 40: false, math.MinInt64: false, math.MaxInt64: false,
	} {
		if s.has(offset) != want {
			t.Errorf("%d: %v", offset, !want)
		}
	}
	newOffsetSet(10, 5).add(7)
}

func FuzzParseOp(f *testing.F) {
	for _, s := range []string{"0,0,", "17", "x,,5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		set := newOffsetSet(0, 1000)
		for _, offset := range parseOp(s) {
			set.add(offset)
			if offset >= 0 && offset < 1000 && !set.has(offset) {
				t.Fatal(offset)
			}
		}
	})
}

// BenchmarkPendingCheck is what one round of a check costs in memory, with few and with many undecided: take the one that is
// due first, put it at the end under a new offset.
func BenchmarkPendingCheck(b *testing.B) {
	for _, n := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := newPendingHalves()
			for i := range n {
				p.add(&pendingHalf{key: uint64(i), offset: int64(i), due: int64(i)})
			}
			offset := int64(n)
			b.ReportAllocs()
			for b.Loop() {
				h := p.next()
				p.move(h, offset, offset)
				p.postpone(h, offset)
				offset++
			}
		})
	}
}
