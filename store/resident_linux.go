package store

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// residentPages is how many pages one question to the system covers.
const residentPages = 256

// resident tells whether the pages of data[from:to] are in memory, so that reading them does not wait for the disk. data is a mapping.
func resident(data []byte, from, to int) bool {
	page := unix.Getpagesize()
	from -= from % page
	var vec [residentPages]byte
	for from < to {
		n := min(to-from, residentPages*page)
		_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&data[from])), uintptr(n), uintptr(unsafe.Pointer(&vec[0])))
		if errno != 0 {
			return false
		}
		for _, in := range vec[:(n+page-1)/page] {
			if in&1 == 0 {
				return false
			}
		}
		from += n
	}
	return true
}
