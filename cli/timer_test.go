package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/standalone"
	"github.com/rocketd/rocketd/standalone/standalonetest"
)

// timersOf runs command lines against a broker with a console and awaits what they print.
func timersOf(t *testing.T) (run func(args ...string) (int, string, string), httpAddr string) {
	t.Helper()
	s := standalonetest.Start(t, standalone.Options{Console: true})
	return func(args ...string) (int, string, string) {
		var out, log bytes.Buffer
		code := Run(Process{Args: args, Env: []string{"NAMESRV_ADDR=" + s.NamesrvAddr()}, Stdout: &out, Stderr: &log, Version: "test"})
		return code, out.String(), log.String()
	}, s.HTTPAddr()
}

// await runs a command until it prints a text.
func await(t *testing.T, run func(args ...string) (int, string, string), text string, args ...string) string {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		code, out, log := run(args...)
		if code == ExitOK && strings.Contains(strings.Join(strings.Fields(out), " "), text) {
			return out
		}
		if time.Now().After(deadline) {
			t.Fatalf("rocketd %s: exit %d, %q is not in\n%s%s", strings.Join(args, " "), code, text, out, log)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func TestTimerCommands(t *testing.T) {
	run, console := timersOf(t)
	if code, out, log := run("timer", "ls"); code != ExitOK || !strings.Contains(out, "DUE") {
		t.Fatalf("without timers: exit %d\n%s%s", code, out, log)
	}
	for _, args := range []string{"send orders one --delay 2h --key a", "send orders two --delay 1h", "send audit three --delay 1h", "send orders soon --delay 20ms"} {
		if code, _, log := run(strings.Fields(args)...); code != ExitOK {
			t.Fatalf("rocketd %s: exit %d\n%s", args, code, log)
		}
	}
	await(t, run, "delivered 1", "timer", "stats", "--http", console)
	for _, where := range [][]string{{"--http", console}, nil} {
		with := func(args ...string) []string { return append(append([]string{"timer"}, args...), where...) }
		await(t, run, "pending 3", with("stats")...)
		var list TimerList
		out := await(t, run, `"topic": "orders"`, with("ls", "--topic", "orders", "--json")...)
		if err := json.Unmarshal([]byte(out), &list); err != nil {
			t.Fatal(err)
		}
		if len(list.Timers) != 2 || list.More || list.Timers[0].DueMs >= list.Timers[1].DueMs || list.Timers[1].Keys != "a" || list.Timers[0].UniqueKey == "" ||
			list.Timers[0].DueMs < list.NowMs+3_500_000 || list.Timers[0].DueMs > list.NowMs+3_600_000 {
			t.Errorf("%v: %+v", where, list)
		}
		await(t, run, "There are more.", with("ls", "--limit", "2")...)
		var stats TimerStats
		out = await(t, run, `"pending": 2`, with("stats", "--topic", "orders", "--by", "day", "--json")...)
		if err := json.Unmarshal([]byte(out), &stats); err != nil {
			t.Fatal(err)
		}
		timers := int64(0)
		for _, s := range stats.Slots {
			timers += s.Timers
		}
		if timers != 2 || stats.BucketMs != 86_400_000 || stats.OldestMs == 0 || stats.OldestMs > stats.NowMs || stats.Partial || stats.NextDueMs < stats.NowMs {
			t.Errorf("%v: %+v", where, stats)
		}
		if console := where != nil; console != (len(stats.Lateness) > 0) {
			t.Errorf("%v: lateness %+v", where, stats.Lateness)
		}
	}
	await(t, run, "orders 2", "timer", "stats", "--by", "minute", "--http", console)
	await(t, run, "Not all messages of the system topic were read", "timer", "stats", "--read", "1")
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"timer stats --by year", ExitUsage, "minute, hour, day"},
		{"timer ls --limit 0", ExitUsage, "at least 1"},
		{"timer ls --http 127.0.0.1:1", ExitUnreachable, "httpPort"},
		{"timer stats --broker 127.0.0.1:1", ExitUnreachable, "no answer"},
	} {
		if code, out, log := run(strings.Fields(c.args)...); code != c.code || !strings.Contains(log, c.want) {
			t.Errorf("rocketd %s: exit %d, want %d and %q\n%s%s", c.args, code, c.code, c.want, out, log)
		}
	}
}
