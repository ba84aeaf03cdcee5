package timer

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/relay"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/store"
)

// unpack writes a golden directory into a temporary one.
func unpack(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	zipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for r := tar.NewReader(zipped); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.Clean(h.Name))
		if h.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDirectoriesOfApacheAreTakenOver(t *testing.T) {
	for _, name := range []string{"apache-5.5.0-timers-closed.tar.gz", "apache-5.5.0-timers-killed.tar.gz"} {
		t.Run(name, func(t *testing.T) { takeOver(t, name, 0) })
		// Apache counts on from our read time, which is that of a message, not of a slot.
		t.Run(name+" after ours", func(t *testing.T) { takeOver(t, name, 999) })
	}
}

// takeOver opens a directory of Apache's broker, whose read time is shifted.
func takeOver(t *testing.T, name string, shift int64) {
	dir := unpack(t, name)
	check := filepath.Join(dir, "config", "timercheck")
	content, err := os.ReadFile(check)
	if err != nil {
		t.Fatal(err)
	}
	binary.BigEndian.PutUint64(content, binary.BigEndian.Uint64(content)+uint64(shift))
	if err := os.WriteFile(check, content, 0o644); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "stopped"))
	if err != nil {
		t.Fatal(err)
	}
	stopped, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, clock: clock.NewManual(time.UnixMilli(stopped)), conf: conf.Default().Store}
	b.conf.MappedFileSizeCommitLog, b.conf.MappedFileSizeTimerLog, b.conf.MappedFileSizeConsumeQueue = 1<<20, 1<<20, 20_000
	b.conf.MaxHashSlotNum, b.conf.MaxIndexNum, b.conf.TimerRollWindowSlot = 1000, 4000, 20
	st, err := store.Open(store.Options{Dir: dir, FS: vfs.OS{}, Clock: b.clock, Log: b.logger(), Config: &b.conf})
	if err != nil {
		t.Fatal(err)
	}
	b.tm, err = Open(Options{Store: relay.FromStore(st), FS: vfs.OS{}, Dir: dir, Clock: b.clock, Log: b.logger(), Config: &b.conf})
	if err != nil {
		t.Fatal(err)
	}
	st.Start()
	already := st.Queue("SwapT", 0).MaxOffset()
	if already == 0 || already > 50 {
		t.Errorf("Apache had delivered %d, want some and not all", already)
	}
	for range 200 * 20 {
		b.clock.Advance(50 * time.Millisecond)
		b.settle()
	}
	again := 0
	if strings.Contains(name, "killed") {
		again = 1 // what Apache delivered in its last second, but did not note
	}
	checkTakenOver(t, st, already, again)
	if err := errors.Join(b.tm.Close(), st.Close()); err != nil {
		t.Error(err)
	}
}

func checkTakenOver(t *testing.T, st *store.Store, already int64, again int) {
	t.Helper()
	times := map[string]int{}
	err := st.Queue("SwapT", 0).Range(0, func(e store.Entry) bool {
		rec, err := st.Record(e.PhysicalOffset)
		if err != nil {
			t.Fatal(err)
		}
		defer rec.Release()
		var m message.Record
		if _, err := message.DecodeRecord(rec.Bytes(), &m, true); err != nil {
			t.Fatal(err)
		}
		text, _ := m.Properties.Get("DUE")
		due, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		late := m.StoreTimestamp - due
		if e.QueueOffset >= already && (late < 0 || late > 50 && strings.HasPrefix(string(m.Body), "far")) {
			// Relative ones are known to a millisecond or two, or to the second when they rolled.
			_, exact := m.Properties.Get("TIMER_DELIVER_MS")
			if late < 0 || exact || late > 1050 {
				t.Errorf("%s came %d ms late", m.Body, late)
			}
		}
		times[string(m.Body)]++
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		prefix string
		n      int
	}{{"a", 60}, {"far", 20}} {
		for i := range c.n {
			body := c.prefix + strconv.Itoa(i)
			want := 1
			if i%10 == 7 {
				want = 0
			}
			if times[body] < want || times[body] > want+again {
				t.Errorf("%s came %d times, want %d to %d", body, times[body], want, want+again)
			}
			delete(times, body)
		}
	}
	if len(times) > 0 {
		t.Errorf("unexpected: %v", times)
	}
}
