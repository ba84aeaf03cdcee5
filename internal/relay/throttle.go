package relay

// throttleMs is how long a Throttle keeps quiet after it let one through.
const throttleMs = 10_000

// Throttle lets one of many equal log lines through in ten seconds. The zero value is ready.
type Throttle struct {
	used   bool
	last   int64
	missed int64
}

// Allow tells whether to log now and how many lines were held back since the last one.
func (t *Throttle) Allow(nowMs int64) (missed int64, ok bool) {
	if t.used && nowMs >= t.last && nowMs-t.last < throttleMs {
		t.missed++
		return 0, false
	}
	missed = t.missed
	t.used, t.last, t.missed = true, nowMs, 0
	return missed, true
}
