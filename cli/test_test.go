package cli

import (
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The harness is ready at once, obeys its control API, and ends with its standard input or a signal.
func TestTestServesControl(t *testing.T) {
	p, stdin := startWithInput(t, "test", "--namesrv-port", "0", "--broker-port", "0", "--control", "127.0.0.1:0", "--topic", "orders:2", "--group", "shop",
		"--time", "2030-01-02T15:04:05Z", "--frozen", "--emulate", "4.9", "--set", "brokerName=tester", "--stop-with-stdin")
	values := p.ready(t)
	var status struct {
		Namesrv, Broker, Name string
		Now                   time.Time
		Frozen                bool
	}
	get(t, values["control"]+"/v1/status", &status)
	if status.Namesrv != values["namesrv"] || status.Broker != values["broker"] || status.Name != "tester" || !status.Frozen ||
		!status.Now.Equal(time.Date(2030, 1, 2, 15, 4, 5, 0, time.UTC)) {
		t.Errorf("status %+v, ready line %v", status, values)
	}
	for _, addr := range []string{values["namesrv"], values["broker"]} {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	answer, err := http.Post(values["control"]+"/v1/clock", "application/json", strings.NewReader(`{"advance":"1h"}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("advance: %s, %v", answer.Status, err)
	}
	get(t, values["control"]+"/v1/status", &status)
	if status.Now.Hour() != 16 {
		t.Errorf("the clock shows %v after an hour", status.Now)
	}
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if code := p.wait(t); code != ExitOK {
		t.Errorf("exit %d; stderr:\n%s", code, p.stderr())
	}
}

func TestTestEndsWithASignal(t *testing.T) {
	p := start(t, "test", "--namesrv-port", "0", "--broker-port", "0", "--control", "127.0.0.1:0")
	p.ready(t)
	p.terminate(t)
	if code := p.wait(t); code != ExitOK {
		t.Errorf("exit %d; stderr:\n%s", code, p.stderr())
	}
}

func TestTestUsageErrors(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, err := net.SplitHostPort(taken.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"time", []string{"--time", "noon"}, ExitUsage, `--time "noon"`},
		{"set", []string{"--set", "x"}, ExitUsage, `--set "x"`},
		{"key", []string{"--set", "flushDiskTyp=x"}, ExitUsage, "did you mean flushDiskType?"},
		{"topic", []string{"--topic", ":3"}, ExitUsage, `":3" has no name`},
		{"release", []string{"--emulate", "3.2"}, ExitUsage, "known are 4.9, 5.x"},
		{"control port", []string{"--control", taken.Addr().String()}, ExitPortTaken, "the control API cannot listen"},
		{"name server port", []string{"--namesrv-port", port}, ExitPortTaken, "port " + port + " of the name server is taken"},
		{"broker port", []string{"--broker-port", port}, ExitPortTaken, "port " + port + " of the broker is taken"},
	} {
		args := append([]string{"test"}, c.args...)
		for _, flag := range []string{"--namesrv-port", "--broker-port", "--control"} {
			if c.args[0] != flag {
				value := "0"
				if flag == "--control" {
					value = "127.0.0.1:0"
				}
				args = append(args, flag, value)
			}
		}
		code, out, log := run(t, nil, args...)
		if code != c.code || out != "" || !strings.Contains(log, c.want) {
			t.Errorf("%s: exit %d, stdout %q, stderr %q; want %d and %q", c.name, code, out, log, c.code, c.want)
		}
	}
}

func get(t *testing.T, url string, into any) {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}
