package peer

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// StartGRPCProxy starts Apache's proxy in cluster mode in front of c and returns its gRPC endpoint.
func StartGRPCProxy(t testing.TB, c *Cluster) string {
	t.Helper()
	NeedJava(t)
	home := t.TempDir()
	port := FreePorts(t)
	text, err := json.Marshal(struct {
		Cluster       string `json:"rocketMQClusterName"`
		Proxy         string `json:"proxyClusterName"`
		Name          string `json:"proxyName"`
		Mode          string `json:"proxyMode"`
		Namesrv       string `json:"namesrvAddr"`
		Local         string `json:"localServeAddr"`
		Port          int    `json:"grpcServerPort"`
		RemotingPort  int    `json:"remotingListenPort"`
		PrintJStack   bool   `json:"enablePrintJstack"`
		RouteRefresh  int    `json:"topicRouteServiceCacheRefreshSeconds"`
		ConfigRefresh int    `json:"topicConfigCacheRefreshSeconds"`
	}{"DefaultCluster", "proxies", "proxy", "CLUSTER", c.Namesrv, "127.0.0.1", port, port + 1, false, 2, 2})
	if err != nil {
		t.Fatal(err)
	}
	conf := filepath.Join(home, "rmq-proxy.json")
	if err := os.WriteFile(conf, text, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := Java(home, []string{"-Xms128m", "-Xmx512m", "-XX:MaxDirectMemorySize=512m"}, "org.apache.rocketmq.proxy.ProxyStartup", "-pc", conf)
	cmd.Env = append(cmd.Env, "RMQ_PROXY_HOME="+home)
	p := start(t, cmd, filepath.Join(home, "proxy.out"))
	p.awaitLine(t, "startup successfully", 2*time.Minute)
	return fmt.Sprintf("127.0.0.1:%d", port)
}
