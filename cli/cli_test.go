package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// run runs a command line in this process; the ones that serve are run by start.
func run(t *testing.T, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, log bytes.Buffer
	code = Run(Process{Args: args, Env: env, Stdout: &out, Stderr: &log, Version: "v1.2.3"})
	return code, out.String(), log.String()
}

func TestVersion(t *testing.T) {
	code, out, log := run(t, nil, "version")
	if code != ExitOK || !strings.HasPrefix(out, "rocketd v1.2.3") || log != "" {
		t.Errorf("exit %d, stdout %q, stderr %q", code, out, log)
	}
}

func TestConfig(t *testing.T) {
	code, out, log := run(t, []string{"NAMESRV_ADDR=10.0.0.1:9876"}, "config", "--changed", "--broker-port", "0", "--data", "/x/y",
		"--set", "flushDiskType=SYNC_FLUSH")
	if code != ExitOK || log != "" {
		t.Fatalf("exit %d, stderr %q", code, log)
	}
	for _, want := range []string{
		"\n  namesrvAddr: 10.0.0.1:9876                             # environment NAMESRV_ADDR\n",
		"\n  listenPort: 0                                          # flag --broker-port\n",
		"dataDir: /x/y                                            # flag --data\n",
		"\n  flushDiskType: SYNC_FLUSH                              # flag --set\n",
	} {
		if !strings.Contains("\n"+out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if strings.Contains(out, "maxMessageSize") {
		t.Errorf("--changed prints a default:\n%s", out)
	}
	if _, all, _ := run(t, nil, "config", "namesrv"); !strings.Contains(all, "orderMessageEnable: false") || strings.Contains(all, "maxMessageSize") {
		t.Errorf("the name server's configuration:\n%s", all)
	}
}

func TestUsageErrors(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "broker.conf")
	if err := os.WriteFile(bad, []byte("flushDiskTyp=SYNC_FLUSH\nfileReservedTime=x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		{"unknown command", []string{"serve"}, []string{`unknown command "serve"`, "rocketd --help"}},
		{"unknown flag", []string{"--port", "1"}, []string{"unknown flag: --port"}},
		{"unknown role", []string{"config", "proxy"}, []string{`"proxy" is neither broker nor namesrv`}},
		{"port that is none", []string{"--broker-port", "abc"}, []string{"flag --broker-port", `"abc" is not a whole number`}},
		{"one port for both", []string{"--broker-port", "9876"}, []string{"9876 is the name server's port too"}},
		{"bad file", []string{"-c", bad}, []string{bad + ":1: flushDiskTyp: unknown key; did you mean flushDiskType?", bad + `:2: fileReservedTime: "x"`}},
		{"missing file", []string{"config", "-c", "no.yaml"}, []string{"no.yaml: there is no such file"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, log := run(t, nil, c.args...)
			if code != ExitUsage || out != "" {
				t.Errorf("exit %d, stdout %q, want %d and nothing", code, out, ExitUsage)
			}
			for _, want := range c.want {
				if !strings.Contains(log, want) {
					t.Errorf("%q is not in %q", want, log)
				}
			}
		})
	}
}
