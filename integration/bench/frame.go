package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
)

// Request codes.
const (
	codePull           = 11
	codeMaxOffset      = 30
	codeHeartbeat      = 34
	codeSendBack       = 36
	codeEndTransaction = 37
	codeSend           = 310
	codeSendBatch      = 320
)

// Answers.
const (
	ok          = 0
	pullNothing = 19
	pullRetry   = 20
	pullMoved   = 21
)

// jsonFrame builds a request with a JSON header as the Java client writes it.
func jsonFrame(code int, ext [][2]string, body []byte) prebuilt {
	var fields strings.Builder
	for i, kv := range ext {
		if i > 0 {
			fields.WriteByte(',')
		}
		k, _ := json.Marshal(kv[0])
		v, _ := json.Marshal(kv[1])
		fields.Write(k)
		fields.WriteByte(':')
		fields.Write(v)
	}
	header := fmt.Sprintf(`{"code":%d,"extFields":{%s},"flag":0,"language":"JAVA","opaque":%d,"serializeTypeCurrentRPC":"JSON","version":513}`,
		code, fields.String(), opaqueBase)
	b := binary.BigEndian.AppendUint32(nil, uint32(4+len(header)+len(body)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(header)))
	at := len(b) + strings.LastIndex(header, `"opaque":`) + len(`"opaque":`)
	b = append(append(b, header...), body...)
	return prebuilt{bytes: b, opaqueAt: at, keyAt: keyAt(b)}
}

// binaryFrame builds the same request with a ROCKETMQ header.
func binaryFrame(code int, ext [][2]string, body []byte) prebuilt {
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
	return [][2]string{
		{"a", "P"},
		{"b", topic},
		{"c", "TBW102"},
		{"d", "4"},
		{"e", fmt.Sprint(queue)},
		{"f", "0"},
		{"g", "1700000000000"},
		{"h", "0"},
		{"i", properties},
		{"j", "0"},
		{"k", "false"},
		{"m", fmt.Sprint(batch)},
		{"n", "broker-a"},
	}
}

func pullFields(topic string, queue int, offset int64, suspend bool) [][2]string {
	sysFlag, wait := "4", "0"
	if suspend {
		sysFlag, wait = "6", "5000"
	}
	return [][2]string{
		{"consumerGroup", "G"},
		{"topic", topic},
		{"queueId", fmt.Sprint(queue)},
		{"queueOffset", fmt.Sprint(offset)},
		{"maxMsgNums", "32"},
		{"sysFlag", sysFlag},
		{"commitOffset", "0"},
		{"suspendTimeoutMillis", wait},
		{"subscription", "*"},
		{"subVersion", "0"},
		{"expressionType", "TAG"},
	}
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
