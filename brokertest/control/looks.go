package control

import (
	"net/http"
	"time"

	"github.com/rocketd/rocketd/broker"
	"github.com/rocketd/rocketd/brokertest"
)

// Member is a connection of a group.
type Member struct {
	ClientID string `json:"clientId"`
	Address  string `json:"address"`
	Language string `json:"language"`
}

// Offset is how far a group is in one queue.
type Offset struct {
	Topic     string `json:"topic"`
	QueueID   int32  `json:"queueId"`
	Committed int64  `json:"committed"` // -1: none
	Min       int64  `json:"min"`
	Max       int64  `json:"max"`
	Lag       int64  `json:"lag"`
}

// Group is the answer of GET /v1/groups/{group}.
type Group struct {
	Group     string   `json:"group"`
	Consumers []Member `json:"consumers"`
	Producers []Member `json:"producers"`
	Offsets   []Offset `json:"offsets"`
	Lag       int64    `json:"lag"` // -1: the group is unknown
	Locks     []Lock   `json:"locks"`
}

// Lock is a queue that a consumer which consumes in order has locked.
type Lock struct {
	Topic    string `json:"topic"`
	QueueID  int32  `json:"queueId"`
	ClientID string `json:"clientId"`
}

func members(list []broker.Member) []Member {
	out := make([]Member, len(list))
	for i, m := range list {
		out[i] = Member{ClientID: m.ClientID, Address: m.RemoteAddr.String(), Language: m.Language.String()}
	}
	return out
}

func (s *Server) group(r *http.Request) (any, error) {
	inside := s.broker.Inside()
	if inside == nil {
		return nil, brokertest.ErrStopped
	}
	name := r.PathValue("group")
	offsets, err := s.broker.Offsets(name)
	if err != nil {
		return nil, err
	}
	lag, err := s.broker.Lag(name)
	if err != nil {
		return nil, err
	}
	out := Group{
		Group: name, Consumers: members(inside.Consumers(name)), Producers: members(inside.Producers(name)),
		Offsets: make([]Offset, len(offsets)), Lag: lag, Locks: []Lock{},
	}
	for i, o := range offsets {
		out.Offsets[i] = Offset{Topic: o.Topic, QueueID: o.QueueID, Committed: o.Committed, Min: o.Min, Max: o.Max, Lag: o.Lag()}
	}
	for _, l := range inside.QueueLocks(name) {
		out.Locks = append(out.Locks, Lock{Topic: l.Topic, QueueID: l.QueueID, ClientID: l.ClientID})
	}
	return out, nil
}

// Pending is the answer of GET /v1/pending.
type Pending struct {
	Delayed      []Message     `json:"delayed"`
	Timers       int64         `json:"timers"`              // messages with a time of delivery
	NextTimer    *time.Time    `json:"nextTimer,omitempty"` // about when the next of them is due
	Transactions []Transaction `json:"transactions"`        // neither committed nor rolled back
	HeldPulls    int64         `json:"heldPulls"`
}

// Transaction is a half message.
type Transaction struct {
	Topic     string    `json:"topic"`
	Group     string    `json:"group"`
	ID        string    `json:"id"`
	Checks    int32     `json:"checks"`
	NextCheck time.Time `json:"nextCheck"`
}

func (s *Server) pending(r *http.Request) (any, error) {
	p, err := s.broker.Pending(r.Context())
	if err != nil {
		return nil, err
	}
	delayed, err := s.broker.Delayed()
	if err != nil {
		return nil, err
	}
	out := Pending{Delayed: shownDelayed(delayed), Timers: p.Timers.Total + p.Timers.Behind, Transactions: []Transaction{}, HeldPulls: p.HeldPulls}
	if p.Timers.NextDue > 0 {
		at := time.UnixMilli(p.Timers.NextDue)
		out.NextTimer = &at
	}
	for _, t := range p.Transactions {
		out.Transactions = append(out.Transactions, Transaction{
			Topic: t.Topic, Group: t.ProducerGroup, ID: t.UniqueKey, Checks: t.Checks, NextCheck: time.UnixMilli(t.DueMs),
		})
	}
	return out, nil
}

// Exchange is one request and what became of it.
type Exchange struct {
	Seq       int64             `json:"seq"`
	At        time.Time         `json:"at"`
	Server    string            `json:"server"`
	ByServer  bool              `json:"byServer,omitempty"`
	Conn      uint64            `json:"conn"`
	Remote    string            `json:"remote"`
	ClientID  string            `json:"clientId,omitempty"`
	Language  string            `json:"language"`
	Version   string            `json:"version"`
	Code      int32             `json:"code"`
	Name      string            `json:"name"`
	Oneway    bool              `json:"oneway,omitempty"`
	Topic     string            `json:"topic,omitempty"`
	Groups    []string          `json:"groups,omitempty"`
	Fields    map[string]string `json:"fields,omitempty"`
	BodyBytes int               `json:"bodyBytes"`
	Fault     string            `json:"fault,omitempty"`
	Answer    *Answer           `json:"answer,omitempty"`
}

// Answer is what an exchange was answered, whether or not a rule let it through.
type Answer struct {
	Code      int32    `json:"code"`
	Name      string   `json:"name"`
	Remark    string   `json:"remark,omitempty"`
	BodyBytes int      `json:"bodyBytes"`
	Took      Duration `json:"took"`
}

// Journal is the answer of GET /v1/journal.
type Journal struct {
	Exchanges []Exchange `json:"exchanges"`
}

func shownExchange(e brokertest.Exchange) Exchange {
	out := Exchange{
		Seq: e.Seq, At: e.At, Server: e.Server.String(), ByServer: e.ByServer, Conn: e.Conn, Remote: e.Remote.String(), ClientID: e.ClientID,
		Language: e.Language, Version: e.Version, Code: e.Code, Name: e.Name, Oneway: e.Oneway, Topic: e.Topic, Groups: e.Groups,
		Fields: map[string]string{}, BodyBytes: e.BodyBytes, Fault: e.Fault,
	}
	for _, f := range e.Fields {
		out.Fields[f.Key] = f.Value
	}
	if e.Answered {
		out.Answer = &Answer{Code: e.AnswerCode, Name: e.AnswerName, Remark: e.Remark, BodyBytes: e.AnswerBytes, Took: Duration(e.Took)}
	}
	return out
}

func (s *Server) journal(r *http.Request) (any, error) {
	last, err := number(r, "last", 0)
	if err != nil {
		return nil, err
	}
	m := Match{Topic: r.FormValue("topic"), Group: r.FormValue("group"), Client: r.FormValue("client"), Server: r.FormValue("server")}
	matches, err := m.matches()
	if err != nil {
		return nil, err
	}
	if name := r.FormValue("code"); name != "" {
		codes, err := requestCodes(name)
		if err != nil {
			return nil, err
		}
		matches = append(matches, brokertest.ForCode(codes...))
	}
	list := s.broker.Journal(matches...)
	if last > 0 && len(list) > last {
		list = list[len(list)-last:]
	}
	out := Journal{Exchanges: make([]Exchange, len(list))}
	for i, e := range list {
		out.Exchanges[i] = shownExchange(e)
	}
	return out, nil
}

func (s *Server) clearJournal(*http.Request) (any, error) {
	s.broker.ClearJournal()
	return Done{true}, nil
}
