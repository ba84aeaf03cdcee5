package broker

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestOffsetsAreCommittedAndQueried(t *testing.T) {
	x := newTables(t, nil)
	offsets := x.offsets(t)
	if got := offsets.query("G", "T", 0); got != -1 {
		t.Errorf("unknown: got %d, want -1", got)
	}
	offsets.commit("G", "T", 0, 5, "")
	offsets.commit("G", "T", 3, 7, "")
	offsets.commit("H", "T", 0, 1, "")
	if got := offsets.query("G", "T", 0); got != 5 {
		t.Errorf("got %d, want 5", got)
	}
	offsets.pulled("G", "T", 0, 9)
	if got := offsets.queryPulled("G", "T", 0); got != 9 {
		t.Errorf("pulled %d, want 9", got)
	}
	if got := offsets.queryPulled("G", "T", 3); got != 7 {
		t.Errorf("not pulled: got %d, want the committed 7", got)
	}
	if got := offsets.groupsOf("T"); !slices.Equal(got, []string{"G", "H"}) {
		t.Errorf("groups %v", got)
	}
	if got := offsets.topicsOf("G"); !slices.Equal(got, []string{"T"}) {
		t.Errorf("topics %v", got)
	}
	offsets.clone("G", "I", "T")
	if got := offsets.query("I", "T", 3); got != 7 {
		t.Errorf("cloned %d, want 7", got)
	}
	offsets.removeGroup("G")
	if got := offsets.query("G", "T", 0); got != -1 {
		t.Errorf("removed: got %d", got)
	}
	offsets.removeTopic("T")
	if got := offsets.groupsOf("T"); len(got) > 0 {
		t.Errorf("groups %v", got)
	}
}

func TestOffsetThatGoesBackIsStoredAndLoggedOnce(t *testing.T) {
	x := newTables(t, nil)
	offsets := x.offsets(t)
	for _, offset := range []int64{9, 5, 3} {
		offsets.commit("G", "T", 0, offset, "c")
	}
	if got := offsets.query("G", "T", 0); got != 3 {
		t.Errorf("got %d, want 3", got)
	}
	if lines := x.logged.with("consumer offset goes back"); len(lines) != 1 {
		t.Errorf("logged %v", lines)
	}
}

// TestReset: a reset answers queries, survives commits of the old position only in the table's hands, and is taken once.
func TestReset(t *testing.T) {
	x := newTables(t, nil)
	offsets := x.offsets(t)
	var told []string
	offsets.resetAssigned = func(group, topic string, _ int32) { told = append(told, topic+"@"+group) }
	offsets.commit("G", "T", 0, 100, "")
	offsets.assignReset("G", "T", 0, 10)
	if !offsets.hasReset("G", "T", 0) || offsets.query("G", "T", 0) != 10 || !slices.Equal(told, []string{"T@G"}) {
		t.Errorf("reset %t, query %d, told %v", offsets.hasReset("G", "T", 0), offsets.query("G", "T", 0), told)
	}
	if got := offsets.takeReset("G", "T", 0); got != 10 {
		t.Errorf("took %d, want 10", got)
	}
	if got := offsets.takeReset("G", "T", 0); got != -1 {
		t.Errorf("took %d again", got)
	}
	if got := offsets.query("G", "T", 0); got != 10 {
		t.Errorf("got %d, want the reset to be committed", got)
	}
}

// TestOffsetsOfApacheAreRead reads the file as the reference writes it, with bare keys and its derived map.
func TestOffsetsOfApacheAreRead(t *testing.T) {
	x := newTables(t, nil)
	x.write(t, "consumerOffset.json", "{\n\t\"dataVersion\":{\"counter\":3,\"stateVersion\":0,\"timestamp\":1700000000000},\n\t\"groupTopicMap\":{\"G\":[\"T\"]},\n\t\"offsetTable\":{\"T@G\":{0:3,1:4},\"%RETRY%G@G\":{0:1}}\n}")
	offsets := x.offsets(t)
	for _, want := range []struct {
		topic   string
		queueID int32
		offset  int64
	}{{"T", 0, 3}, {"T", 1, 4}, {"%RETRY%G", 0, 1}, {"T", 2, -1}} {
		if got := offsets.query("G", want.topic, want.queueID); got != want.offset {
			t.Errorf("%s %d: got %d, want %d", want.topic, want.queueID, got, want.offset)
		}
	}
}

// TestOffsetsAreWrittenAsApacheDoes: keys, bare queue ids, no pending resets.
func TestOffsetsAreWrittenAsApacheDoes(t *testing.T) {
	x := newTables(t, nil)
	offsets := x.offsets(t)
	offsets.commit("G", "T", 1, 4, "")
	offsets.commit("G", "T", 0, 3, "")
	offsets.pulled("G", "U", 0, 8)
	want := "{\n\t\"dataVersion\":{\"counter\":0,\"stateVersion\":0,\"timestamp\":" + itoa(testNow.UnixMilli()) + "},\n\t\"offsetTable\":{\n\t\t\"T@G\":{0:3,1:4}\n\t}\n}"
	for range 2 { // the second time from memory
		if got := string(offsets.encode()); got != want {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	}
	offsets.commit("G", "T", 0, 30, "")
	if got := string(offsets.encode()); !strings.Contains(got, `"T@G":{0:30,1:4}`) {
		t.Errorf("got %s", got)
	}
}

// TestOffsetVersionMoves: once in consumerOffsetUpdateVersionStep commits.
func TestOffsetVersionMoves(t *testing.T) {
	x := newTables(t, nil)
	offsets := x.offsets(t)
	for i := range int64(1001) {
		offsets.commit("G", "T", 0, i, "")
	}
	if got := offsets.snapshot().DataVersion.Counter; got != 2 {
		t.Errorf("counter %d after 1001 commits, want 2", got)
	}
}

// TestCommittedOffsetsSurviveAKill: what was committed more than a second before the process is gone is read back.
func TestCommittedOffsetsSurviveAKill(t *testing.T) {
	x := newTables(t, nil)
	offsets := x.offsets(t)
	offsets.start()
	defer func() { _ = offsets.close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for i := range int64(8) {
		if err := x.clock.AwaitWaiters(ctx, 1); err != nil {
			t.Fatal(err)
		}
		offsets.commit("G", "T", 0, 100+i, "")
		x.clock.Advance(time.Second)
		if err := x.clock.AwaitWaiters(ctx, 1); err != nil {
			t.Fatal(err)
		}
		killed := newTables(t, x.fs.Clone())
		if got := killed.offsets(t).query("G", "T", 0); got != 100+i {
			t.Fatalf("commit %d: got %d after a kill, want %d", i, got, 100+i)
		}
	}
}

// TestOffsetFileSurvivesAPowerCut: whatever of the unsynced writes is lost, one synced version can be read.
func TestOffsetFileSurvivesAPowerCut(t *testing.T) {
	x := newTables(t, nil)
	offsets := x.offsets(t)
	offsets.commit("G", "T", 0, 1, "")
	if err := offsets.file.save(); err != nil {
		t.Fatal(err)
	}
	for i := range int64(5) {
		offsets.commit("G", "T", 0, 10+i, "")
		if err := offsets.file.write(offsets.encode(), false); err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(20) {
			cut := newTables(t, x.fs.CrashClone(seed))
			if got := cut.offsets(t).query("G", "T", 0); got != 1 && (got < 10 || got > 10+i) {
				t.Fatalf("write %d, seed %d: got %d", i, seed, got)
			}
		}
	}
}

func BenchmarkOffsetCommit(b *testing.B) {
	x := newTables(&testing.T{}, nil)
	offsets := newOffsetTable(x.files, x.clock, x.log, x.config, x.warnings)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		offsets.commit("G", "T", int32(i&7), int64(i), "")
	}
}

// BenchmarkOffsetEncode writes 100,000 queues of which 100 have changed.
func BenchmarkOffsetEncode(b *testing.B) {
	x := newTables(&testing.T{}, nil)
	offsets := newOffsetTable(x.files, x.clock, x.log, x.config, x.warnings)
	for g := range 12_500 {
		for q := range int32(8) {
			offsets.commit("group-"+itoa(g), "T", q, 1<<30, "")
		}
	}
	offsets.encode()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		for g := range 100 {
			offsets.commit("group-"+itoa(g), "T", 0, int64(i), "")
		}
		b.SetBytes(int64(len(offsets.encode())))
	}
}
