package peer

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/remoting"
)

var jvmOpens = []string{
	"--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
	"--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
	"--add-opens=java.base/java.nio=ALL-UNNAMED",
	"--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
}

// OracleClassPath is the class path of Apache's broker, name server, tools, examples and proxy.
func OracleClassPath() string { return classPath("oracle") }

// classPath is that of a module of the Maven project.
func classPath(module string) string {
	return filepath.Join(Root(), "integration", "java", module, "target", "lib", "*")
}

// Java makes a command that runs a class of Apache's own artifacts in the folder home.
func Java(home string, jvm []string, class string, args ...string) *exec.Cmd {
	return javaOf(OracleClassPath(), home, jvm, class, args...)
}

func javaOf(path, home string, jvm []string, class string, args ...string) *exec.Cmd {
	all := append(append([]string{}, jvmOpens...), "-Duser.home="+home)
	all = append(append(all, jvm...), "-cp", path, class)
	cmd := exec.Command("java", append(all, args...)...)
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "ROCKETMQ_HOME="+home)
	return cmd
}

// ApacheHeap is the JVM options for the memory of Apache's broker: APACHE_HEAP of the environment, or 1g at most.
func ApacheHeap() []string {
	heap := os.Getenv("APACHE_HEAP")
	if heap == "" {
		return []string{"-Xms256m", "-Xmx1g", "-XX:MaxDirectMemorySize=1g"}
	}
	return []string{"-Xms" + heap, "-Xmx" + heap, "-XX:MaxDirectMemorySize=" + heap}
}

// StartApache starts Apache's name server and broker on free ports with a store in dir, which may hold one already.
// Lines are added to broker.conf.
func StartApache(t testing.TB, dir string, lines ...string) *Cluster {
	t.Helper()
	NeedJava(t)
	port := FreePorts(t)
	c := &Cluster{Name: "apache", Namesrv: fmt.Sprintf("127.0.0.1:%d", FreePorts(t)), Broker: fmt.Sprintf("127.0.0.1:%d", port), Dir: dir}
	c.startApacheNamesrv(t)
	c.startApacheBroker(t, c.Namesrv, lines...)
	return c
}

// StartApacheNamesrv starts Apache's name server alone.
func StartApacheNamesrv(t testing.TB, dir string) *Cluster {
	t.Helper()
	NeedJava(t)
	c := &Cluster{Name: "apache", Namesrv: fmt.Sprintf("127.0.0.1:%d", FreePorts(t)), Dir: dir}
	c.startApacheNamesrv(t)
	return c
}

// StartApacheBroker starts Apache's broker alone; it registers with the given name servers.
func StartApacheBroker(t testing.TB, dir, namesrv string, lines ...string) *Cluster {
	t.Helper()
	return startApacheBrokerOf(t, OracleClassPath(), dir, namesrv, lines...)
}

// StartApache49Broker is StartApacheBroker with Apache 4.9.7.
func StartApache49Broker(t testing.TB, dir, namesrv string, lines ...string) *Cluster {
	t.Helper()
	return startApacheBrokerOf(t, classPath("oracle-4.9.7"), dir, namesrv, lines...)
}

func startApacheBrokerOf(t testing.TB, path, dir, namesrv string, lines ...string) *Cluster {
	t.Helper()
	NeedJava(t)
	c := &Cluster{Name: "apache", Namesrv: namesrv, Broker: fmt.Sprintf("127.0.0.1:%d", FreePorts(t)), Dir: dir}
	c.startApacheBrokerOf(t, path, namesrv, lines...)
	return c
}

func (c *Cluster) startApacheNamesrv(t testing.TB) {
	t.Helper()
	home := t.TempDir()
	_, port, _ := strings.Cut(c.Namesrv, ":")
	conf := filepath.Join(home, "namesrv.conf")
	write(t, conf, "listenPort="+port, "kvConfigPath="+home+"/kvConfig.json", "configStorePath="+home+"/namesrv.properties")
	p := start(t, Java(home, []string{"-Xmx256m"}, "org.apache.rocketmq.namesrv.NamesrvStartup", "-c", conf), filepath.Join(home, "namesrv.out"))
	p.awaitLine(t, "boot success", time.Minute)
	c.processes = append(c.processes, p)
}

func (c *Cluster) startApacheBroker(t testing.TB, namesrv string, lines ...string) {
	t.Helper()
	c.startApacheBrokerOf(t, OracleClassPath(), namesrv, lines...)
}

func (c *Cluster) startApacheBrokerOf(t testing.TB, path, namesrv string, lines ...string) {
	t.Helper()
	home := t.TempDir()
	_, port, _ := strings.Cut(c.Broker, ":")
	// 4.9 does not start without it.
	if err := os.Mkdir(filepath.Join(home, "conf"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, "conf", "logback_broker.xml"), "<configuration/>")
	conf := filepath.Join(home, "broker.conf")
	write(t, conf, append([]string{
		"brokerClusterName=DefaultCluster", "brokerName=broker-a", "brokerId=0", "brokerIP1=127.0.0.1", "listenPort=" + port,
		"namesrvAddr=" + namesrv, "storePathRootDir=" + c.Dir, "storePathCommitLog=" + filepath.Join(c.Dir, "commitlog"),
		"brokerRole=ASYNC_MASTER", "flushDiskType=ASYNC_FLUSH", "autoCreateTopicEnable=true", "waitTimeMillsInSendQueue=5000",
	}, lines...)...)
	p := start(t, javaOf(path, home, ApacheHeap(), "org.apache.rocketmq.broker.BrokerStartup", "-c", conf),
		filepath.Join(home, "broker.out"))
	p.awaitLine(t, "boot success", 2*time.Minute)
	c.processes = append(c.processes, p)
	awaitRoute(t, strings.Split(namesrv, ";")[0], "TBW102")
}

// awaitRoute waits until the name server knows the topic: a broker that says it is up may not have registered yet.
func awaitRoute(t testing.TB, namesrv, topic string) {
	t.Helper()
	client := remoting.NewClient(remoting.ClientOptions{})
	defer client.Close()
	deadline := time.Now().Add(time.Minute)
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		resp, err := client.Invoke(ctx, namesrv, remoting.NewRequest(remoting.GetRouteinfoByTopic, &remoting.GetRouteInfoRequestHeader{Topic: topic}))
		cancel()
		if err == nil && resp.Code == remoting.Success {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no route of %s at %s: %v", topic, namesrv, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func write(t testing.TB, name string, lines ...string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}
