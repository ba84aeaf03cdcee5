package vfs

import (
	"errors"
	"runtime/debug"
)

// ErrPage: a page of a mapped file cannot be read: the disk does not give it, or somebody has cut the file short.
var ErrPage = errors.New("a page of the file cannot be read")

// PanicOnFault makes a page of a mapping that cannot be read a panic of this goroutine, where it would end the process, until CatchPageFault,
// which takes the result:
//
//	defer vfs.CatchPageFault(vfs.PanicOnFault(), func(addr uintptr) bool { … })
func PanicOnFault() (before bool) { return debug.SetPanicOnFault(true) }

// CatchPageFault is deferred. It ends a panic from reading at an address for which caught returns true, and no other one.
func CatchPageFault(before bool, caught func(addr uintptr) bool) {
	debug.SetPanicOnFault(before)
	p := recover()
	if p == nil {
		return
	}
	if fault, ok := p.(interface{ Addr() uintptr }); !ok || !caught(fault.Addr()) {
		panic(p)
	}
}

// CopyMapped copies what a mapping holds at a place, which must lie in it, into dst. The error is ErrPage.
func CopyMapped(dst, mapped []byte, at int64) (err error) {
	defer CatchPageFault(PanicOnFault(), func(uintptr) bool {
		err = ErrPage
		return true
	})
	copy(dst, mapped[at:at+int64(len(dst))])
	return nil
}
