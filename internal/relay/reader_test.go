package relay_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	"go.uber.org/goleak"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/relay"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openStore(t *testing.T) *store.Store {
	t.Helper()
	return openStoreAt(t, vfs.NewMem(), "store")
}

func openStoreAt(t *testing.T, fsys vfs.FS, dir string) *store.Store {
	t.Helper()
	c := conf.Default().Store
	c.MappedFileSizeCommitLog, c.MappedFileSizeConsumeQueue, c.MessageIndexEnable = 64<<10, 20*100, false
	log := logrus.New()
	log.SetOutput(io.Discard)
	s, err := store.Open(store.Options{Dir: dir, FS: fsys, Clock: clock.System{}, Log: logrus.NewEntry(log), Config: &c})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestRecordsAreThoseOfTheStore(t *testing.T) {
	t.Run("read by calls", func(t *testing.T) { checkRecords(t, openStore(t)) })
	t.Run("mapped", func(t *testing.T) { checkRecords(t, openStoreAt(t, vfs.OS{}, t.TempDir())) })
}

func checkRecords(t *testing.T, s *store.Store) {
	t.Helper()
	r := relay.FromStore(s)
	defer r.Rest(true)
	batch := make([]message.Message, 0, 100)
	for i := range 1000 {
		batch = append(batch, message.Message{Topic: "T", Body: []byte(strings.Repeat("x", i*i%3000))})
		if len(batch) == cap(batch) {
			if stored, _, err := r.Put(batch); err != nil || stored != len(batch) {
				t.Fatal(stored, err)
			}
			batch = batch[:0]
		}
	}
	var entries []store.Entry
	if err := r.Queue("T", 0).Range(0, func(e store.Entry) bool { entries = append(entries, e); return true }); err != nil {
		t.Fatal(err)
	}
	check := func(e store.Entry, got relay.Record) {
		t.Helper()
		want, err := s.Record(e.PhysicalOffset)
		if err != nil {
			t.Fatal(err)
		}
		defer want.Release()
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Fatalf("record at %d differs", e.PhysicalOffset)
		}
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, order := range [][]int{rnd.Perm(len(entries)), sequence(len(entries))} {
		type held struct {
			e store.Entry
			r relay.Record
		}
		var all []held // several are held at once, as in a batch
		for _, i := range order {
			e := entries[i]
			got, err := r.Record(e.PhysicalOffset, e.Size)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, held{e, got})
			if len(all) == 50 {
				r.Rest(i%3 == 0) // files may go while their records are held
				for _, h := range all {
					check(h.e, h.r)
					h.r.Release()
				}
				all = all[:0]
			}
		}
	}
	first := entries[0]
	for name, c := range map[string]struct {
		offset int64
		size   int32
	}{
		"wrong size": {first.PhysicalOffset, first.Size + 1}, "no size": {first.PhysicalOffset, 0}, "inside a record": {first.PhysicalOffset + 1, first.Size},
		"behind the end": {s.MaxPhysicalOffset(), 200}, "far away": {1 << 50, 200}, "negative": {-5, 200},
	} {
		if _, err := r.Record(c.offset, c.size); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: got %v, want not found", name, err)
		}
	}
}

func sequence(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func TestARefusedMessageEndsABatch(t *testing.T) {
	r := relay.FromStore(openStore(t))
	defer r.Rest(true)
	batch := []message.Message{{Topic: "T", Body: []byte("a")}, {Topic: "T"}, {Topic: "T", Body: []byte("c")}} // the second has no body
	stored, end, err := r.Put(batch)
	if stored != 1 || !errors.Is(err, relay.ErrRefused) || end == 0 || end != r.MaxPhysicalOffset() {
		t.Errorf("stored %d to %d, %v, want one to %d and a refusal", stored, end, err, r.MaxPhysicalOffset())
	}
	if q := r.Queue("T", 0); q == nil || q.MaxOffset() != 1 {
		t.Error("the first is not there, or more than it")
	}
	if r.Queue("other", 0) != nil {
		t.Error("a queue that does not exist is not nil")
	}
}

func BenchmarkRecord(b *testing.B) {
	c := conf.Default().Store
	log := logrus.New()
	log.SetOutput(io.Discard)
	s, err := store.Open(store.Options{Dir: b.TempDir(), FS: vfs.OS{}, Clock: clock.System{}, Log: logrus.NewEntry(log), Config: &c})
	if err != nil {
		b.Fatal(err)
	}
	s.Start()
	defer func() { _ = s.Close() }()
	r := relay.FromStore(s)
	defer r.Rest(true)
	var entries []store.Entry
	for range 1000 {
		p, err := s.Put(&message.Message{Topic: "T", Body: make([]byte, 300)})
		if err != nil {
			b.Fatal(err)
		}
		entries = append(entries, store.Entry{PhysicalOffset: p.PhysicalOffset, Size: p.Size})
	}
	for _, step := range []int{1, 377} {
		b.Run(map[int]string{1: "sequential", 377: "random"}[step], func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i = (i + step) % len(entries)
				rec, err := r.Record(entries[i].PhysicalOffset, entries[i].Size)
				if err != nil {
					b.Fatal(err)
				}
				rec.Release()
			}
		})
	}
}
