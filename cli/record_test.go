package cli

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/brokertest"
	"github.com/rocketd/rocketd/remoting"
)

// What is recorded in front of one server is played to another.
func TestRecordAndReplay(t *testing.T) {
	recorded := brokertest.Start(t, brokertest.WithTopics("x:1"))
	file := filepath.Join(t.TempDir(), "traffic.rec")
	p := start(t, "record", "--namesrv", recorded.NamesrvAddr(), "--listen", "127.0.0.1:0", file)
	addr := ""
	for deadline := time.Now().Add(20 * time.Second); addr == "" && time.Now().Before(deadline); {
		if _, rest, ok := strings.Cut(p.stderr(), "ready namesrv="); ok && strings.Contains(rest, "\n") {
			addr, _, _ = strings.Cut(rest, "\n")
		}
	}
	client := remoting.NewClient(remoting.ClientOptions{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	answer, err := client.Invoke(ctx, addr, remoting.NewRequest(remoting.GetRouteinfoByTopic, &remoting.GetRouteInfoRequestHeader{Topic: "x"}))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(answer.Body), recorded.Addr()) {
		t.Errorf("the route leads past the recorder: %s", answer.Body)
	}
	client.Close()
	p.terminate(t)
	if code := p.wait(t); code != ExitOK {
		t.Fatalf("exit %d; stderr:\n%s", code, p.stderr())
	}

	same := brokertest.Start(t, brokertest.WithTopics("x:1"))
	code, out, log := run(t, nil, "replay", "--namesrv", same.NamesrvAddr(), file)
	if want := "1 connections, 1 requests sent (0 with values carried over), 1 answers compared, 1 equal, 0 differences\n"; code != ExitOK || out != want {
		t.Errorf("exit %d, stdout %q, stderr %q", code, out, log)
	}
	other := brokertest.Start(t, brokertest.WithTopics("x:2"))
	code, out, log = run(t, nil, "replay", "--json", "--namesrv", other.NamesrvAddr(), file)
	if code != ExitFailure || !strings.Contains(out, `"request": "GET_ROUTEINFO_BY_TOPIC"`) || !strings.Contains(log, "1 answers are not the recorded ones") {
		t.Errorf("exit %d, stdout %q, stderr %q", code, out, log)
	}
	code, _, log = run(t, nil, "replay", "--ignore", "GET_ROUTEINFO_BY_TOPIC", "--namesrv", other.NamesrvAddr(), file)
	if code != ExitOK {
		t.Errorf("ignored: exit %d, stderr %q", code, log)
	}
}

func TestRecordAndReplayUsageErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"record nothing", []string{"record", filepath.Join(t.TempDir(), "x")}, ExitUsage, "in front of a name server or of one server"},
		{"record to nowhere", []string{"record", "--namesrv", "127.0.0.1:1", filepath.Join(t.TempDir(), "a", "b")}, ExitNotWritable, "cannot be written"},
		{"record at no address", []string{"record", "--namesrv", "127.0.0.1:1", "--listen", "127.0.0.1", filepath.Join(t.TempDir(), "x")}, ExitUsage, "missing port"},
		{"replay to nobody", []string{"replay", "x"}, ExitUsage, "--namesrv or --broker"},
		{"replay nothing", []string{"replay", "--namesrv", "127.0.0.1:1", filepath.Join(t.TempDir(), "x")}, ExitUsage, "no such file"},
		{"broker", []string{"replay", "--broker", "x", "x"}, ExitUsage, `--broker "x"`},
		{"code", []string{"replay", "--broker", "=x:1", "--ignore", "SENT", "x"}, ExitUsage, `--ignore "SENT"`},
		{"empty", []string{"replay", "--broker", "=x:1", "-"}, ExitFailure, "not a recording: it is empty"},
	} {
		code, _, log := run(t, nil, c.args...)
		if code != c.code || !strings.Contains(log, c.want) {
			t.Errorf("%s: exit %d, stderr %q; want %d and %q", c.name, code, log, c.code, c.want)
		}
	}
}
