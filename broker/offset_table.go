package broker

import (
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting/body"
)

// noOffset stands for an offset that is not known.
const noOffset = -1

// topicGroupSeparator stands between topic and group in keys of consumerOffset.json.
const topicGroupSeparator = "@"

// queueOffsets are the offsets of one queue for one group.
type queueOffsets struct {
	committed int64 // consumerOffset.json
	pulled    int64 // where the group reads next; memory only
	reset     int64 // pending server-side reset; memory only
}

// groupOffsets are the offsets of one group on one topic. Guarded by offsetTable.mu.
type groupOffsets struct {
	queues map[int32]queueOffsets
	// text is `"topic@group":{…}` as it stands in the file, nil when a commit has changed it since.
	text []byte
}

// offsetTable is the consumer offsets: consumerOffset.json (the reference's ConsumerOffsetManager), with enableLmq lmqConsumerOffset.json
// (LmqConsumerOffsetManager), in which groups of light queues have a list of their own. Safe for concurrent use.
type offsetTable struct {
	file     *stateFile
	plain    *stateFile // consumerOffset.json when file is lmqConsumerOffset.json and not there yet, else nil
	clock    clock.Clock
	log      *logrus.Entry
	config   func() *conf.Config
	warnings *throttle
	// resetAssigned is told of each reset, without locks held.
	resetAssigned func(group, topic string, queueID int32)

	mu      sync.RWMutex
	table   map[groupKey]*groupOffsets // guarded by mu
	version body.DataVersion           // guarded by mu
	commits int64                      // since the start; guarded by mu
	changes int64                      // of what is in the file; guarded by mu
	size    int                        // of the file, the last time; guarded by mu

	stop chan struct{}
	done chan struct{}
}

func newOffsetTable(files *stateFiles, c clock.Clock, log *logrus.Entry, config func() *conf.Config, warnings *throttle) *offsetTable {
	t := &offsetTable{
		clock: c, log: log, config: config, warnings: warnings, table: map[groupKey]*groupOffsets{},
		resetAssigned: func(string, string, int32) {},
		stop:          make(chan struct{}), done: make(chan struct{}),
	}
	t.version.Timestamp = c.NowMs()
	t.file = files.file("consumerOffset.json", t.encode)
	if config().Store.EnableLMQ {
		t.plain, t.file = t.file, files.file("lmqConsumerOffset.json", t.encode)
	}
	return t
}

// load reads the file; the first time with enableLmq, consumerOffset.json. A broken file is set aside: groups then begin as new ones do.
func (t *offsetTable) load() error {
	found, err := t.loadFile(t.file)
	if err == nil && !found && t.plain != nil {
		_, err = t.loadFile(t.plain)
	}
	return err
}

func (t *offsetTable) loadFile(file *stateFile) (found bool, err error) {
	found, err = file.load(func(data []byte) error {
		table, err := body.Decode[body.LMQConsumerOffsetTable](data)
		if err != nil {
			return err
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		for name, queues := range table.OffsetTable {
			key, ok := splitTopicGroup(name)
			if !ok {
				continue
			}
			g := &groupOffsets{queues: make(map[int32]queueOffsets, len(queues))}
			for queueID, offset := range queues {
				g.queues[queueID] = queueOffsets{committed: offset, pulled: noOffset, reset: noOffset}
			}
			t.table[key] = g
		}
		for name, offset := range table.LMQOffsetTable {
			if key, ok := splitTopicGroup(name); ok {
				t.table[key] = &groupOffsets{queues: map[int32]queueOffsets{0: {committed: offset, pulled: noOffset, reset: noOffset}}}
			}
		}
		t.version = table.DataVersion
		return nil
	})
	if errors.Is(err, errBroken) {
		t.log.WithError(err).WithField("file", file.path).Error("consumer offsets cannot be read, starting without them: groups begin as new ones do")
		file.setAside()
		return false, nil
	}
	return found, err
}

// splitTopicGroup takes "topic@group" apart.
func splitTopicGroup(name string) (groupKey, bool) {
	topic, group, ok := strings.Cut(name, topicGroupSeparator)
	return groupKey{topic: topic, group: group}, ok && topic != "" && group != "" && !strings.Contains(group, topicGroupSeparator)
}

// at is the offsets of a group on a topic, made when missing: then the key is cloned, since it may alias a frame.
func (t *offsetTable) atLocked(key groupKey) *groupOffsets {
	g := t.table[key]
	if g == nil {
		g = &groupOffsets{queues: map[int32]queueOffsets{}}
		t.table[groupKey{topic: strings.Clone(key.topic), group: strings.Clone(key.group)}] = g
	}
	return g
}

// of is the offsets of a queue, all noOffset when nothing is known.
func (g *groupOffsets) of(queueID int32) queueOffsets {
	if g != nil {
		if q, ok := g.queues[queueID]; ok {
			return q
		}
	}
	return queueOffsets{committed: noOffset, pulled: noOffset, reset: noOffset}
}

// commit stores the offset a group continues from. It may go back, which is logged once in a while. client says who asked
// for it, "" for the broker itself.
func (t *offsetTable) commit(group, topic string, queueID int32, offset int64, client string) {
	if before := t.store(group, topic, queueID, offset); offset < before {
		t.warnBack(group, topic, queueID, before, offset, client)
	}
}

// commitFrom is commit for the client at addr.
func (t *offsetTable) commitFrom(addr netip.AddrPort, group, topic string, queueID int32, offset int64) {
	if before := t.store(group, topic, queueID, offset); offset < before {
		t.warnBack(group, topic, queueID, before, offset, addr.String())
	}
}

func (t *offsetTable) store(group, topic string, queueID int32, offset int64) (before int64) {
	t.mu.Lock()
	g := t.atLocked(groupKey{topic: topic, group: group})
	q := g.of(queueID)
	before = q.committed
	q.committed = offset
	g.queues[queueID] = q
	t.changedLocked(g)
	t.mu.Unlock()
	return before
}

func (t *offsetTable) warnBack(group, topic string, queueID int32, from, to int64, client string) {
	if t.warnings.allow("offset@" + topic + "@" + group) {
		t.log.WithFields(logrus.Fields{
			"group": strings.Clone(group), "topic": strings.Clone(topic), "queue": queueID, "from": from, "to": to, "client": client,
		}).Warn("consumer offset goes back")
	}
}

// changedLocked counts a change of what is in the file: the version moves on every so many commits.
func (t *offsetTable) changedLocked(g *groupOffsets) {
	g.text = nil
	t.changes++
	t.commits++
	if step := t.config().Broker.ConsumerOffsetUpdateVersionStep; step <= 0 || t.commits%step == 0 {
		t.version.NextVersion(t.clock.NowMs(), 0)
	}
}

// knows tells whether a group has any offset of a queue.
func (t *offsetTable) knows(group, topic string, queueID int32) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	g := t.table[groupKey{topic: topic, group: group}]
	if g == nil {
		return false
	}
	_, ok := g.queues[queueID]
	return ok
}

// pulled notes where a group reads next.
func (t *offsetTable) pulled(group, topic string, queueID int32, next int64) {
	t.mu.Lock()
	g := t.atLocked(groupKey{topic: topic, group: group})
	q := g.of(queueID)
	q.pulled = next
	g.queues[queueID] = q
	t.mu.Unlock()
}

// read notes where a group reads next and, unless commit is noOffset, commits that offset.
func (t *offsetTable) read(group, topic string, queueID int32, next, commit int64) {
	t.mu.Lock()
	g := t.atLocked(groupKey{topic: topic, group: group})
	q := g.of(queueID)
	q.pulled = next
	changed := commit != noOffset && commit != q.committed
	if changed {
		q.committed = commit
	}
	g.queues[queueID] = q
	if changed {
		t.changedLocked(g)
	}
	t.mu.Unlock()
}

// query is where a group continues: a pending reset, or the committed offset; noOffset when there is neither.
func (t *offsetTable) query(group, topic string, queueID int32) int64 {
	t.mu.RLock()
	q := t.table[groupKey{topic: topic, group: group}].of(queueID)
	t.mu.RUnlock()
	if q.reset != noOffset && t.config().Broker.UseServerSideResetOffset {
		return q.reset
	}
	return q.committed
}

// committed is the committed offset of a queue, whatever reset is pending; noOffset when there is none.
func (t *offsetTable) committed(group, topic string, queueID int32) int64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.table[groupKey{topic: topic, group: group}].of(queueID).committed
}

// queryPulled is where a group reads next, or query if it has not read since the start.
func (t *offsetTable) queryPulled(group, topic string, queueID int32) int64 {
	t.mu.RLock()
	q := t.table[groupKey{topic: topic, group: group}].of(queueID)
	t.mu.RUnlock()
	if q.pulled != noOffset {
		return q.pulled
	}
	return t.query(group, topic, queueID)
}

// assignReset makes the next pull of a queue begin at offset, and commits it for groups that are offline
// (ConsumerOffsetManager#assignResetOffset). queueID and offset must not be negative.
func (t *offsetTable) assignReset(group, topic string, queueID int32, offset int64) {
	t.mu.Lock()
	g := t.atLocked(groupKey{topic: topic, group: group})
	q := g.of(queueID)
	q.reset, q.committed = offset, offset
	g.queues[queueID] = q
	t.changedLocked(g)
	t.mu.Unlock()
	t.resetAssigned(group, topic, queueID)
}

// hasReset tells whether a reset is pending.
func (t *offsetTable) hasReset(group, topic string, queueID int32) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.table[groupKey{topic: topic, group: group}].of(queueID).reset != noOffset
}

// takeReset gives a pending reset and clears it; noOffset when there is none.
func (t *offsetTable) takeReset(group, topic string, queueID int32) int64 {
	if !t.hasReset(group, topic, queueID) {
		return noOffset
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.table[groupKey{topic: topic, group: group}]
	q := g.of(queueID)
	if q.reset == noOffset {
		return noOffset
	}
	offset := q.reset
	q.reset = noOffset
	g.queues[queueID] = q
	return offset
}

// offsets copies the committed offsets of a group on a topic by queue; nil when there are none.
func (t *offsetTable) offsets(group, topic string) map[int32]int64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.table[groupKey{topic: topic, group: group}].committedOffsets()
}

func (g *groupOffsets) committedOffsets() map[int32]int64 {
	if g == nil {
		return nil
	}
	var offsets map[int32]int64
	for queueID, q := range g.queues {
		if q.committed == noOffset {
			continue
		}
		if offsets == nil {
			offsets = make(map[int32]int64, len(g.queues))
		}
		offsets[queueID] = q.committed
	}
	return offsets
}

// snapshot copies all committed offsets, keyed as in the file, and the version that they are.
func (t *offsetTable) snapshot() body.ConsumerOffsetTable {
	t.mu.RLock()
	defer t.mu.RUnlock()
	all := make(map[string]map[int32]int64, len(t.table))
	for key, g := range t.table {
		if offsets := g.committedOffsets(); offsets != nil {
			all[key.topic+topicGroupSeparator+key.group] = offsets
		}
	}
	return body.ConsumerOffsetTable{OffsetTable: all, DataVersion: t.version}
}

// topicsOf lists the topics that a group has committed offsets of, sorted.
func (t *offsetTable) topicsOf(group string) []string {
	return t.names(func(key groupKey) (string, bool) { return key.topic, key.group == group })
}

// groupsOf lists the groups that have committed offsets of a topic, sorted.
func (t *offsetTable) groupsOf(topic string) []string {
	return t.names(func(key groupKey) (string, bool) { return key.group, key.topic == topic })
}

func (t *offsetTable) names(pick func(groupKey) (string, bool)) []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	set := map[string]struct{}{}
	for key, g := range t.table {
		if name, ok := pick(key); ok && g.committedOffsets() != nil {
			set[name] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// clone gives dest the committed offsets that src has of a topic, if it has any.
func (t *offsetTable) clone(src, dest, topic string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	offsets := t.table[groupKey{topic: topic, group: src}].committedOffsets()
	if offsets == nil {
		return
	}
	g := &groupOffsets{queues: make(map[int32]queueOffsets, len(offsets))}
	for queueID, offset := range offsets {
		g.queues[queueID] = queueOffsets{committed: offset, pulled: noOffset, reset: noOffset}
	}
	t.table[groupKey{topic: strings.Clone(topic), group: strings.Clone(dest)}] = g
	t.changedLocked(g)
}

// readers lists the queues of a topic that groups have pulled messages of since the start, by group.
func (t *offsetTable) readers(topic string) map[string][]int32 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	groups := map[string][]int32{}
	for key, g := range t.table {
		if key.topic != topic {
			continue
		}
		for queueID, q := range g.queues {
			if q.pulled > 0 {
				groups[key.group] = append(groups[key.group], queueID)
			}
		}
	}
	return groups
}

// removeGroup forgets everything of a group.
func (t *offsetTable) removeGroup(group string) {
	t.removeIf(func(key groupKey, _ *groupOffsets) bool { return key.group == group })
}

// removeTopic forgets everything of a topic.
func (t *offsetTable) removeTopic(topic string) {
	t.removeIf(func(key groupKey, _ *groupOffsets) bool { return key.topic == topic })
}

func (t *offsetTable) removeIf(match func(groupKey, *groupOffsets) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, g := range t.table {
		if match(key, g) {
			delete(t.table, key)
			t.changedLocked(g)
		}
	}
}

// encode is the content of the file. What has not changed is taken from the last time.
func (t *offsetTable) encode() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	data := append(make([]byte, 0, t.size+4096), "{\n\t\"dataVersion\":"...)
	data = body.Append(data, &t.version)
	if t.plain != nil {
		data = t.appendLightLocked(append(data, ",\n\t\"lmqOffsetTable\":{"...))
		data = append(data, "\n\t}"...)
	}
	data = append(data, ",\n\t\"offsetTable\":{"...)
	first := true
	for key, g := range t.table {
		if t.plain != nil && message.IsLMQ(key.group) {
			continue
		}
		if g.text == nil {
			g.text = appendOffsets(nil, key, g)
		}
		if len(g.text) == 0 {
			continue
		}
		if !first {
			data = append(data, ',')
		}
		first = false
		data = append(append(data, "\n\t\t"...), g.text...)
	}
	data = append(data, "\n\t}\n}"...)
	t.size = len(data)
	return data
}

// appendLightLocked writes `"topic@group":1,…` for groups of light queues, which have one queue.
func (t *offsetTable) appendLightLocked(dst []byte) []byte {
	first := true
	for key, g := range t.table {
		offset := g.of(0).committed
		if !message.IsLMQ(key.group) || offset == noOffset {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = strconv.AppendQuote(append(dst, "\n\t\t"...), key.topic+topicGroupSeparator+key.group)
		dst = strconv.AppendInt(append(dst, ':'), offset, 10)
	}
	return dst
}

// appendOffsets writes `"topic@group":{0:1,…}`, nothing when there is no committed offset. Names that the broker accepts
// need no escapes; queue ids stand unquoted as the reference writes them.
func appendOffsets(dst []byte, key groupKey, g *groupOffsets) []byte {
	offsets := g.committedOffsets()
	if offsets == nil {
		return []byte{}
	}
	dst = strconv.AppendQuote(dst, key.topic+topicGroupSeparator+key.group)
	dst = append(dst, ":{"...)
	for i, queueID := range slices.Sorted(maps.Keys(offsets)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(queueID), 10)
		dst = append(dst, ':')
		dst = strconv.AppendInt(dst, offsets[queueID], 10)
	}
	return append(dst, '}')
}
