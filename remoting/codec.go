package remoting

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"
)

const (
	lengthSize     = 4              // the frame's length field
	prefixSize     = lengthSize + 4 // length, serialize type and header length
	maxHeader      = 1<<24 - 1      // header length has 24 bits
	maxExtFields   = 1024           // pairs of one header; the reference has no bound
	keepArena      = 64 << 10       // scratch kept from one command to the next
	keepExtFields  = 256            //
	frameMinLength = prefixSize - lengthSize
)

// ErrFrame is wrapped by every error of DecodeFrame: the bytes are not a frame of this protocol. The connection they
// came from cannot be trusted any more and is closed, as the reference does.
var ErrFrame = errors.New("bad frame")

func frameErrorf(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrFrame}, args...)...)
}

// AppendFrame appends cmd as one frame, its length field included: header in the form of cmd.Serialize, Body and
// BodyParts. Release is not called. The header must stay below 16 MiB.
func AppendFrame(dst []byte, cmd *Command) []byte {
	dst = appendFrameHead(dst, cmd)
	dst = append(dst, cmd.Body...)
	for _, p := range cmd.BodyParts {
		dst = append(dst, p...)
	}
	return dst
}

// appendFrameHead appends all of a frame but its body.
func appendFrameHead(dst []byte, cmd *Command) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0, byte(cmd.Serialize), 0, 0, 0)
	if cmd.Serialize == RocketMQ {
		dst = appendBinaryHeader(dst, cmd)
	} else {
		dst = appendJSONHeader(dst, cmd)
	}
	header := len(dst) - at - prefixSize
	binary.BigEndian.PutUint32(dst[at:], uint32(4+header+bodySize(cmd)))
	dst[at+5] = byte(header >> 16)
	dst[at+6] = byte(header >> 8)
	dst[at+7] = byte(header)
	return dst
}

func bodySize(cmd *Command) int {
	n := len(cmd.Body)
	for _, p := range cmd.BodyParts {
		n += len(p)
	}
	return n
}

// DecodeFrame reads one whole frame, its length field included, into cmd. Strings and body of cmd alias frame or
// cmd's own scratch, which the next DecodeFrame into cmd overwrites. The error wraps ErrFrame; it means what the
// reference answers by closing the connection.
func DecodeFrame(frame []byte, cmd *Command) error {
	cmd.reset()
	if len(frame) < prefixSize {
		return frameErrorf("%d bytes, shorter than a frame's prefix of %d", len(frame), prefixSize)
	}
	if n := int64(binary.BigEndian.Uint32(frame)); n != int64(len(frame)-lengthSize) {
		return frameErrorf("length field says %d, %d bytes follow", n, len(frame)-lengthSize)
	}
	header := int(frame[5])<<16 | int(frame[6])<<8 | int(frame[7])
	rest := frame[prefixSize:]
	if header > len(rest) {
		return frameErrorf("header of %d bytes in a frame that has %d left", header, len(rest))
	}
	if header < len(rest) {
		cmd.Body = rest[header:len(rest):len(rest)]
	}
	switch SerializeType(frame[4]) {
	case JSON:
		cmd.Serialize = JSON
		return cmd.decodeJSONHeader(rest[:header])
	case RocketMQ:
		cmd.Serialize = RocketMQ
		return cmd.decodeBinaryHeader(rest[:header])
	}
	return frameErrorf("serialize type %d, known are 0 (JSON) and 1 (ROCKETMQ)", frame[4])
}

// reset empties a command for the next frame and keeps its scratch, up to a bound.
func (c *Command) reset() {
	ext, arena := c.Ext[:0], c.arena[:0]
	if cap(ext) > keepExtFields {
		ext = nil
	}
	if cap(arena) > keepArena {
		arena = nil
	}
	*c = Command{Ext: ext, arena: arena}
}

// keySet tells in most cases without a search that a key is new.
type keySet [4]uint64

// add reports whether the key may have been added before.
func (s *keySet) add(k string) bool {
	h := uint(len(k))
	if len(k) > 0 {
		h += uint(k[0])*7 + uint(k[len(k)-1])*31 + uint(k[len(k)/2])*13
	}
	bit := uint64(1) << (h & 63)
	word := &s[h>>6&3]
	old := *word & bit
	*word |= bit
	return old != 0
}

// addDecoded takes a pair of a header. Of doubled keys the last one counts, so keys are unique afterwards.
func (c *Command) addDecoded(seen *keySet, k, v string) error {
	if seen.add(k) {
		for i := range c.Ext {
			if c.Ext[i].Key == k {
				c.Ext[i].Value = v
				return nil
			}
		}
	}
	if len(c.Ext) == maxExtFields {
		return frameErrorf("more than %d ext fields", maxExtFields)
	}
	c.Ext = append(c.Ext, ExtField{Key: k, Value: v})
	return nil
}

// alias is a string over b's bytes, which must not change while it lives.
func alias(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
