package store

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

// golden unpacks a store written by Apache (testdata/README.md).
func golden(t *testing.T, name string) *storeTest {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	st := &storeTest{T: t, fs: vfs.NewMem(), dir: "/store", clock: clock.System{}, conf: &conf.Default().Store}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return st
		}
		if err != nil {
			t.Fatal(err)
		}
		size, err := strconv.ParseInt(h.PAXRecords["ROCKETD.size"], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		st.writeFile(h.Name, size, 0, content)
	}
}

// goldenBodies is what Golden must hold besides the transaction and the message in other alphabets: all but the pending timers.
func goldenBodies(n int) []string {
	var out []string
	for i := range n {
		if i%10 != 7 {
			out = append(out, fmt.Sprint("body ", i))
		}
	}
	return out
}

// TestOpenApacheStore opens stores that Apache wrote, after a kill and after a clean stop: every message, offset and key is there, and
// the check finds nothing.
func TestOpenApacheStore(t *testing.T) {
	for _, c := range []struct {
		name   string
		closed bool
		sent   int // bodies
		rounds int // of everything else
	}{
		{"apache-5.5.0-killed", false, 50, 1},
		{"apache-5.5.0-closed", true, 80, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := golden(t, c.name)
			check := func() {
				t.Helper()
				report, err := Check(CheckOptions{Dir: st.dir, FS: st.fs})
				if err != nil || len(report.Problems) > 0 {
					t.Fatalf("check: %v %v", err, report.Problems)
				}
			}
			check()
			s := st.open()
			if s.Recovery().Clean != c.closed || len(s.Recovery().Problems) > 0 {
				t.Errorf("recovery: %+v", s.Recovery())
			}
			var got []string
			for id := range int32(4) {
				got = append(got, st.bodies(s, "Golden", id, 0)...)
			}
			want := goldenBodies(c.sent)
			for range c.rounds {
				want = append(want, "unicode", "transaction 0")
			}
			slices.Sort(got)
			slices.Sort(want)
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("messages %v\nwant %v", got, want)
			}
			for _, q := range []struct {
				topic string
				max   int
			}{{message.TopicSchedule, c.sent / 10}, {message.TopicTimer, c.sent / 10}, {message.TopicTransHalf, 2 * c.rounds}} {
				found := int64(0)
				s.Queues(func(queue *ConsumeQueue) bool {
					if queue.Topic() == q.topic {
						found += queue.MaxOffset()
					}
					return true
				})
				if found != int64(q.max) {
					t.Errorf("%s holds %d messages, want %d", q.topic, found, q.max)
				}
			}
			for key, want := range map[string]int{"key11": 1, "ключ": c.rounds, "key49": 1, "all": min(len(goldenBodies(c.sent)), 64), "none": 0} {
				found, err := s.Query("Golden", key, 64, 0, 1<<62)
				if err != nil || len(found) != want {
					t.Errorf("key %s: %d found, %v; want %d", key, len(found), err, want)
				}
				for _, f := range found {
					f.Release()
				}
			}
			tagged, err := s.QueryTag("Golden", "中文", 64, 0, 1<<62)
			if err != nil || len(tagged) != c.rounds {
				t.Errorf("tag 中文: %d found, %v; want %d", len(tagged), err, c.rounds)
			}
			for _, f := range tagged {
				f.Release()
			}
			for _, e := range readEntries(t, s, message.TopicSchedule, 2) {
				if ms, ok := s.storeTime(e.PhysicalOffset); !ok || e.TagsCode != ms+10_000 {
					t.Errorf("delay level 3 stored at %d is due at %d", ms, e.TagsCode)
				}
			}
			if p := st.put(s, newMessage("Golden", 0, "next")); p.QueueOffset != int64(len(st.bodies(s, "Golden", 0, 0))-1) {
				t.Errorf("next offset %d", p.QueueOffset)
			}
			st.close(s)
			check()
		})
	}
}

// TestRebuildLikeApache builds the consume queues and the index of Apache's stores again from the log alone and compares every byte with what
// Apache had written.
func TestRebuildLikeApache(t *testing.T) {
	for _, name := range []string{"apache-5.5.0-killed", "apache-5.5.0-closed"} {
		t.Run(name, func(t *testing.T) {
			apache, ours := golden(t, name), golden(t, name)
			for _, dir := range []string{"consumequeue", "index", "checkpoint"} {
				if err := ours.fs.RemoveAll(filepath.Join(ours.dir, dir)); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := Rebuild(ours.options()); err != nil {
				t.Fatal(err)
			}
			for _, file := range apache.listFiles() {
				want := apache.content(file)
				switch filepath.Dir(file) {
				case "index":
					// Its name is the time it was made.
					entries, err := ours.fs.ReadDir(filepath.Join(ours.dir, "index"))
					if err != nil || len(entries) != 1 {
						t.Fatalf("index files %v, %v", entries, err)
					}
					file = filepath.Join("index", entries[0].Name())
				case ".":
					continue
				case "commitlog":
					if len(bytes.Trim(want, "\x00")) == 0 {
						continue // made in advance
					}
				}
				if got := ours.content(file); !bytes.Equal(got, want) {
					at := 0
					for at < min(len(got), len(want)) && got[at] == want[at] {
						at++
					}
					t.Errorf("%s differs from Apache's at %d", file, at)
				}
			}
		})
	}
}

// content is a file without the zeros at its end.
func (t *storeTest) content(name string) []byte {
	t.Helper()
	path := filepath.Join(t.dir, name)
	info, err := t.fs.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, min(info.Size(), 21<<20))
	f, err := t.fs.OpenFile(path, osRead, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return bytes.TrimRight(b, "\x00")
}
