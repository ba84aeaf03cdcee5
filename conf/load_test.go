package conf

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var laptop = Machine{Hostname: "laptop", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.7")}, CPUs: 2}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, in Input) *Config {
	t.Helper()
	if in.Machine.Hostname == "" {
		in.Machine = laptop
	}
	c, err := Load(in)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func problems(t *testing.T, in Input) []string {
	t.Helper()
	in.Machine = laptop
	_, err := Load(in)
	var all *Errors
	if !errors.As(err, &all) {
		t.Fatalf("Load returned %v, want *Errors", err)
	}
	return strings.Split(all.Error(), "\n")
}

func wantKeys(t *testing.T, c *Config, want map[string]string) {
	t.Helper()
	for name, text := range want {
		if got, ok := c.Get(name); !ok || got != text {
			t.Errorf("%s is %q (known %v, from %s), want %q", name, got, ok, c.Origin(name), text)
		}
	}
}

func TestLoadWithoutSources(t *testing.T) {
	c := load(t, Input{})
	wantKeys(t, c, map[string]string{
		"dataDir": "./rocketd-data", "broker.listenPort": "10911", "namesrv.listenPort": "9876",
		"broker.bindAddress": "127.0.0.1", "namesrv.bindAddress": "127.0.0.1", "brokerIP1": "127.0.0.1", "brokerIP2": "127.0.0.1",
		"brokerName": "laptop", "storePathRootDir": "./rocketd-data", "haListenPort": "10912",
		"kvConfigPath": "rocketd-data/namesrv/kvConfig.json", "brokerConfigPath": "rocketd-data/config/broker.properties",
		"configStorePath": "rocketd-data/namesrv/namesrv.properties",
	})
	if got := c.Store.CommitLogDir(); got != "rocketd-data/commitlog" {
		t.Errorf("commit log in %s", got)
	}
	if len(c.Notes()) > 0 || len(c.Ignored()) > 0 {
		t.Errorf("notes %q, ignored %q, want none", c.Notes(), c.Ignored())
	}
}

// Each source overrides the ones before it; what only a weak source says stays.
func TestLoadOrderOfSources(t *testing.T) {
	apache := write(t, "broker.conf", "brokerName=file\nbrokerClusterName=file\nregionId=file\nflushDiskType=SYNC_FLUSH\nnamesrvAddr=file:1\n")
	c := load(t, Input{
		Files: []string{apache},
		Env: []string{
			"NAMESRV_ADDR=variable:1", "ROCKETD_BROKER_CLUSTER_NAME=variable", "ROCKETD_REGIONID=variable",
			"ROCKETD_BROKERNAME=variable", "HOME=/nowhere",
		},
		Flags: []Setting{{Flag: "--x", Key: "regionId", Value: "flag"}, {Flag: "--y", Key: "brokerName", Value: "flag"}},
		Sets:  []string{"brokerName=set"},
	})
	wantKeys(t, c, map[string]string{
		"brokerName": "set", "regionId": "flag", "brokerClusterName": "variable", "flushDiskType": "SYNC_FLUSH",
		"namesrvAddr": "file:1",
	})
	for name, want := range map[string]string{
		"broker.brokerName": "flag --set", "broker.regionId": "flag --x",
		"broker.brokerClusterName": "environment ROCKETD_BROKER_CLUSTER_NAME", "broker.flushDiskType": apache + ":4",
		"broker.maxMessageSize": "default", "broker.brokerIP1": "machine",
	} {
		if got := c.Origin(name).String(); got != want {
			t.Errorf("%s comes from %q, want %q", name, got, want)
		}
	}
}

// The two listeners' ports have names of their own where one file or environment holds both.
func TestLoadPortNames(t *testing.T) {
	want := map[string]string{"broker.listenPort": "1", "namesrv.listenPort": "2"}
	wantKeys(t, load(t, Input{Env: []string{"ROCKETD_BROKER_PORT=1", "ROCKETD_NAMESRV_PORT=2"}}), want)
	wantKeys(t, load(t, Input{Sets: []string{"brokerPort=1", "namesrvPort=2"}}), want)
	wantKeys(t, load(t, Input{Files: []string{write(t, "a.yaml", "brokerPort: 1\nnamesrvPort: 2\n")}}), want)
	wantKeys(t, load(t, Input{Env: []string{"ROCKETD_BROKER_LISTEN_PORT=1", "ROCKETD_NAMESRV_LISTEN_PORT=2"}}), want)
}

func TestLoadApacheVariables(t *testing.T) {
	c := load(t, Input{Env: []string{"NAMESRV_ADDR=10.0.0.1:9876;10.0.0.2:9876", "ROCKETMQ_HOME=/opt/rocketmq"}})
	wantKeys(t, c, map[string]string{
		"namesrvAddr": "10.0.0.1:9876;10.0.0.2:9876", "broker.rocketmqHome": "/opt/rocketmq", "namesrv.rocketmqHome": "/opt/rocketmq",
	})
	c = load(t, Input{Env: []string{"NAMESRV_ADDR=10.0.0.1:9876", "ROCKETD_NAMESRV_ADDR=10.0.0.3:9876"}})
	wantKeys(t, c, map[string]string{"namesrvAddr": "10.0.0.3:9876"})
}

// A broker.conf as Apache's documentation shows it, with keys of other releases and of parts that are not here.
func TestLoadApacheBrokerConf(t *testing.T) {
	conf := write(t, "broker.conf", `
brokerClusterName = DefaultCluster
brokerName = broker-a
brokerId = 0
deleteWhen = 04
fileReservedTime = 48
brokerRole = ASYNC_MASTER
flushDiskType = ASYNC_FLUSH
storePathRootDir=/data/rocketmq/store
storePathCommitLog=/data/rocketmq/store/commitlog
brokerIP1=192.0.2.50
sendMessageThreadPoolNums=16
useReentrantLockWhenPutMessage=true
filterServerNums=0
authenticationEnabled=false
serverWorkerThreads=4
connectTimeoutMillis=4000
`)
	c := load(t, Input{Files: []string{conf}, Role: RoleBroker})
	wantKeys(t, c, map[string]string{
		"brokerName": "broker-a", "fileReservedTime": "48", "dataDir": "/data/rocketmq/store",
		"storePathRootDir": "/data/rocketmq/store", "brokerIP1": "192.0.2.50", "bindAddress": "0.0.0.0",
		"connectTimeoutMillis": "4000", "brokerConfigPath": conf,
	})
	for _, want := range []string{"broker.useReentrantLockWhenPutMessage", "filterServerNums", "authenticationEnabled", "broker.serverWorkerThreads"} {
		if !slices.Contains(c.Ignored(), want) {
			t.Errorf("%s is not among the ignored keys %q", want, c.Ignored())
		}
	}
	if len(c.Notes()) != 1 || !strings.Contains(c.Notes()[0], "listening on all addresses") {
		t.Errorf("notes %q, want one about listening on all addresses", c.Notes())
	}
}

func TestLoadNamesrvConf(t *testing.T) {
	conf := write(t, "namesrv.conf", "listenPort=9999\nkvConfigPath=/x/kv.json\norderMessageEnable=true\n")
	want := map[string]string{"namesrv.listenPort": "9999", "kvConfigPath": "/x/kv.json", "orderMessageEnable": "true", "broker.listenPort": "10911"}
	for _, role := range []Role{RoleNamesrv, RoleAll} {
		c := load(t, Input{Files: []string{conf}, Role: role})
		wantKeys(t, c, want)
		if c.Namesrv.ConfigStorePath != conf {
			t.Errorf("updates go to %s, want %s", c.Namesrv.ConfigStorePath, conf)
		}
	}
	c := load(t, Input{Sets: []string{"listenPort=9998"}, Role: RoleNamesrv})
	wantKeys(t, c, map[string]string{"namesrv.listenPort": "9998"})
}

func TestLoadYAML(t *testing.T) {
	conf := write(t, "rocketd.yaml", `
dataDir: /var/lib/rocketd
host: 0.0.0.0
advertise: mq.example.com:30911
topics:
  - orders:4
  - name: payments
    queues: 8
    type: FIFO
    order: true
groups:
  - name: billing
    retryMaxTimes: 3
    consumeBroadcastEnable: false
  - shipping
broker:
  namesrvAddr: [10.0.0.1:9876, 10.0.0.2:9876]
  fileReservedTime: 24
namesrv:
  listenPort: 9000
maxMessageSize: 1048576
`)
	c := load(t, Input{Files: []string{conf}})
	wantKeys(t, c, map[string]string{
		"dataDir": "/var/lib/rocketd", "bindAddress": "0.0.0.0", "brokerIP1": "mq.example.com", "namesrvAddr": "10.0.0.1:9876;10.0.0.2:9876",
		"fileReservedTime": "24", "namesrv.listenPort": "9000", "maxMessageSize": "1048576",
	})
	if got := c.BrokerAddr(10911); got != "mq.example.com:30911" {
		t.Errorf("clients are told %s", got)
	}
	if got := c.NamesrvAddr(9000); got != "mq.example.com:9000" {
		t.Errorf("name server for clients %s", got)
	}
	wantTopics := []TopicSpec{{Name: "orders", Queues: 4, Perm: 6}, {Name: "payments", Queues: 8, Perm: 6, Order: true, Type: "FIFO"}}
	if !slices.Equal(c.Rocketd.Topics, wantTopics) {
		t.Errorf("topics %+v, want %+v", c.Rocketd.Topics, wantTopics)
	}
	wantGroups := []GroupSpec{
		{Name: "billing", RetryMaxTimes: 3, RetryQueueNums: 1, ConsumeEnable: true, ConsumeFromMin: true},
		{Name: "shipping", RetryMaxTimes: 16, RetryQueueNums: 1, ConsumeEnable: true, BroadcastEnable: true, ConsumeFromMin: true},
	}
	if !slices.Equal(c.Rocketd.Groups, wantGroups) {
		t.Errorf("groups %+v, want %+v", c.Rocketd.Groups, wantGroups)
	}
}

// Everything wrong is reported at once, each with its place.
func TestLoadReportsAllProblems(t *testing.T) {
	properties := write(t, "broker.conf", "brokerName=a\nflushDiskTyp=SYNC_FLUSH\nfileReservedTime=two\n\nbrokerPermission=9\naclEnable=true\nauthenticationEnabled=true\n")
	yaml := write(t, "x.yaml", "broker:\n  flushDiskType: SYNC\n  flushDiskType: ASYNC_FLUSH\nnonsense: 1\nmessageDelayLevel: 1s 2x\ntopics:\n  - {queues: 3}\n")
	got := problems(t, Input{
		Files: []string{properties, yaml, "missing.conf"},
		Env:   []string{"ROCKETD_NO_SUCH_KEY=1", "ROCKETD_SERVICE_HOST=10.0.0.1", "ROCKETD_PORT=tcp://10.0.0.1:9876", "ROCKETD_PORT_9876_TCP_ADDR=10.0.0.1"},
		Flags: []Setting{{Flag: "--broker-port", Key: "broker.listenPort", Value: "70000"}},
		Sets:  []string{"listenPort", "diskSpaceCleanForciblyRatio=95", "namesrvAddr=nowhere"},
	})
	want := []string{
		properties + ":2: flushDiskTyp: unknown key; did you mean flushDiskType?",
		properties + `:3: fileReservedTime: "two" is not a whole number`,
		properties + ":5: brokerPermission: 9 is outside 0 to 7",
		properties + ":6: aclEnable: rocketd has no access control yet; only false is possible",
		properties + ":7: authenticationEnabled: rocketd has no access control yet; only false is possible",
		yaml + ":3: flushDiskType: stands twice, first on line 2",
		yaml + ":7: topics: an entry has no name",
		yaml + `:2: broker.flushDiskType: "SYNC" is none of ASYNC_FLUSH, SYNC_FLUSH`,
		yaml + ":4: nonsense: unknown key",
		yaml + `:5: messageDelayLevel: level 2 is "2x", not a number with s, m, h or d`,
		"missing.conf: there is no such file",
		"environment ROCKETD_NO_SUCH_KEY: names no key",
		"flag --broker-port: broker.listenPort: 70000 is outside 0 to 65535",
		`flag --set: "listenPort" is not KEY=VALUE`,
		`flag --set: namesrvAddr: "nowhere" is not HOST:PORT`,
		"flag --set: broker.diskSpaceCleanForciblyRatio: 95 is more than diskSpaceWarningLevelRatio, 90: writing would be refused before anything is deleted",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestLoadRelations(t *testing.T) {
	for _, c := range []struct {
		name string
		sets []string
		want string
	}{
		{"both listeners on one port", []string{"broker.listenPort=9876"}, "9876 is the name server's port too"},
		{"slave", []string{"brokerRole=SLAVE"}, "rocketd does not replicate yet; possible is ASYNC_MASTER and SYNC_MASTER"},
		{"more acknowledgements than there are brokers", []string{"inSyncReplicas=2"}, "rocketd does not replicate yet; possible is 1"},
		{"other queue files", []string{"storeType=defaultRocksDB"}, "Apache's queue files alone; possible is default"},
		{"no data directory", []string{"dataDir="}, "must not be empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := problems(t, Input{Sets: c.sets}); len(got) != 1 || !strings.Contains(got[0], c.want) {
				t.Errorf("got %q, want one problem with %q", got, c.want)
			}
		})
	}
	c := load(t, Input{Sets: []string{"broker.listenPort=0", "namesrv.listenPort=0", "brokerId=3"}})
	if c.Broker.BrokerID != 0 || len(c.Notes()) != 1 {
		t.Errorf("a master's brokerId is %d, notes %q, want 0 and a note", c.Broker.BrokerID, c.Notes())
	}
}

func TestLoadAddresses(t *testing.T) {
	container, lonely := laptop, Machine{Hostname: "h"}
	container.InContainer = true
	image := container
	image.Published = true
	for _, c := range []struct {
		name         string
		machine      Machine
		sets         []string
		bind, broker string
		notes        int
	}{
		{"laptop", laptop, nil, "127.0.0.1", "127.0.0.1:1", 0},
		{"container", container, nil, "0.0.0.0", "192.0.2.7:1", 1},
		{"container told its name", container, []string{"advertise=localhost"}, "0.0.0.0", "localhost:1", 0},
		{"own image", image, nil, "0.0.0.0", "127.0.0.1:1", 0},
		{"own image told its name", image, []string{"advertise=mq"}, "0.0.0.0", "mq:1", 0},
		{"all addresses", laptop, []string{"host=0.0.0.0"}, "0.0.0.0", "192.0.2.7:1", 0},
		{"all addresses, none to tell", lonely, []string{"host=0.0.0.0"}, "0.0.0.0", "127.0.0.1:1", 0},
		{"one address", laptop, []string{"host=192.0.2.9"}, "192.0.2.9", "192.0.2.9:1", 0},
		{"reference's key", laptop, []string{"bindAddress=192.0.2.9"}, "192.0.2.9", "192.0.2.9:1", 0},
		{"port map", laptop, []string{"host=0.0.0.0", "advertise=mq.example.com:30911"}, "0.0.0.0", "mq.example.com:30911", 0},
		{"IPv6", laptop, []string{"host=::1"}, "::1", "[::1]:1", 0},
		{"IPv6 port map", laptop, []string{"host=::", "advertise=[2001:db8::1]:30911"}, "::", "[2001:db8::1]:30911", 0},
		{"advertised but not open", laptop, []string{"advertise=mq.example.com"}, "127.0.0.1", "mq.example.com:1", 1},
		{"advertise wins over brokerIP1", laptop, []string{"host=0.0.0.0", "brokerIP1=192.0.2.1", "advertise=192.0.2.2"}, "0.0.0.0", "192.0.2.2:1", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := load(t, Input{Machine: c.machine, Sets: c.sets})
			if got.Server.BindAddress != c.bind || got.BrokerAddr(1) != c.broker || len(got.Notes()) != c.notes {
				t.Errorf("listens on %s, tells %s, notes %q; want %s, %s, %d notes", got.Server.BindAddress, got.BrokerAddr(1), got.Notes(), c.bind, c.broker, c.notes)
			}
		})
	}
}

func TestCheckedTexts(t *testing.T) {
	for _, c := range []struct {
		name  string
		check func(string) error
		good  []string
		bad   []string
	}{
		{"addresses", checkAddresses, []string{"", "a:1", "a:1;b:2", "[::1]:9876", "http://mq.example.com"}, []string{"a", ":1", "a:0", "a:65536", "a:x", "a:1;b"}},
		{"advertise", checkAdvertise, []string{"", "a", "a:1", "::1", "[::1]:1", "10.0.0.1"}, []string{":1", "a:0", "a:x", "a b", "http://a", "a/b"}},
		{"hours", checkHours, []string{"04", "4", "00;23"}, []string{"", "24", "-1", "04;", "004"}},
		{"delay levels", checkDelayLevels, []string{"1s", "1s 5m  2h 3d", "0s"}, []string{"", "1", "s", "1x", "-1s", "1s,2s", "99999999999s"}},
	} {
		for _, text := range c.good {
			if err := c.check(text); err != nil {
				t.Errorf("%s %q: %v", c.name, text, err)
			}
		}
		for _, text := range c.bad {
			if c.check(text) == nil {
				t.Errorf("%s %q is accepted", c.name, text)
			}
		}
	}
}

// A variable names one key, whether with its section or without.
func TestEnvironmentNamesAreUnique(t *testing.T) {
	sections := make(map[string]Section)
	names := make(map[string]string)
	for _, k := range defaults(1).rows() {
		upper := strings.ToUpper(k.name)
		if other, ok := names[upper]; ok && other != k.name {
			t.Errorf("%s and %s differ in case only", other, k.name)
		}
		names[upper] = k.name
		sections[strings.ToUpper(string(k.section)+k.name)] = k.section
	}
	for upper := range names {
		if section, ok := sections[upper]; ok {
			t.Errorf("%s is also a key of section %s", names[upper], section)
		}
	}
}
