package control

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/rocketd/rocketd/brokertest"
)

//go:embed openapi.yaml
var openAPI []byte

// Bounds.
const (
	maxBody        = 16 << 20
	maxRules       = 1000
	defaultTimeout = 10 * time.Second
	maxTimeout     = 10 * time.Minute
)

// Server serves one broker. It is an http.Handler and safe for concurrent use.
type Server struct {
	broker *brokertest.Broker
	mux    *http.ServeMux

	mu    sync.Mutex
	rules map[int]*rule // guarded by mu
	next  int           // id of the next rule; guarded by mu
}

// route is one row of the table.
type route struct {
	pattern string // METHOD /path
	handle  func(*http.Request) (any, error)
}

// New serves b.
func New(b *brokertest.Broker) *Server {
	s := &Server{broker: b, mux: http.NewServeMux(), rules: map[int]*rule{}, next: 1}
	for _, r := range s.routes() {
		s.mux.HandleFunc(r.pattern, func(w http.ResponseWriter, req *http.Request) { serve(w, req, r.handle) })
	}
	s.mux.HandleFunc("GET /openapi.yaml", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		_, _ = w.Write(openAPI) // the client is gone
	})
	return s
}

// ServeHTTP serves one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

func (s *Server) routes() []route {
	return []route{
		{"GET /v1/status", s.status},
		{"GET /v1/seen", s.seen},
		{"POST /v1/clock", s.moveClock},
		{"POST /v1/topics", s.createTopics},
		{"POST /v1/groups", s.createGroups},
		{"POST /v1/messages", s.sendMessages},
		{"GET /v1/messages", s.messages},
		{"GET /v1/groups/{group}", s.group},
		{"GET /v1/pending", s.pending},
		{"GET /v1/journal", s.journal},
		{"DELETE /v1/journal", s.clearJournal},
		{"POST /v1/rules", s.addRule},
		{"GET /v1/rules", s.listRules},
		{"DELETE /v1/rules", s.clearRules},
		{"GET /v1/rules/{id}", s.oneRule},
		{"DELETE /v1/rules/{id}", s.removeRule},
		{"POST /v1/actions", s.act},
		{"POST /v1/waits", s.wait},
	}
}

// Error is the body of an answer that is not 200.
type Error struct {
	Error string `json:"error"`
	// Seen is what there was instead, of a wait that has ended in vain.
	Seen string `json:"seen,omitempty"`
}

// failure is an error with its HTTP status.
type failure struct {
	status int
	err    error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func bad(format string, args ...any) error {
	return &failure{http.StatusBadRequest, fmt.Errorf(format, args...)}
}

func serve(w http.ResponseWriter, r *http.Request, handle func(*http.Request) (any, error)) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	out, err := handle(r)
	status := http.StatusOK
	if err != nil {
		status = http.StatusConflict
		var f *failure
		if errors.As(err, &f) {
			status = f.status
		}
		answer := Error{Error: err.Error()}
		var waited *brokertest.WaitError
		if errors.As(err, &waited) {
			answer = Error{Error: "waited in vain for " + waited.What, Seen: waited.Seen}
		}
		out = answer
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(out) // the client is gone
}

// read decodes a request's body; without one, into is left alone.
func read(r *http.Request, into any) error {
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return bad("the body is not what it should be: %w", err)
	case decoder.More():
		return bad("there is more than one value in the body")
	}
	return nil
}

// Done is the answer of what has nothing to tell.
type Done struct {
	Done bool `json:"done"`
}

// Duration is a length of time: text such as "1h30m" or "250ms", or a number of milliseconds.
type Duration time.Duration

// UnmarshalJSON reads either form.
func (d *Duration) UnmarshalJSON(text []byte) error {
	var ms int64
	if json.Unmarshal(text, &ms) == nil {
		*d = Duration(time.Duration(ms) * time.Millisecond)
		return nil
	}
	var word string
	if err := json.Unmarshal(text, &word); err != nil {
		return fmt.Errorf("%s is neither a number of milliseconds nor text", text)
	}
	parsed, err := time.ParseDuration(word)
	if err != nil {
		return err
	}
	*d = Duration(parsed)
	return nil
}

// MarshalJSON writes text.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }
