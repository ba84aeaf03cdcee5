package message

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// batchHeadSize is total size, magic, CRC, flag and body length of a batch entry.
const batchHeadSize = 20

// MinBatchEntrySize is the size of a batch entry with an empty body and no properties.
const MinBatchEntrySize = batchHeadSize + 2

// ErrBatch says that the body of a batch is malformed. It is wrapped with entry, position and lengths.
var ErrBatch = errors.New("malformed batch")

// BatchEntry is one message inside the body of a batch:
//
//	offset  size   name
//	0       4      total size
//	4       4      magic, 0 and ignored
//	8       4      CRC, 0 and ignored
//	12      4      flag
//	16      4 + n  body
//	...     2 + n  properties
type BatchEntry struct {
	Flag       int32
	Body       []byte
	Properties Properties
}

// AppendBatchEntry appends e to dst as MessageDecoder.encodeMessage writes it. Its properties are at most MaxProperties bytes.
func AppendBatchEntry(dst []byte, e BatchEntry) ([]byte, error) {
	if len(e.Properties) > MaxProperties {
		return dst, fmt.Errorf("%w: %d bytes, the limit is %d", ErrPropertiesTooLarge, len(e.Properties), MaxProperties)
	}
	be := binary.BigEndian
	dst = be.AppendUint32(dst, uint32(MinBatchEntrySize+len(e.Body)+len(e.Properties)))
	dst = be.AppendUint64(dst, 0)
	dst = be.AppendUint32(dst, uint32(e.Flag))
	dst = be.AppendUint32(dst, uint32(len(e.Body)))
	dst = append(dst, e.Body...)
	dst = be.AppendUint16(dst, uint16(len(e.Properties)))
	return append(dst, e.Properties...), nil
}

// CutBatchEntry takes the first entry off batch, which is not empty. The entry aliases batch. Like the reference it goes by the lengths of
// body and properties and ignores the total size, which must be there all the same.
func CutBatchEntry(batch []byte) (e BatchEntry, rest []byte, err error) {
	if len(batch) < MinBatchEntrySize {
		return e, nil, fmt.Errorf("%w: %d bytes left, an entry needs %d", ErrBatch, len(batch), MinBatchEntrySize)
	}
	be := binary.BigEndian
	e.Flag = int32(be.Uint32(batch[12:]))
	n := int64(int32(be.Uint32(batch[16:])))
	rest = batch[batchHeadSize:]
	if n < 0 || n > int64(len(rest)-2) {
		return e, nil, fmt.Errorf("%w: body of %d bytes, %d left", ErrBatch, n, len(rest)-2)
	}
	e.Body, rest = rest[:n:n], rest[n:]
	n, rest = int64(int16(be.Uint16(rest))), rest[2:]
	if n < 0 || n > int64(len(rest)) {
		return e, nil, fmt.Errorf("%w: properties of %d bytes, %d left", ErrBatch, n, len(rest))
	}
	e.Properties = Properties(rest[:n:n])
	return e, rest[n:], nil
}

// CountBatch checks all of batch and returns the number of its entries.
func CountBatch(batch []byte) (int, error) {
	n := 0
	for rest := batch; len(rest) > 0; n++ {
		var err error
		if _, rest, err = CutBatchEntry(rest); err != nil {
			return n, fmt.Errorf("entry %d: %w", n, err)
		}
	}
	return n, nil
}
