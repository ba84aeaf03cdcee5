package broker

import (
	"maps"
	"testing"
)

// TestAlterAttributes has the rules and words of AttributeUtil#alterCurrentAttributes, messages.md §8.
func TestAlterAttributes(t *testing.T) {
	type m = map[string]string
	for _, row := range []struct {
		name             string
		create           bool
		current, changes m
		want             m
		err              string
	}{
		{"create", true, nil, m{"+message.type": "FIFO", "+queue.type": "BatchCQ"}, m{"message.type": "FIFO", "queue.type": "BatchCQ"}, ""},
		{"create removes nothing", true, nil, m{"-message.type": ""}, nil, "only add attribute is supported while creating topic. key: message.type"},
		{"add", false, m{}, m{"+message.type": "DELAY"}, m{"message.type": "DELAY"}, ""},
		{"replace", false, m{"message.type": "FIFO"}, m{"+message.type": "DELAY"}, m{"message.type": "DELAY"}, ""},
		{"remove", false, m{"message.type": "FIFO"}, m{"-message.type": ""}, m{}, ""},
		{"remove what is not there", false, m{}, m{"-message.type": ""}, nil, "attempt to delete a nonexistent key: message.type"},
		{"unchangeable", false, m{"queue.type": "SimpleCQ"}, m{"+queue.type": "BatchCQ"}, nil, "attempt to update an unchangeable attribute. key: queue.type"},
		{"unknown", false, m{}, m{"+a": "b"}, nil, "unsupported key: a"},
		{"no sign", false, m{}, m{"message.type": "FIFO"}, nil, "wrong format key: essage.type"},
		{"sign inside", false, m{}, m{"+message-type": "FIFO"}, nil, "kv string format wrong."},
		{"twice", false, m{"message.type": "FIFO"}, m{"+message.type": "DELAY", "-message.type": ""}, nil, "alter duplication key. key: message.type"},
		{"bad value", false, m{}, m{"+message.type": "SOMETIMES"}, nil, "value is not in set: [UNSPECIFIED, NORMAL, FIFO, DELAY, TRANSACTION, PRIORITY, LITE, MIXED]"},
		{"reserve time", true, nil, m{"+reserve.time": "5"}, nil, "Update topic reserveTime not supported"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := alterAttributes(topicAttributes, row.create, row.current, row.changes)
			if row.err != "" {
				if err == nil || err.Error() != row.err {
					t.Fatalf("got %v, want %s", err, row.err)
				}
				return
			}
			if err != nil || !maps.Equal(got, row.want) {
				t.Errorf("got %v, %v, want %v", got, err, row.want)
			}
		})
	}
}
