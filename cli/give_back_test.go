package cli

import "testing"

func TestMemoryIsGivenBackOnceTheLoadIsOver(t *testing.T) {
	var q lull
	const mb = 1 << 20
	for i, step := range []struct {
		allocated uint64
		want      bool
	}{
		{3 * mb, false},        // the start
		{3*mb + 1000, false},   // nothing worth it
		{40 * mb, false},       // load
		{90 * mb, false},       // load
		{90*mb + 1000, true},   // it is over
		{90*mb + 2000, false},  // given back already
		{91 * mb, false},       // little by little
		{105 * mb, false},      // load
		{106*mb - 1, false},    // not worth it yet
		{106*mb + 5000, true},  // enough has come together, and it is quiet
		{106*mb + 6000, false}, // given back already
	} {
		if got := q.look(step.allocated); got != step.want {
			t.Errorf("look %d: %t, want %t", i, got, step.want)
		}
	}
}
