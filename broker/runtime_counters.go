package broker

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Labels of the put time distribution, in order (StoreStatsService).
var putTimeLabels = [...]string{
	"[<=0ms]", "[0~10ms]", "[10~50ms]", "[50~100ms]", "[100~200ms]", "[200~500ms]", "[500ms~1s]",
	"[1~2s]", "[2~3s]", "[3~4s]", "[4~5s]", "[5~10s]", "[10s~]",
}

// putTimeBounds are the upper bounds, exclusive, of the labels behind the first, in ms.
var putTimeBounds = [...]int64{10, 50, 100, 200, 500, 1000, 2000, 3000, 4000, 5000, 10000}

// latencySteps says how fine put times are counted for the percentiles: steps of ms, and how many of them.
var latencySteps = [...]struct{ ms, count int64 }{{1, 20}, {2, 15}, {5, 10}, {10, 10}, {50, 6}, {100, 5}, {1000, 9}}

const (
	rateDepth       = 601 // readings of a second each: ten minutes
	distributionSec = 60  // the distribution tells the last whole minute
	latencyBuckets  = 20 + 15 + 10 + 10 + 6 + 5 + 9 + 1
)

// rateReading is one second's reading of the store-wide counters.
type rateReading struct {
	ms                            int64
	put, found, miss, transferred int64
	enqueued, delivered           int64 // of the timer
}

// runtimeCounters are the store-wide counters of the runtime information (StoreStatsService). Counting is lock-free.
type runtimeCounters struct {
	bootMs      int64
	timer       func() (enqueued, delivered int64) // since the start; nil: none
	putTimes    atomic.Int64
	putSize     atomic.Int64
	putFailed   atomic.Int64
	putMaxMs    atomic.Int64
	getFound    atomic.Int64
	getMiss     atomic.Int64
	transferred atomic.Int64
	getMaxMs    atomic.Int64
	times       [len(putTimeLabels)]atomic.Int64
	latency     [latencyBuckets]atomic.Int64

	mu          sync.Mutex
	readings    []rateReading // ring, oldest first once full; guarded by mu like all below
	next        int
	seconds     int
	lastTimes   [len(putTimeLabels)]int64 // at the last minute's end
	lastLatency [latencyBuckets]int64
	minuteTimes [len(putTimeLabels)]int64 // in the last whole minute
	minuteLat   [latencyBuckets]int64

	putYesterday, putToday int64 // totals at the two last midnights
	getYesterday, getToday int64
}

func (r *runtimeCounters) boot(nowMs int64) { r.bootMs = nowMs }

func (r *runtimeCounters) put(requests, messages, bytes int64, took time.Duration) {
	r.putTimes.Add(messages)
	r.putSize.Add(bytes)
	ms := took.Milliseconds()
	r.times[timeBucket(ms)].Add(requests)
	r.latency[latencyBucket(ms)].Add(requests)
	raise(&r.putMaxMs, ms)
}

func (r *runtimeCounters) found(num int, took time.Duration) {
	r.getFound.Add(1)
	r.transferred.Add(int64(num))
	raise(&r.getMaxMs, took.Milliseconds())
}

func raise(v *atomic.Int64, to int64) {
	for {
		cur := v.Load()
		if to <= cur || v.CompareAndSwap(cur, to) {
			return
		}
	}
}

func timeBucket(ms int64) int {
	if ms <= 0 {
		return 0
	}
	for i, bound := range putTimeBounds {
		if ms < bound {
			return i + 1
		}
	}
	return len(putTimeLabels) - 1
}

// latencyBucket is the first bucket whose bound is not below ms; the last one has none.
func latencyBucket(ms int64) int {
	index, bound := 0, int64(0)
	for _, step := range latencySteps {
		if span := step.ms * step.count; ms <= bound+span {
			if ms <= bound {
				return max(index-1, 0)
			}
			return index + int((ms-bound+step.ms-1)/step.ms) - 1
		}
		bound += step.ms * step.count
		index += int(step.count)
	}
	return latencyBuckets - 1
}

// latencyBound is the upper bound of a bucket in ms.
func latencyBound(bucket int) int64 {
	bound := int64(0)
	for _, step := range latencySteps {
		if int64(bucket) < step.count {
			return bound + step.ms*int64(bucket+1)
		}
		bound += step.ms * step.count
		bucket -= int(step.count)
	}
	return bound
}

// sample takes one reading. It is called once a second.
func (r *runtimeCounters) sample(nowMs int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	reading := rateReading{
		ms: nowMs, put: r.putTimes.Load(), found: r.getFound.Load(), miss: r.getMiss.Load(), transferred: r.transferred.Load(),
	}
	if r.timer != nil {
		reading.enqueued, reading.delivered = r.timer()
	}
	if len(r.readings) < rateDepth {
		r.readings = append(r.readings, reading)
	} else {
		r.readings[r.next] = reading
	}
	r.next = (r.next + 1) % rateDepth
	r.seconds++
	if r.seconds%distributionSec != 0 {
		return
	}
	for i := range r.times {
		v := r.times[i].Load()
		r.minuteTimes[i], r.lastTimes[i] = v-r.lastTimes[i], v
	}
	for i := range r.latency {
		v := r.latency[i].Load()
		r.minuteLat[i], r.lastLatency[i] = v-r.lastLatency[i], v
	}
}

// newDay remembers the totals at midnight (BrokerStats#record).
func (r *runtimeCounters) newDay(put, get int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.putYesterday, r.putToday = r.putToday, put
	r.getYesterday, r.getToday = r.getToday, get
}

// rate is the change per second of a counter over the newest seconds, or over as many as there are.
func (r *runtimeCounters) rateLocked(seconds int, of func(rateReading) int64) float64 {
	n := len(r.readings)
	if n < 2 {
		return 0
	}
	at := func(back int) rateReading { return r.readings[((r.next-1-back)%n+n)%n] }
	last, first := at(0), at(min(seconds, n-1))
	if last.ms <= first.ms {
		return 0
	}
	return float64(of(last)-of(first)) * 1000 / float64(last.ms-first.ms)
}

// rates is a counter's rate over 10 s, a minute and ten minutes, split by blanks.
func (r *runtimeCounters) rates(of func(rateReading) int64) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	parts := make([]string, 0, 3)
	for _, seconds := range [...]int{10, 60, 600} {
		parts = append(parts, javaDouble(r.rateLocked(seconds, of)))
	}
	return strings.Join(parts, " ")
}

// distribution is how many writes of the last whole minute took how long.
func (r *runtimeCounters) distribution() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for i, label := range putTimeLabels {
		b.WriteString(label)
		b.WriteByte(':')
		b.WriteString(strconv.FormatInt(r.minuteTimes[i], 10))
		b.WriteByte(' ')
	}
	return b.String()
}

// latencyPercentile is the put time in ms that the share of the last whole minute's writes did not exceed, with two
// decimals (StoreStatsService#findPutMessageEntireTimePX).
func (r *runtimeCounters) latencyPercentile(share float64) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var total int64
	for _, n := range r.minuteLat {
		total += n
	}
	index, passed, result := int64(float64(total)*share), int64(0), 0.0
	for i, n := range r.minuteLat {
		if index > passed+n {
			passed += n
			continue
		}
		lower := int64(0)
		if i > 0 {
			lower = latencyBound(i - 1)
		}
		result = float64(lower)
		if n > 0 {
			result += float64((latencyBound(i)-lower)*(index-passed)) / float64(n)
		}
		break
	}
	return fmt.Sprintf("%.2f", result)
}

// javaDouble is a number as Java's Double.toString gives it for the usual sizes: always with a decimal point.
func javaDouble(v float64) string {
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
