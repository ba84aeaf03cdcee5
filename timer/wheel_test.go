package timer

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/rocketd/rocketd/internal/vfs"
)

func TestWheelFindsTheNextUsedSlot(t *testing.T) {
	w := newWheel(1280, 1000)
	const base = 1_700_000_000
	for _, key := range []int64{base + 3, base + 500, base + 1279} {
		u := unit{out: key * 1000, magic: magicDefault}
		w.link(&u, key)
	}
	for _, c := range []struct{ from, to, want int64 }{
		{base, base + 2, 0},
		{base, base + 3, base + 3},
		{base + 4, base + 499, 0},
		{base + 4, base + 2000, base + 500},
		{base + 501, base + 1279, base + 1279},
		{0, base + 10_000, base + 3}, // longer than the wheel
		{base + 4, base + 100_000, base + 500},
		{base + 1280, base + 3000, 0},
	} {
		if got, ok := w.next(c.from, c.to); got != c.want || ok != (c.want != 0) {
			t.Errorf("from %d to %d: got %d, %v, want %d", c.from-base, c.to-base, got-base, ok, c.want-base)
		}
	}
	w.clear(base + 3)
	w.clear(base + 500 + 1280) // another turn
	if _, ok := w.get(base + 3); ok {
		t.Error("a cleared slot is used")
	}
	if s, ok := w.get(base + 500); !ok || s.num != 1 {
		t.Errorf("a slot of another turn is gone: %+v", s)
	}
}

func TestWheelCountsTimersAndCancels(t *testing.T) {
	w := newWheel(1280, 1000)
	for i, magic := range []int32{magicDefault, magicDefault, magicDefault | magicDelete, magicRoll | magicDefault} {
		u := unit{out: 1_700_000_000_000 + int64(i), magic: magic}
		w.link(&u, int64(i*unitSize))
	}
	s, ok := w.get(1_700_000_000)
	if !ok || s != (slot{key: 1_700_000_000, first: 0, last: 3 * unitSize, num: 2}) {
		t.Errorf("got %+v", s)
	}
}

func TestPagesWithoutTimersAreNotInMemory(t *testing.T) {
	fs := vfs.NewMem()
	if err := fs.MkdirAll("store", 0o755); err != nil {
		t.Fatal(err)
	}
	w := newWheel(wheelSlots, 1000)
	f := newWheelFile(fs, "store/timerwheel", len(w.pages))
	if err := f.reset(); err != nil {
		t.Fatal(err)
	}
	resident := func() (n int) {
		for _, p := range w.pages {
			if p != nil {
				n++
			}
		}
		return n
	}
	const base = 1_700_000_000
	for i := range int64(3 * 86400) { // three days of timers
		u := unit{out: (base + i) * 1000, magic: magicDefault}
		w.link(&u, i*unitSize)
	}
	if n := resident(); n > 3*86400/pageSlots+2 {
		t.Errorf("%d pages for three days", n)
	}
	if wrote, err := f.flush(w); !wrote || err != nil {
		t.Fatal(wrote, err)
	}
	for i := range int64(3 * 86400) {
		w.clear(base + i)
	}
	if _, err := f.flush(w); err != nil {
		t.Fatal(err)
	}
	if n := resident(); n != 0 {
		t.Errorf("%d pages when all is over", n)
	}
	if wrote, err := f.flush(w); wrote || err != nil {
		t.Errorf("flushed again: %v, %v", wrote, err)
	}
	if info, err := fs.Stat("store/timerwheel"); err != nil || info.Size() != 38_707_200 {
		t.Errorf("the file has %v bytes, %v, want 38707200", info.Size(), err)
	}
	if err := f.close(); err != nil {
		t.Fatal(err)
	}
}

func TestAWheelFileIsReadBackOrRefused(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	fs := vfs.NewMem()
	if err := fs.MkdirAll("store", 0o755); err != nil {
		t.Fatal(err)
	}
	w := newWheel(1280, 1000)
	f := newWheelFile(fs, "store/timerwheel", len(w.pages))
	if err := f.reset(); err != nil {
		t.Fatal(err)
	}
	const base = 1_700_000_000
	for round := range 50 {
		for range 20 {
			u := unit{out: (base + r.Int64N(1280)) * 1000, magic: magicDefault}
			w.link(&u, r.Int64N(1000)*unitSize)
		}
		if _, err := f.flush(w); err != nil {
			t.Fatal(err)
		}
		if round%2 == 0 { // else a kill between flush and sync
			if err := f.sync(); err != nil {
				t.Fatal(err)
			}
		}
		again := newWheel(1280, 1000)
		g := newWheelFile(fs.Clone(), "store/timerwheel", len(w.pages))
		if err := g.load(again, base); err != nil {
			t.Fatal(err)
		}
		for key := int64(base); key < base+1280; key++ {
			if w.raw(key) != again.raw(key) {
				t.Fatalf("slot %d: got %+v, want %+v", key-base, again.raw(key), w.raw(key))
			}
		}
		if err := g.close(); err != nil {
			t.Fatal(err)
		}
	}
	data, err := vfs.ReadFile(fs, "store/timerwheel", 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(data); i += 97 {
		damaged := fs.Clone()
		file, err := damaged.OpenFile("store/timerwheel", openUpdate, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteAt([]byte{data[i] ^ 0x40}, int64(i)); err != nil {
			t.Fatal(err)
		}
		g := newWheelFile(damaged, "store/timerwheel", len(w.pages))
		if err := g.load(newWheel(1280, 1000), base); !errors.Is(err, errWheel) {
			t.Errorf("byte %d changed: %v", i, err)
		}
		if err := errors.Join(g.close(), file.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.close(); err != nil {
		t.Fatal(err)
	}
}

func TestProgressRemembersStepsBackOfTheClock(t *testing.T) {
	p := progress{mark: mark{100, 10}}
	p.stepBack(50, 20, 7)
	for _, c := range []struct {
		out, pos int64
		want     bool
	}{
		{99, 5, true},    // delivered before the step
		{99, 25, false},  // came after it
		{48, 25, true},   // its time is over by the new clock
		{49, 19, true},   // the mark is (49, 20)
		{49, 20, false},  //
		{100, 9, true},   // the old mark was (100, 10)
		{100, 10, false}, //
	} {
		if got := p.done(c.out, c.pos); got != c.want {
			t.Errorf("(%d, %d): done %v, want %v", c.out, c.pos, got, c.want)
		}
	}
	for _, c := range []struct {
		out, queue int64
		want       bool
	}{{99, 6, true}, {99, 7, false}, {100, 6, false}} { // of (100, ...) some were not delivered
		if got := p.messageDone(c.out, c.queue); got != c.want {
			t.Errorf("message %d for %d: done %v, want %v", c.queue, c.out, got, c.want)
		}
	}
	p.advance(mark{99, 30})
	if len(p.barriers) != 1 || !p.done(99, 29) || p.done(100, 10) {
		t.Errorf("%+v", p)
	}
	p.advance(mark{98, 0})
	if p.mark != (mark{99, 30}) {
		t.Error("the mark went back")
	}
	p.advance(mark{101, 0})
	if len(p.barriers) != 0 {
		t.Errorf("the barrier is still there: %+v", p)
	}
	for i := range int64(2 * maxBarriers) {
		p.stepBack(90-i, 40+i, 7)
	}
	if len(p.barriers) > maxBarriers {
		t.Errorf("%d barriers", len(p.barriers))
	}
}
