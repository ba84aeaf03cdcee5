package control_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/brokertest"
	"github.com/rocketd/rocketd/brokertest/control"
)

// api calls a served broker.
type api struct {
	t   *testing.T
	url string
	b   *brokertest.Broker
}

func serve(t *testing.T, options ...brokertest.Option) *api {
	t.Helper()
	b := brokertest.Start(t, options...)
	server := httptest.NewServer(control.New(b))
	t.Cleanup(server.Close)
	return &api{t: t, url: server.URL, b: b}
}

// call sends a request and decodes its answer into into, which may be nil.
func (a *api) call(want int, method, path, body string, into any) string {
	a.t.Helper()
	request, err := http.NewRequestWithContext(a.t.Context(), method, a.url+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		a.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	if answer.StatusCode != want {
		a.t.Fatalf("%s %s %s: %d %s, want %d", method, path, body, answer.StatusCode, text, want)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			a.t.Fatalf("%s %s: %v: %s", method, path, err, text)
		}
	}
	return string(text)
}

func TestStatusAndClock(t *testing.T) {
	a := serve(t, brokertest.WithFrozenClock(), brokertest.WithTime(time.UnixMilli(1_900_000_000_000).UTC()))
	var s control.Status
	a.call(200, "GET", "/v1/status", "", &s)
	if s.Namesrv != a.b.NamesrvAddr() || s.Broker != a.b.Addr() || s.Name != "broker-a" || !s.Running || !s.Frozen || s.NowMs != 1_900_000_000_000 {
		t.Errorf("status: %+v", s)
	}
	a.call(200, "POST", "/v1/clock", `{"advance":"1h30m"}`, &s)
	if s.NowMs != 1_900_005_400_000 {
		t.Errorf("advanced: %+v", s)
	}
	a.call(200, "POST", "/v1/clock", `{"advance":1500}`, &s)
	if s.NowMs != 1_900_005_401_500 {
		t.Errorf("advanced by ms: %+v", s)
	}
	a.call(200, "POST", "/v1/clock", `{"set":"2031-02-03T04:05:06Z"}`, &s)
	if s.Now.Format(time.RFC3339) != "2031-02-03T04:05:06Z" {
		t.Errorf("set: %+v", s)
	}
	a.call(200, "POST", "/v1/clock", `{"run":true}`, &s)
	if s.Frozen {
		t.Errorf("running: %+v", s)
	}
	a.call(400, "POST", "/v1/clock", `{"run":true,"freeze":true}`, nil)
	a.call(400, "POST", "/v1/clock", `{"advance":-1}`, nil)
	a.call(400, "POST", "/v1/clock", `{"advance":"soon"}`, nil)
	a.call(400, "POST", "/v1/clock", `{"forward":"1s"}`, nil)
}

func TestMessagesAndLooks(t *testing.T) {
	a := serve(t)
	a.call(200, "POST", "/v1/topics", `{"names":["x:1","y"]}`, nil)
	a.call(200, "POST", "/v1/groups", `{"names":["g:3"]}`, nil)
	a.call(400, "POST", "/v1/topics", `{"names":[]}`, nil)
	var sent control.Messages
	a.call(200, "POST", "/v1/messages", `{"messages":[{"topic":"x","body":"hello","tags":"t","keys":"k","properties":{"p":"v"}},
		{"topic":"x","bodyBase64":"/wA="},{"topic":"x","body":"later","delayLevel":3},{"topic":"y","queueId":2,"body":"z"}]}`, &sent)
	if len(sent.Messages) != 4 || sent.Messages[0].ID == "" || *sent.Messages[3].QueueID != 2 {
		t.Errorf("sent: %+v", sent)
	}
	var list control.Messages
	a.call(200, "GET", "/v1/messages?topic=x", "", &list)
	if len(list.Messages) != 2 || list.Messages[0].Body != "hello" || list.Messages[0].Properties["p"] != "v" || list.Messages[0].ID != sent.Messages[0].ID ||
		string(list.Messages[1].BodyBase64) != "\xff\x00" {
		t.Errorf("stored: %+v", list)
	}
	var p control.Pending
	a.call(200, "GET", "/v1/pending", "", &p)
	if len(p.Delayed) != 1 || p.Delayed[0].Body != "later" || p.Delayed[0].Topic != "x" || p.Delayed[0].Level != 3 {
		t.Errorf("pending: %+v", p)
	}
	a.call(200, "POST", "/v1/clock", `{"advance":"10s"}`, nil)
	var waited control.Waited
	a.call(200, "POST", "/v1/waits", `{"messages":{"topic":"x","count":3}}`, &waited)
	if len(waited.Messages) != 3 || waited.Messages[2].Body != "later" {
		t.Errorf("waited: %+v", waited)
	}
	var g control.Group
	a.call(200, "GET", "/v1/groups/g", "", &g)
	if g.Lag != -1 || len(g.Consumers) != 0 {
		t.Errorf("group: %+v", g)
	}
	a.call(400, "GET", "/v1/messages", "", nil)
	a.call(400, "POST", "/v1/messages", `{"messages":[{"body":"x"}]}`, nil)
	if text := a.call(200, "GET", "/v1/seen", "", nil); !strings.Contains(text, "topic x: 3 messages") {
		t.Errorf("seen: %s", text)
	}
}

func TestRules(t *testing.T) {
	a := serve(t, brokertest.WithTopics("x:1"))
	var made control.Rule
	a.call(200, "POST", "/v1/rules", `{"on":["SEND_MESSAGE","310"],"match":{"topic":"x","nth":2},"then":{"do":"fail","code":"SYSTEM_BUSY","remark":"no","delay":"1s"}}`, &made)
	if made.ID != 1 || made.What != "every request, topic x, number 2, codes" || made.Then.Delay != control.Duration(time.Second) {
		t.Errorf("made: %+v", made)
	}
	for _, fault := range []string{`busy`, `loseSendAnswers`, `breakSendAnswers`, `namesrvAway`, `staleRoute`, `noRoute`, `flapConsumers`} {
		a.call(200, "POST", "/v1/rules", `{"fault":"`+fault+`","match":{"topic":"x","group":"g"}}`, nil)
	}
	for _, do := range []string{"answer", "drop", "close", "closeMidFrame", "dropAnswer", "delayAnswer", "cutAnswer", "failAnswer"} {
		a.call(200, "POST", "/v1/rules", `{"on":["every"],"match":{"client":"c","server":"broker"},"then":{"do":"`+do+`","fields":{"a":"b"},"body":"x","bytes":3}}`, nil)
	}
	var rules control.Rules
	a.call(200, "GET", "/v1/rules", "", &rules)
	if len(rules.Rules) != 16 {
		t.Errorf("%d rules, want 16", len(rules.Rules))
	}
	a.call(200, "DELETE", "/v1/rules/3", "", nil)
	a.call(404, "GET", "/v1/rules/3", "", nil)
	a.call(404, "DELETE", "/v1/rules/x", "", nil)
	a.call(200, "GET", "/v1/rules/1", "", &made)
	a.call(200, "DELETE", "/v1/rules", "", nil)
	a.call(200, "GET", "/v1/rules", "", &rules)
	if len(rules.Rules) != 0 {
		t.Errorf("left: %+v", rules)
	}
	for _, wrong := range []string{
		`{}`, `{"on":["send"]}`, `{"on":["send"],"then":{}}`, `{"on":["SENT"],"then":{"do":"drop"}}`, `{"on":["send"],"then":{"do":"burn"}}`,
		`{"on":["send"],"fault":"busy"}`, `{"fault":"bored"}`, `{"fault":"staleRoute"}`, `{"on":["send"],"then":{"do":"fail","code":"BUSY"}}`,
		`{"on":["send"],"then":{"do":"drop"},"match":{"nth":1,"first":1}}`, `{"on":["send"],"then":{"do":"drop"},"match":{"server":"proxy"}}`,
		`{"on":["send"],"then":{"do":"drop"},"match":{"nth":-1}}`, `{"on":["send"],"then":{"do":"cutAnswer","bytes":-1}}`, `[`, `{} {}`,
	} {
		if text := a.call(400, "POST", "/v1/rules", wrong, nil); !strings.Contains(text, `"error":"`) {
			t.Errorf("%s: %s", wrong, text)
		}
	}
}

func TestActionsAndWaits(t *testing.T) {
	a := serve(t, brokertest.WithTopics("x:1"), brokertest.WithMessages(brokertest.Message{Topic: "x", Body: []byte("seed")}))
	var s control.Status
	for _, do := range []string{
		"stop", "resume", "restart", "kill", "resume", "powerLoss", "resume", "stopNamesrv", "resumeNamesrv", "failFlush", "failWrites",
		"fillDisk", "slowDisk", "healDisk", "heal", "expireLocks", "notifyConsumers", "closeClient",
	} {
		a.call(200, "POST", "/v1/actions", `{"do":"`+do+`","group":"g","client":"c","delay":"1s"}`, nil)
	}
	a.call(200, "POST", "/v1/actions", `{"do":"kill"}`, nil)
	a.call(409, "POST", "/v1/actions", `{"do":"kill"}`, nil)
	a.call(409, "GET", "/v1/messages?topic=x", "", nil)
	a.call(200, "GET", "/v1/status", "", &s)
	if s.Running {
		t.Error("runs after a kill")
	}
	a.call(200, "POST", "/v1/actions", `{"do":"reset"}`, nil)
	a.call(200, "POST", "/v1/actions", `{"do":"advertise","address":"localhost:32768"}`, nil)
	a.call(200, "GET", "/v1/status", "", &s)
	if !s.Running || s.Broker != "localhost:32768" {
		t.Errorf("advertised: %+v", s)
	}
	a.call(400, "POST", "/v1/actions", `{"do":"explode"}`, nil)
	a.call(400, "POST", "/v1/actions", `{"do":"slowDisk","delay":-1}`, nil)

	a.call(200, "POST", "/v1/rules", `{"fault":"busy"}`, nil)
	for condition, names := range map[string]string{
		`"members":{"group":"g","count":1}`:                       "group g to have 1 members",
		`"producers":{"group":"g","count":1}`:                     "producer group g to have 1 connections",
		`"lag":{"group":"g","count":0}`:                           "group g to have a lag of 0",
		`"messages":{"topic":"x","count":2}`:                      "topic x to have 2 messages, it has 1",
		`"delayed":{"count":1}`:                                   "1 delayed messages, there are 0",
		`"undecided":{"count":1}`:                                 "1 undecided transactions, there are 0",
		`"rule":{"id":1,"count":1}`:                               "1 hits of the rule on SEND_MESSAGE",
		`"exchange":{"code":"POP_MESSAGE","match":{"topic":"x"}}`: "an exchange",
	} {
		var failed control.Error
		a.call(409, "POST", "/v1/waits", `{"timeout":20,`+condition+`}`, &failed)
		if !strings.Contains(failed.Error, names) || !strings.Contains(failed.Seen, "topic x: 1 messages") {
			t.Errorf("%s: %+v", condition, failed)
		}
	}
	a.call(200, "POST", "/v1/waits", `{"undecided":{"count":0}}`, nil)
	a.call(404, "POST", "/v1/waits", `{"rule":{"id":99,"count":1}}`, nil)
	a.call(400, "POST", "/v1/waits", `{}`, nil)
	a.call(400, "POST", "/v1/waits", `{"timeout":"1h","delayed":{"count":0}}`, nil)
	a.call(400, "POST", "/v1/waits", `{"delayed":{"count":0},"undecided":{"count":0}}`, nil)
}

func TestJournal(t *testing.T) {
	a := serve(t, brokertest.WithTopics("x:1"))
	var j control.Journal
	a.call(200, "GET", "/v1/journal", "", &j)
	if len(j.Exchanges) != 0 {
		t.Errorf("journal: %+v", j)
	}
	a.call(400, "GET", "/v1/journal?code=NONE", "", nil)
	a.call(400, "GET", "/v1/journal?last=-1", "", nil)
	a.call(400, "GET", "/v1/journal?server=proxy", "", nil)
	a.call(200, "DELETE", "/v1/journal", "", nil)
	if text := a.call(200, "GET", "/openapi.yaml", "", nil); !strings.HasPrefix(text, "openapi: 3") {
		t.Errorf("openapi: %.40s", text)
	}
	a.call(404, "GET", "/openapi.yaml/x", "", nil)
}
