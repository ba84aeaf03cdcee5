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
	// ext are the header fields as key=value. $now and $broker are replaced (see side.invoke).
	ext  []string
	body string
	// loose skips the comparison of remark and body, for answers whose text is not part of the contract: it says the reason.
	loose string
}

// side is one of the two brokers that are asked the same.
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

// ask sends a request and returns its answer, which must come.
func (s *side) ask(t *testing.T, e exchange) *remoting.Command {
	t.Helper()
	resp, err := s.invoke(t.Context(), e, 30*time.Second)
	if err != nil {
		t.Fatalf("%s: %s %q: %v", s.c.Name, e.name, e.ext, err)
	}
	return resp
}

func (s *side) invoke(ctx context.Context, e exchange, patience time.Duration) (*remoting.Command, error) {
	addr := s.c.Broker
	if e.namesrv {
		addr = s.c.Namesrv
	}
	cmd := remoting.NewRequest(e.code, nil)
	expand := strings.NewReplacer("$now", fmt.Sprint(time.Now().UnixMilli()), "$broker", s.c.Broker)
	for _, kv := range e.ext {
		k, v, _ := strings.Cut(kv, "=")
		cmd.AddExt(k, expand.Replace(v))
	}
	if e.body != "" {
		cmd.Body = []byte(expand.Replace(e.body))
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return s.client.Invoke(ctx, addr, cmd)
}

// field is a header field of an answer, "" when it is not there.
func field(c *remoting.Command, key string) string {
	v, _ := c.ExtValue(key)
	return v
}

// unlike tells how a part of two answers differs, "" when it does not.
func unlike(part, want, got string) string {
	if want == got {
		return ""
	}
	return fmt.Sprintf("%s:\n  Apache  %.1500s\n  rocketd %.1500s", part, want, got)
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

var (
	timestamps = regexp.MustCompile(`\b1[6-9]\d{11}\b`)
	// hexIDs are message ids, unique keys that a broker with an IPv6 address made, and recall handles, which hold a time.
	hexIDs  = regexp.MustCompile(`\b[0-9A-F]{32}(,[0-9A-F]{32})*\b|\b[0-9A-F]{40,}\b|\bdjEg[0-9A-Za-z_-]+=*`)
	clients = regexp.MustCompile(`/?127\.0\.0\.1:\d+`)
	floats  = regexp.MustCompile(`\b\d+\.\d+(E-?\d+)?\b`)
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
