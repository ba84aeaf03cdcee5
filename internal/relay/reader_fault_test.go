//go:build unix

package relay_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/rocketd/rocketd/internal/relay"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/store"
)

// putSome stores n messages of some pages each and returns where they lie, with the files of the log.
func putSome(t *testing.T, s *store.Store, dir string, n int) (placed []store.Placed, files []string) {
	t.Helper()
	for i := range n {
		p, err := s.Put(&message.Message{Topic: "T", Body: bytes.Repeat([]byte{byte(i)}, 9000)})
		if err != nil {
			t.Fatal(err)
		}
		placed = append(placed, p)
	}
	files, err := filepath.Glob(filepath.Join(dir, "commitlog", "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	return placed, files
}

func TestAFileOfTheLogThatIsCutShortIsAnError(t *testing.T) {
	dir := t.TempDir()
	s := openStoreAt(t, vfs.OS{}, dir)
	r := relay.FromStore(s)
	defer r.Rest(true)
	placed, files := putSome(t, s, dir, 5)
	first, last := placed[0], placed[len(placed)-1]
	rec, err := r.Record(first.PhysicalOffset, first.Size)
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Clone(rec.Bytes())
	info, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(files[0], 0); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := r.Record(last.PhysicalOffset, last.Size); err == nil {
			t.Error("a record is read that is gone")
		}
	}
	if !bytes.Equal(rec.Bytes(), want) {
		t.Error("the record that is held has changed")
	}
	rec.Release()
	if err := os.Truncate(files[0], info.Size()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Record(last.PhysicalOffset, last.Size); err == nil {
		t.Error("zeros are taken for a record")
	}
}

func TestAFileOfTheLogThatIsRemovedWhileItIsRead(t *testing.T) {
	dir := t.TempDir()
	s := openStoreAt(t, vfs.OS{}, dir)
	r := relay.FromStore(s)
	defer r.Rest(true)
	placed, files := putSome(t, s, dir, 5)
	for i, p := range placed {
		rec, err := r.Record(p.PhysicalOffset, p.Size)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if err := os.Remove(files[0]); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Contains(rec.Bytes(), bytes.Repeat([]byte{byte(i)}, 9000)) {
			t.Errorf("record %d is another one", i)
		}
		rec.Release()
	}
	r.Rest(true)
	if _, err := r.Record(placed[0].PhysicalOffset, placed[0].Size); err == nil {
		t.Error("a record is read whose file is gone")
	}
}
