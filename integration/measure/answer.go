package measure

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// Answer is one answer of a broker. Its bytes are those of the read buffer.
type Answer struct {
	Code   int32
	Opaque int
	Binary bool
	Header []byte // behind the fixed part in binary ones
	Body   []byte
}

// ParseAnswer finds the parts of a frame without its length field.
func ParseAnswer(frame []byte) Answer {
	word := binary.BigEndian.Uint32(frame)
	header := frame[4 : 4+word&0xFFFFFF]
	a := Answer{Body: frame[4+word&0xFFFFFF:], Header: header, Binary: word>>24 == 1}
	if a.Binary {
		a.Code, a.Opaque = int32(int16(binary.BigEndian.Uint16(header))), int(int32(binary.BigEndian.Uint32(header[5:])))
		a.Header = header[13:]
		return a
	}
	a.Code, a.Opaque = int32(jsonInt(header, `"code":`)), jsonInt(header, `"opaque":`)
	return a
}

// Text is a field of a JSON header, "" when it is not there.
func (a Answer) Text(field string) string {
	key := append(strconv.AppendQuote(nil, field), ":\""...)
	i := bytes.Index(a.Header, key)
	if i < 0 {
		return ""
	}
	rest := a.Header[i+len(key):]
	end := bytes.IndexByte(rest, '"')
	if end < 0 {
		return ""
	}
	return string(rest[:end])
}

// Number is a field of a JSON header, -1 when it is not there.
func (a Answer) Number(field string) int64 {
	n, err := strconv.ParseInt(a.Text(field), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// Err tells of an answer with another code, with the beginning of its header.
func (a Answer) Err() error {
	if a.Code == 0 {
		return nil
	}
	return fmt.Errorf("answered with code %d %.200s", a.Code, a.Header)
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

// ReadFrame reads a frame into buf, which grows, and returns it without its length field.
func ReadFrame(in *bufio.Reader, buf *[]byte) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(in, length[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(length[:]))
	if cap(*buf) < n {
		*buf = make([]byte, n)
	}
	*buf = (*buf)[:n]
	_, err := io.ReadFull(in, *buf)
	return *buf, err
}

// Conn is a connection to a broker.
type Conn struct {
	net.Conn
	in  *bufio.Reader
	buf []byte
}

// Dial connects.
func Dial(addr string) (*Conn, error) {
	c, err := net.DialTimeout("tcp", addr, 20*time.Second)
	if err != nil {
		return nil, err
	}
	return &Conn{Conn: c, in: bufio.NewReaderSize(c, 64<<10)}, nil
}

// Next reads an answer; its bytes are valid until the next one is read.
func (c *Conn) Next() (Answer, error) {
	frame, err := ReadFrame(c.in, &c.buf)
	if err != nil {
		return Answer{}, err
	}
	return ParseAnswer(frame), nil
}

// Ask sends a request and reads its answer, within 30 seconds.
func (c *Conn) Ask(request []byte) (Answer, error) {
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return Answer{}, err
	}
	if _, err := c.Write(request); err != nil {
		return Answer{}, err
	}
	return c.Next()
}

// Ask asks once, on a connection of its own.
func Ask(addr string, request []byte) (Answer, error) {
	c, err := Dial(addr)
	if err != nil {
		return Answer{}, err
	}
	defer c.Close()
	return c.Ask(request)
}

// Places in a stored record that a pull brings (see message/doc.go of this repository).
const (
	recordStored     = 56
	recordBodyLength = 84
	recordBody       = 88
)

// EachRecord calls fn with when each record of a pull's answer was stored, ms, and its body.
func EachRecord(b []byte, fn func(stored int64, body []byte)) {
	for len(b) >= recordBody {
		size := int(binary.BigEndian.Uint32(b))
		n := int(binary.BigEndian.Uint32(b[recordBodyLength:]))
		if size < recordBody+n || size > len(b) {
			return
		}
		fn(int64(binary.BigEndian.Uint64(b[recordStored:])), b[recordBody:recordBody+n])
		b = b[size:]
	}
}
