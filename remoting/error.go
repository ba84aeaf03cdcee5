package remoting

import "fmt"

// Error is a failure with the response code and remark that the client gets.
type Error struct {
	Code   int32
	Remark string
}

// Errorf makes an Error whose remark is formatted.
func Errorf(code int32, format string, args ...any) *Error {
	return &Error{Code: code, Remark: fmt.Sprintf(format, args...)}
}

// Error is the remark with its code.
func (e *Error) Error() string { return fmt.Sprintf("code %d: %s", e.Code, e.Remark) }
