//go:build !linux

package store

// totalMemory is a guess at the machine's memory in bytes.
func totalMemory() int64 { return assumedMemory }
