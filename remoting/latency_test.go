package remoting

import (
	"testing"
)

// Answers are counted by request, response and whether they were held, each under the first bound that it does not exceed.
func TestLatencyCells(t *testing.T) {
	table := newLatencies([]Route{{Code: SendMessage}, {Code: PullMessage}})
	s := &Server{latencies: table}
	table.cell(latencyKey{slot: 1}).add(0, 3)
	table.cell(latencyKey{slot: 1}).add(4, 2)
	table.cell(latencyKey{slot: 1, response: SystemBusy}).add(-5, 1)
	table.cell(latencyKey{slot: 2, held: true}).add(20_000, 1)
	table.cell(latencyKey{slot: 2, response: PullNotFound, held: true, result: ClientGone}).add(1, 1)
	got := s.Latencies()
	if len(got) != 4 {
		t.Fatalf("%d kinds, want 4: %+v", len(got), got)
	}
	send, busy, pull, gone := got[0], got[1], got[2], got[3] // by request code
	if send.Request != SendMessage || send.Count != 5 || send.AtMost[0] != 3 || send.AtMost[1] != 3 || send.AtMost[2] != 5 || send.SumMs != 8 {
		t.Errorf("sends: %+v", send)
	}
	if busy.Response != SystemBusy || busy.Count != 1 || busy.AtMost[0] != 1 || busy.SumMs != 0 {
		t.Errorf("a clock that stepped back: %+v", busy)
	}
	if pull.Request != PullMessage || !pull.Held || pull.Count != 1 || pull.AtMost[len(latencyBounds)-1] != 0 || pull.SumMs != 20_000 {
		t.Errorf("a held pull: %+v", pull)
	}
	if gone.Response != PullNotFound || gone.Result.String() != "write_channel_failed" {
		t.Errorf("a client that is gone: %+v", gone)
	}
}

// Codes of answers that clients choose do not make the table grow without end.
func TestLatenciesAreBounded(t *testing.T) {
	table := newLatencies([]Route{{Code: ConsumeMessageDirectly}})
	for code := range int32(3 * maxLatencies) {
		table.cell(latencyKey{slot: 1, response: 1000 + code}).add(1, 1)
	}
	if n := len(table.rare); n > maxLatencies+1 {
		t.Errorf("%d kinds", n)
	}
	if c := table.rare[latencyKey{slot: 1, response: SystemError}]; c == nil || c.buckets[0].Load() != 2*maxLatencies {
		t.Error("answers beyond the bound are not counted")
	}
}
