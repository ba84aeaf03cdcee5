package main

import (
	"bytes"
	"encoding/binary"
	"strconv"
)

// answer is one answer of a broker. Its bytes are those of the read buffer.
type answer struct {
	code, opaque int
	binary       bool
	header       []byte // behind the fixed part in binary ones
	body         []byte
}

// parseAnswer finds the parts of a frame without its length field.
func parseAnswer(frame []byte) answer {
	word := binary.BigEndian.Uint32(frame)
	header := frame[4 : 4+word&0xFFFFFF]
	a := answer{body: frame[4+word&0xFFFFFF:], header: header, binary: word>>24 == 1}
	if a.binary {
		a.code, a.opaque = int(int16(binary.BigEndian.Uint16(header))), int(int32(binary.BigEndian.Uint32(header[5:])))
		a.header = header[13:]
		return a
	}
	a.code, a.opaque = jsonInt(header, `"code":`), jsonInt(header, `"opaque":`)
	return a
}

// text is a field of a JSON header, "" when it is not there.
func (a answer) text(field string) string {
	key := append(strconv.AppendQuote(nil, field), ":\""...)
	i := bytes.Index(a.header, key)
	if i < 0 {
		return ""
	}
	rest := a.header[i+len(key):]
	end := bytes.IndexByte(rest, '"')
	if end < 0 {
		return ""
	}
	return string(rest[:end])
}

// number is a field of a JSON header, -1 when it is not there.
func (a answer) number(field string) int64 {
	n, err := strconv.ParseInt(a.text(field), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

func jsonInt(header []byte, key string) int {
	i := bytes.Index(header, []byte(key))
	if i < 0 {
		return -1
	}
	n, sign := 0, 1
	for _, b := range header[i+len(key):] {
		switch {
		case b == '-':
			sign = -1
		case b >= '0' && b <= '9':
			n = n*10 + int(b-'0')
		case b == ' ':
		default:
			return n * sign
		}
	}
	return n * sign
}

// Places in a stored record that a pull brings (see message/doc.go of this repository).
const (
	recordBodyLength = 84
	recordBody       = 88
)

// eachRecord calls fn with the body of each record of a pull's answer.
func eachRecord(b []byte, fn func(body []byte)) {
	for len(b) >= recordBody {
		size := int(binary.BigEndian.Uint32(b))
		n := int(binary.BigEndian.Uint32(b[recordBodyLength:]))
		if size < recordBody+n || size > len(b) {
			return
		}
		fn(b[recordBody : recordBody+n])
		b = b[size:]
	}
}
