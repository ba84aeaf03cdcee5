package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"go.uber.org/goleak"
	"gopkg.in/yaml.v3"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/console"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/internal/view"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/standalone"
	"github.com/rocketd/rocketd/standalone/standalonetest"
)

// gnet keeps a pool of its own from the start of the process; it is there before any test.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) }

// site is a started process and a browser of sorts.
type site struct {
	*testing.T
	s      *standalone.Standalone
	base   string
	log    *logrus.Logger
	client *http.Client
}

func open(t *testing.T, role conf.Role, sets ...string) *site {
	t.Helper()
	x := &site{T: t, log: logrus.New(), client: &http.Client{Transport: &http.Transport{}}}
	x.log.SetOutput(io.Discard)
	x.s = standalonetest.Start(t, standalone.Options{Role: role, Console: true, Version: "v1", Log: logrus.NewEntry(x.log), FS: vfs.NewMem()},
		append([]string{"brokerName=tester", "topics=orders:2;audit:1", "groups=billing:3"}, sets...)...)
	x.base = "http://" + x.s.HTTPAddr()
	t.Cleanup(x.client.CloseIdleConnections)
	return x
}

// do sends a request and returns status and body.
func (x *site) do(method, path, body string, headers ...string) (int, string) {
	x.Helper()
	req, err := http.NewRequestWithContext(x.Context(), method, x.base+path, strings.NewReader(body))
	if err != nil {
		x.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := x.client.Do(req)
	if err != nil {
		x.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		x.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

func get[T any](x *site, path string) (v T) {
	x.Helper()
	status, body := x.do("GET", "/api/v1/"+path, "")
	if status != http.StatusOK {
		x.Fatalf("GET %s: %d %s", path, status, body)
	}
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		x.Fatal(err)
	}
	return v
}

func post[T any](x *site, path, body string) (v T) {
	x.Helper()
	status, answer := x.do("POST", "/api/v1/"+path, body, "X-Rocketd-Console", "1")
	if status != http.StatusOK {
		x.Fatalf("POST %s: %d %s", path, status, answer)
	}
	if err := json.Unmarshal([]byte(answer), &v); err != nil {
		x.Fatal(err)
	}
	return v
}

// eventually waits for what comes by itself: indexing, enqueueing.
func (x *site) eventually(what string, ok func() bool) {
	x.Helper()
	for range 400 {
		if ok() {
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	x.Fatalf("%s: not within 10 s", what)
}

// A message that is sent is found by id, unique key, key, offset and time, with its body told apart.
func TestMessages(t *testing.T) {
	x := open(t, conf.RoleAll)
	before := time.Now().UnixMilli()
	sent := post[console.SendAnswer](x, "messages", `{"topic":"orders","tags":"tea","keys":["k1","k2"],"body":"{\"a\":1}","properties":{"colour":"red"},"queue":1,"shardingKey":"s"}`)
	post[console.SendAnswer](x, "messages", `{"topic":"orders","bodyBase64":"AAECAw==","queue":1}`)
	post[console.SendAnswer](x, "messages", `{"topic":"orders","body":"grüße","queue":0}`)
	if sent.Queue != 1 || sent.Offset != 0 || sent.UniqueKey == "" {
		t.Errorf("sent: %+v", sent)
	}
	one := func(path string) console.Message {
		t.Helper()
		var found console.MessagesAnswer
		x.eventually(path, func() bool {
			status, body := x.do("GET", "/api/v1/"+path, "")
			return status == http.StatusOK && json.Unmarshal([]byte(body), &found) == nil && len(found.Messages) == 1
		})
		return found.Messages[0]
	}
	for _, path := range []string{"messages?id=" + sent.ID, "messages?id=" + sent.UniqueKey, "messages?topic=orders&key=k2", "messages?topic=orders&queue=1&offset=0&count=1"} {
		m := one(path)
		if m.ID != sent.ID || m.Tags != "tea" || m.Keys != "k1 k2" || m.Properties["colour"] != "red" || m.Type != "FIFO" || m.Body.Format != "json" || m.Body.Bytes != 7 {
			t.Errorf("%s: %+v", path, m)
		}
	}
	hexed := one("messages?topic=orders&queue=1&offset=1")
	if hexed.Body.Format != "hex" || !strings.HasPrefix(hexed.Body.Text, "00000000  00 01 02 03") {
		t.Errorf("binary body: %+v", hexed.Body)
	}
	newest := get[console.MessagesAnswer](x, "messages?topic=orders&count=1")
	if len(newest.Messages) != 1 || newest.Messages[0].Body.Text != "grüße" {
		t.Errorf("newest: %+v", newest)
	}
	for from, want := range map[int64]int{before: 3, time.Now().UnixMilli() + 60_000: 0} {
		if found := get[console.MessagesAnswer](x, "messages?topic=orders&from="+itoa(from)); len(found.Messages) != want || found.By != "time" {
			t.Errorf("stored from %d: %d messages by %s, want %d", from, len(found.Messages), found.By, want)
		}
	}
	topics := get[console.TopicsAnswer](x, "topics?kind=normal&q=ord")
	if topics.Total != 1 || topics.Topics[0].Messages != 3 {
		t.Errorf("topics: %+v", topics)
	}
	if topic := get[console.TopicAnswer](x, "topics/orders"); len(topic.Queues) != 2 || topic.Queues[1].Max != 2 {
		t.Errorf("topic: %+v", topic)
	}
}

func itoa(n int64) string { return string(json.RawMessage(mustJSON(n))) }

func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// Timers and delays show when they fall due, by topic.
func TestTimers(t *testing.T) {
	x := open(t, conf.RoleAll)
	begun := time.Now().UnixMilli()
	timed := post[console.SendAnswer](x, "messages", `{"topic":"orders","body":"x","delayMs":3600000}`)
	post[console.SendAnswer](x, "messages", `{"topic":"audit","body":"x","delayLevel":5}`)
	if timed.RecallHandle == "" {
		t.Error("a timed message has no recall handle")
	}
	var got console.TimersAnswer
	x.eventually("the timer is in the wheel", func() bool {
		got = get[console.TimersAnswer](x, "timers?bucket=hour")
		return got.Timers == 1 && got.Delays == 1
	})
	if due := got.NextDueMs - begun; due < 60_000 || due > 70_000 {
		t.Errorf("next due in %d ms, want about 60000", due)
	}
	var timers, delays int64
	for _, s := range got.Slots {
		timers, delays = timers+s.Timers, delays+s.Delays
	}
	if timers != 1 || delays != 1 || len(got.Topics) != 2 || len(got.Upcoming) != 1 || got.Upcoming[0].RealTopic != "audit" {
		t.Errorf("timeline: %+v", got)
	}
	if got.OldestMs < begun || got.OldestMs > got.NowMs {
		t.Errorf("the oldest timer is of %d, not between %d and %d", got.OldestMs, begun, got.NowMs)
	}
	one := get[console.PendingAnswer](x, "timers/pending?topic=orders&limit=1")
	if len(one.Timers) != 1 || one.Timers[0].Topic != "orders" || one.Timers[0].UniqueKey != timed.UniqueKey || one.Timers[0].DueMs < begun+3_600_000 || one.Timers[0].Rolls {
		t.Errorf("pending: %+v", one)
	}
	if last := get[console.PendingAnswer](x, "timers/pending?after="+itoa(one.Timers[0].DueMs)+"-0"); len(last.Timers) != 0 || last.Next != "" {
		t.Errorf("pending after the last one: %+v", last)
	}
	if none := get[console.PendingAnswer](x, "timers/pending?topic=audit"); len(none.Timers) != 0 {
		t.Errorf("pending of another topic: %+v", none)
	}
	if only := get[console.TimersAnswer](x, "timers?topic=orders"); only.Timers != 1 || only.Delays != 0 {
		t.Errorf("of orders: %d timers, %d delays", only.Timers, only.Delays)
	}
	if over := get[console.Overview](x, "overview"); over.Timers != 1 || over.Delayed != 1 || over.NotReady != "" || over.Version != "v1" || !over.Writes {
		t.Errorf("overview: %+v", over)
	}
}

// A dead letter goes back to its group's retry topic.
func TestDeadLetters(t *testing.T) {
	x := open(t, conf.RoleAll)
	sent := post[console.SendAnswer](x, "messages", `{"topic":"orders","body":"x","queue":0}`)
	found := get[console.MessagesAnswer](x, "messages?id="+sent.ID)
	giveBack(t, x.s.Broker().Addr().String(), &remoting.ConsumerSendMsgBackRequestHeader{Offset: found.Messages[0].PhysicalOffset, Group: "billing", DelayLevel: -1})
	if list := get[console.DeadLettersAnswer](x, "dead-letters"); len(list.Groups) != 1 || list.Groups[0].Topic != "billing" || list.Groups[0].Count != 1 {
		t.Fatalf("dead letters: %+v", list)
	}
	if list := get[console.DeadLettersAnswer](x, "dead-letters?group=billing"); len(list.Messages) != 1 || list.Messages[0].ReconsumeTimes != 1 {
		t.Fatalf("dead letters of billing: %+v", list)
	}
	done := post[console.ResendAnswer](x, "dead-letters/resend", `{"group":"billing","offsets":[0,7]}`)
	if len(done.Resent) != 2 || done.Resent[0].Topic != "%RETRY%billing" || done.Resent[0].Error != "" || !strings.Contains(done.Resent[1].Error, "from 0 to below 1, not 7") {
		t.Errorf("resent: %+v", done)
	}
	again := get[console.MessagesAnswer](x, "messages?topic="+url.QueryEscape("%RETRY%billing"))
	if len(again.Messages) != 1 || again.Messages[0].ReconsumeTimes != 0 || again.Messages[0].Properties["RETRY_TOPIC"] != "orders" {
		t.Errorf("in the retry topic: %+v", again.Messages)
	}
}

func giveBack(t *testing.T, addr string, h remoting.Header) {
	t.Helper()
	client := remoting.NewClient(remoting.ClientOptions{})
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	resp, err := client.Invoke(ctx, addr, remoting.NewRequest(remoting.ConsumerSendMsgBack, h))
	if err != nil || resp.Code != remoting.Success {
		t.Fatalf("give back: %+v, %v", resp, err)
	}
}

// What asks from where it may not, or wrongly, is told why.
func TestRefusals(t *testing.T) {
	x := open(t, conf.RoleAll, "httpNames=mq.example.com")
	const change = "X-Rocketd-Console"
	for name, c := range map[string]struct {
		method, path, body string
		headers            []string
		status             int
		says               string
	}{
		"a name that points here":     {"GET", "/api/v1/overview", "", []string{"Host", "evil.example.com:10988"}, 403, "httpNames"},
		"a configured name":           {"GET", "/api/v1/overview", "", []string{"Host", "MQ.example.com:1"}, 200, "tester"},
		"localhost":                   {"GET", "/healthz", "", []string{"Host", "localhost"}, 200, "ok"},
		"an IPv6 address":             {"GET", "/readyz", "", []string{"Host", "[::1]:10988"}, 200, "ready"},
		"a change without the header": {"POST", "/api/v1/messages", `{}`, nil, 403, change},
		"a change from another page":  {"POST", "/api/v1/messages", `{}`, []string{change, "1", "Origin", "http://evil.example.com"}, 403, "origin"},
		"a change from another site":  {"POST", "/api/v1/messages", `{}`, []string{change, "1", "Sec-Fetch-Site", "cross-site"}, 403, "another site"},
		"no topic":                    {"POST", "/api/v1/messages", `{"body":"x"}`, []string{change, "1"}, 400, "topic is missing"},
		"no body":                     {"POST", "/api/v1/messages", `{"topic":"T"}`, []string{change, "1"}, 400, "body is missing"},
		"two delays":                  {"POST", "/api/v1/messages", `{"topic":"T","body":"x","delayMs":1,"delayLevel":1}`, []string{change, "1"}, 400, "only one"},
		"an unknown field":            {"POST", "/api/v1/messages", `{"tpoic":"T"}`, []string{change, "1"}, 400, "tpoic"},
		"a property with 0x01":        {"POST", "/api/v1/messages", `{"topic":"T","body":"x","properties":{"a":"\u0001"}}`, []string{change, "1"}, 400, "0x01"},
		"a topic that may not be":     {"POST", "/api/v1/messages", `{"topic":"SCHEDULE_TOPIC_XXXX","body":"x"}`, []string{change, "1"}, 409, "NO_PERMISSION"},
		"too large":                   {"POST", "/api/v1/messages", `{"topic":"T","body":"` + strings.Repeat("x", 1<<20) + `"}`, []string{change, "1"}, 413, "1048576"},
		"no such topic":               {"GET", "/api/v1/topics/nope", "", nil, 404, "nope"},
		"no such group":               {"GET", "/api/v1/groups/nope", "", nil, 404, "nope"},
		"no such id":                  {"GET", "/api/v1/messages?id=xyz", "", nil, 404, "xyz"},
		"offset without queue":        {"GET", "/api/v1/messages?topic=orders&offset=1", "", nil, 400, "needs queue"},
		"count too large":             {"GET", "/api/v1/messages?topic=orders&count=1000", "", nil, 400, "200"},
		"bad bucket":                  {"GET", "/api/v1/timers?bucket=year", "", nil, 400, "minute"},
		"bad page":                    {"GET", "/api/v1/timers/pending?limit=0", "", nil, 400, "1 to 1000"},
		"bad place":                   {"GET", "/api/v1/timers/pending?after=x", "", nil, 400, "next of the page before"},
		"bad time":                    {"GET", "/api/v1/timers/pending?fromMs=soon", "", nil, 400, "since 1970"},
		"pprof unless asked for":      {"GET", "/debug/pprof/", "", nil, 404, ""},
		"another method":              {"DELETE", "/api/v1/topics/orders", "", []string{change, "1"}, 405, ""},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := x.do(c.method, c.path, c.body, c.headers...)
			if status != c.status || !strings.Contains(body, c.says) {
				t.Errorf("got %d %.200s, want %d with %q", status, body, c.status, c.says)
			}
		})
	}
}

func TestWritesAndPprofAreSettings(t *testing.T) {
	x := open(t, conf.RoleAll, "httpWrites=none", "httpPprof=true")
	if status, body := x.do("POST", "/api/v1/messages", `{"topic":"T","body":"x"}`, "X-Rocketd-Console", "1"); status != 403 || !strings.Contains(body, "httpWrites is none") {
		t.Errorf("httpWrites none: %d %s", status, body)
	}
	if status, _ := x.do("GET", "/debug/pprof/", ""); status != 200 {
		t.Errorf("httpPprof: %d", status)
	}
}

// A name server alone has brokers and no messages.
func TestNameServerAlone(t *testing.T) {
	x := open(t, conf.RoleNamesrv)
	if status, body := x.do("GET", "/api/v1/overview", ""); status != 404 || !strings.Contains(body, "no broker") {
		t.Errorf("overview: %d %s", status, body)
	}
	if got := get[console.BrokersAnswer](x, "brokers"); len(got.Brokers) != 0 {
		t.Errorf("brokers: %+v", got)
	}
	for _, path := range []string{"/readyz", "/metrics", "/"} {
		if status, _ := x.do("GET", path, ""); status != 200 {
			t.Errorf("%s: %d", path, status)
		}
	}
}

// Warnings are kept, and only the newest of them.
func TestWarnings(t *testing.T) {
	x := open(t, conf.RoleAll)
	for i := range 600 {
		x.log.WithField("n", i).Warn("look here")
	}
	x.log.Info("not this")
	got := get[console.WarningsAnswer](x, "warnings")
	if len(got.Warnings) != 500 || got.Total < 600 || got.Warnings[0].Fields["n"] != "599" || got.Warnings[499].Fields["n"] != "100" {
		t.Errorf("%d of %d, first %+v", len(got.Warnings), got.Total, got.Warnings[0])
	}
}

func TestConfigGroupsClients(t *testing.T) {
	x := open(t, conf.RoleAll)
	if got := get[console.ConfigAnswer](x, "config?changed=true"); !strings.Contains(got.YAML, "brokerName: tester") || strings.Contains(got.YAML, "logFormat") {
		t.Errorf("changed configuration:\n%s", got.YAML)
	}
	groups := get[console.GroupsAnswer](x, "groups?q=bill")
	if groups.Total != 1 || groups.Groups[0].Online {
		t.Errorf("groups: %+v", groups)
	}
	if g := get[console.GroupAnswer](x, "groups/billing"); g.RetryMaxTimes != 3 {
		t.Errorf("group: %+v", g)
	}
	if c := get[console.ClientsAnswer](x, "clients"); c.Total != 0 {
		t.Errorf("clients: %+v", c)
	}
	if h := get[console.TransactionsAnswer](x, "transactions"); h.Total != 0 {
		t.Errorf("transactions: %+v", h)
	}
	get[console.Rates](x, "rates")
}

// series are names and label names of samples, as Prometheus text has them.
func series(text string) map[string][]string {
	sample := regexp.MustCompile(`(?m)^(rocketmq_[a-z_]+)\{([^}]*)\}`)
	label := regexp.MustCompile(`([a-z_]+)="`)
	out := map[string][]string{}
	for _, m := range sample.FindAllStringSubmatch(text, -1) {
		var names []string
		for _, l := range label.FindAllStringSubmatch(m[2], -1) {
			names = append(names, l[1])
		}
		slices.Sort(names)
		out[m[1]] = names
	}
	return out
}

// The metrics have the names and labels that Apache's broker 5.5.0 gave (testdata/apache-metrics.txt tells how it was asked), save those
// that docs/console.md lists as missing.
func TestMetricsAreApaches(t *testing.T) {
	want, err := os.ReadFile("testdata/apache-metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	x := open(t, conf.RoleAll, "metricsLabel=zone:a")
	post[console.SendAnswer](x, "messages", `{"topic":"orders","body":"x","queue":0}`)
	post[console.SendAnswer](x, "messages", `{"topic":"orders","body":"x","delayMs":600000}`)
	x.eventually("the timer is in the wheel", func() bool { return get[console.TimersAnswer](x, "timers").Timers == 1 })
	_, text := x.do("GET", "/metrics", "")
	got := series(text)
	for _, name := range []string{
		"rocketmq_messages_in_total", "rocketmq_throughput_in_total", "rocketmq_message_size_bucket", "rocketmq_timing_messages", "rocketmq_timer_message_snapshot",
		"rocketmq_storage_size_bytes", "rocketmq_processor_watermark", "rocketmq_topic_number", "rocketmq_consumer_group_number", "rocketmq_broker_permission",
	} {
		if got[name] == nil && name != "rocketmq_storage_size_bytes" { // the memory file system has no size
			t.Errorf("%s is missing", name)
		}
	}
	apache := series(string(want))
	for name, labels := range got {
		labels = slices.DeleteFunc(labels, func(l string) bool { return l == "zone" })
		if name == "rocketmq_timer_dequeue_total" {
			labels = append(labels, "topic") // a total only, see docs/console.md
			slices.Sort(labels)
		}
		if !slices.Equal(apache[name], labels) {
			t.Errorf("%s: labels %v, Apache's %v", name, labels, apache[name])
		}
	}
	for _, want := range []string{
		`rocketmq_messages_in_total{cluster="DefaultCluster",is_system="false",message_type="normal",node_id="tester",node_type="broker",otel_scope_name="broker-meter",topic="orders",zone="a"} 1`,
		`rocketmq_messages_in_total{cluster="DefaultCluster",is_system="true",message_type="delay",node_id="tester",node_type="broker",otel_scope_name="broker-meter",topic="rmq_sys_wheel_timer",zone="a"} 1`,
		`timer_bound_s="900",zone="a"} 1`, "rocketd_fsync_seconds_count", "rocketd_timer_lateness_seconds_bucket", "rocketd_held_pulls 0", `rocketd_lane_queued{lane="query",part="broker"} 0`,
		"go_goroutines", "process_resident_memory_bytes",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("not in the metrics: %s", want)
		}
	}
}

// Label sets are bounded, and what is left out is counted.
func TestMetricsAreBounded(t *testing.T) {
	x := open(t, conf.RoleAll, "metricsOtelCardinalityLimit=2")
	for _, topic := range []string{"a", "b", "c", "d"} {
		post[console.SendAnswer](x, "messages", `{"topic":"`+topic+`","body":"x"}`)
	}
	_, text := x.do("GET", "/metrics", "")
	if n := strings.Count(text, "\nrocketmq_messages_in_total{"); n != 2 {
		t.Errorf("%d label sets of messages_in_total, want 2", n)
	}
	if strings.Contains(text, "rocketd_metrics_dropped_label_sets 0\n") {
		t.Error("nothing is said to be left out")
	}
}

// metricsExporterType PROM serves the metrics where the reference does.
func TestPromPort(t *testing.T) {
	x := open(t, conf.RoleAll, "metricsExporterType=PROM", "metricsPromExporterHost=127.0.0.1", "metricsPromExporterPort=22377")
	x.base = "http://127.0.0.1:22377"
	if status, text := x.do("GET", "/metrics", ""); status != 200 || !strings.Contains(text, "rocketmq_topic_number") {
		t.Errorf("%d %.100s", status, text)
	}
	if status, _ := x.do("GET", "/api/v1/overview", ""); status != 404 {
		t.Errorf("the API is served there too: %d", status)
	}
}

// members are the names that a value has as JSON.
func members(t *testing.T, v any) map[string]json.RawMessage {
	t.Helper()
	var out map[string]json.RawMessage
	if err := json.Unmarshal(mustJSON(v), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// docs/openapi.yaml describes each request of the API and each answer, and no other.
func TestOpenAPI(t *testing.T) {
	data, err := os.ReadFile("../docs/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths      map[string]map[string]any `yaml:"paths"`
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any `yaml:"properties"`
			} `yaml:"schemas"`
		} `yaml:"components"`
	}
	if err := yaml.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{
		console.Overview{},
		console.Rates{},
		console.TopicAnswer{},
		console.TopicsAnswer{},
		console.Topic{},
		console.Queue{},
		console.GroupAnswer{},
		console.GroupsAnswer{},
		console.Group{},
		console.GroupLag{},
		console.Progress{},
		console.Client{},
		console.ClientLine{},
		console.ClientsAnswer{},
		console.Message{},
		view.Body{},
		console.MessagesAnswer{},
		console.SendRequest{},
		console.SendAnswer{},
		console.TimersAnswer{},
		console.PendingAnswer{},
		console.PendingTimer{},
		console.Slot{},
		console.Level{},
		console.Half{},
		console.TransactionsAnswer{},
		console.DeadLettersAnswer{},
		console.ResendRequest{},
		console.ResendAnswer{},
		console.Resent{},
		console.ConfigAnswer{},
		console.WarningsAnswer{},
		console.Warning{},
		console.BrokersAnswer{},
		console.Registered{},
		console.Lane{},
	} {
		name := reflect.TypeOf(v).Name()
		if got, want := slices.Sorted(maps.Keys(doc.Components.Schemas[name].Properties)), slices.Sorted(maps.Keys(members(t, v))); !slices.Equal(got, want) {
			t.Errorf("schema %s describes %v, the answer has %v", name, got, want)
		}
	}
	var described []string
	for path, methods := range doc.Paths {
		for method := range methods {
			described = append(described, strings.ToUpper(method)+" "+path)
		}
	}
	source, err := os.ReadFile("api.go")
	if err != nil {
		t.Fatal(err)
	}
	var served []string
	for _, m := range regexp.MustCompile(`"((?:GET|POST) /api/v1/[^"]*)":`).FindAllSubmatch(source, -1) {
		served = append(served, string(m[1]))
	}
	served = append(served, "GET /healthz", "GET /readyz", "GET /metrics")
	slices.Sort(served)
	slices.Sort(described)
	if !slices.Equal(served, described) {
		t.Errorf("served    %v\ndescribed %v", served, described)
	}
	if !bytes.Contains(data, []byte("openapi: 3")) {
		t.Error("no OpenAPI version")
	}
}
