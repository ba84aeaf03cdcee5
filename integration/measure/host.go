package measure

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Host lends the integration tests' helpers, which expect a test, what they need of one. It is for one goroutine.
type Host struct {
	testing.TB
	dirs     []string
	cleanups []func()
}

// failed is what a helper's Fatal panics with; Attempt turns it into an error.
type failed string

// Helper does nothing.
func (h *Host) Helper() {}

// Cleanup calls f at Close.
func (h *Host) Cleanup(f func()) { h.cleanups = append(h.cleanups, f) }

// Logf writes to stderr.
func (h *Host) Logf(format string, a ...any) { fmt.Fprintf(os.Stderr, format+"\n", a...) }

// Errorf writes to stderr.
func (h *Host) Errorf(format string, a ...any) { h.Logf(format, a...) }

// Skipf ends Attempt: what cannot be measured is an error.
func (h *Host) Skipf(format string, a ...any) { h.Fatalf(format, a...) }

// Fatal ends Attempt.
func (h *Host) Fatal(a ...any) { h.Fatalf("%s", fmt.Sprint(a...)) }

// Fatalf ends Attempt.
func (h *Host) Fatalf(format string, a ...any) { panic(failed(fmt.Sprintf(format, a...))) }

// Attempt runs fn and returns as an error what a helper gave up with.
func Attempt(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			f, ok := p.(failed)
			if !ok {
				panic(p)
			}
			err = fmt.Errorf("%s", string(f))
		}
	}()
	return fn()
}

// TempDir makes a folder in BENCH_DIR, or the system's temporary folder, until Close.
func (h *Host) TempDir() string {
	dir, err := os.MkdirTemp(os.Getenv("BENCH_DIR"), "rocketd-bench")
	if err == nil {
		dir, err = filepath.Abs(dir) // what is started has a working folder of its own
	}
	if err != nil {
		h.Fatal(err)
	}
	h.dirs = append(h.dirs, dir)
	return dir
}

// Close ends what was started and removes its files. The host can be used again.
func (h *Host) Close() {
	for i := len(h.cleanups) - 1; i >= 0; i-- {
		h.cleanups[i]()
	}
	for _, d := range h.dirs {
		if err := os.RemoveAll(d); err != nil {
			h.Logf("%v", err)
		}
	}
	h.cleanups, h.dirs = nil, nil
}
