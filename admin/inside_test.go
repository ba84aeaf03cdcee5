package admin

import (
	"strings"
	"testing"
)

func TestShare(t *testing.T) {
	queues := make([]target, 5)
	for i := range queues {
		queues[i].queue = int32(i)
	}
	for me, want := range map[string]int{"a": 2, "b": 2, "c": 1, "d": 0} {
		if got := share(queues, []string{"a", "b", "c"}, me); len(got) != want {
			t.Errorf("%s gets %v, want %d queues", me, got, want)
		}
	}
}

// An address that does not answer is explained by where it lies.
func TestAdviceOnAddress(t *testing.T) {
	for addr, want := range map[string]string{
		"172.17.0.2:10911": "--advertise localhost behind docker run -p 10911:10911",
		"127.0.0.1:10911":  "only clients on its machine can use",
		"10.0.0.5:10911":   "is this machine in the same network",
		"broker:10911":     "start the broker with --advertise",
		"broker":           "an address is HOST:PORT",
	} {
		if got := adviceOnAddress(addr, false); !strings.Contains(got, want) {
			t.Errorf("%s: %q is not in %q", addr, want, got)
		}
	}
}
