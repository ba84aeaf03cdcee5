package message_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/rocketd/rocketd/message"
)

func TestNamesAreJudgedAsByTheReference(t *testing.T) {
	remark := func(err error) string {
		if err == nil {
			return ""
		}
		if name := (*message.NameError)(nil); !errors.As(err, &name) {
			t.Errorf("%v is no NameError", err)
		}
		return strings.ReplaceAll(err.Error(), "\t", `\t`)
	}
	for _, row := range rows(t, "names.tsv", 8) {
		name := string(unhex(t, row[0]))
		if got := remark(message.ValidateTopic(name)); got != row[1] {
			t.Errorf("topic %q: got %q, want %q", name, got, row[1])
		}
		if got := remark(message.ValidateGroup(name)); got != row[2] {
			t.Errorf("group %q: got %q, want %q", name, got, row[2])
		}
		for i, got := range []bool{
			message.IsSystemTopic(name), message.IsNotAllowedSendTopic(name), message.IsPredefinedGroup(name), message.IsSystemGroup(name), message.AllowsLMQ(name),
		} {
			if want := row[3+i]; strconv.FormatBool(got) != want {
				t.Errorf("%q: question %d: got %v, want %s", name, i, got, want)
			}
		}
	}
}

func TestSystemTopicsAreSystemTopics(t *testing.T) {
	if len(message.SystemTopics()) != 12 {
		t.Errorf("%d topics, the reference has 12", len(message.SystemTopics()))
	}
	for _, topic := range message.SystemTopics() {
		if !message.IsSystemTopic(topic) {
			t.Errorf("%s is not one", topic)
		}
	}
}

func TestRemarksStaySmall(t *testing.T) {
	for _, bad := range []string{strings.Repeat("/", 1<<20), strings.Repeat("中", 1<<18), strings.Repeat("a", 1<<20)} {
		for _, err := range []error{message.ValidateTopic(bad), message.ValidateGroup(bad)} {
			if err == nil || len(err.Error()) > 4096 {
				t.Errorf("a name of %d bytes gives a remark of %d", len(bad), len(err.Error()))
			}
		}
	}
}

func TestDerivedNames(t *testing.T) {
	for _, row := range []struct{ name, got, want string }{
		{"retry", message.RetryTopic("g"), "%RETRY%g"},
		{"dead letter", message.DLQTopic("g"), "%DLQ%g"},
		{"reply", message.ReplyTopic("DefaultCluster"), "DefaultCluster_REPLY_TOPIC"},
		{"revive", message.ReviveTopic("DefaultCluster"), "rmq_sys_REVIVE_LOG_DefaultCluster"},
		{"pop retry V1", message.PopRetryTopic("t", "g", false), "%RETRY%g_t"},
		{"pop retry V2", message.PopRetryTopic("t", "g", true), "%RETRY%g+t"},
		{"origin of V1", message.PopRetryOrigin("%RETRY%g_a_b", "g"), "a_b"},
		{"origin of V2", message.PopRetryOrigin("%RETRY%g+t", "g"), "t"},
		{"origin of a normal topic", message.PopRetryOrigin("t", "g"), "t"},
		{"origin of the plain retry topic", message.PopRetryOrigin("%RETRY%g", "g"), "%RETRY%g"},
		{"origin for another group", message.PopRetryOrigin("%RETRY%gg_t", "g"), "%RETRY%gg_t"},
		{"group of the plain retry topic", message.RetryGroup("%RETRY%g"), "g"},
		{"group of V2", message.RetryGroup("%RETRY%g+t"), "g"},
		{"group of V1", message.RetryGroup("%RETRY%g_t"), "g_t"},
	} {
		if row.got != row.want {
			t.Errorf("%s: got %s, want %s", row.name, row.got, row.want)
		}
	}
	if message.IsPopRetryTopicV2("%RETRY%g_t") || !message.IsPopRetryTopicV2("%RETRY%g+t") || message.IsPopRetryTopicV2("g+t") {
		t.Error("pop retry V2 is not told apart")
	}
	if !message.IsLMQ("%LMQ%a") || message.IsLMQ("LMQ") {
		t.Error("LMQ is not told apart")
	}
}

func TestTypesAreDeducedAsByTheReference(t *testing.T) {
	for _, row := range rows(t, "types.tsv", 2) {
		p := message.Properties(unhex(t, row[0]))
		if got := message.TypeOf(p); string(got) != row[1] {
			t.Errorf("%q: got %s, want %s", p, got, row[1])
		}
	}
	if len(message.Types()) != 8 {
		t.Errorf("%d types, the reference has 8", len(message.Types()))
	}
}

func TestSysFlagParts(t *testing.T) {
	const flag = message.SysCompressed | message.TransactionPrepared | message.CompressionZstd | message.SysBornHostV6
	if got := message.Transaction(flag); got != message.TransactionPrepared {
		t.Errorf("transaction 0x%x", got)
	}
	if got := message.Compression(flag); got != message.CompressionZstd {
		t.Errorf("compression 0x%x", got)
	}
	if got := message.WithTransaction(flag, message.TransactionRollback); got != 0x1|0xC|0x200|0x10 {
		t.Errorf("rollback 0x%x", got)
	}
	if got := message.WithTransaction(flag, message.TransactionNone); got != 0x211 {
		t.Errorf("none 0x%x", got)
	}
	m := message.Message{SysFlag: flag}
	if m.TransactionType() != 4 {
		t.Errorf("message: 0x%x", m.TransactionType())
	}
}
