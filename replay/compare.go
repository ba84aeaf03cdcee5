package replay

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
)

// volatileFields are ext fields whose values no two servers have in common; that they are there is compared.
func isVolatileField(name string) bool {
	switch name {
	case "msgId", "transactionId", "offsetMsgId", "batchUniqId", "recallHandle", "extraInfo", "popTime", "startOffsetInfo", "msgOffsetInfo", "orderCountInfo",
		"reviveQid", "masterFlushOffset", "confirmOffset", "commitLogOffset", "tranStateTableOffset", "brokerAddr", "timestamp", "lastTime":
		return true
	}
	return false
}

// isVolatileMember tells the same of JSON members.
func isVolatileMember(name string) bool {
	switch name {
	case "timestamp", "dataVersion", "mappingDataVersion", "counter", "lastTimestamp", "lastUpdateTimestamp", "lastUpdateTime", "clientAddr", "version", "startTimestamp",
		"brokerAddrs", "commitLogOffset", "createTimestamp", "msgStoreTime", "subVersion", "pullTPS", "consumeTps":
		return true
	}
	return false
}

// withoutAddresses puts a sign in place of a text that is an address.
func withoutAddresses(s string) string {
	if _, err := netip.ParseAddrPort(s); err == nil {
		return "ADDR"
	}
	return s
}

// differences compares two answers to a request and says in words what is different.
func differences(request int32, recorded, played *remoting.Command) []string {
	var out []string
	if recorded.Code != played.Code {
		return []string{fmt.Sprintf("answered %s, recorded %s", describeAnswer(played), describeAnswer(recorded))}
	}
	out = append(out, compareFields(recorded.Ext, played.Ext)...)
	return append(out, compareBodies(request, recorded.Body, played.Body)...)
}

func describeAnswer(cmd *remoting.Command) string {
	name := remoting.ResponseName(cmd.Code)
	if cmd.Remark == "" {
		return name
	}
	return fmt.Sprintf("%s %.120q", name, cmd.Remark)
}

func compareFields(recorded, played []remoting.ExtField) []string {
	var out []string
	value := func(fields []remoting.ExtField, name string) (string, bool) {
		i := slices.IndexFunc(fields, func(f remoting.ExtField) bool { return f.Key == name })
		if i < 0 {
			return "", false
		}
		return fields[i].Value, true
	}
	for _, f := range recorded {
		got, there := value(played, f.Key)
		switch {
		case !there:
			out = append(out, fmt.Sprintf("field %s is missing, recorded %q", f.Key, f.Value))
		case got != f.Value && !isVolatileField(f.Key) && withoutAddresses(got) != withoutAddresses(f.Value):
			out = append(out, fmt.Sprintf("field %s is %q, recorded %q", f.Key, got, f.Value))
		}
	}
	for _, f := range played {
		if _, there := value(recorded, f.Key); !there {
			out = append(out, fmt.Sprintf("field %s is %q, recorded none", f.Key, f.Value))
		}
	}
	return out
}

func compareBodies(request int32, recorded, played []byte) []string {
	if string(recorded) == string(played) {
		return nil
	}
	if hasRecords(request) {
		return compareRecords(recorded, played)
	}
	a, errA := parseJSON(recorded)
	b, errB := parseJSON(played)
	if errA != nil || errB != nil || a.kind == word || b.kind == word {
		return []string{fmt.Sprintf("the body is %s, recorded %s", brief(played), brief(recorded))}
	}
	var textA, textB strings.Builder
	a.print(&textA)
	b.print(&textB)
	if textA.String() == textB.String() {
		return nil
	}
	return []string{firstDifference(textA.String(), textB.String())}
}

// firstDifference shows where two texts part.
func firstDifference(recorded, played string) string {
	at := 0
	for at < len(recorded) && at < len(played) && recorded[at] == played[at] {
		at++
	}
	from := max(0, at-60)
	cut := func(s string) string { return s[min(from, len(s)):min(at+100, len(s))] }
	return fmt.Sprintf("the body has …%s…, recorded …%s…", cut(played), cut(recorded))
}

func brief(b []byte) string {
	const most = 100
	if len(b) > most {
		return fmt.Sprintf("%d bytes %q…", len(b), b[:most])
	}
	return fmt.Sprintf("%q", b)
}

// hasRecords tells whether the answers to a request code have stored messages as their body.
func hasRecords(code int32) bool {
	switch code {
	case remoting.PullMessage, remoting.LitePullMessage, remoting.PopMessage, remoting.PeekMessage, remoting.PopLiteMessage, remoting.QueryMessage,
		remoting.ViewMessageByID:
		return true
	}
	return false
}

// records decodes a body of stored messages.
func records(b []byte) ([]message.Record, error) {
	var list []message.Record
	for len(b) > 0 {
		var r message.Record
		size, err := message.DecodeRecord(b, &r, true)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
		b = b[size:]
	}
	return list, nil
}

func compareRecords(recorded, played []byte) []string {
	a, err := records(recorded)
	if err != nil {
		return []string{fmt.Sprintf("the recorded body holds no messages: %v", err)}
	}
	b, err := records(played)
	if err != nil {
		return []string{fmt.Sprintf("the body holds no messages: %v", err)}
	}
	if len(a) != len(b) {
		return []string{fmt.Sprintf("there are %d messages, recorded %d", len(b), len(a))}
	}
	var out []string
	for i := range a {
		if was, is := printRecord(&a[i]), printRecord(&b[i]); was != is {
			out = append(out, fmt.Sprintf("message %d is %s, recorded %s", i, is, was))
		}
	}
	return out
}

// printRecord writes what of a stored message does not depend on the server that stored it.
func printRecord(r *message.Record) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s/%d@%d flag %d sysFlag %#x born %d reconsumed %d", r.Topic, r.QueueID, r.QueueOffset, r.Flag, r.SysFlag, r.BornTimestamp, r.ReconsumeTimes)
	var properties []string
	r.Properties.Range(func(key, value string) bool {
		switch key {
		case message.KeyOriginMessageID, message.KeyTransactionOffset, message.KeyTimerEnqueueMs, message.KeyTimerDequeueMs, message.KeyFirstPopTime,
			message.KeyPopCheckpoint, message.KeyBornHost, message.KeyCRC32, message.KeyDLQOriginMessageID, message.KeyPreparedQueueOffset:
			value = "_"
		case message.KeyUniqueKey:
			value = "_" // the client's, or the broker's where it gave none
		}
		properties = append(properties, key+"="+value)
		return true
	})
	slices.Sort(properties)
	fmt.Fprintf(&s, " %v %s", properties, brief(r.Body))
	return s.String()
}
