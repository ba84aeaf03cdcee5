package relay

import (
	"math"
	"sync/atomic"
)

// latenessBounds are the upper ends, ms, of the classes of a Lateness; one more class has none.
var latenessBounds = [...]int64{0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 60000} //nolint:gochecknoglobals // constant

// Lateness counts how much later than wanted messages were put back. Safe for concurrent use.
type Lateness struct {
	classes [len(latenessBounds) + 1]atomic.Int64
	max     atomic.Int64
}

// LatenessClass is one class of a histogram: messages at most Ms late, and later than the class before.
type LatenessClass struct {
	Ms    int64 `json:"ms"` // math.MaxInt64 for the last class
	Count int64 `json:"count"`
}

// Add counts a message that was ms late.
func (l *Lateness) Add(ms int64) {
	i := 0
	for i < len(latenessBounds) && ms > latenessBounds[i] {
		i++
	}
	l.classes[i].Add(1)
	for {
		seen := l.max.Load()
		if ms <= seen || l.max.CompareAndSwap(seen, ms) {
			return
		}
	}
}

// Max is the greatest lateness seen, ms.
func (l *Lateness) Max() int64 { return l.max.Load() }

// Classes returns the histogram.
func (l *Lateness) Classes() []LatenessClass {
	out := make([]LatenessClass, len(l.classes))
	for i := range l.classes {
		out[i] = LatenessClass{Ms: math.MaxInt64, Count: l.classes[i].Load()}
		if i < len(latenessBounds) {
			out[i].Ms = latenessBounds[i]
		}
	}
	return out
}
