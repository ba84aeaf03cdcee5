package timer

import (
	"hash/maphash"
	"slices"
)

// cancelKey is a TIMER_DEL_UNIQKEY, hashed twice so that two keys are not taken for one another, and the slot it is wanted in.
type cancelKey struct {
	hash [2]uint64
	slot int64
}

func (t *Timer) cancelKey(s string, slot int64) cancelKey {
	return cancelKey{[2]uint64{maphash.String(t.seeds[0], s), maphash.String(t.seeds[1], s)}, slot}
}

// cancelKeyLong is the key of topic + "+" + unique.
func (t *Timer) cancelKeyLong(topic, unique string, slot int64) cancelKey {
	k := cancelKey{slot: slot}
	for i := range k.hash {
		var h maphash.Hash
		h.SetSeed(t.seeds[i])
		_, _ = h.WriteString(topic)              // never fails
		_, _ = h.WriteString(deleteKeySeparator) // never fails
		_, _ = h.WriteString(unique)             // never fails
		k.hash[i] = h.Sum64()
	}
	return k
}

// cancels are those of open slots.
type cancels map[cancelKey]*cancel

// cancel is what cancels with one key did.
type cancel struct {
	topic string
	slot  int64   // the last one a unit is in
	units []int64 // positions of the units
	hits  int     // timers they met
}

// met and unmet are the positions of the cancels that met a timer and of those that met nobody.
func (c *cancel) met() []int64   { return c.units[:min(c.hits, len(c.units))] }
func (c *cancel) unmet() []int64 { return c.units[min(c.hits, len(c.units)):] }

// manyUnits bounds the cancels with one key that are told apart from those known.
const manyUnits = 100

// add takes in the cancel at pos, in a slot, unless it is known.
func (s *cancels) add(slot int64, k cancelKey, topic string, pos int64) {
	if *s == nil {
		*s = make(cancels)
	}
	c := (*s)[k]
	if c == nil {
		c = &cancel{topic: topic}
		(*s)[k] = c
	}
	c.slot = max(c.slot, slot)
	if len(c.units) > manyUnits || !slices.Contains(c.units, pos) {
		c.units = append(c.units, pos)
	}
}

// find returns the cancel with one of two keys, or nil.
func (s cancels) find(a, b cancelKey) *cancel {
	if c := s[a]; c != nil {
		return c
	}
	return s[b]
}

// held is the positions of cancels that are counted as long as they are here.
func (s cancels) held() map[int64]bool {
	held := make(map[int64]bool)
	for _, c := range s {
		for _, pos := range c.unmet() {
			held[pos] = true
		}
	}
	return held
}

// closeCancels forgets the cancels whose slots are over. One may be for a timer that comes late for its slot, from a roll or out of a
// backlog: they stay until all that is due was seen.
func (t *Timer) closeCancels(last, now int64) {
	w := &t.window
	if len(w.cancels) == 0 || t.rolling || t.backlog || w.until <= t.wheel.key(now-1) || w.timers.late > 0 {
		return
	}
	for k, c := range w.cancels {
		if c.slot > last {
			continue
		}
		for _, pos := range c.unmet() {
			t.count(c.topic, pos, 1, now)
		}
		delete(w.cancels, k)
	}
}

// forgetCancels takes back what cancels that met their target will be counted again when they are read again.
func (t *Timer) forgetCancels(now int64) {
	for _, c := range t.window.cancels {
		for _, pos := range c.met() {
			t.count(c.topic, pos, -1, now)
		}
	}
}
