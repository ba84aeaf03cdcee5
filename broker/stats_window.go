package broker

import "sync/atomic"

// statItem is one counter with its sliding windows (the reference's StatsItem). value and times are added to on
// the hot path; the windows are filled by the sampler.
type statItem struct {
	value atomic.Int64
	times atomic.Int64

	// moment tells that value is the newest reading and not a sum (MomentStatsItem): it has no windows.
	moment bool
	// slot is where the counter is found by those who count; nil for those of the broker as a whole. Guarded by
	// stats.mu.
	slot *atomic.Pointer[statItem]

	minute window // guarded by stats.sampleMu, like the fields below
	hour   window
	day    window
	// changedMs is when the sampler last saw value move.
	changedMs int64
	seen      int64
}

// add counts value for one request.
func (i *statItem) add(value int64) {
	i.value.Add(value)
	i.times.Add(1)
}

// addAll counts value for several requests together.
func (i *statItem) addAll(value, requests int64) {
	i.value.Add(value)
	i.times.Add(requests)
}

// sample is one reading of a counter.
type sample struct {
	ms    int64
	times int64
	value int64
}

// window is the newest readings of one counter, oldest first.
type window struct {
	samples []sample
}

// push adds a reading and keeps at most limit of them. The first reading of a window is preceded by a zero one,
// period before it, as in StatsItem#samplingInSeconds: a counter is visible at its first sampling.
func (w *window) push(s sample, periodMs int64, limit int) {
	if len(w.samples) == 0 {
		w.samples = append(w.samples, sample{ms: s.ms - periodMs})
	}
	if len(w.samples) == limit {
		copy(w.samples, w.samples[1:])
		w.samples = w.samples[:limit-1]
	}
	w.samples = append(w.samples, s)
}

// snapshot is what a window says: the sum over it, the sum per second, and the sum per call.
type snapshot struct {
	sum   int64
	times int64
	tps   float64
	avgPT float64
}

func (w *window) snapshot() snapshot {
	if len(w.samples) == 0 {
		return snapshot{}
	}
	first, last := w.samples[0], w.samples[len(w.samples)-1]
	s := snapshot{sum: last.value - first.value, times: last.times - first.times}
	if span := last.ms - first.ms; span > 0 {
		s.tps = float64(s.sum) * 1000 / float64(span)
	}
	if s.times > 0 {
		s.avgPT = float64(s.sum) / float64(s.times)
	}
	return s
}

// Periods and depths of the three windows (StatsItem): a minute in 10 s steps, an hour in 10 min steps, a day in
// 1 h steps.
const (
	minuteStepMs = 10_000
	hourStepMs   = 600_000
	dayStepMs    = 3_600_000

	minuteDepth = 7
	hourDepth   = 7
	dayDepth    = 25
)

func (i *statItem) sampleSeconds(nowMs int64) {
	v := i.value.Load()
	if v != i.seen || i.changedMs == 0 {
		i.seen, i.changedMs = v, nowMs
	}
	i.minute.push(sample{ms: nowMs, times: i.times.Load(), value: v}, minuteStepMs, minuteDepth)
}

func (i *statItem) sampleMinutes(nowMs int64) {
	i.hour.push(sample{ms: nowMs, times: i.times.Load(), value: i.value.Load()}, hourStepMs, hourDepth)
}

func (i *statItem) sampleHour(nowMs int64) {
	i.day.push(sample{ms: nowMs, times: i.times.Load(), value: i.value.Load()}, dayStepMs, dayDepth)
}
