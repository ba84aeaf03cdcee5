package store

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

// TestFailedFlushHeals: when the disk works again everything that was not flushed is written and flushed once more, then messages are
// taken again, and all of them survive a crash of the machine.
func TestFailedFlushHeals(t *testing.T) {
	for _, flush := range []string{"SYNC_FLUSH", "ASYNC_FLUSH"} {
		t.Run(flush, func(t *testing.T) {
			inBubble(t, func(t *storeTest) {
				t.conf.FlushDiskType = flush
				t.conf.MappedFileSizeCommitLog = 16 << 10 // the unflushed part lies in several files
				mem := t.fs
				s, fault := t.faulty()
				t.put(s, newMessage("T", 0, "first"))
				time.Sleep(time.Minute)
				flushed := s.FlushedOffset()
				fault.SetRule(vfs.FailOn(vfs.OpSync, "commitlog", syscall.EIO))
				body := strings.Repeat("x", 3000)
				want := []string{"first"}
				for i := range 12 {
					text := fmt.Sprint(i, body)
					if _, err := s.Put(newMessage("T", 0, text, message.KeyWait, "true")); err == nil || i == 0 {
						want = append(want, text) // with SYNC_FLUSH the first one is written, and not promised
					}
				}
				time.Sleep(30 * time.Second)
				if _, err := s.Put(newMessage("T", 0, "refused")); !errors.Is(err, ErrFlushFailed) {
					t.Fatalf("put on a broken disk: %v, want ErrFlushFailed", err)
				}
				var mu sync.Mutex
				again := int64(0)
				fault.SetRule(func(c vfs.Call) vfs.Action {
					if c.Op == vfs.OpWrite && strings.Contains(c.Path, "commitlog") {
						mu.Lock()
						again += int64(c.Size)
						mu.Unlock()
					}
					return vfs.Action{}
				})
				end := s.MaxPhysicalOffset()
				time.Sleep(10 * time.Second)
				mu.Lock()
				if again == 0 || again > end-flushed {
					t.Errorf("%d bytes were written again, %d were not flushed", again, end-flushed)
				}
				mu.Unlock()
				t.put(s, newMessage("T", 0, "goes on"))
				time.Sleep(time.Minute)
				want = append(want, "goes on")
				t.wantBodies(s, "T", 0, want...)
				fault.Crash()
				_ = s.Close()
				disk, ok := mem.(*vfs.Mem)
				if !ok {
					t.Fatal("no file system in memory")
				}
				t.fs = disk.CrashClone(1)
				s = t.open()
				t.wantBodies(s, "T", 0, want...)
			})
		})
	}
}

// TestForgottenAfterFailedFlush: when the system has forgotten what it could not write, nothing is taken any more.
func TestForgottenAfterFailedFlush(t *testing.T) {
	inBubble(t, func(t *storeTest) {
		mem := t.fs
		s, fault := t.faulty()
		t.put(s, newMessage("T", 0, "first"))
		time.Sleep(time.Minute)
		fault.SetRule(vfs.FailOn(vfs.OpSync, "commitlog", syscall.EIO))
		p := t.put(s, newMessage("T", 0, strings.Repeat("x", 3000)))
		time.Sleep(time.Minute)
		f, err := mem.OpenFile(s.files.last().path, osUpdate, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		// As if the page had gone from memory: the disk still has what it had before.
		if _, err := f.WriteAt(make([]byte, 2000), p.PhysicalOffset+500); err != nil {
			t.Fatal(err)
		}
		fault.SetRule(nil)
		time.Sleep(time.Minute)
		if _, err := s.Put(newMessage("T", 0, "refused")); !errors.Is(err, ErrFlushFailed) || !strings.Contains(err.Error(), "lost bytes") || !strings.Contains(err.Error(), "commitlog") {
			t.Errorf("put: %v, want ErrFlushFailed with file and bytes", err)
		}
		if err := s.Close(); !errors.Is(err, ErrFlushFailed) {
			t.Errorf("close: %v", err)
		}
	})
}

// TestPieces: checksums cover exactly what is written and not flushed.
func TestPieces(t *testing.T) {
	var p pieces
	const fileSize = 1000
	p.add(0, []byte("abc"), fileSize)
	p.add(3, []byte("def"), fileSize)
	p.end()
	p.add(6, []byte("ghi"), fileSize)
	p.drop(6)
	if got := fmt.Sprint(p.all()); got != fmt.Sprint([]piece{{6, 9, sumOf("ghi")}}) {
		t.Errorf("after a flush up to 6: %v", got)
	}
	p.add(1000, []byte("next file"), fileSize)
	p.add(1009, []byte("!"), fileSize)
	if got := fmt.Sprint(p.all()); got != fmt.Sprint([]piece{{6, 9, sumOf("ghi")}, {1000, 1010, sumOf("next file!")}}) {
		t.Errorf("over the end of a file: %v", got)
	}
	p.drop(8)
	if got := p.all(); len(got) != 2 {
		t.Errorf("a piece that is flushed in part is kept: %v", got)
	}
}

func sumOf(s string) uint32 {
	var p pieces
	p.add(0, []byte(s), 1<<20)
	return p.list[0].sum
}
