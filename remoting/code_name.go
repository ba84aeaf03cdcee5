package remoting

import (
	"strconv"
	"strings"
)

// RequestName is the reference's name of a request code, as "SEND_MESSAGE_V2", or its number.
func RequestName(code int32) string { return codeName(requestCodeNames, code) }

// ResponseName is the reference's name of a response code, as "SYSTEM_BUSY", or its number.
func ResponseName(code int32) string { return codeName(responseCodeNames, code) }

// RequestCode finds a request code by its name, in any case, or its number.
func RequestCode(name string) (code int32, ok bool) { return codeNamed(requestCodeNames, name) }

// ResponseCode finds a response code by its name, in any case, or its number.
func ResponseCode(name string) (code int32, ok bool) { return codeNamed(responseCodeNames, name) }

func codeName(names map[int32]string, code int32) string {
	if name, ok := names[code]; ok {
		return name
	}
	return strconv.Itoa(int(code))
}

func codeNamed(names map[int32]string, name string) (int32, bool) {
	if n, err := strconv.ParseInt(name, 10, 32); err == nil {
		return int32(n), true
	}
	for code, known := range names {
		if strings.EqualFold(known, name) {
			return code, true
		}
	}
	return 0, false
}
