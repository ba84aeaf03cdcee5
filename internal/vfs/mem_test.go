package vfs_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/internal/vfs"
)

func TestMemSparseFileCostsWhatIsWritten(t *testing.T) {
	fsys := vfs.NewMem()
	f := mustOpen(t, fsys, "log", create)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if err := f.Truncate(1 << 30); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, f, "end", 1<<30-3)
	runtime.ReadMemStats(&after)
	if cost := after.TotalAlloc - before.TotalAlloc; cost > 64<<10 {
		t.Errorf("a sparse file of 1 GiB with one page costs %d bytes", cost)
	}
	runtime.KeepAlive(fsys)
}

func TestMemSyncedDataSurvivesEveryCrash(t *testing.T) {
	fsys := vfs.NewMem()
	if err := fsys.MkdirAll("store/log", 0o755); err != nil {
		t.Fatal(err)
	}
	f := mustOpen(t, fsys, "store/log/0", create)
	want := strings.Repeat("synced ", 3000)
	mustWrite(t, f, want, 0)
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"store/log", "store", ""} {
		if err := fsys.SyncDir(dir); err != nil {
			t.Fatal(err)
		}
	}
	mustWrite(t, f, strings.Repeat("x", 9000), int64(len(want)))
	for seed := range uint64(50) {
		if got := content(t, fsys.CrashClone(seed), "store/log/0"); !strings.HasPrefix(got, want) {
			t.Fatalf("seed %d: synced content is lost", seed)
		}
	}
}

func TestMemCrashKeepsOrLosesEachUnsyncedPage(t *testing.T) {
	fsys := vfs.NewMem()
	f := mustOpen(t, fsys, "f", create)
	if err := f.Truncate(3 * 4096); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, f, strings.Repeat("o", 3*4096), 0)
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := fsys.SyncDir(""); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, f, strings.Repeat("n", 3*4096), 0)
	seen := map[string]bool{}
	for seed := range uint64(200) {
		got := content(t, fsys.CrashClone(seed), "f")
		if len(got) != 3*4096 {
			t.Fatalf("seed %d: %d bytes", seed, len(got))
		}
		pages := ""
		for i := range 3 {
			page := got[i*4096 : (i+1)*4096]
			if page != strings.Repeat(page[:1], 4096) {
				t.Fatalf("seed %d: page %d is torn", seed, i)
			}
			pages += page[:1]
		}
		seen[pages] = true
	}
	if len(seen) != 8 {
		t.Errorf("got %d of the 8 outcomes: %v", len(seen), seen)
	}
	if got := content(t, fsys, "f"); got != strings.Repeat("n", 3*4096) {
		t.Error("cloning changed the original")
	}
}

func TestMemCrashLosesUnsyncedSizeOrKeepsIt(t *testing.T) {
	fsys := vfs.NewMem()
	f := mustOpen(t, fsys, "f", create)
	mustWrite(t, f, "12345", 0)
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := fsys.SyncDir(""); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, f, "6789", 5)
	seen := map[string]int{}
	for seed := range uint64(100) {
		seen[content(t, fsys.CrashClone(seed), "f")]++
	}
	for _, want := range []string{"12345", "123456789", "12345\x00\x00\x00\x00"} {
		if seen[want] == 0 {
			t.Errorf("no seed left %q: %v", want, seen)
		}
		delete(seen, want)
	}
	if len(seen) > 0 {
		t.Errorf("impossible outcomes %v", seen)
	}
}

func TestMemCrashKeepsAPrefixOfDirectoryChanges(t *testing.T) {
	fsys := vfs.NewMem()
	for i := range 4 {
		if err := mustOpen(t, fsys, fmt.Sprint("f", i), create).Sync(); err != nil {
			t.Fatal(err)
		}
	}
	if err := fsys.SyncDir(""); err != nil {
		t.Fatal(err)
	}
	if err := fsys.Remove("f0"); err != nil {
		t.Fatal(err)
	}
	if err := fsys.Rename("f1", "g1"); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, fsys, "h", create)
	seen := map[string]bool{}
	for seed := range uint64(100) {
		seen[names(t, fsys.CrashClone(seed))] = true
	}
	want := []string{"f0 f1 f2 f3", "f1 f2 f3", "f2 f3 g1", "f2 f3 g1 h"}
	for _, w := range want {
		if !seen[w] {
			t.Errorf("no seed left %q", w)
		}
	}
	if len(seen) != len(want) {
		t.Errorf("got %v, want %v", seen, want)
	}
}

func names(t *testing.T, fsys vfs.FS) string {
	t.Helper()
	list, err := fsys.ReadDir("")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

func TestMemCloneKeepsAllAndSharesNothing(t *testing.T) {
	fsys := vfs.NewMem()
	f := mustOpen(t, fsys, "f", create)
	mustWrite(t, f, "abc", 0)
	lock, err := fsys.Lock("lock")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	killed := fsys.Clone()
	if got := content(t, killed, "f"); got != "abc" {
		t.Fatalf("got %q", got)
	}
	if _, err := killed.Lock("lock"); err != nil {
		t.Errorf("the killed process still holds its lock: %v", err)
	}
	mustWrite(t, mustOpen(t, killed, "f", create), "xyz", 0)
	mustWrite(t, f, "d", 3)
	if a, b := content(t, fsys, "f"), content(t, killed, "f"); a != "abcd" || b != "xyz" {
		t.Errorf("original %q, clone %q", a, b)
	}
}

func TestMemTellsTheTimeAndUsageItWasGiven(t *testing.T) {
	fsys := vfs.NewMem()
	now := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	fsys.SetNow(func() time.Time { return now })
	fsys.SetUsage(100, 7)
	mustWrite(t, mustOpen(t, fsys, "f", create), "x", 0)
	if info, err := fsys.Stat("f"); err != nil || !info.ModTime().Equal(now) {
		t.Errorf("modified %v, %v, want %v", info, err, now)
	}
	if total, free, err := fsys.Usage("f"); total != 100 || free != 7 || err != nil {
		t.Errorf("usage %d, %d, %v", total, free, err)
	}
	if info, err := fsys.Stat(""); err != nil || info.Mode()&fs.ModeDir == 0 {
		t.Errorf("root: %v, %v", info, err)
	}
}

func BenchmarkMemAppend(b *testing.B) {
	fsys := vfs.NewMem()
	f, err := fsys.OpenFile("f", create, 0o644)
	if err != nil {
		b.Fatal(err)
	}
	data := bytes.Repeat([]byte("x"), 1024)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	var off int64
	for b.Loop() {
		if _, err := f.WriteAt(data, off%(64<<20)); err != nil {
			b.Fatal(err)
		}
		off += int64(len(data))
	}
}
