package integration

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/apache/rocketmq-client-go/v2/rlog"

	"github.com/rocketd/rocketd/integration/peer"
)

// TestCaptureGoldenFrames writes remoting/testdata/golden anew from real clients talking to Apache's broker. It runs
// only when CAPTURE_GOLDEN is set: the files are kept in the tree.
func TestCaptureGoldenFrames(t *testing.T) {
	if os.Getenv("CAPTURE_GOLDEN") == "" {
		t.Skip("set CAPTURE_GOLDEN=1 to capture the golden frames anew")
	}
	rlog.SetLogLevel("fatal")
	dir := filepath.Join(peer.Root(), "remoting", "testdata", "golden")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	apache := peer.StartApache(t, t.TempDir(), append(slices.Clone(settings), "enablePropertyFilter=true")...)
	var client string
	var mu sync.Mutex
	seen := map[string]bool{}
	save := func(f peer.Frame) {
		mu.Lock()
		defer mu.Unlock()
		form, direction, kind := "json", "from-server", "request"
		if f.Binary {
			form = "binary"
		}
		if f.FromClient {
			direction = "from-client"
		}
		if f.Response {
			kind = "response"
		}
		name := fmt.Sprintf("%s_%s_%s_%s_%d.bin", client, direction, kind, form, f.Code)
		if seen[name] || len(f.Bytes) > 4096 {
			return
		}
		seen[name] = true
		if err := os.WriteFile(filepath.Join(dir, name), f.Bytes, 0o644); err != nil {
			t.Error(err)
		}
	}
	_, brokerPort, err := net.SplitHostPort(apache.Broker)
	if err != nil {
		t.Fatal(err)
	}
	proxyPort := peer.FreePorts(t)
	peer.StartProxy(t, proxyPort, apache.Broker, "", "", save)
	namesrv := peer.StartProxy(t, 0, apache.Namesrv, "127.0.0.1:"+brokerPort, "127.0.0.1:"+strconv.Itoa(proxyPort), save)
	run := func(name string, f func()) {
		mu.Lock()
		client = name
		mu.Unlock()
		f()
	}
	for _, version := range peer.ClientVersions {
		for _, form := range []string{"JSON", "ROCKETMQ"} {
			run("java-"+version, func() {
				peer.RunScenarios(t, peer.ScenarioRun{
					Version: version, Namesrv: namesrv.Addr, Prefix: "cap" + form + version[:1],
					JVM: []string{"-Drocketmq.serialize.type=" + form},
				})
			})
		}
	}
	run("go-2.1", func() {
		for _, story := range goStories {
			t.Run(story.name, func(t *testing.T) { story.run(t, &goEnv{namesrv: namesrv.Addr, name: "go_" + story.name}) })
		}
	})
	if len(seen) < 50 {
		t.Errorf("captured %d frames only", len(seen))
	}
}
