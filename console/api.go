package console

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/store"
)

// Bounds of answers.
const (
	maxNames    = 1000
	maxMessages = 200
)

// apiError is the body of every answer that is not a success.
type apiError struct {
	Error string `json:"error"`
}

// problem is an error with the status that tells of it.
type problem struct {
	status int
	text   string
}

func (p *problem) Error() string { return p.text }

func bad(text string) error     { return &problem{http.StatusBadRequest, text} }
func missing(text string) error { return &problem{http.StatusNotFound, text} }

// api lists the requests of the API. All but the last need a broker.
func (c *Console) api() map[string]http.Handler {
	return map[string]http.Handler{
		"GET /api/v1/overview":             answer(c, c.overview),
		"GET /api/v1/rates":                answer(c, c.rates),
		"GET /api/v1/topics":               answer(c, c.topics),
		"GET /api/v1/topics/{topic}":       answer(c, c.topic),
		"GET /api/v1/groups":               answer(c, c.groups),
		"GET /api/v1/groups/{group}":       answer(c, c.group),
		"GET /api/v1/messages":             answer(c, c.messages),
		"POST /api/v1/messages":            answer(c, c.send),
		"GET /api/v1/timers":               answer(c, c.timers),
		"GET /api/v1/timers/pending":       answer(c, c.pendingTimers),
		"GET /api/v1/transactions":         answer(c, c.transactions),
		"GET /api/v1/dead-letters":         answer(c, c.deadLetters),
		"POST /api/v1/dead-letters/resend": answer(c, c.resend),
		"GET /api/v1/clients":              answer(c, c.clients),
		"GET /api/v1/config":               answer(c, c.config),
		"GET /api/v1/warnings":             answer(c, c.warnings),
		"GET /api/v1/brokers":              answer(c, c.brokers),
	}
}

// answer makes a handler of a function that returns what is sent as JSON.
func answer[T any](c *Console, fn func(r *http.Request) (T, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.o.Broker == nil && r.URL.Path != "/api/v1/brokers" && r.URL.Path != "/api/v1/config" && r.URL.Path != "/api/v1/warnings" {
			fail(w, http.StatusNotFound, "this process has no broker")
			return
		}
		v, err := fn(r)
		if err != nil {
			status, text := describe(err)
			fail(w, status, text)
			return
		}
		reply(w, http.StatusOK, v)
	})
}

// describe turns an error into a status and a sentence.
func describe(err error) (status int, text string) {
	var p *problem
	var refused *remoting.Error
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &p):
		return p.status, p.text
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge, "the request has more than " + strconv.Itoa(maxRequestBody) + " bytes"
	case errors.As(err, &refused):
		status = http.StatusConflict
		if refused.Code == remoting.TopicNotExist || refused.Code == remoting.SubscriptionGroupNotExist || refused.Code == remoting.QueryNotFound {
			status = http.StatusNotFound
		}
		return status, remoting.ResponseName(refused.Code) + ": " + refused.Remark
	case errors.Is(err, store.ErrNotFound):
		return http.StatusNotFound, err.Error()
	}
	return http.StatusInternalServerError, err.Error()
}

func fail(w http.ResponseWriter, status int, text string) { reply(w, status, apiError{text}) }

func reply[T any](w http.ResponseWriter, status int, v T) {
	data, err := json.Marshal(v)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be encoded"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // whoever asked is gone
}

// decode reads a request's JSON.
func decode[T any](r *http.Request) (v T, err error) {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return v, err
		}
		return v, bad("the body is not the JSON that is wanted: " + err.Error())
	}
	return v, nil
}

// number reads a query parameter, def when absent.
func number(r *http.Request, name string, def, least, most int64) (int64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return def, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		return 0, bad("parameter " + name + " is " + quoted(text) + ", not a whole number from " + strconv.FormatInt(least, 10) + " to " + strconv.FormatInt(most, 10))
	}
	return n, nil
}

// choose cuts a sorted list of names down to those that contain the parameter q, at most 1000 of them. total counts all that match.
func choose(r *http.Request, names []string) (chosen []string, total int) {
	q := strings.ToLower(r.URL.Query().Get("q"))
	for _, name := range names {
		if q == "" || strings.Contains(strings.ToLower(name), q) {
			if total++; total <= maxNames {
				chosen = append(chosen, name)
			}
		}
	}
	return chosen, total
}

// quoted is a value for an error: in quotes and not too long.
func quoted(s string) string {
	const most = 100
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strconv.Quote(s)
}
