package body

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// RegisterBrokerBody is the body of REGISTER_BROKER.
type RegisterBrokerBody struct {
	Topics           TopicConfigAndMappingTable
	FilterServerList []string // addresses; nil leaves the name server's list alone
}

func (b *RegisterBrokerBody) members(m *members) {
	m.strs("filterServerList", &b.FilterServerList)
	if m.at("topicConfigSerializeWrapper") {
		object(m.x, &b.Topics)
	}
}

// maxInflated bounds a compressed registration after inflating.
const maxInflated = 64 << 20

// mappingVersion is the first version whose compressed registrations have static queue mappings (MQVersion.V5_0_0).
const mappingVersion = 413

// EncodeRegisterBrokerCompressed writes the zlib form of a registration. TopicSysFlag, Order and the mapping details are lost in
// it (RegisterBrokerBody.encode). Each part is behind its length, integers are big-endian:
//
//	size  part
//	4+n   data version as JSON
//	4     number of topics
//	4+n   each topic: name, read and write queues, perm, filter type and attributes as JSON, divided by blanks
//	4+n   filter server list as JSON
//	4     number of mappings
//	4+n   each TopicQueueMappingInfo as JSON
func EncodeRegisterBrokerCompressed(b *RegisterBrokerBody) []byte {
	plain := appendPart(nil, Encode(&b.Topics.DataVersion))
	plain = binary.BigEndian.AppendUint32(plain, uint32(len(b.Topics.Topics)))
	for _, t := range b.Topics.Topics {
		var w writer
		mapOf(&visitor{w: &w}, &t.Attributes, stringKey{}, stringValue)
		plain = appendPart(plain, fmt.Appendf(nil, "%s %d %d %d %s %s",
			t.TopicName, t.ReadQueueNums, t.WriteQueueNums, t.Perm, t.TopicFilterType, w.buf))
	}
	plain = appendPart(plain, EncodeStrings(b.FilterServerList))
	plain = binary.BigEndian.AppendUint32(plain, uint32(len(b.Topics.MappingInfos)))
	for _, info := range b.Topics.MappingInfos {
		plain = appendPart(plain, Encode(&info))
	}
	var out bytes.Buffer
	z := zlib.NewWriter(&out)
	z.Write(plain) //nolint:errcheck // a bytes.Buffer takes everything
	z.Close()      //nolint:errcheck // a bytes.Buffer takes everything
	return out.Bytes()
}

func appendPart(dst, part []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(part)))
	return append(dst, part...)
}

// DecodeRegisterBroker reads a registration of either form. The zlib form is known by its first byte: brokers send it without
// saying so in the header. version is that of the sender.
func DecodeRegisterBroker(data []byte, version int32) (*RegisterBrokerBody, error) {
	const zlibDeflate = 0x78
	if len(data) == 0 || data[0] != zlibDeflate {
		return Decode[RegisterBrokerBody](data)
	}
	z, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("decode compressed registration: %w", err)
	}
	plain, err := readBounded(z, maxInflated)
	if err != nil {
		return nil, fmt.Errorf("decode compressed registration: %w", err)
	}
	b, err := decodeInflated(&parts{plain}, version)
	if err != nil {
		return nil, fmt.Errorf("decode compressed registration: %w", err)
	}
	return b, nil
}

// readBounded reads all of r, which must be at most limit bytes.
func readBounded(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("more than %d bytes after inflating", limit)
	}
	return data, nil
}

func decodeInflated(p *parts, version int32) (*RegisterBrokerBody, error) {
	b := new(RegisterBrokerBody)
	text, err := p.part()
	if err != nil {
		return nil, err
	}
	dataVersion, err := Decode[DataVersion](text)
	if err != nil {
		return nil, err
	}
	b.Topics.DataVersion = *dataVersion
	b.Topics.Topics = make(map[string]*TopicConfig)
	err = p.each(func(text []byte) error {
		t, err := decodeTopicText(string(text))
		if err == nil {
			b.Topics.Topics[t.TopicName] = t
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if text, err = p.part(); err != nil {
		return nil, err
	}
	// RegisterBrokerBody.decode goes on without the list when it cannot be read.
	b.FilterServerList, _ = DecodeStrings(text)
	if version < mappingVersion {
		return b, nil
	}
	b.Topics.MappingInfos = make(map[string]TopicQueueMappingInfo)
	err = p.each(func(text []byte) error {
		info, err := Decode[TopicQueueMappingInfo](text)
		if err == nil {
			b.Topics.MappingInfos[info.Topic] = *info
		}
		return err
	})
	return b, err
}

// decodeTopicText reads a topic from its blank-separated text (TopicConfig.decode).
func decodeTopicText(text string) (*TopicConfig, error) {
	fields := strings.SplitN(text, " ", 6)
	if len(fields) < 5 {
		return nil, fmt.Errorf("topic %.64q: expected at least 5 fields", text)
	}
	t := NewTopicConfig(fields[0])
	for i, v := range []*int32{&t.ReadQueueNums, &t.WriteQueueNums, &t.Perm} {
		n, err := strconv.ParseInt(fields[i+1], 10, 32)
		if err != nil {
			return nil, fmt.Errorf("topic %.64q: %w", text, err)
		}
		*v = int32(n)
	}
	t.TopicFilterType = TopicFilterType(fields[4])
	if len(fields) == 6 {
		r := newReader([]byte(fields[5]))
		mapOf(&visitor{r: r}, &t.Attributes, stringKey{}, stringValue)
		if r.finish() != nil { // the reference keeps the topic without attributes
			t.Attributes = nil
		}
	}
	return t, nil
}

// parts is a cursor over length-prefixed parts.
type parts struct{ b []byte }

var errShort = errors.New("ends early")

func (p *parts) u32() (int, error) {
	if len(p.b) < 4 {
		return 0, errShort
	}
	n := binary.BigEndian.Uint32(p.b)
	p.b = p.b[4:]
	if uint64(n) > uint64(len(p.b)) { // a length, or a count of parts of at least 4 bytes each
		return 0, fmt.Errorf("length %d of %d bytes left: %w", n, len(p.b), errShort)
	}
	return int(n), nil
}

func (p *parts) part() ([]byte, error) {
	n, err := p.u32()
	if err != nil {
		return nil, err
	}
	part := p.b[:n]
	p.b = p.b[n:]
	return part, nil
}

// each reads a count and as many parts.
func (p *parts) each(fn func(part []byte) error) error {
	n, err := p.u32()
	if err != nil {
		return err
	}
	for range n {
		part, err := p.part()
		if err != nil {
			return err
		}
		if err := fn(part); err != nil {
			return err
		}
	}
	return nil
}
