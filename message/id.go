package message

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// ErrID says that a string is not a message id.
var ErrID = errors.New("not a message id")

// Lengths of ids in hex digits.
const (
	idLenV4 = 2 * (4 + 4 + 8)
	idLenV6 = 2 * (16 + 4 + 8)
)

const upperHex = "0123456789ABCDEF"

// OffsetMessageID is the id the broker answers a send with: upper-case hex of address (4 or 16 bytes), port (4) and
// physical offset (8), so 32 or 56 digits.
func OffsetMessageID(storeHost netip.AddrPort, physicalOffset int64) string {
	var buf [idLenV6]byte
	return string(AppendOffsetMessageID(buf[:0], storeHost, physicalOffset))
}

// AppendOffsetMessageID appends what OffsetMessageID returns.
func AppendOffsetMessageID(dst []byte, storeHost netip.AddrPort, physicalOffset int64) []byte {
	var raw [hostSizeV6 + 8]byte
	b := appendHost(raw[:0], storeHost)
	b = binary.BigEndian.AppendUint64(b, uint64(physicalOffset))
	return appendHex(dst, b)
}

// ParseOffsetMessageID takes an OffsetMessageID apart; digits may be of either case. Errors wrap ErrID.
func ParseOffsetMessageID(s string) (storeHost netip.AddrPort, physicalOffset int64, err error) {
	if len(s) != idLenV4 && len(s) != idLenV6 {
		return netip.AddrPort{}, 0, fmt.Errorf("%w: %q has %d digits, an offset id has %d (IPv4) or %d (IPv6)", ErrID, clip(s), len(s), idLenV4, idLenV6)
	}
	b, err := hex.DecodeString(s)
	if err != nil {
		return netip.AddrPort{}, 0, fmt.Errorf("%w: %q is not hexadecimal", ErrID, clip(s))
	}
	addrLen := len(b) - 12
	addr, _ := netip.AddrFromSlice(b[:addrLen])
	port := binary.BigEndian.Uint32(b[addrLen:])
	if port > 65535 {
		return netip.AddrPort{}, 0, fmt.Errorf("%w: %q holds port %d, the largest is 65535", ErrID, s, port)
	}
	return netip.AddrPortFrom(addr, uint16(port)), int64(binary.BigEndian.Uint64(b[addrLen+4:])), nil
}

// UniqueKeys makes UNIQ_KEY values as MessageClientIDSetter does: hex of address (4 or 16 bytes), process id (2), salt (4),
// ms since the start of the local month (4) and a counter (2). Safe for concurrent use.
type UniqueKeys struct {
	prefix  string
	counter atomic.Uint32
}

// NewUniqueKeys returns a source of keys for this process. addr tells hosts apart and salt processes of equal id.
func NewUniqueKeys(addr netip.Addr, salt uint32) *UniqueKeys {
	var raw [16 + 2 + 4]byte
	b := appendAddr(raw[:0], addr)
	b = binary.BigEndian.AppendUint16(b, uint16(os.Getpid()))
	b = binary.BigEndian.AppendUint32(b, salt)
	return &UniqueKeys{prefix: string(appendHex(nil, b))}
}

// New returns the next key at nowMs, a wall-clock time in ms since the epoch.
func (u *UniqueKeys) New(nowMs int64) string {
	var buf [idLenV6]byte
	return string(u.Append(buf[:0], nowMs))
}

// Append appends the next key at nowMs to dst.
func (u *UniqueKeys) Append(dst []byte, nowMs int64) []byte {
	var raw [6]byte
	b := binary.BigEndian.AppendUint32(raw[:0], uint32(nowMs-monthStart(nowMs)))
	b = binary.BigEndian.AppendUint16(b, uint16(u.counter.Add(1)-1))
	return appendHex(append(dst, u.prefix...), b)
}

// UniqueKeyTime tells about when a unique key was made, given a time after that: the key holds only the time within its
// month (MessageClientIDSetter.getNearlyTimeFromID). Errors wrap ErrID.
func UniqueKeyTime(key string, now time.Time) (time.Time, error) {
	if len(key) != idLenV4 && len(key) != idLenV6 {
		return time.Time{}, fmt.Errorf("%w: %q has %d digits, a unique key has %d or %d", ErrID, clip(key), len(key), idLenV4, idLenV6)
	}
	b, err := hex.DecodeString(key)
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: %q is not hexadecimal", ErrID, key)
	}
	span := time.Duration(binary.BigEndian.Uint32(b[len(b)-6:])) * time.Millisecond
	start := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, now.Location())
	if !start.Add(span).Before(now) {
		start = start.AddDate(0, -1, 0)
	}
	return start.Add(span), nil
}

func monthStart(nowMs int64) int64 {
	t := time.UnixMilli(nowMs)
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, t.Location()).UnixMilli()
}

func appendHex(dst, b []byte) []byte {
	for _, c := range b {
		dst = append(dst, upperHex[c>>4], upperHex[c&0xF])
	}
	return dst
}

// clip bounds what of an outside string is repeated in an error, which has to fit into a header.
func clip(s string) string {
	const most = 1024
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
