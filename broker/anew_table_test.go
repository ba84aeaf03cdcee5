package broker

import "testing"

// TestAnewTableIsBounded: groups that stay online while topics come and go do not fill the memory, and what they leave is free again.
func TestAnewTableIsBounded(t *testing.T) {
	table := newAnewTable()
	queues := make([]int32, maxAnew/4)
	for i := range queues {
		queues[i] = int32(i)
	}
	for _, topic := range []string{"A", "B", "C", "D", "A", "E"} {
		table.note("G", topic, queues)
	}
	if n := table.count.Load(); n != maxAnew || len(table.groups) != 4 || table.has("G", "E", 0) {
		t.Errorf("%d queues of %d topics, want %d of 4", n, len(table.groups), maxAnew)
	}
	if !table.take("G", "A", 0) || table.take("G", "A", 0) {
		t.Error("a queue is to be given out once")
	}
	table.note("G", "E", queues)
	if !table.has("G", "E", 0) || table.has("G", "E", 1) {
		t.Error("there was room for one queue")
	}
	table.forget("G")
	if n := table.count.Load(); n != 0 || len(table.groups) != 0 {
		t.Errorf("%d queues of %d topics are left", n, len(table.groups))
	}
}
