package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// facts are what a client saw in one story, as named values free of times, ids and addresses, and the rules that it saw broken.
type facts struct {
	mu     sync.Mutex
	seen   map[string]string // guarded by mu
	broken []string          // guarded by mu
}

func (f *facts) see(name string, value any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen[name] = oneLine(fmt.Sprint(value))
}

// must records a rule that holds on any broker.
func (f *facts) must(holds bool, format string, args ...any) {
	if holds {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken = append(f.broken, oneLine(fmt.Sprintf(format, args...)))
}

func (f *facts) result(name string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	word := "OK"
	if len(f.broken) > 0 {
		word = "FAIL"
	}
	parts := []string{"RESULT", name, word, strings.Join(f.broken, "; ")}
	for _, k := range slices.Sorted(maps.Keys(f.seen)) {
		parts = append(parts, k+"="+f.seen[k])
	}
	return strings.Join(parts, "\t")
}

func oneLine(s string) string { return strings.NewReplacer("\t", " ", "\n", " ", "\r", " ").Replace(s) }
