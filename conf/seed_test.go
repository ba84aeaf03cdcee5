package conf

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestMessagesInYAML(t *testing.T) {
	c := load(t, Input{Files: []string{write(t, "x.yaml", `
topics: [orders:2]
messages:
  - topic: orders
    body: '{"id": 1, "note": "a;b,c"}'
    tags: created
    keys: [a, b]
    queue: 1
    properties: {color: red, size: 007}
  - {topic: orders, body: 12, delay: 1h30m}
  - topic: orders
    body: |
      two
      lines
`)}})
	one := int32(1)
	want := []MessageSpec{
		{Topic: "orders", Body: `{"id": 1, "note": "a;b,c"}`, Tags: "created", Keys: "a b", Queue: &one, Properties: map[string]string{"color": "red", "size": "007"}},
		{Topic: "orders", Body: "12", Delay: "1h30m"},
		{Topic: "orders", Body: "two\nlines\n"},
	}
	if !reflect.DeepEqual(c.Rocketd.Messages, want) {
		t.Errorf("got %+v, want %+v", c.Rocketd.Messages, want)
	}
	if d := c.Rocketd.Messages[1].DelayTime(); d != 90*time.Minute {
		t.Errorf("delay %v", d)
	}
}

func TestBadMessages(t *testing.T) {
	for text, want := range map[string]string{
		"messages: [x]": ":1: messages: an entry must be a mapping with topic and body",
		"messages:\n  - {topic: a, body: b, queue: x}":      ":2: messages: queue: must be a whole number",
		"messages:\n  - {topic: a, body: b, topics: x}":     `:1: messages: is no list of messages: unknown field "topics"`,
		"messages:\n  - {topic: a, body: b, delay: soon}":   `:1: messages: message 1 delay "soon" is no span`,
		"messages:\n  - {topic: a, body: b, delay: -1s}":    `:1: messages: message 1 delay "-1s" is no span`,
		"messages:\n  - {topic: a, body: b, queue: -1}":     "message 1 queue -1 is negative",
		"messages:\n  - {topic: a, body: b, properties: x}": ":2: messages: properties: must be a mapping",
		"messages:\n  - {topic: a}":                         "message 1 has no body",
		"messages:\n  - {body: a}":                          "message 1 has no topic",
		"messages: '[] []'":                                 "is more than one list",
	} {
		got := problems(t, Input{Files: []string{write(t, "x.yaml", text)}})
		if len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
