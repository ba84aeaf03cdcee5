package measure

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// JSONFrame builds a request with a JSON header as the Java client writes it.
func JSONFrame(code int32, opaque int, ext [][2]string, body []byte) []byte {
	var fields strings.Builder
	for i, kv := range ext {
		if i > 0 {
			fields.WriteByte(',')
		}
		k, _ := json.Marshal(kv[0]) // strings cannot fail
		v, _ := json.Marshal(kv[1])
		fields.Write(k)
		fields.WriteByte(':')
		fields.Write(v)
	}
	header := fmt.Sprintf(`{"code":%d,"extFields":{%s},"flag":0,"language":"JAVA","opaque":%d,"serializeTypeCurrentRPC":"JSON","version":513}`,
		code, fields.String(), opaque)
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 8+len(header)+len(body)), uint32(4+len(header)+len(body)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(header)))
	return append(append(b, header...), body...)
}

// SendFields are the header fields of SEND_MESSAGE_V2 and SEND_BATCH_MESSAGE. born is in milliseconds.
func SendFields(topic string, queue int, born int64, properties string, batch bool) [][2]string {
	return [][2]string{
		{"a", "P"},
		{"b", topic},
		{"c", "TBW102"},
		{"d", "4"},
		{"e", strconv.Itoa(queue)},
		{"f", "0"},
		{"g", strconv.FormatInt(born, 10)},
		{"h", "0"},
		{"i", properties},
		{"j", "0"},
		{"k", "false"},
		{"m", strconv.FormatBool(batch)},
		{"n", "broker-a"},
	}
}

// PullFields are the header fields of PULL_MESSAGE for 32 messages, held for so long when there are none.
func PullFields(topic string, queue int, offset int64, wait time.Duration) [][2]string {
	sysFlag := "4"
	if wait > 0 {
		sysFlag = "6"
	}
	return [][2]string{
		{"consumerGroup", "G"},
		{"topic", topic},
		{"queueId", strconv.Itoa(queue)},
		{"queueOffset", strconv.FormatInt(offset, 10)},
		{"maxMsgNums", "32"},
		{"sysFlag", sysFlag},
		{"commitOffset", "0"},
		{"suspendTimeoutMillis", strconv.FormatInt(wait.Milliseconds(), 10)},
		{"subscription", "*"},
		{"subVersion", "0"},
		{"expressionType", "TAG"},
	}
}

// QueueFields name a queue.
func QueueFields(topic string, queue int) [][2]string {
	return [][2]string{{"topic", topic}, {"queueId", strconv.Itoa(queue)}}
}
