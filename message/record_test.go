package message_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/rocketd/rocketd/message"
)

// The record of the format description, 101 bytes, as the Java encoder writes it.
const describedRecord = "00000065 daa320a7 58932aac 00000003 00000000 0000000000000005 0000000000000064 00000000 0000018bcfe56800 7f000001 000004d2" +
	"0000018bcfe56801 7f000001 00002a9f 00000000 0000000000000000 00000002 6869 01 54 0007 54414753014102"

func TestAppendRecordWritesTheReferencesBytes(t *testing.T) {
	for _, g := range goldenRecords(t) {
		t.Run(g.name, func(t *testing.T) {
			got, err := message.AppendRecord([]byte("before"), &g.message, g.place)
			if err != nil {
				t.Fatal(err)
			}
			if want := append([]byte("before"), g.record...); !bytes.Equal(got, want) {
				t.Errorf("got  %x\nwant %x", got, want)
			}
			if n := message.RecordSize(&g.message); n != len(g.record) {
				t.Errorf("RecordSize %d, want %d", n, len(g.record))
			}
		})
	}
}

func TestDecodeRecordReadsTheReferencesBytes(t *testing.T) {
	for _, g := range goldenRecords(t) {
		t.Run(g.name, func(t *testing.T) {
			var r message.Record
			n, err := message.DecodeRecord(append(bytes.Clone(g.record), "behind"...), &r, true)
			if err != nil || n != len(g.record) || int(r.Size) != n {
				t.Fatalf("got %d, %v, size %d, want %d", n, err, r.Size, len(g.record))
			}
			m := g.message
			if r.Topic != m.Topic || r.QueueID != m.QueueID || r.Flag != m.Flag || r.BornTimestamp != m.BornTimestamp || r.ReconsumeTimes != m.ReconsumeTimes ||
				r.PreparedTransactionOffset != m.PreparedTransactionOffset || !bytes.Equal(r.Body, m.Body) || !bytes.HasPrefix(r.Properties, m.Properties) {
				t.Errorf("got %+v, want %+v", r, m)
			}
			if r.BornHost.Addr() != m.BornHost.Addr().Unmap() || r.StoreHost.Addr() != m.StoreHost.Addr().Unmap() || r.BornHost.Port() != m.BornHost.Port() || r.StoreHost.Port() != m.StoreHost.Port() {
				t.Errorf("hosts %v, %v, want %v, %v", r.BornHost, r.StoreHost, m.BornHost, m.StoreHost)
			}
			if v6 := r.SysFlag&message.SysBornHostV6 != 0; v6 != r.BornHost.Addr().Is6() || r.SysFlag&^0x30 != m.SysFlag {
				t.Errorf("sysFlag 0x%x, born host %v", r.SysFlag, r.BornHost)
			}
			if got := (message.Placement{PhysicalOffset: r.PhysicalOffset, QueueOffset: r.QueueOffset, StoreTimestamp: r.StoreTimestamp}); got != g.place {
				t.Errorf("placement %+v, want %+v", got, g.place)
			}
			if r.MagicV2 != (len(m.Topic) > 127) {
				t.Errorf("V2 is %v with a topic of %d bytes", r.MagicV2, len(m.Topic))
			}
			if id := message.OffsetMessageID(r.StoreHost, r.PhysicalOffset); g.id != "null" && id != g.id {
				t.Errorf("id %s, want %s", id, g.id)
			}
			if ms, ok := message.PeekStoreTimestamp(g.record[:message.PeekHeadSize]); !ok || ms != g.place.StoreTimestamp {
				t.Errorf("peeked store timestamp %d, %v, want %d", ms, ok, g.place.StoreTimestamp)
			}
			if off, ok := message.PeekPhysicalOffset(g.record); !ok || off != g.place.PhysicalOffset {
				t.Errorf("peeked physical offset %d, %v, want %d", off, ok, g.place.PhysicalOffset)
			}
			if err := message.VerifyPropertyCRC(g.record, &r); (err == nil) != m.PropertyCRC {
				t.Errorf("CRC tail: %v, record has one: %v", err, m.PropertyCRC)
			}
		})
	}
}

func TestDescribedRecord(t *testing.T) {
	m := message.Message{
		Topic: "T", Body: []byte("hi"), QueueID: 3, BornTimestamp: 1700000000000, Properties: message.Properties{}.Append("TAGS", "A"),
		BornHost: netip.MustParseAddrPort("127.0.0.1:1234"), StoreHost: netip.MustParseAddrPort("127.0.0.1:10911"),
	}
	got, err := message.AppendRecord(nil, &m, message.Placement{PhysicalOffset: 100, QueueOffset: 5, StoreTimestamp: 1700000000001})
	if want := unhex(t, describedRecord); err != nil || !bytes.Equal(got, want) {
		t.Errorf("got  %x, %v\nwant %x", got, err, want)
	}
	var r message.Record
	if _, err := message.DecodeRecord(got, &r, true); err != nil || r.BodyCRC != 1486039724 || r.TagsCode() != 65 {
		t.Errorf("CRC %d, tags code %d, %v", r.BodyCRC, r.TagsCode(), err)
	}
}

func TestSuffixIsJoinedToProperties(t *testing.T) {
	for _, row := range []struct{ name, properties, suffix, want string }{
		{"both terminated", "a\x01b\x02", "c\x01d\x02", "a\x01b\x02c\x01d\x02"},
		{"properties not terminated", "a\x01b", "c\x01d\x02", "a\x01b\x02c\x01d\x02"},
		{"no properties", "", "c\x01d\x02", "c\x01d\x02"},
		{"no suffix", "a\x01b", "", "a\x01b"},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := message.Message{Topic: "T", Properties: message.Properties(row.properties), Suffix: message.Properties(row.suffix)}
			b, err := message.AppendRecord(nil, &m, message.Placement{})
			if err != nil || len(b) != message.RecordSize(&m) {
				t.Fatalf("%d bytes, RecordSize %d, %v", len(b), message.RecordSize(&m), err)
			}
			var r message.Record
			if _, err := message.DecodeRecord(b, &r, true); err != nil || string(r.Properties) != row.want {
				t.Errorf("got %q, %v, want %q", r.Properties, err, row.want)
			}
		})
	}
}

func TestSysFlagFollowsTheHostsAndNotTheSender(t *testing.T) {
	m := message.Message{Topic: "T", SysFlag: message.SysBornHostV6 | message.SysStoreHostV6 | message.SysCompressed}
	b, err := message.AppendRecord(nil, &m, message.Placement{})
	if err != nil {
		t.Fatal(err)
	}
	var r message.Record
	if _, err := message.DecodeRecord(b, &r, true); err != nil || r.SysFlag != message.SysCompressed || r.BornHost.Addr() != netip.IPv4Unspecified() {
		t.Errorf("sysFlag 0x%x, born host %v, %v", r.SysFlag, r.BornHost, err)
	}
}

func TestAppendRecordRefusesWhatTheFormatCannotHold(t *testing.T) {
	const before = "before"
	for _, row := range []struct {
		name string
		m    message.Message
		want error
	}{
		{"properties of 32768 bytes", message.Message{Properties: make([]byte, 32768)}, message.ErrPropertiesTooLarge},
		{"suffix makes it too much", message.Message{Properties: make([]byte, 32767), Suffix: message.Properties("\x02")}, message.ErrPropertiesTooLarge},
		{"tail makes it too much", message.Message{Properties: bytes.Repeat([]byte{2}, 32767-19), PropertyCRC: true}, message.ErrPropertiesTooLarge},
		{"topic of 32768 bytes", message.Message{Topic: strings.Repeat("t", 32768)}, message.ErrTopicTooLong},
	} {
		if got, err := message.AppendRecord([]byte(before), &row.m, message.Placement{}); !errors.Is(err, row.want) || string(got) != before {
			t.Errorf("%s: %d bytes, %v, want %v", row.name, len(got), err, row.want)
		}
	}
}

func TestCheckLimits(t *testing.T) {
	const maxBody = 100
	for _, row := range []struct {
		name string
		m    message.Message
		want error
	}{
		{"legal", message.Message{Topic: "T", Body: make([]byte, maxBody), Properties: make([]byte, 32767)}, nil},
		{"empty body", message.Message{Topic: "T", Body: []byte{}}, nil},
		{"no body", message.Message{Topic: "T"}, message.ErrNoBody},
		{"body over maxMessageSize", message.Message{Topic: "T", Body: make([]byte, maxBody+1)}, message.ErrBodyTooLarge},
		{"properties of 32768 bytes", message.Message{Topic: "T", Body: []byte{}, Properties: make([]byte, 32768)}, message.ErrPropertiesTooLarge},
		{"topic of 127 bytes", message.Message{Topic: strings.Repeat("t", 127), Body: []byte{}}, nil},
		{"topic of 128 bytes", message.Message{Topic: strings.Repeat("t", 128), Body: []byte{}}, message.ErrTopicTooLong},
		{"dead letter topic of 128 bytes", message.Message{Topic: "%DLQ%" + strings.Repeat("t", 123), Body: []byte{}}, message.ErrTopicTooLong},
		{"retry topic of 255 bytes", message.Message{Topic: "%RETRY%" + strings.Repeat("t", 248), Body: []byte{}}, nil},
		{"retry topic of 256 bytes", message.Message{Topic: "%RETRY%" + strings.Repeat("t", 249), Body: []byte{}}, message.ErrTopicTooLong},
	} {
		if err := message.CheckLimits(&row.m, maxBody); !errors.Is(err, row.want) || (err == nil) != (row.want == nil) {
			t.Errorf("%s: got %v, want %v", row.name, err, row.want)
		}
	}
}

func TestDecodeRecordRefusesWhatIsNotARecord(t *testing.T) {
	good := unhex(t, describedRecord)
	with := func(at int, v uint32) []byte {
		b := bytes.Clone(good)
		binary.BigEndian.PutUint32(b[at:], v)
		return b
	}
	for _, row := range []struct {
		name string
		b    []byte
		want error
		size int
	}{
		{"nothing", nil, message.ErrShort, 0},
		{"7 bytes", good[:7], message.ErrShort, 0},
		{"head only", good[:8], message.ErrShort, 0},
		{"zeros", make([]byte, 100), message.ErrNoRecord, 0},
		{"filler", message.AppendBlank(nil, 1000), message.ErrBlank, 1000},
		{"smallest filler", message.AppendBlank(nil, 8), message.ErrBlank, 8},
		{"unknown magic", with(4, 0xDAA320A8), message.ErrMagic, 0},
		{"size without magic", with(4, 0), message.ErrMagic, 0},
		{"negative size", with(0, 0x80000000), message.ErrLength, 0},
		{"size below the smallest", with(0, 90), message.ErrLength, 0},
		{"size one too small", with(0, 100), message.ErrLength, 0},
		{"size one too large", append(with(0, 102), 0), message.ErrLength, 0},
		{"size over the end", with(0, 102), message.ErrShort, 0},
		{"negative body", with(84, 0xFFFFFFFF), message.ErrLength, 0},
		{"body over the end", with(84, 0x7FFFFFFF), message.ErrLength, 0},
		{"IPv6 flags on IPv4 hosts", with(36, 0x30), message.ErrLength, 0},
		{"wrong checksum", with(8, 0), message.ErrCRC, 0},
	} {
		var r message.Record
		if n, err := message.DecodeRecord(row.b, &r, true); !errors.Is(err, row.want) || n != row.size {
			t.Errorf("%s: got %d, %v, want %d, %v", row.name, n, err, row.size, row.want)
		}
	}
	b := bytes.Clone(good)
	b[88] ^= 1
	if _, err := message.DecodeRecord(b, new(message.Record), false); err != nil {
		t.Errorf("wrong body without verifying: %v", err)
	}
}

func TestDecodeRecordCutAtEachByte(t *testing.T) {
	for _, g := range goldenRecords(t) {
		for n := range g.record {
			if _, err := message.DecodeRecord(g.record[:n], new(message.Record), true); !errors.Is(err, message.ErrShort) {
				t.Fatalf("%s cut to %d bytes: %v", g.name, n, err)
			}
		}
	}
}

func TestVerifyPropertyCRCSeesEachFlippedByte(t *testing.T) {
	for _, g := range goldenRecords(t) {
		if !g.message.PropertyCRC {
			continue
		}
		for i := range g.record {
			b := bytes.Clone(g.record)
			b[i] ^= 0x10
			var r message.Record
			if _, err := message.DecodeRecord(b, &r, false); err != nil {
				continue
			}
			if message.VerifyPropertyCRC(b, &r) == nil {
				t.Errorf("%s: byte %d flipped and not seen", g.name, i)
			}
		}
	}
}

func TestPortsOver16BitsDoNotMakeARecordUnreadable(t *testing.T) {
	b := unhex(t, describedRecord)
	binary.BigEndian.PutUint32(b[52:], 0x12345678)
	var r message.Record
	if _, err := message.DecodeRecord(b, &r, true); err != nil || r.BornHost.Port() != 0x5678 {
		t.Errorf("got %v, %v", r.BornHost, err)
	}
}

func TestPeekOfShortBytes(t *testing.T) {
	g := goldenRecords(t)[1] // IPv6 born host
	for n := range message.PeekHeadSize {
		if _, ok := message.PeekStoreTimestamp(g.record[:n]); ok {
			t.Errorf("store timestamp found in %d bytes", n)
		}
	}
	if _, ok := message.PeekPhysicalOffset(g.record[:35]); ok {
		t.Error("physical offset found in 35 bytes")
	}
}

func FuzzDecodeRecord(f *testing.F) {
	for _, g := range goldenRecords(f) {
		f.Add(g.record, uint16(len(g.record)), uint32(0))
		f.Add(g.record, uint16(84), uint32(0xFFFF))
	}
	f.Add(message.AppendBlank(nil, 20), uint16(0), uint32(1))
	f.Fuzz(func(t *testing.T, b []byte, at uint16, v uint32) {
		if int(at)+4 <= len(b) {
			binary.BigEndian.PutUint32(b[at:], v)
		}
		var r message.Record
		n, err := message.DecodeRecord(b, &r, false)
		message.PeekStoreTimestamp(b)
		if err != nil {
			if n != 0 && !errors.Is(err, message.ErrBlank) {
				t.Fatalf("size %d with %v", n, err)
			}
			return
		}
		if n > len(b) || n != int(r.Size) {
			t.Fatalf("size %d of %d bytes, record says %d", n, len(b), r.Size)
		}
		if r.BodyCRC>>31 != 0 || (len(r.Topic) > message.MaxTopicV1) != r.MagicV2 || r.BornHost.Addr().Is4In6() || r.StoreHost.Addr().Is4In6() {
			return // readable, but our encoder writes it otherwise
		}
		again, err := message.AppendRecord(nil, &r.Message, message.Placement{PhysicalOffset: r.PhysicalOffset, QueueOffset: r.QueueOffset, StoreTimestamp: r.StoreTimestamp})
		if err != nil {
			t.Fatal(err)
		}
		// The checksum is computed anew and of ports only 16 bits are kept.
		var second message.Record
		if _, err := message.DecodeRecord(again, &second, true); err != nil {
			t.Fatal(err)
		}
		second.BodyCRC = r.BodyCRC
		if len(again) != n || second.Topic != r.Topic || !bytes.Equal(second.Body, r.Body) || !bytes.Equal(second.Properties, r.Properties) ||
			second.BornHost != r.BornHost || second.StoreHost != r.StoreHost || second.SysFlag != r.SysFlag || second.QueueOffset != r.QueueOffset {
			t.Fatalf("got %+v, want %+v", second, r)
		}
	})
}

func benchmarkMessage() message.Message {
	p := message.Properties{}.Append("TAGS", "TagA").Append("KEYS", "order-1234567").Append("UNIQ_KEY", "7F000001303918B4AAC22F8C5B4C0001").Append("WAIT", "true")
	return message.Message{
		Topic: "benchmark-topic", Body: make([]byte, 1024), BornTimestamp: 1700000000000, Properties: p,
		Suffix:   message.Properties{}.Append("MSG_REGION", "DefaultRegion").Append("TRACE_ON", "true").Append("CLUSTER", "DefaultCluster"),
		BornHost: netip.MustParseAddrPort("127.0.0.1:1234"), StoreHost: netip.MustParseAddrPort("127.0.0.1:10911"),
	}
}

func BenchmarkAppendRecord(b *testing.B) {
	m := benchmarkMessage()
	buf := make([]byte, 0, message.RecordSize(&m))
	b.ReportAllocs()
	b.SetBytes(int64(cap(buf)))
	for b.Loop() {
		if _, err := message.AppendRecord(buf, &m, message.Placement{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeRecord(b *testing.B) {
	m := benchmarkMessage()
	record, err := message.AppendRecord(nil, &m, message.Placement{})
	if err != nil {
		b.Fatal(err)
	}
	for _, verify := range []bool{false, true} {
		b.Run(map[bool]string{false: "plain", true: "verify"}[verify], func(b *testing.B) {
			b.ReportAllocs()
			var r message.Record
			for b.Loop() {
				if _, err := message.DecodeRecord(record, &r, verify); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
