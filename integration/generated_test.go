package integration

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/integration/peer"
	"github.com/rocketd/rocketd/message"
	r "github.com/rocketd/rocketd/remoting"
)

// TestGeneratedSequences sends generated sequences of requests, valid and invalid, to Apache and to rocketd and compares the answers.
// SEQUENCES says how many (default 20), SEQUENCES_SEED which (default 1; "random" draws one and prints it).
func TestGeneratedSequences(t *testing.T) {
	peer.NeedJava(t)
	seed, count := uint64(1), 20
	if text := os.Getenv("SEQUENCES_SEED"); text == "random" {
		seed = rand.Uint64()
	} else if text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("SEQUENCES_SEED=%s: %v", text, err)
		}
		seed = n
	}
	if text := os.Getenv("SEQUENCES"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("SEQUENCES=%s: %v", text, err)
		}
		count = n
	}
	t.Logf("SEQUENCES_SEED=%d SEQUENCES=%d", seed, count)
	lines := append(slices.Clone(settings), "transactionCheckInterval=600000", "popFromRetryProbability=0")
	apache := newSide(t, peer.StartApache(t, t.TempDir(), append(slices.Clone(lines), "enablePropertyFilter=true")...))
	rocketd := newSide(t, peer.StartRocketd(t, t.TempDir(), lines...))
	requests, explained := 0, map[string]int{}
	for n := range count {
		g := newGenerator(seed, n)
		s := &sequence{t: t, n: n, apache: &memory{side: apache, n: n}, rocketd: &memory{side: rocketd, n: n}}
		for range 40 {
			requests++
			why, goOn := s.step(g.next())
			if why != "" {
				explained[why]++
			}
			if !goOn {
				break
			}
		}
	}
	t.Logf("%d requests", requests)
	for _, why := range slices.Sorted(maps.Keys(explained)) {
		t.Logf("%4d differ on purpose: %s", explained[why], why)
	}
}

// memory is what one side gave out in a sequence.
type memory struct {
	*side
	n     int      // of the sequence
	log   []string // physical offsets of stored messages
	halfs []half
	pops  []popped
}

type half struct {
	queue, log, key string
	topic, queueID  string // where it goes when it is committed
	committed       bool
}

type popped struct{ group, topic, queue, handle, offset string }

type sequence struct {
	t               *testing.T
	n               int
	apache, rocketd *memory
	history         []string
}

// step sends one request to both. It returns why their answers may differ, and whether both are in the same state after it.
func (s *sequence) step(e generated) (why string, goOn bool) {
	pick := rand.New(rand.NewPCG(uint64(s.n), uint64(len(s.history)))).IntN(1 << 16)
	s.history = append(s.history, fmt.Sprintf("%s %.900q %.60q", e.name, e.ext, e.body))
	var parts []string
	var want, got *r.Command
	for try := range 6 {
		wantEx, ok1 := s.apache.fill(e, pick)
		gotEx, ok2 := s.rocketd.fill(e, pick)
		if !ok1 || !ok2 {
			return "", true // nothing given out yet
		}
		want, got = s.apache.call(s.t, wantEx, e.spoiled != ""), s.rocketd.call(s.t, gotEx, false)
		if want == nil {
			return "Apache does not answer some requests that lack a field", false
		}
		parts = s.compare(e, want, got)
		if len(parts) == 0 || !e.reads {
			break
		}
		time.Sleep(time.Duration(try) * 20 * time.Millisecond) // Apache dispatches behind the answer of a send
	}
	if len(parts) > 0 {
		if why := s.onPurpose(e, want, got); why != "" {
			// Of a spoiled request Apache may have done some things before it stumbled.
			return why, e.spoiled == "" && (e.reads || want.Code != r.Success && got.Code != r.Success)
		}
		s.t.Errorf("sequence %d, request %d differs:\n%s\nafter:\n  %s", s.n, len(s.history), strings.Join(parts, "\n"), strings.Join(s.history[max(0, len(s.history)-25):], "\n  "))
		return "a difference", false
	}
	if !e.reads && want.Code == r.Success {
		s.apache.awaitDispatch(s.t, e, want)
		if s.committed(e, pick) {
			return "a second commit has no effect", false
		}
		s.apache.note(e, want)
		s.rocketd.note(e, got)
	}
	if e.spoiled != "" && want.Code != r.Success { // Apache may have done half of it
		return "", false
	}
	return "", true
}

// committed notes that the half message of a commit was committed, and waits until it can be read at Apache as well. It tells whether it had
// been committed before: Apache then has it twice.
func (s *sequence) committed(e generated, pick int) (again bool) {
	if e.code != r.EndTransaction || asked(e, "commitOrRollback") != "8" || asked(e, "commitLogOffset") != "$half.log" || len(s.apache.halfs) == 0 {
		return false
	}
	h := &s.apache.halfs[pick%len(s.apache.halfs)]
	if h.committed {
		return true
	}
	h.committed = true
	last := exchange{name: "max offset", code: r.GetMaxOffset, ext: []string{"topic=" + h.topic, "queueId=" + h.queueID}}
	for range 50 {
		if field(s.apache.ask(s.t, last), "offset") == field(s.rocketd.ask(s.t, last), "offset") {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	return false
}

// compare tells how two answers differ.
func (s *sequence) compare(e generated, want, got *r.Command) []string {
	if asked(e, "topic", "b") == message.TopicAutoCreate && (want.Code == got.Code || holdsMessages(e)) {
		return nil // what is in it depends on other sequences, which may have ended in a difference on purpose
	}
	if want.Code != got.Code {
		return []string{unlike("code", fmt.Sprintf("%d %s", want.Code, want.Remark), fmt.Sprintf("%d %s", got.Code, got.Remark))}
	}
	var parts []string
	if want.Code == r.Success || e.code == r.PullMessage { // the latter: where to go on
		parts = append(parts, unlike("ext", s.apache.header(e, want), s.rocketd.header(e, got)))
	}
	if want.Code == r.Success { // other texts have the exchanges as their test
		parts = append(parts, unlike("body", s.apache.content(e, want), s.rocketd.content(e, got)))
	}
	return slices.DeleteFunc(parts, func(p string) bool { return p == "" })
}

// holdsMessages tells whether the code of an answer depends on what is in a topic.
func holdsMessages(e generated) bool {
	switch e.code {
	case r.PullMessage, r.PopMessage, r.PeekMessage, r.QueryMessage, r.QueryConsumerOffset, r.SearchOffsetByTimestamp:
		return true
	}
	return false
}

// header is that of an answer without what comes by chance or from other sequences.
func (m *memory) header(e generated, c *r.Command) string {
	kept := *c
	kept.Ext = slices.DeleteFunc(slices.Clone(c.Ext), func(f r.ExtField) bool {
		return f.Key == "reviveQid" || e.code == r.ChangeMessageInvisibletime || f.Key == "indexLastUpdatePhyoffset" || f.Key == "queueOffset" && !inTopic(e)
	})
	return m.extText(&kept)
}

// inTopic tells whether a sent message lies in the queue that the answer names, and not in a system topic which all sequences share.
func inTopic(e generated) bool {
	p := asked(e, "properties", "i")
	return asked(e, "sysFlag", "f") != "4" && !strings.Contains(p, "TIMER_") && !strings.Contains(strings.ReplaceAll(p, "DELAY\x010\x02", ""), "DELAY")
}

// content is a body as text; messages field by field.
func (m *memory) content(e generated, c *r.Command) string {
	switch e.code {
	case r.PullMessage, r.PopMessage, r.PeekMessage, r.ViewMessageByID, r.QueryMessage:
	case r.QueryTopicConsumeByWho: // some topics are every sequence's
		return ownGroups(m.bodyText(c), m.n)
	default:
		return m.bodyText(c)
	}
	var all []string
	for rest := c.Body; len(rest) > 0; {
		var rec message.Record
		size, err := message.DecodeRecord(rest, &rec, true)
		if err != nil {
			return fmt.Sprintf("%s and %v", strings.Join(all, "\n"), err)
		}
		rest = rest[size:]
		if message.IsSystemTopic(rec.Topic) { // all sequences share it
			rec.QueueOffset = 0
		}
		all = append(all, fmt.Sprintf("%s %d %d flag %d sys %d reconsumed %d body %.20q prepared %t %q", rec.Topic, rec.QueueID, rec.QueueOffset, rec.Flag, rec.SysFlag, rec.ReconsumeTimes, rec.Body,
			rec.PreparedTransactionOffset != 0, m.normal(sortedProperties(string(rec.Properties)))))
	}
	if e.code == r.QueryMessage {
		slices.Sort(all)
	}
	return strings.Join(all, "\n")
}

// ownGroups leaves of a list of groups those of sequence n.
func ownGroups(list string, n int) string {
	var own []string
	for name := range strings.FieldsFuncSeq(list, func(c rune) bool { return strings.ContainsRune(`{}[]":,`, c) }) {
		if strings.HasSuffix(name, fmt.Sprint("_", n)) {
			own = append(own, name)
		}
	}
	return strings.Join(own, " ")
}

func sortedProperties(p string) string {
	all := strings.Split(p, "\x02")
	slices.Sort(all)
	return strings.Join(all, " ")
}

// fill puts what the side gave out into a request; false when it has not given out such a thing.
func (m *memory) fill(e generated, pick int) (exchange, bool) {
	var pairs []string
	text := strings.Join(e.ext, "\x00")
	switch {
	case strings.Contains(text, "$log"):
		if len(m.log) == 0 {
			return exchange{}, false
		}
		pairs = []string{"$log", m.log[pick%len(m.log)]}
	case strings.Contains(text, "$half"):
		if len(m.halfs) == 0 {
			return exchange{}, false
		}
		h := m.halfs[pick%len(m.halfs)]
		pairs = []string{"$half.queue", h.queue, "$half.log", h.log, "$half.key", h.key}
	case strings.Contains(text, "$pop"):
		if len(m.pops) == 0 {
			return exchange{}, false
		}
		p := m.pops[pick%len(m.pops)]
		pairs = []string{"$pop.group", p.group, "$pop.topic", p.topic, "$pop.queue", p.queue, "$pop.handle", p.handle, "$pop.offset", p.offset}
	}
	filled := e.exchange
	filled.ext = strings.Split(strings.NewReplacer(pairs...).Replace(text), "\x00")
	if text == "" {
		filled.ext = nil
	}
	return filled, true
}

// call sends one request. The answer is nil when there is none and mayBeSilent is true.
func (m *memory) call(t *testing.T, e exchange, mayBeSilent bool) *r.Command {
	t.Helper()
	if !mayBeSilent {
		return m.ask(t, e)
	}
	resp, err := m.invoke(t.Context(), e, 5*time.Second)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	if err != nil {
		t.Fatalf("%s: %s %q: %v", m.c.Name, e.name, e.ext, err)
	}
	return resp
}

func asked(e generated, keys ...string) string {
	for _, kv := range e.ext {
		if k, v, _ := strings.Cut(kv, "="); slices.Contains(keys, k) {
			return v
		}
	}
	return ""
}

// awaitDispatch waits until a sent message can be read: Apache puts it into its queue behind the answer.
func (m *memory) awaitDispatch(t *testing.T, e generated, c *r.Command) {
	t.Helper()
	offset, err := strconv.ParseInt(field(c, "queueOffset"), 10, 64)
	if err != nil || !inTopic(e) || message.IsRetryTopic(asked(e, "topic", "b")) {
		return
	}
	for range 50 {
		answer := m.ask(t, exchange{name: "max offset", code: r.GetMaxOffset, ext: []string{"topic=" + asked(e, "topic", "b"), "queueId=" + field(c, "queueId")}})
		if at, err := strconv.ParseInt(field(answer, "offset"), 10, 64); err != nil || at > offset {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// note keeps what an answer gave out.
func (m *memory) note(e generated, c *r.Command) {
	switch e.code {
	case r.SendMessage, r.SendMessageV2:
		id, err := hex.DecodeString(field(c, "msgId"))
		if err != nil || len(id) != 16 {
			return
		}
		log := strconv.FormatUint(binary.BigEndian.Uint64(id[8:]), 10)
		if asked(e, "sysFlag", "f") == "4" {
			m.halfs = append(m.halfs, half{
				queue: field(c, "queueOffset"), log: log, key: field(c, "transactionId"), topic: asked(e, "topic", "b"), queueID: field(c, "queueId"),
			})
			return
		}
		m.log = append(m.log, log)
	case r.PopMessage:
		m.pops = append(m.pops, handles(e, c)...)
	}
}

// handles are those of popped messages, as a client makes them from the header.
func handles(e generated, c *r.Command) []popped {
	starts := map[string]string{}
	for part := range strings.SplitSeq(field(c, "startOffsetInfo"), ";") {
		if f := strings.Fields(part); len(f) == 3 {
			starts[f[0]+" "+f[1]] = f[2]
		}
	}
	var all []popped
	for part := range strings.SplitSeq(field(c, "msgOffsetInfo"), ";") {
		f := strings.Fields(part)
		if len(f) != 3 {
			continue
		}
		for offset := range strings.SplitSeq(f[2], ",") {
			all = append(all, popped{group: asked(e, "consumerGroup"), topic: asked(e, "topic"), queue: f[1], offset: offset, handle: strings.Join([]string{
				starts[f[0]+" "+f[1]], field(c, "popTime"), field(c, "invisibleTime"),
				field(c, "reviveQid"), f[0], "broker-a", f[1], offset,
			}, " ")})
		}
	}
	return all
}

// onPurpose says why the answers may differ, or nothing. Each reason stands in DIFFERENCES.md.
func (s *sequence) onPurpose(e generated, want, got *r.Command) string {
	group := asked(e, "consumerGroup", "group")
	switch {
	case e.spoiled != "" && got.Code == r.SystemError && strings.Contains(got.Remark, e.spoiled):
		return "missing and malformed fields are named"
	case e.spoiled != "" && want.Code != r.Success && got.Code != r.Success:
		return "which of two mistakes is named"
	case e.spoiled != "" && asked(e, e.spoiled) == "":
		return "a blank field counts as missing"
	case e.spoiled != "" && slices.Contains([]string{"consumerGroup", "group", "groupName"}, e.spoiled):
		return "groups of spoiled names are those of all sequences"
	case got.Code == r.SubscriptionParseFailed && asked(e, "expressionType") == "SQL92":
		return "an expression that is refused delivers nothing"
	case e.code == r.UpdateConsumerOffset && got.Code == r.InvalidParameter:
		return "offsets of queues that are not there, and negative ones, are refused"
	case e.code == r.ChangeMessageInvisibletime && got.Code == r.InvalidParameter && asked(e, "invisibleTime") == "-1":
		return "a negative invisible time is refused"
	case e.code == r.InvokeBrokerToResetOffset && got.Code == r.Success && want.Code == r.Success && asked(e, "offset") != "":
		return "a reset behind the end lands on the end"
	case e.code == r.EndTransaction && got.Code == 604:
		return "the first decision stands"
	case (e.code == r.AckMessage || e.code == r.ChangeMessageInvisibletime) && want.Code == r.Success && got.Code == 208:
		return "an old handle, and a change of what is acknowledged, are refused"
	case e.code == r.UpdateAndCreateTopic && want.Code != r.Success && got.Code != r.Success:
		return "which of two mistakes is named"
	case got.Code == r.SubscriptionGroupNotExist && (s.happened(`"groupName=`+group+`"`) || s.happened(`"consumerGroup=`+group+`"] ""`)):
		return "a deleted group, and one that unregistered alone, is not there"
	case strings.Contains(want.Remark, "wrong format key") && got.Code == r.Success:
		return "a retry topic that was made ordered, with attributes, stays usable"
	case e.code == r.GetConsumeStats && s.happened("delete topic"):
		return "what groups read of a deleted topic is forgotten"
	}
	return ""
}

// happened tells whether an earlier request of the sequence holds the text.
func (s *sequence) happened(text string) bool {
	return slices.ContainsFunc(s.history, func(h string) bool { return strings.Contains(h, text) })
}
