package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"

	"github.com/rocketd/rocketd/admin"
	"github.com/rocketd/rocketd/integration/peer"
)

// side is one broker with clients, and the program that asks it.
type side struct {
	name    string
	c       *peer.Cluster
	client  string // id of the consumer of g-online
	message string // unique key of a message of orders

	base   string // http://HOST:PORT of the program
	http   *http.Client
	header string // that a change needs, with token
	token  string
}

// furnish gives a broker topics, messages and an online consumer and producer.
func furnish(t *testing.T, name string, c *peer.Cluster) *side {
	t.Helper()
	s := &side{name: name, c: c}
	a := admin.New(admin.Options{Namesrv: []string{c.Namesrv}, Timeout: 30 * time.Second})
	defer a.Close()
	queues := int32(1)
	for _, topic := range []string{"orders", "%DLQ%g-online"} {
		if err := a.CreateTopic(t.Context(), admin.TopicChange{Name: topic, Read: &queues, Write: &queues}); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.CreateGroup(t.Context(), admin.GroupChange{Name: "g-online"}); err != nil {
		t.Fatal(err)
	}
	con, err := rocketmq.NewPushConsumer(consumer.WithNameServer([]string{c.Namesrv}), consumer.WithGroupName("g-online"), consumer.WithInstance(name+"-consumer"),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset))
	if err != nil {
		t.Fatal(err)
	}
	err = con.Subscribe("orders", consumer.MessageSelector{}, func(context.Context, ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		return consumer.ConsumeSuccess, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := con.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = con.Shutdown() })
	p, err := rocketmq.NewProducer(producer.WithNameServer([]string{c.Namesrv}), producer.WithGroupName("pg-online"), producer.WithInstanceName(name+"-producer"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Shutdown() })
	for i := range 6 {
		sent, err := p.SendSync(t.Context(), primitive.NewMessage("orders", fmt.Appendf(nil, "order %d", i)).WithKeys([]string{fmt.Sprint("k", i)}).WithTag("tea"))
		if err != nil {
			t.Fatal(err)
		}
		s.message = sent.MsgID
	}
	await(t, "the consumer of "+name+" is online and done", func() bool {
		g, err := a.Group(t.Context(), "g-online")
		if err != nil || len(g.Clients) == 0 || g.Lag > 0 {
			return false
		}
		s.client = g.Clients[0].ID
		members, err := a.Members(t.Context(), "g-online", nil)
		if err != nil || len(members) == 0 || !slices.ContainsFunc(members[0].Queues, func(q admin.MemberQueue) bool { return q.Topic == "%RETRY%g-online" && q.Committed >= 0 }) {
			return false // a client finds its retry topic when it asks for routes again, and commits to it later still
		}
		list, err := a.MessagesByKey(t.Context(), "orders", "k3", 1, 0, 1<<62)
		return err == nil && len(list) == 1
	})
	return s
}

func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not in time: " + what)
		}
	}
}

// run starts one of Apache's programs for this side and waits until it answers at path.
func (s *side) run(t *testing.T, jar, path string, args ...string) {
	t.Helper()
	home := t.TempDir()
	port := peer.FreePorts(t)
	s.base = fmt.Sprintf("http://127.0.0.1:%d", port)
	args = append([]string{
		"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Duser.home=" + home, "-Duser.timezone=UTC", "-jar", jar, fmt.Sprintf("--server.port=%d", port),
		"--rocketmq.config.namesrvAddr=" + s.c.Namesrv, "--rocketmq.config.namesrvAddrs[0]=" + s.c.Namesrv, "--rocketmq.config.dataPath=" + home,
	}, args...)
	cmd := exec.Command("java", args...)
	log, err := os.Create(filepath.Join(home, "out.log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Dir, cmd.Stdout, cmd.Stderr = home, log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		end := time.AfterFunc(15*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		end.Stop()
		_ = log.Close()
	})
	jarOfCookies, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	s.http = &http.Client{Jar: jarOfCookies, Timeout: time.Minute}
	t.Cleanup(s.http.CloseIdleConnections)
	await(t, jar+" answers", func() bool {
		resp, err := s.http.Get(s.base + path)
		if err == nil {
			_ = resp.Body.Close()
		}
		return err == nil && resp.StatusCode == http.StatusOK
	})
}

// takeToken asks for what the dashboard wants with every change.
func (s *side) takeToken(t *testing.T) {
	t.Helper()
	var answer struct {
		Token, HeaderName string
		Data              struct{ Token, HeaderName string }
	}
	text := s.do(t, &call{path: "/rocketmq-dashboard/csrf-token"})
	_ = json.Unmarshal([]byte(text), &answer) // a dashboard that wants none answers otherwise
	s.token, s.header = answer.Token+answer.Data.Token, answer.HeaderName+answer.Data.HeaderName
	address, err := url.Parse(s.base + "/rocketmq-dashboard")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.http.Jar.Cookies(address) {
		if c.Name == "XSRF-TOKEN" {
			s.token = c.Value
		}
	}
	if s.header == "" {
		s.header = "X-XSRF-TOKEN"
	}
}

// today is the day by the clock of the programs, as they name it.
func today() string { return time.Now().UTC().Format(time.DateOnly) }

// sampled tells whether the dashboard has asked for the rates of the broker and of the topic orders, which it does once in a minute.
func (s *side) sampled(t *testing.T) bool {
	t.Helper()
	return strings.Contains(s.do(t, &call{path: "/dashboard/broker.query", params: fields{"date": today()}}), "broker-a") &&
		strings.Contains(s.do(t, &call{path: "/dashboard/topicCurrent.query"}), "orders,")
}

// do makes a call and returns the answer's text.
func (s *side) do(t *testing.T, c *call) string {
	t.Helper()
	q := url.Values{}
	for name, value := range c.params {
		q.Set(name, fmt.Sprint(value))
	}
	method, body := http.MethodGet, io.Reader(http.NoBody)
	if c.body != nil || c.post {
		method = http.MethodPost
	}
	if c.body != nil {
		data, err := json.Marshal(c.body)
		if err != nil {
			t.Fatal(err)
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, s.base+c.path+"?"+q.Encode(), body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if s.token != "" {
		req.Header.Set(s.header, s.token)
	}
	resp, err := s.http.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", s.name, c.path, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Sprintf("HTTP %d %.200s", resp.StatusCode, text)
	}
	return string(text)
}

// changing are parts of answers that differ from run to run.
var changing = []struct {
	what *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)?`), "DATE"},
	{regexp.MustCompile(`\b1[6-9]\d{11}\b`), "TIME"},
	{regexp.MustCompile(`TIME(,[\d.]+)+$`), "TIME,RATES"}, // what the dashboard sampled of a broker or a topic: of the minute before
	{regexp.MustCompile(`^(/data\[\]=[\w%-]+),\d+$`), "$1,COUNT"},
	{regexp.MustCompile(`[0-9A-Fa-f]{32,64}`), "ID"},
	{regexp.MustCompile(`/?\d+\.\d+\.\d+\.\d+:\d+`), "ADDRESS"},
	{regexp.MustCompile(`[\w.]+@[\w#-]+`), "CLIENT"},
	{regexp.MustCompile(`(See|For more information, please visit the url,) https\S+( for further details\.)?`), ""},
	{regexp.MustCompile(`\d+ days, \d+ hours, \d+ minutes, \d+ seconds`), "SPAN"},
	{regexp.MustCompile(`[\d.]+ GiB`), "SIZE"},
}

// rates are members that are measured, or that change while a client shares out its queues again.
var rates = regexp.MustCompile(`(?i)time|tps|subVersion|clientInfo|timestamp|distribute|spent|cost|rt$|storeSize|memory|offsetmax|ratio|buffer|Flow$|load|heap`)

// normal is an answer as lines "path=value", sorted, without what differs from run to run.
func (s *side) normal(text string) []string {
	lines := []string{text}
	var v any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&v) == nil {
		lines = flat("", v)
	}
	own := strings.NewReplacer(s.c.Broker, "BROKER", s.c.Namesrv, "NAMESRV", s.c.Dir, "STORE", s.client, "CLIENT", s.message, "ID", "\n", " ")
	for i := range lines {
		lines[i] = own.Replace(lines[i])
		for _, c := range changing {
			lines[i] = c.what.ReplaceAllString(lines[i], c.by)
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

func flat(path string, v any) (lines []string) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			lines = append(lines, flat(path+"/"+name, value)...)
		}
		if len(v) == 0 {
			lines = []string{path + "={}"}
		}
	case []any:
		for _, value := range v {
			lines = append(lines, flat(path+"[]", value)...)
		}
		if len(v) == 0 {
			lines = []string{path + "=[]"}
		}
	default:
		if rates.MatchString(path[strings.LastIndexByte(path, '/')+1:]) {
			v = "…"
		}
		lines = []string{fmt.Sprintf("%s=%v", path, v)}
	}
	return lines
}

// unlike lists the lines that only one of two answers has.
func unlike(apache, ours []string) (list []string) {
	for _, line := range apache {
		if !slices.Contains(ours, line) {
			list = append(list, fmt.Sprintf("Apache  %.300s", line))
		}
	}
	for _, line := range ours {
		if !slices.Contains(apache, line) {
			list = append(list, fmt.Sprintf("rocketd %.300s", line))
		}
	}
	return list
}
