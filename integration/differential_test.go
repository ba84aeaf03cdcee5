package integration

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/integration/peer"
	"github.com/rocketd/rocketd/remoting"
)

// exchange is one raw request, sent to Apache's name server or broker and to rocketd's.
type exchange struct {
	name    string
	namesrv bool
	code    int32
	// ext are the header fields as key=value. $topic, $group and the like are replaced (see newDifferential).
	ext  []string
	body string
	// loose skips the comparison of remark and body, for answers whose text is not part of the contract; why says the reason.
	loose string
}

// accepted are differences on purpose, by exchange and part (code, remark, ext, body). Each stands in DIFFERENCES.md.
var accepted = map[string]string{
	"send batch flag with garbage/code": "a batch that cannot be read is an illegal message (13), not a system error",
	"pull bad sql/code":                 "Apache delivers everything to a subscription it could not parse",
	"pop too many/ext":                  "Apache fills the header of a refused pop with zeros",
	"pop unknown topic/ext":             "Apache fills the header of a refused pop with zeros",
}

// TestDifferential sends the same raw requests to Apache and to rocketd, one after the other on fresh brokers, and compares code, remark,
// header fields and body, after times, addresses and ids are made equal. Every difference is named.
func TestDifferential(t *testing.T) {
	peer.NeedJava(t)
	apache := newSide(t, peer.StartApache(t, t.TempDir(), append(slices.Clone(settings), "enablePropertyFilter=true")...))
	rocketd := newSide(t, peer.StartRocketd(t, t.TempDir(), settings...))
	for _, e := range exchanges {
		t.Run(e.name, func(t *testing.T) {
			want, got := apache.ask(t, e), rocketd.ask(t, e)
			differ(t, e, "code", fmt.Sprint(want.Code), fmt.Sprint(got.Code))
			if e.loose != "" {
				return
			}
			wantRemark, gotRemark := remarkMeaning(apache.normal(want.Remark)), remarkMeaning(rocketd.normal(got.Remark))
			if wantRemark == "" || !strings.HasPrefix(gotRemark, wantRemark) { // ours may say more
				differ(t, e, "remark", wantRemark, gotRemark)
			}
			differ(t, e, "ext", apache.extText(want), rocketd.extText(got))
			differ(t, e, "body", apache.bodyText(want), rocketd.bodyText(got))
		})
	}
}

func differ(t *testing.T, e exchange, part, want, got string) {
	t.Helper()
	if want == got {
		return
	}
	if why, ok := accepted[e.name+"/"+part]; ok {
		t.Logf("%s: Apache %.300q, rocketd %.300q: %s", part, want, got, why)
		return
	}
	t.Errorf("%s:\n  Apache  %.1500s\n  rocketd %.1500s", part, want, got)
}

// remarkMeaning is the part of a remark that tools match on: its first words, without Apache's class names, stack frames and links.
func remarkMeaning(s string) string {
	if i := strings.Index(s, "\nSee "); i >= 0 {
		s = s[:i]
	}
	if i := strings.Index(s, " See http"); i >= 0 {
		s = s[:i]
	}
	s = strings.TrimSpace(s)
	if s == "not set any response code" { // Apache's text where a handler sets a code and no remark
		return ""
	}
	return s
}

type side struct {
	c       *peer.Cluster
	client  *remoting.Client
	replace *strings.Replacer
}

func newSide(t *testing.T, c *peer.Cluster) *side {
	t.Helper()
	s := &side{c: c, client: remoting.NewClient(remoting.ClientOptions{})}
	t.Cleanup(s.client.Close)
	_, port, _ := strings.Cut(c.Broker, ":")
	s.replace = strings.NewReplacer(c.Broker, "$broker", c.Namesrv, "$namesrv", ":"+port, ":$port", c.Dir, "$dir")
	return s
}

func (s *side) ask(t *testing.T, e exchange) *remoting.Command {
	t.Helper()
	addr := s.c.Broker
	if e.namesrv {
		addr = s.c.Namesrv
	}
	cmd := remoting.NewRequest(e.code, nil)
	expand := strings.NewReplacer("$now", fmt.Sprint(time.Now().UnixMilli()), "$broker", s.c.Broker)
	for _, kv := range e.ext {
		k, v, _ := strings.Cut(kv, "=")
		cmd.Ext = append(cmd.Ext, remoting.ExtField{Key: k, Value: expand.Replace(v)})
	}
	if e.body != "" {
		cmd.Body = []byte(expand.Replace(e.body))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	resp, err := s.client.Invoke(ctx, addr, cmd)
	if err != nil {
		t.Fatalf("%s: %v", s.c.Name, err)
	}
	return resp
}

var (
	timestamps = regexp.MustCompile(`\b1[6-9]\d{11}\b`)
	hexIDs     = regexp.MustCompile(`\b[0-9A-F]{32}(,[0-9A-F]{32})*\b`)
	clients    = regexp.MustCompile(`/?127\.0\.0\.1:\d+`)
	floats     = regexp.MustCompile(`\b\d+\.\d+(E-?\d+)?\b`)
)

func (s *side) normal(text string) string {
	text = clients.ReplaceAllString(s.replace.Replace(text), "$$client")
	text = hexIDs.ReplaceAllString(text, "$$id")
	return floats.ReplaceAllString(timestamps.ReplaceAllString(text, "$$time"), "$$number")
}

func (s *side) extText(c *remoting.Command) string {
	fields := map[string]string{}
	for _, f := range c.Ext {
		fields[f.Key] = s.normal(f.Value)
	}
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		fmt.Fprintf(&b, "%s=%s ", k, fields[k])
	}
	return b.String()
}

// bodyText is a JSON body with sorted keys, properties text with sorted lines, or the length of a binary body.
func (s *side) bodyText(c *remoting.Command) string {
	if len(c.Body) == 0 {
		return ""
	}
	if c.Body[0] == '{' || c.Body[0] == '[' {
		if text, err := looseJSON(string(c.Body)); err == nil { // sets come in any order
			return s.normal(text)
		}
		return s.normal(string(c.Body))
	}
	if strings.Contains(string(c.Body), "=") && strings.Contains(string(c.Body), "\n") && c.Body[0] > ' ' {
		var keys []string
		for line := range strings.Lines(string(c.Body)) {
			k, _, _ := strings.Cut(line, "=")
			keys = append(keys, k)
		}
		sort.Strings(keys)
		return strings.Join(keys, " ")
	}
	return fmt.Sprintf("%d bytes", len(c.Body))
}
