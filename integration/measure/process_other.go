//go:build !linux

package measure

import (
	"io/fs"
	"os"
)

// CPUSeconds is not measured.
func CPUSeconds(int) float64 { return 0 }

// SyncData writes a file to the disk.
func SyncData(f *os.File) error { return f.Sync() }

// TouchMemory does nothing here.
func TouchMemory(int64) error { return nil }

// FreeMemory is not known here.
func FreeMemory() int64 { return 0 }

// forget does nothing: there is no portable way.
func forget(string) {}

func allocated(info fs.FileInfo) int64 { return info.Size() }

// FreeBytes is not measured.
func FreeBytes(string) (free int64, usedShare float64) { return 0, 0 }

// RaiseFileLimit does nothing: the Go runtime has raised it already where it can.
func RaiseFileLimit() int { return 1024 }
