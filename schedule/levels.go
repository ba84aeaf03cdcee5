package schedule

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// MaxLevels bounds the levels of a set.
const MaxLevels = 1024

// DefaultLevels is the default of messageDelayLevel.
const DefaultLevels = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"

// ErrLevels says that a set of levels cannot be parsed.
var ErrLevels = errors.New("messageDelayLevel cannot be parsed")

// Levels is a set of delay levels that can be replaced. Safe for concurrent use.
type Levels struct {
	set atomic.Pointer[levelSet]
}

type levelSet struct {
	text   string
	delays []int64 // ms, of level 1 on
}

// ParseLevels reads the setting messageDelayLevel: blank-separated numbers with unit s, m, h or d, level 1 first, at most MaxLevels.
// Where the reference (ScheduleMessageService.parseDelayLevel) keeps what comes before the first mistake, here one mistake refuses the
// whole set with ErrLevels.
func ParseLevels(text string) (*Levels, error) {
	l := &Levels{}
	if err := l.Set(text); err != nil {
		return nil, err
	}
	return l, nil
}

// Set replaces the levels by those in text, or leaves them as they are and says why (ErrLevels).
func (l *Levels) Set(text string) error {
	fields := strings.Fields(text)
	switch {
	case len(fields) == 0:
		return fmt.Errorf("%w: no levels in %q", ErrLevels, text)
	case len(fields) > MaxLevels:
		return fmt.Errorf("%w: %d levels, the limit is %d", ErrLevels, len(fields), MaxLevels)
	}
	delays := make([]int64, len(fields))
	for i, field := range fields {
		ms, err := parseDelay(field)
		if err != nil {
			return fmt.Errorf("%w: level %d is %q: %w", ErrLevels, i+1, field, err)
		}
		delays[i] = ms
	}
	l.set.Store(&levelSet{text: text, delays: delays})
	return nil
}

func parseDelay(field string) (int64, error) {
	last := len(field) - 1
	var unit time.Duration
	switch field[last] {
	case 's':
		unit = time.Second
	case 'm':
		unit = time.Minute
	case 'h':
		unit = time.Hour
	case 'd':
		unit = 24 * time.Hour
	default:
		return 0, errors.New("want a number with unit s, m, h or d")
	}
	n, err := strconv.ParseInt(field[:last], 10, 64)
	if err != nil {
		return 0, errors.New("want a number with unit s, m, h or d")
	}
	limit := math.MaxInt64 / int64(time.Millisecond) / unit.Milliseconds()
	if n < 0 || n > limit {
		return 0, fmt.Errorf("want 0 to %d", limit)
	}
	return n * unit.Milliseconds(), nil
}

// String is the text the levels were parsed from.
func (l *Levels) String() string { return l.set.Load().text }

// Max is the highest level.
func (l *Levels) Max() int32 { return int32(len(l.set.Load().delays)) }

// Delay is the delay of a level; a level beyond the highest has the highest one's, one below 1 has none.
func (l *Levels) Delay(level int32) time.Duration {
	return time.Duration(l.set.Load().delayMs(level)) * time.Millisecond
}

// DeliverTime is when a message of level, stored at storeTimestamp, is due: ms since the epoch. It is the tags code of the message's
// consume-queue entry (ScheduleMessageService.computeDeliverTimestamp). A level beyond the highest counts as the highest.
func (l *Levels) DeliverTime(level int32, storeTimestamp int64) int64 {
	return storeTimestamp + l.set.Load().delayMs(level)
}

func (s *levelSet) delayMs(level int32) int64 {
	if level <= 0 {
		return 0
	}
	return s.delays[min(int(level), len(s.delays))-1]
}
