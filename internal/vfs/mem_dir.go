package vfs

import (
	"io/fs"
	"maps"
	"slices"
	"time"
)

// memNode is a file or a directory.
type memNode interface {
	info(name string) fs.FileInfo
}

// memDir is a directory. Guarded by Mem.mu.
type memDir struct {
	entries  map[string]memNode
	durable  map[string]memNode // entries after the last sync
	pending  [][]memChange      // what happened since, in order; the changes of one operation happen together
	modified time.Time
}

// memChange gives name another node, or none.
type memChange struct {
	name string
	node memNode
}

func newMemDir(now time.Time) *memDir {
	return &memDir{entries: map[string]memNode{}, durable: map[string]memNode{}, modified: now}
}

func (d *memDir) change(now time.Time, changes ...memChange) {
	d.modified = now
	d.pending = append(d.pending, changes)
	apply(d.entries, changes)
}

func apply(entries map[string]memNode, changes []memChange) {
	for _, c := range changes {
		if c.node == nil {
			delete(entries, c.name)
			continue
		}
		entries[c.name] = c.node
	}
}

func (d *memDir) sync() {
	for _, changes := range d.pending {
		apply(d.durable, changes)
	}
	d.pending = nil
}

// clone copies what of d survives, all of it durable.
func (d *memDir) clone(s survival) *memDir {
	entries := maps.Clone(d.durable)
	for _, changes := range d.pending[:s.changes(len(d.pending))] {
		apply(entries, changes)
	}
	out := newMemDir(d.modified)
	for _, name := range slices.Sorted(maps.Keys(entries)) { // in order, so that a seed means the same each time
		switch node := entries[name].(type) {
		case *memDir:
			out.entries[name] = node.clone(s)
		case *memFile:
			out.entries[name] = node.clone(s)
		}
	}
	out.durable = maps.Clone(out.entries)
	return out
}

func (d *memDir) info(name string) fs.FileInfo {
	return memInfo{name: name, mode: fs.ModeDir | 0o755, modified: d.modified}
}

type memInfo struct {
	name     string
	size     int64
	mode     fs.FileMode
	modified time.Time
}

func (i memInfo) Name() string       { return i.name }
func (i memInfo) Size() int64        { return i.size }
func (i memInfo) Mode() fs.FileMode  { return i.mode }
func (i memInfo) ModTime() time.Time { return i.modified }
func (i memInfo) IsDir() bool        { return i.mode.IsDir() }
func (i memInfo) Sys() any           { return nil }
