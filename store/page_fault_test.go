//go:build unix

package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

// TestAFileThatIsCutShortUnderARunningStore: pages of a mapping that are gone are an error of those messages, which names file and place, and
// everything else goes on. When the file is whole again they are there.
func TestAFileThatIsCutShortUnderARunningStore(t *testing.T) {
	for _, batches := range []bool{false, true} {
		t.Run(fmt.Sprintf("batches %t", batches), func(t *testing.T) {
			st := newStoreTest(t)
			st.fs, st.dir = vfs.OS{}, t.TempDir()
			topic, messageOf := "T", func(i int) *message.Message {
				return newMessage("T", 0, fmt.Sprint(i, strings.Repeat("x", 9000)), message.KeyKeys, fmt.Sprint("k", i))
			}
			if batches {
				st.kind = innerKind
				topic, messageOf = innerTopic, func(i int) *message.Message { return newInner(0, fmt.Sprint(i, strings.Repeat("x", 9000))) }
			}
			var warnings bytes.Buffer
			o := st.options()
			logger := logrus.New()
			logger.SetOutput(&warnings)
			o.Log = logrus.NewEntry(logger)
			s, err := Open(o)
			if err != nil {
				t.Fatal(err)
			}
			s.Start()
			defer func() { st.close(s) }()
			var placed []Placed
			for i := range 20 { // seven of them fill a file
				placed = append(placed, st.put(s, messageOf(i)))
			}
			other := st.put(s, newMessage("other", 0, "other"))
			get := func(from int64) (out GetResult) {
				s.Get(&GetRequest{Topic: topic, Offset: from, MaxCount: 32}, &out)
				return out
			}
			whole := get(0)
			if whole.Status != Found {
				t.Fatal(whole.Status)
			}
			whole.Release()

			file := s.files.all()[0].path
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			cut := placed[2].PhysicalOffset + 4096 // in the third message's body
			if err := os.Truncate(file, cut&^4095); err != nil {
				t.Fatal(err)
			}
			out := get(0)
			if out.Status != Found || out.Count != 2 || out.NextOffset != 2 {
				t.Errorf("from 0: %v, %d messages, next %d; want the 2 that are left", out.Status, out.Count, out.NextOffset)
			}
			out.Release()
			for range 2 {
				out = get(2)
				if out.Status != Unreadable || out.NextOffset != 2 || !errors.Is(out.Err, vfs.ErrPage) || !strings.Contains(out.Err.Error(), file+" at ") {
					t.Errorf("from 2: %v, next %d, %v; want UNREADABLE, 2 and an error that names %s", out.Status, out.NextOffset, out.Err, file)
				}
				out.Release()
			}
			if _, err := s.Record(placed[2].PhysicalOffset); !Unread(err) || !strings.Contains(err.Error(), file) {
				t.Errorf("record: %v", err)
			}
			if r, err := s.Record(other.PhysicalOffset); err != nil {
				t.Errorf("a record of another file: %v", err)
			} else {
				r.Release()
			}
			st.wantBodies(s, "other", 0, "other")
			out = get(10)
			if out.Status != Found || out.Count != 10 {
				t.Errorf("from 10, in other files: %v, %d messages", out.Status, out.Count)
			}
			out.Release()
			if !batches {
				for i, want := range map[int]int{2: 0, 15: 1} {
					found, err := s.Query(topic, fmt.Sprint("k", i), 8, 0, 1<<62)
					if err != nil || len(found) != want {
						t.Errorf("key k%d: %d messages, %v; want %d", i, len(found), err, want)
					}
					for _, f := range found {
						f.Release()
					}
				}
			}
			s.Queue(topic, 0).OffsetByTime(placed[2].StoreTimestamp, Lower) // must end
			st.put(s, messageOf(20))
			if !strings.Contains(warnings.String(), file) {
				t.Errorf("the log does not name the file:\n%s", &warnings)
			}

			if err := os.WriteFile(file, content, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := st.bodies(s, topic, 0, 0); len(got) != 21 {
				t.Errorf("%d messages when the file is whole again, want 21", len(got))
			}
		})
	}
}
