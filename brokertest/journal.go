package brokertest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rocketd/rocketd/remoting"
)

// maxJournal bounds WithJournal.
const maxJournal = 1_000_000

// Exchange is one request and what became of it.
type Exchange struct {
	Request
	Seq       int64     // number of the exchange, from 1
	At        time.Time // on the broker's clock
	BodyBytes int
	// Fault is what a rule did to it, "" when nothing.
	Fault string
	// Answered: an answer was made, whether or not a rule let it through. The fields below are its.
	Answered     bool
	AnswerCode   int32
	AnswerName   string // of AnswerCode
	Remark       string
	AnswerFields []remoting.ExtField // those that are not of a header class
	AnswerBytes  int                 // of the body
	Took         time.Duration       // on the broker's clock
}

// String is one line about the exchange.
func (e Exchange) String() string {
	var s strings.Builder
	arrow := "→"
	if e.ByServer {
		arrow = "←"
	}
	fmt.Fprintf(&s, "%d %s %s %s %s", e.Seq, e.At.Format("15:04:05.000"), e.Remote, arrow, e.Server)
	if e.ClientID != "" {
		fmt.Fprintf(&s, " client=%s", e.ClientID)
	}
	fmt.Fprintf(&s, " %s", e.Name)
	if e.Topic != "" {
		fmt.Fprintf(&s, " topic=%s", e.Topic)
	}
	if len(e.Groups) > 0 {
		fmt.Fprintf(&s, " group=%s", strings.Join(e.Groups, ","))
	}
	if e.Fault != "" {
		fmt.Fprintf(&s, " [%s]", e.Fault)
	}
	switch {
	case e.Answered:
		fmt.Fprintf(&s, " = %s", e.AnswerName)
		if e.Remark != "" {
			fmt.Fprintf(&s, " %q", e.Remark)
		}
	case e.Oneway:
		s.WriteString(" (one-way)")
	default:
		s.WriteString(" (no answer yet)")
	}
	return s.String()
}

// journal keeps the last exchanges in a ring.
type journal struct {
	mu    sync.Mutex
	limit int
	ring  []*Exchange // guarded by mu
	next  int         // where the next one goes once the ring is full; guarded by mu
	seq   int64       // of the last one; guarded by mu
}

func newJournal(limit int) *journal { return &journal{limit: limit} }

// begin takes a request up. The exchange belongs to the journal.
func (j *journal) begin(r *Request, fault string, now time.Time) *Exchange {
	e := &Exchange{Request: *r, At: now, BodyBytes: len(r.Body), Fault: fault}
	e.Body, e.cmd, e.N = nil, nil, 0
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seq++
	e.Seq = j.seq
	switch {
	case j.limit == 0:
	case len(j.ring) < j.limit:
		j.ring = append(j.ring, e)
	default:
		j.ring[j.next] = e
		j.next = (j.next + 1) % j.limit
	}
	return e
}

// answered notes the answer of an exchange.
func (j *journal) answered(e *Exchange, cmd *remoting.Command, now time.Time) {
	size := len(cmd.Body)
	for _, part := range cmd.BodyParts {
		size += len(part)
	}
	fields, remark := cloneFields(cmd.Ext), strings.Clone(cmd.Remark)
	j.mu.Lock()
	defer j.mu.Unlock()
	e.Answered, e.AnswerCode, e.AnswerName = true, cmd.Code, remoting.ResponseName(cmd.Code)
	e.Remark, e.AnswerFields, e.AnswerBytes, e.Took = remark, fields, size, now.Sub(e.At)
}

// all copies what is kept, oldest first.
func (j *journal) all() []Exchange {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := make([]Exchange, 0, len(j.ring))
	for i := range j.ring {
		out = append(out, *j.ring[(j.next+i)%len(j.ring)])
	}
	return out
}

// clear forgets what is kept; the numbers go on.
func (j *journal) clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ring, j.next = nil, 0
}

// Journal gives the last exchanges, oldest first, of those requests that all matches want. Nth, First and After count among them.
func (b *Broker) Journal(matches ...Match) []Exchange {
	filter := &Rule{from: 1}
	for _, match := range matches {
		match(filter)
	}
	n := int64(0)
	return slices.DeleteFunc(b.journal.all(), func(e Exchange) bool {
		for _, want := range filter.filters {
			if !want(&e.Request) {
				return true
			}
		}
		n++
		return n < filter.from || filter.to > 0 && n > filter.to
	})
}

// ForCode takes the requests with one of these codes: for Journal, and for OnEvery.
func ForCode(codes ...int32) Match {
	return where("codes", func(r *Request) bool { return slices.Contains(codes, r.Code) })
}

// ClearJournal forgets the exchanges so far.
func (b *Broker) ClearJournal() { b.journal.clear() }
