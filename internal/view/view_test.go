package view

import (
	"bytes"
	"compress/zlib"
	"strings"
	"testing"

	"github.com/rocketd/rocketd/message"
)

func TestDescribeBody(t *testing.T) {
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	if _, err := w.Write([]byte("zürich")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		raw          string
		sysFlag      int32
		shown        int
		format, text string
		size         int
		cut, problem bool
	}{
		"JSON is laid out":                   {`{"a":[1]}`, 0, 100, "json", "{\n  \"a\": [\n    1\n  ]\n}", 9, false, false},
		"what only begins like JSON":         {`{"a":`, 0, 100, "text", `{"a":`, 5, false, false},
		"text":                               {"one\ttwo\n", 0, 100, "text", "one\ttwo\n", 8, false, false},
		"bytes":                              {"\x00\x01", 0, 100, "hex", "00000000  00 01", 2, false, false},
		"cut between runes":                  {"aü", 0, 2, "text", "a", 3, true, false},
		"unpacked":                           {packed.String(), message.SysCompressed, 100, "text", "zürich", 7, false, false},
		"called compressed, and it is not":   {"plain", message.SysCompressed, 100, "text", "plain", 5, false, true},
		"nothing":                            {"", 0, 100, "text", "", 0, false, false},
		"cut JSON is text":                   {`{"a":1}`, 0, 3, "text", `{"a`, 7, true, false},
		"invalid UTF-8 in the shown part":    {"a\xff", 0, 100, "hex", "00000000  61 ff", 2, false, false},
		"invalid UTF-8 behind what is shown": {"ab\xff", 0, 2, "text", "ab", 3, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := DescribeBody([]byte(c.raw), c.sysFlag, c.shown)
			if b.Format != c.format || !strings.HasPrefix(b.Text, c.text) || b.Bytes != c.size || b.Cut != c.cut || (b.Problem != "") != c.problem {
				t.Errorf("%q, %d: %+v", c.raw, c.sysFlag, b)
			}
			if c.format != "hex" && b.Text != c.text {
				t.Errorf("text %q, want %q", b.Text, c.text)
			}
		})
	}
}

func TestProblemsOf(t *testing.T) {
	a := Client{ID: "a", Address: "1:1", Subscriptions: []string{"orders *"}}
	for name, c := range map[string]struct {
		members []Client
		want    []string
	}{
		"nobody":         {nil, []string{}},
		"two that agree": {[]Client{a, {ID: "b", Address: "1:2", Subscriptions: []string{"orders *"}}}, []string{}},
		"one id twice":   {[]Client{a, {ID: "a", Address: "1:0", Subscriptions: []string{"orders *"}}}, []string{"client id a is used by 2 connections, 1:0, 1:1: they take the same queues"}},
		"other tags":     {[]Client{a, {ID: "b", Subscriptions: []string{"orders tea"}}}, []string{"members subscribe differently: a orders *; b orders tea"}},
		"not said":       {[]Client{a, {ID: "b"}}, []string{}},
		"nothing at all": {[]Client{a, {ID: "b", Subscriptions: []string{}}}, []string{"members subscribe differently: a orders *; b "}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ProblemsOf(c.members); strings.Join(got, "|") != strings.Join(c.want, "|") {
				t.Errorf("%v: got %q, want %q", c.members, got, c.want)
			}
		})
	}
}

func TestKindsOfTopics(t *testing.T) {
	for topic, want := range map[string]string{"orders": "normal", "%RETRY%g": "retry", "%DLQ%g": "dead", "TBW102": "system", "rmq_sys_wheel_timer": "system", "broker-a": "normal"} {
		if got := KindOf(topic); got != want {
			t.Errorf("%s is %s, want %s", topic, got, want)
		}
	}
	for _, topic := range []string{"broker-a", "DefaultCluster", "DefaultCluster_REPLY_TOPIC"} {
		if !OwnTopic(topic, "broker-a", "DefaultCluster") {
			t.Errorf("%s is not the broker's own", topic)
		}
	}
	if OwnTopic("orders", "broker-a", "DefaultCluster") {
		t.Error("orders is the broker's own")
	}
}
