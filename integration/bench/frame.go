package main

import (
	"bytes"
	"encoding/binary"
	"time"

	"github.com/rocketd/rocketd/integration/measure"
)

// jsonFrame builds a request with a JSON header that is patched for each sending.
func jsonFrame(code int32, ext [][2]string, body []byte) prebuilt {
	b := measure.JSONFrame(code, opaqueBase, ext, body)
	header := b[8 : 8+binary.BigEndian.Uint32(b[4:])]
	at := 8 + bytes.LastIndex(header, []byte(`"opaque":`)) + len(`"opaque":`)
	return prebuilt{bytes: b, opaqueAt: at, keyAt: keyAt(b)}
}

// binaryFrame builds the same request with a ROCKETMQ header.
func binaryFrame(code int32, ext [][2]string, body []byte) prebuilt {
	h := binary.BigEndian.AppendUint16(nil, uint16(code))
	h = append(h, 0)
	h = binary.BigEndian.AppendUint16(h, 513)
	at := len(h)
	h = binary.BigEndian.AppendUint32(h, opaqueBase)
	h = binary.BigEndian.AppendUint32(h, 0)
	h = binary.BigEndian.AppendUint32(h, 0)
	var fields []byte
	for _, kv := range ext {
		fields = binary.BigEndian.AppendUint16(fields, uint16(len(kv[0])))
		fields = append(fields, kv[0]...)
		fields = binary.BigEndian.AppendUint32(fields, uint32(len(kv[1])))
		fields = append(fields, kv[1]...)
	}
	h = binary.BigEndian.AppendUint32(h, uint32(len(fields)))
	h = append(h, fields...)
	b := binary.BigEndian.AppendUint32(nil, uint32(4+len(h)+len(body)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(h))|1<<24)
	b = append(append(b, h...), body...)
	return prebuilt{bytes: b, opaqueAt: 8 + at, keyAt: keyAt(b), binary: true}
}

// keyAt is where the first unique key of a frame lies, 0 when it has none.
func keyAt(frame []byte) int { return max(0, bytes.Index(frame, []byte(sampleKey))) }

func sendFields(topic string, queue int, properties string, batch bool) [][2]string {
	return measure.SendFields(topic, queue, 1_700_000_000_000, properties, batch)
}

func pullFields(topic string, queue int, offset int64, suspend bool) [][2]string {
	if suspend {
		return measure.PullFields(topic, queue, offset, 5*time.Second)
	}
	return measure.PullFields(topic, queue, offset, 0)
}

const (
	sampleKey  = "0A0A0A0A00000000000000000000000A"
	uniqueKey  = "UNIQ_KEY\x01" + sampleKey + "\x02WAIT\x01true\x02"
	properties = uniqueKey + "TAGS\x01TagA\x02"
)

func batchBody(n, size int) []byte {
	var b []byte
	for range n {
		b = binary.BigEndian.AppendUint32(b, uint32(22+size+len(uniqueKey)))
		b = append(b, make([]byte, 12)...)
		b = binary.BigEndian.AppendUint32(b, uint32(size))
		b = append(b, payload(size)...)
		b = binary.BigEndian.AppendUint16(b, uint16(len(uniqueKey)))
		b = append(b, uniqueKey...)
	}
	return b
}

func payload(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('a' + i%26)
	}
	return b
}
