package message

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"net/netip"
	"slices"
)

// Magic codes of records.
const (
	MagicV1    uint32 = 0xDAA320A7
	MagicV2    uint32 = 0xDAA320AB // the topic's length takes 2 bytes
	MagicBlank uint32 = 0xCBD43194
)

// Positions in a record that do not depend on its hosts, and sizes.
const (
	magicPosition          = 4
	crcPosition            = 8
	queueIDPosition        = 12
	flagPosition           = 16
	queueOffsetPosition    = 20
	physicalOffsetPosition = 28
	sysFlagPosition        = 36
	bornTimestampPosition  = 40
	bornHostPosition       = 48

	hostSizeV4 = 8
	hostSizeV6 = 20

	// fixedSizeV4 is all before the body's length with two IPv4 hosts.
	fixedSizeV4 = 84
	// MinRecordSize is the size of a record with an empty body, topic and properties.
	MinRecordSize = fixedSizeV4 + 4 + 1 + 2
	// BlankSize is what the filler at the end of a file needs: total size and magic.
	BlankSize = 8
	// crcTailSize is "__CRC32#", 0x01, 10 digits, 0x02.
	crcTailSize = len(KeyCRC32) + 1 + crcDigits + 1
	crcDigits   = 10

	crcMask = 0x7FFFFFFF
)

// Limits of a record.
const (
	// MaxProperties is the largest size of properties, tail included.
	MaxProperties = 1<<15 - 1
	// MaxTopicV1 is the longest topic of a V1 record; a longer one makes it V2.
	MaxTopicV1 = 127
	// MaxRetryTopic is the longest topic at all; over MaxTopicV1 only %RETRY% topics may be.
	MaxRetryTopic = 255
	// RecordOverhead is what a record may be larger than the body limit.
	RecordOverhead = 64 << 10
)

// Errors of encoding, wrapped with the sizes. The reference answers all with MESSAGE_ILLEGAL.
var (
	ErrNoBody             = errors.New("message has no body")
	ErrBodyTooLarge       = errors.New("message body is too large")
	ErrRecordTooLarge     = errors.New("message record is too large")
	ErrPropertiesTooLarge = errors.New("message properties are too large")
	ErrTopicTooLong       = errors.New("topic is too long")
)

// Errors of decoding. All but ErrBlank and ErrNoRecord are wrapped with what was found.
var (
	// ErrNoRecord: total size and magic are zero, the log was not written here.
	ErrNoRecord = errors.New("no record")
	// ErrBlank: the filler at the end of a file; the returned size is what it claims to fill.
	ErrBlank = errors.New("blank record")
	// ErrShort: the bytes end before the record does.
	ErrShort = errors.New("record is cut off")
	// ErrMagic: the magic code is unknown.
	ErrMagic = errors.New("record has an unknown magic code")
	// ErrLength: the lengths inside the record do not add up to its total size.
	ErrLength = errors.New("record has inconsistent lengths")
	// ErrCRC: the body does not have its checksum.
	ErrCRC = errors.New("record has a wrong checksum")
)

// Placement is what the store decides about a record.
type Placement struct {
	PhysicalOffset int64
	QueueOffset    int64
	StoreTimestamp int64 // ms since the epoch
}

// Record is the decoded view of a stored record. Its strings and slices alias the record; WaitStored is set from WAIT only by
// those who read it, and Suffix and PropertyCRC stay zero: the tail, if there is one, is part of Properties.
type Record struct {
	Message
	Size           int32
	MagicV2        bool
	BodyCRC        uint32
	QueueOffset    int64
	PhysicalOffset int64
	StoreTimestamp int64
}

// CheckLimits checks m as the reference does before it puts a message (HookUtils.checkBeforePutMessage, MessageExtEncoder):
// maxBody is the setting maxMessageSize. Errors wrap those of encoding.
func CheckLimits(m *Message, maxBody int) error {
	switch {
	case m.Body == nil:
		return ErrNoBody
	case len(m.Topic) > MaxRetryTopic:
		return fmt.Errorf("%w: %d bytes, the limit is %d", ErrTopicTooLong, len(m.Topic), MaxRetryTopic)
	case len(m.Topic) > MaxTopicV1 && !IsRetryTopic(m.Topic):
		return fmt.Errorf("%w: %d bytes, the limit is %d", ErrTopicTooLong, len(m.Topic), MaxTopicV1)
	case len(m.Body) > maxBody:
		return fmt.Errorf("%w: %d bytes, maxMessageSize is %d", ErrBodyTooLarge, len(m.Body), maxBody)
	}
	if n := m.PropertiesSize(); n > MaxProperties {
		return fmt.Errorf("%w: %d bytes, the limit is %d", ErrPropertiesTooLarge, n, MaxProperties)
	}
	if n := RecordSize(m); n > maxBody+RecordOverhead {
		return fmt.Errorf("%w: %d bytes, the limit is maxMessageSize + %d = %d", ErrRecordTooLarge, n, RecordOverhead, maxBody+RecordOverhead)
	}
	return nil
}

// RecordSize is the size of m's record.
func RecordSize(m *Message) int {
	n := fixedSizeV4 + 4 + len(m.Body) + 1 + len(m.Topic) + 2 + m.PropertiesSize()
	if len(m.Topic) > MaxTopicV1 {
		n++
	}
	if IsV6(m.BornHost.Addr()) {
		n += hostSizeV6 - hostSizeV4
	}
	if IsV6(m.StoreHost.Addr()) {
		n += hostSizeV6 - hostSizeV4
	}
	return n
}

// AppendRecord appends m's record to dst. It allocates only if dst lacks room for RecordSize(m). It checks what the format
// cannot hold (ErrPropertiesTooLarge, ErrTopicTooLong, ErrRecordTooLarge) and returns dst unchanged with the error; the
// limits of the configuration are CheckLimits' business.
func AppendRecord(dst []byte, m *Message, p Placement) ([]byte, error) {
	properties := m.PropertiesSize()
	if properties > MaxProperties {
		return dst, fmt.Errorf("%w: %d bytes, the limit is %d", ErrPropertiesTooLarge, properties, MaxProperties)
	}
	if len(m.Topic) > MaxProperties {
		return dst, fmt.Errorf("%w: %d bytes, the limit is %d", ErrTopicTooLong, len(m.Topic), MaxProperties)
	}
	size := RecordSize(m)
	if size > 1<<31-1 {
		return dst, fmt.Errorf("%w: %d bytes, the limit is %d", ErrRecordTooLarge, size, 1<<31-1)
	}
	start := len(dst)
	dst = slices.Grow(dst, size)
	be := binary.BigEndian
	dst = be.AppendUint32(dst, uint32(size))
	dst = be.AppendUint32(dst, m.magic())
	dst = be.AppendUint32(dst, crc32.ChecksumIEEE(m.Body)&crcMask)
	dst = be.AppendUint32(dst, uint32(m.QueueID))
	dst = be.AppendUint32(dst, uint32(m.Flag))
	dst = be.AppendUint64(dst, uint64(p.QueueOffset))
	dst = be.AppendUint64(dst, uint64(p.PhysicalOffset))
	dst = be.AppendUint32(dst, uint32(m.encodedSysFlag()))
	dst = be.AppendUint64(dst, uint64(m.BornTimestamp))
	dst = appendHost(dst, m.BornHost)
	dst = be.AppendUint64(dst, uint64(p.StoreTimestamp))
	dst = appendHost(dst, m.StoreHost)
	dst = be.AppendUint32(dst, uint32(m.ReconsumeTimes))
	dst = be.AppendUint64(dst, uint64(m.PreparedTransactionOffset))
	dst = be.AppendUint32(dst, uint32(len(m.Body)))
	dst = append(dst, m.Body...)
	if len(m.Topic) > MaxTopicV1 {
		dst = be.AppendUint16(dst, uint16(len(m.Topic)))
	} else {
		dst = append(dst, byte(len(m.Topic)))
	}
	dst = append(dst, m.Topic...)
	dst = be.AppendUint16(dst, uint16(properties))
	dst = m.appendProperties(dst)
	if m.PropertyCRC {
		dst = appendCRCTail(dst, crc32.ChecksumIEEE(dst[start:])&crcMask)
	}
	return dst, nil
}

// AppendBlank appends the filler for the last size bytes of a file: its head and zeros. size is at least BlankSize.
func AppendBlank(dst []byte, size int) []byte {
	start := len(dst)
	dst = slices.Grow(dst, size)[:start+size]
	clear(dst[start:])
	binary.BigEndian.PutUint32(dst[start:], uint32(size))
	binary.BigEndian.PutUint32(dst[start+magicPosition:], MagicBlank)
	return dst
}

// PeekSize reads total size and magic at the start of b, which may end behind them. The error is ErrShort, ErrNoRecord, ErrBlank
// (with the size it fills), ErrMagic, or ErrLength for a size no record can have.
func PeekSize(b []byte) (size int, err error) {
	if len(b) < BlankSize {
		return 0, fmt.Errorf("%w: %d bytes left, total size and magic need %d", ErrShort, len(b), BlankSize)
	}
	size = int(int32(binary.BigEndian.Uint32(b)))
	switch magic := binary.BigEndian.Uint32(b[magicPosition:]); magic {
	case MagicV1, MagicV2:
		if size < MinRecordSize {
			return 0, fmt.Errorf("%w: total size %d, the smallest is %d", ErrLength, size, MinRecordSize)
		}
		return size, nil
	case MagicBlank:
		return size, ErrBlank
	default:
		if magic == 0 && size == 0 {
			return 0, ErrNoRecord
		}
		return 0, fmt.Errorf("%w: 0x%08X", ErrMagic, magic)
	}
}

// PeekPhysicalOffset returns the physical offset in a record's head; ok is false when b is too short for it.
func PeekPhysicalOffset(b []byte) (offset int64, ok bool) {
	if len(b) < physicalOffsetPosition+8 {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(b[physicalOffsetPosition:])), true
}

// PeekStoreTimestamp returns the store timestamp, ms, from a record's head, wherever its born host puts it; ok is false when b
// is too short for it. PeekHeadSize bytes are always enough.
func PeekStoreTimestamp(b []byte) (ms int64, ok bool) {
	if len(b) < bornHostPosition {
		return 0, false
	}
	at := bornHostPosition + hostSizeV4
	if int32(binary.BigEndian.Uint32(b[sysFlagPosition:]))&SysBornHostV6 != 0 {
		at = bornHostPosition + hostSizeV6
	}
	if len(b) < at+8 {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(b[at:])), true
}

// PeekHeadSize is how many bytes of a record the Peek functions need at most.
const PeekHeadSize = bornHostPosition + hostSizeV6 + 8

// DecodeRecord reads the record at the start of b into r and returns its size. With verify the body's checksum is checked. It reads
// nothing outside b and accepts what CommitLog.checkMessageAndReturnSize accepts, but no negative lengths. Errors are those of decoding;
// size is then 0, but for ErrBlank. r is undefined after an error.
func DecodeRecord(b []byte, r *Record, verify bool) (size int, err error) {
	size, err = PeekSize(b)
	if err != nil {
		return size, err
	}
	if size > len(b) {
		return 0, fmt.Errorf("%w: total size %d, %d bytes left", ErrShort, size, len(b))
	}
	b = b[:size]
	be := binary.BigEndian
	r.Size = int32(size)
	r.MagicV2 = be.Uint32(b[magicPosition:]) == MagicV2
	r.BodyCRC = be.Uint32(b[crcPosition:])
	r.QueueID = int32(be.Uint32(b[queueIDPosition:]))
	r.Flag = int32(be.Uint32(b[flagPosition:]))
	r.QueueOffset = int64(be.Uint64(b[queueOffsetPosition:]))
	r.PhysicalOffset = int64(be.Uint64(b[physicalOffsetPosition:]))
	r.SysFlag = int32(be.Uint32(b[sysFlagPosition:]))
	r.BornTimestamp = int64(be.Uint64(b[bornTimestampPosition:]))
	if need := r.fixedSize() + 4 + r.topicLengthSize() + 2; size < need {
		return 0, fmt.Errorf("%w: total size %d, the smallest with these hosts is %d", ErrLength, size, need)
	}
	rest := b[bornHostPosition:]
	r.BornHost, rest = cutHost(rest, r.SysFlag&SysBornHostV6 != 0)
	r.StoreTimestamp, rest = int64(be.Uint64(rest)), rest[8:]
	r.StoreHost, rest = cutHost(rest, r.SysFlag&SysStoreHostV6 != 0)
	r.ReconsumeTimes = int32(be.Uint32(rest))
	r.PreparedTransactionOffset = int64(be.Uint64(rest[4:]))
	r.WaitStored, r.PropertyCRC, r.Suffix = false, false, nil
	if err := r.decodeVariable(rest[12:]); err != nil {
		return 0, err
	}
	if verify && len(r.Body) > 0 {
		if got := crc32.ChecksumIEEE(r.Body) & crcMask; got != r.BodyCRC {
			return 0, fmt.Errorf("%w: body has 0x%08X, record says 0x%08X", ErrCRC, got, r.BodyCRC)
		}
	}
	return size, nil
}

// decodeVariable reads body, topic and properties, which fill b. b holds at least their lengths' sizes.
func (r *Record) decodeVariable(b []byte) error {
	be := binary.BigEndian
	lengths := r.topicLengthSize() + 2
	n := int64(int32(be.Uint32(b)))
	b = b[4:]
	if n < 0 || n > int64(len(b)-lengths) {
		return fmt.Errorf("%w: body of %d bytes, %d left", ErrLength, n, len(b)-lengths)
	}
	r.Body, b = b[:n:n], b[n:]
	if r.MagicV2 {
		n, b = int64(int16(be.Uint16(b))), b[2:]
	} else {
		n, b = int64(int8(b[0])), b[1:]
	}
	if n < 0 || n > int64(len(b)-2) {
		return fmt.Errorf("%w: topic of %d bytes, %d left", ErrLength, n, len(b)-2)
	}
	r.Topic, b = aliasString(b[:n]), b[n:]
	n, b = int64(int16(be.Uint16(b))), b[2:]
	if n < 0 || n != int64(len(b)) {
		return fmt.Errorf("%w: properties of %d bytes, %d left", ErrLength, n, len(b))
	}
	r.Properties = Properties(b[:n:n])
	return nil
}

// VerifyPropertyCRC checks the tail of the setting enabledAppendPropCRC of the record in b, which r was decoded from, as the
// reference does with forceVerifyPropCRC. ErrCRC when it is missing or wrong.
func VerifyPropertyCRC(b []byte, r *Record) error {
	digits, ok := r.Properties.Get(KeyCRC32)
	if !ok || len(digits) > crcDigits || int(r.Size) > len(b) || int(r.Size) < crcTailSize {
		return fmt.Errorf("%w: no property %s", ErrCRC, KeyCRC32)
	}
	var want uint64
	for i := len(digits) - 1; i >= 0; i-- {
		if digits[i] < '0' || digits[i] > '9' {
			return fmt.Errorf("%w: property %s is %q", ErrCRC, KeyCRC32, digits)
		}
		want = want*10 + uint64(digits[i]-'0')
	}
	if got := crc32.ChecksumIEEE(b[:int(r.Size)-crcTailSize]) & crcMask; uint64(got) != want {
		return fmt.Errorf("%w: record has 0x%08X, property %s says 0x%08X", ErrCRC, got, KeyCRC32, want)
	}
	return nil
}

// TagsCode is the tags code of a consume-queue entry for the record, but for messages in the schedule topic.
func (r *Record) TagsCode() int64 {
	tags, _ := r.Properties.Get(KeyTags)
	return TagsHash(tags)
}

func (r *Record) fixedSize() int {
	n := fixedSizeV4
	if r.SysFlag&SysBornHostV6 != 0 {
		n += hostSizeV6 - hostSizeV4
	}
	if r.SysFlag&SysStoreHostV6 != 0 {
		n += hostSizeV6 - hostSizeV4
	}
	return n
}

func (r *Record) topicLengthSize() int {
	if r.MagicV2 {
		return 2
	}
	return 1
}

func (m *Message) magic() uint32 {
	if len(m.Topic) > MaxTopicV1 {
		return MagicV2
	}
	return MagicV1
}

func (m *Message) encodedSysFlag() int32 {
	flag := m.SysFlag &^ (SysBornHostV6 | SysStoreHostV6)
	if IsV6(m.BornHost.Addr()) {
		flag |= SysBornHostV6
	}
	if IsV6(m.StoreHost.Addr()) {
		flag |= SysStoreHostV6
	}
	return flag
}

// PropertiesSize is how many bytes the properties are that end m's record: with the separator that appendProperties puts between the parts.
func (m *Message) PropertiesSize() int {
	n := len(m.Properties) + len(m.Suffix)
	if m.needsSeparator() {
		n++
	}
	if m.PropertyCRC {
		if n > 0 && !m.endsInSeparator() {
			n++
		}
		n += crcTailSize
	}
	return n
}

func (m *Message) needsSeparator() bool { return len(m.Suffix) > 0 && m.Properties.unterminated() }

func (m *Message) endsInSeparator() bool {
	if len(m.Suffix) > 0 {
		return !m.Suffix.unterminated()
	}
	return !m.Properties.unterminated()
}

func (m *Message) appendProperties(dst []byte) []byte {
	dst = append(dst, m.Properties...)
	if m.needsSeparator() {
		dst = append(dst, PropertySeparator)
	}
	dst = append(dst, m.Suffix...)
	if m.PropertyCRC && !m.endsInSeparator() {
		dst = append(dst, PropertySeparator)
	}
	return dst
}

func appendCRCTail(dst []byte, crc uint32) []byte {
	dst = append(dst, KeyCRC32...)
	dst = append(dst, NameValueSeparator)
	for range crcDigits {
		dst = append(dst, '0'+byte(crc%10))
		crc /= 10
	}
	return append(dst, PropertySeparator)
}

// appendHost appends address and port in stored form. No address is 0.0.0.0.
func appendHost(dst []byte, host netip.AddrPort) []byte {
	return binary.BigEndian.AppendUint32(appendAddr(dst, host.Addr()), uint32(host.Port()))
}

func appendAddr(dst []byte, addr netip.Addr) []byte {
	switch {
	case !addr.IsValid():
		return append(dst, 0, 0, 0, 0)
	case IsV6(addr):
		raw := addr.As16()
		return append(dst, raw[:]...)
	default:
		raw := addr.As4()
		return append(dst, raw[:]...)
	}
}

// cutHost takes a host off b, which is long enough. Of a port only the low 16 bits count: the reference's recovery does not
// look at hosts, so a record is not refused for them.
func cutHost(b []byte, v6 bool) (netip.AddrPort, []byte) {
	if v6 {
		addr := netip.AddrFrom16([16]byte(b))
		return netip.AddrPortFrom(addr, uint16(binary.BigEndian.Uint32(b[16:]))), b[hostSizeV6:]
	}
	addr := netip.AddrFrom4([4]byte(b))
	return netip.AddrPortFrom(addr, uint16(binary.BigEndian.Uint32(b[4:]))), b[hostSizeV4:]
}
