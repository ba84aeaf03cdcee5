package timer

import (
	"fmt"
	"strings"

	"github.com/rocketd/rocketd/message"
)

// dump describes what the room knows of the messages with a body, for failures.
func (b *bench) dump(body string) string {
	var s strings.Builder
	t := b.tm
	fmt.Fprintf(&s, "now %+d mark %+d/%d until %+d closed %+d end %d sweep %d queue %d barriers %v opening %v partial %v timers %d\n", b.clock.NowMs()-begin,
		t.progress.mark.out-begin, t.progress.mark.pos, t.wheel.start(t.window.until)-begin, t.wheel.start(t.closed)-begin, t.log.end, t.sweeper.at,
		t.queueOffset, t.progress.barriers, t.window.opening != nil, t.window.partial, t.window.timers.len())
	for _, m := range b.log.Messages(message.TopicTimer, 0) {
		if string(m.Body) != body {
			continue
		}
		out, _ := m.Properties.Get("TIMER_OUT_MS")
		fmt.Fprintf(&s, "  message at %d/%d stored %+d out %s\n", m.QueueOffset, m.PhysicalOffset, m.StoreTimestamp-begin, out)
		r := newUnitReader(t.log)
		for pos := t.log.begin(); pos < t.log.end; pos = t.log.next(pos) {
			u, ok, err := r.unit(pos)
			if err == nil && ok && u.offset == m.PhysicalOffset {
				key := t.wheel.key(u.out)
				fmt.Fprintf(&s, "    unit at %d out %+d written %+d prev %d magic %d mark %x, slot %+v\n", pos, u.out-begin, u.written-begin, u.prev, u.magic, u.mark, t.wheel.raw(key))
			}
		}
		t.window.timers.each(func(e *entry) {
			if e.offset == m.PhysicalOffset {
				fmt.Fprintf(&s, "    in memory: %+v\n", *e)
			}
		})
	}
	lines := strings.Split(b.lines.String(), "\n")
	s.WriteString("  " + strings.Join(lines[max(0, len(lines)-60):], "\n  "))
	return s.String()
}
