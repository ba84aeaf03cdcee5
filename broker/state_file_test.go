package broker

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/rocketd/rocketd/internal/vfs"
)

// TestStateFileIsOneVersionAtAnyCrash crashes saving at each step and reads what is left.
func TestStateFileIsOneVersionAtAnyCrash(t *testing.T) {
	for k := int64(1); ; k++ {
		x := newTables(t, nil)
		fault := vfs.NewFault(x.fs)
		x.files.fs = fault
		content := "one"
		f := x.files.file("f.json", func() []byte { return []byte(content) })
		if err := f.save(); err != nil {
			t.Fatal(err)
		}
		content = "two"
		fault.SetRule(vfs.CrashAt(fault.Count() + k))
		err := f.save()
		if err == nil && !fault.Crashed() {
			if k < 4 {
				t.Fatalf("only %d steps", k)
			}
			return
		}
		for seed := range uint64(10) {
			after := newTables(t, x.fs.CrashClone(seed))
			got := ""
			found, err := after.files.file("f.json", nil).load(func(data []byte) error {
				if s := string(data); s != "one" && s != "two" {
					return fmt.Errorf("neither version: %q", s)
				}
				got = string(data)
				return nil
			})
			if !found || err != nil {
				t.Fatalf("crash at %d, seed %d: found %t, %v", k, seed, found, err)
			}
			if got == "" {
				t.Fatalf("crash at %d, seed %d: nothing read", k, seed)
			}
		}
	}
}

// TestSavesShareAWrite: many savers at once need far fewer writes, and each finds its change on disk.
func TestSavesShareAWrite(t *testing.T) {
	x := newTables(t, nil)
	var mu sync.Mutex
	n, writes := 0, 0
	f := x.files.file("f.json", func() []byte {
		mu.Lock()
		defer mu.Unlock()
		writes++
		return []byte(itoa(n))
	})
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			mu.Lock()
			n++
			mine := n
			mu.Unlock()
			if err := f.save(); err != nil {
				t.Error(err)
			}
			if got := x.read(t, "f.json"); atoi(got, -1) < int64(mine) {
				t.Errorf("saved %d, the file has %s", mine, got)
			}
		})
	}
	wg.Wait()
	if writes > 200 {
		t.Errorf("%d writes for 200 saves", writes)
	}
}

func TestStateFileNamesItselfInErrors(t *testing.T) {
	x := newTables(t, nil)
	x.write(t, "f.json", "bad")
	_, err := x.files.file("f.json", nil).load(func([]byte) error { return errors.New("not mine") })
	if !errors.Is(err, errBroken) || err.Error() == "" {
		t.Errorf("got %v", err)
	}
	found, err := x.files.file("none.json", nil).load(func([]byte) error { return nil })
	if found || err != nil {
		t.Errorf("no file: %t, %v", found, err)
	}
}
