package broker

import "unsafe"

// unsafeString views bytes as a string without copying: for what is read before the bytes change.
func unsafeString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// unsafeBytes views a string as bytes that nobody writes to.
func unsafeBytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
