package control

import (
	"net/http"
	"time"
)

// Status is the answer of GET /v1/status and POST /v1/clock.
type Status struct {
	Namesrv string    `json:"namesrv"` // HOST:PORT for clients
	Broker  string    `json:"broker"`  // HOST:PORT that clients are told
	Name    string    `json:"name"`    // of the broker, in routes
	Running bool      `json:"running"` // the broker; false after stop, kill and powerLoss
	Now     time.Time `json:"now"`     // on the broker's clock
	NowMs   int64     `json:"nowMs"`   // the same in ms since the epoch
	Frozen  bool      `json:"frozen"`
}

func (s *Server) status(*http.Request) (any, error) {
	b := s.broker
	now := b.Clock.Now()
	return Status{
		Namesrv: b.NamesrvAddr(), Broker: b.Addr(), Name: b.Name(), Running: b.Inside() != nil,
		Now: now, NowMs: now.UnixMilli(), Frozen: b.Clock.Frozen(),
	}, nil
}

// Seen is the answer of GET /v1/seen.
type Seen struct {
	Seen string `json:"seen"`
}

func (s *Server) seen(*http.Request) (any, error) { return Seen{s.broker.Seen()}, nil }

// ClockMove is the body of POST /v1/clock. Several members are carried out in their order here.
type ClockMove struct {
	Freeze  bool       `json:"freeze"`
	Set     *time.Time `json:"set"`
	Advance Duration   `json:"advance"`
	Run     bool       `json:"run"`
}

func (s *Server) moveClock(r *http.Request) (any, error) {
	var move ClockMove
	if err := read(r, &move); err != nil {
		return nil, err
	}
	c := s.broker.Clock
	switch {
	case move.Freeze && move.Run:
		return nil, bad("freeze and run exclude each other")
	case move.Advance < 0:
		return nil, bad("advance is negative: set goes back")
	}
	if move.Freeze {
		c.Freeze()
	}
	if move.Set != nil {
		c.Set(*move.Set)
	}
	c.Advance(time.Duration(move.Advance))
	if move.Run {
		c.Run()
	}
	return s.status(r)
}

// Names is the body of POST /v1/topics and POST /v1/groups.
type Names struct {
	// Names are NAME[:NUMBER][,FIELD=VALUE...], as in the configuration keys topics and groups.
	Names []string `json:"names"`
}

func (s *Server) createTopics(r *http.Request) (any, error) { return create(r, s.broker.CreateTopics) }

func (s *Server) createGroups(r *http.Request) (any, error) { return create(r, s.broker.CreateGroups) }

func create(r *http.Request, made func(...string) error) (any, error) {
	var body Names
	if err := read(r, &body); err != nil {
		return nil, err
	}
	if len(body.Names) == 0 {
		return nil, bad("names is empty")
	}
	return Done{true}, made(body.Names...)
}
