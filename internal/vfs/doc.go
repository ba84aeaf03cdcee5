// Package vfs is the file-system seam of the store. OS is what production uses; Mem keeps everything in memory and can show what a
// crash of the machine leaves of it; Fault wraps either and fails, delays or crashes the k-th operation. WriteFileAtomic and
// ReadFileOrBackup are how state files are replaced and read on any of them.
//
// A crash test runs the code under test on NewFault(mem) with the rule CrashAt(k) for k = 1, 2, … until nothing crashes any more, and
// reopens mem.CrashClone(seed) (a crash of the machine) and mem.Clone() (a kill of the process) each time.
package vfs
