package conf

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestUpdateBroker(t *testing.T) {
	c := load(t, Input{})
	next, err := c.UpdateBroker([]Property{{Key: "maxMessageSize", Value: "1000"}, {Key: "listenPort", Value: "1"}, {Key: "someoneElses", Value: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	if next.Store.MaxMessageSize != 1000 || next.Broker.ListenPort != 1 || next.Server.ListenPort != 1 {
		t.Errorf("maxMessageSize %d, listenPort %d and %d", next.Store.MaxMessageSize, next.Broker.ListenPort, next.Server.ListenPort)
	}
	if next.NamesrvServer.ListenPort != 9876 {
		t.Errorf("the name server's listenPort became %d", next.NamesrvServer.ListenPort)
	}
	if c.Store.MaxMessageSize != 4194304 || c.Origin("broker.maxMessageSize").Source != "" {
		t.Errorf("the old configuration changed: %d", c.Store.MaxMessageSize)
	}
}

func TestUpdateRefuses(t *testing.T) {
	c := load(t, Input{Sets: []string{"broker.configBlackList=brokerName;brokerConfigPath"}})
	for _, name := range []string{"brokerName", "brokerConfigPath", "configBlackList", "rocketmqHome"} {
		if _, err := c.UpdateBroker([]Property{{Key: name, Value: "x"}}); !errors.Is(err, ErrBlackListed) {
			t.Errorf("%s: %v, want ErrBlackListed", name, err)
		}
	}
	for _, name := range []string{"kvConfigPath", "configStorePath", "configBlackList", "rocketmqHome"} {
		if _, err := c.UpdateNamesrv([]Property{{Key: name, Value: "x"}}); !errors.Is(err, ErrBlackListed) {
			t.Errorf("%s: %v, want ErrBlackListed", name, err)
		}
	}
	_, err := c.UpdateBroker([]Property{{Key: "maxMessageSize", Value: "big"}, {Key: "brokerPermission", Value: "8"}, {Key: "diskSpaceWarningLevelRatio", Value: "80"}})
	var all *Errors
	if !errors.As(err, &all) || len(all.Problems) != 3 {
		t.Errorf("three bad values: %v", err)
	}
}

func TestWith(t *testing.T) {
	c := load(t, Input{})
	next, err := c.With("namesrv.orderMessageEnable", "true")
	if err != nil || !next.Namesrv.OrderMessageEnable || c.Namesrv.OrderMessageEnable {
		t.Errorf("orderMessageEnable %v, before %v, %v", next.Namesrv.OrderMessageEnable, c.Namesrv.OrderMessageEnable, err)
	}
	if _, err := c.With("nope", "1"); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("unknown key: %v", err)
	}
	if _, err := c.With("flushDiskType", "x"); err == nil {
		t.Error("a bad value is accepted")
	}
}

// The reference sorts by key and leaves out what is null; values stand as they are.
func TestProperties(t *testing.T) {
	c := load(t, Input{})
	lines := strings.Split(strings.TrimSuffix(string(c.BrokerProperties()), "\n"), "\n")
	if !slices.IsSorted(lines) && !slices.IsSortedFunc(lines, func(a, b string) int {
		return strings.Compare(a[:strings.Index(a, "=")], b[:strings.Index(b, "=")])
	}) {
		t.Error("the broker's properties are not sorted by key")
	}
	for _, want := range []string{
		"brokerName=laptop", "listenPort=10911", "messageDelayLevel=1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h",
		"logicalDiskSpaceCleanForciblyThreshold=0.8", "timerRocksDBRollMaxTps=8000.0", "messageStorePlugIn=", "brokerRole=ASYNC_MASTER",
		"useTLS=false", "defaultMessageRequestMode=PULL",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("%q is not among the broker's properties", want)
		}
	}
	for _, null := range []string{"namesrvAddr", "storePathCommitLog", "haMasterAddress"} {
		if slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, null+"=") }) {
			t.Errorf("%s is null in the reference and must not be listed", null)
		}
	}
	if got := string(c.NamesrvProperties()); !strings.Contains(got, "\nlistenPort=9876\n") || strings.Contains(got, "brokerName=") {
		t.Errorf("the name server's properties:\n%s", got)
	}
}

// save edits a file as those who serve updates do.
func save(t *testing.T, path string, edit func([]byte, []Property) ([]byte, error), changes []Property) {
	t.Helper()
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	text, err := edit(old, changes)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A saved update holds after a restart, and nothing else of the file changes.
func TestSaveIntoProperties(t *testing.T) {
	path := write(t, "broker.conf", "# keep me\nbrokerName=a\nmaxMessageSize=1\\\n  000\r\n\n! and me\nfileReservedTime : 24\nmaxMessageSize=2")
	changes := []Property{{Key: "maxMessageSize", Value: "3000"}, {Key: "regionId", Value: "a b"}, {Key: "unknown", Value: "x"}}
	c := load(t, Input{Files: []string{path}})
	next, err := c.UpdateBroker(changes)
	if err != nil {
		t.Fatal(err)
	}
	save(t, next.Broker.BrokerConfigPath, next.EditBrokerFile, changes)
	got, err := os.ReadFile(path)
	if want := "# keep me\nbrokerName=a\nmaxMessageSize=3000\n\n! and me\nfileReservedTime : 24\nregionId=a b\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	wantKeys(t, load(t, Input{Files: []string{path}}), map[string]string{"maxMessageSize": "3000", "regionId": "a b", "brokerName": "a"})
}

func TestSaveIntoYAML(t *testing.T) {
	path := write(t, "rocketd.yaml", "# keep me\nbroker:\n  brokerName: a # here\n  maxMessageSize: 1000\nfileReservedTime: 24\n")
	changes := []Property{{Key: "maxMessageSize", Value: "3000"}, {Key: "fileReservedTime", Value: "48"}, {Key: "regionId", Value: "true"}}
	c := load(t, Input{Files: []string{path}})
	next, err := c.UpdateBroker(changes)
	if err != nil {
		t.Fatal(err)
	}
	save(t, next.Broker.BrokerConfigPath, next.EditBrokerFile, changes)
	save(t, next.Namesrv.ConfigStorePath, next.EditNamesrvFile, []Property{{Key: "listenPort"}})
	got, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(got), "# keep me") || !strings.Contains(string(got), "# here") {
		t.Errorf("comments are gone: %q, %v", got, err)
	}
	wantKeys(t, load(t, Input{Files: []string{path}}), map[string]string{
		"maxMessageSize": "3000", "fileReservedTime": "48", "regionId": "true", "brokerName": "a", "namesrv.listenPort": "9876",
	})
}

// Without -c, updates are kept below the data directory and read at the next start; stronger sources win over them.
func TestSaveWithoutFile(t *testing.T) {
	in := Input{Flags: []Setting{{Flag: "--data", Key: "dataDir", Value: filepath.Join(t.TempDir(), "data")}}, Sets: []string{"regionId=set"}}
	c := load(t, in)
	changes := []Property{{Key: "regionId", Value: "saved"}, {Key: "maxMessageSize", Value: "3000"}}
	next, err := c.UpdateBroker(changes)
	if err != nil {
		t.Fatal(err)
	}
	save(t, next.Broker.BrokerConfigPath, next.EditBrokerFile, changes)
	order := []Property{{Key: "orderMessageEnable", Value: "true"}}
	if next, err = next.UpdateNamesrv(order); err != nil {
		t.Fatal(err)
	}
	save(t, next.Namesrv.ConfigStorePath, next.EditNamesrvFile, order)
	wantKeys(t, load(t, in), map[string]string{"regionId": "set", "maxMessageSize": "3000", "orderMessageEnable": "true"})
}

func TestYAMLIsReadBack(t *testing.T) {
	sets := []string{"topics=a:4;b,type=FIFO,order=true", "groups=g:3,consumeEnable=false", `messages=[{"topic":"a","body":"x: #1","queue":0,"delay":"10s","properties":{"k":"v"}}]`, "regionId=007", "brokerName=true", "maxMessageSize=5", "namesrv.listenPort=1"}
	for _, changed := range []bool{false, true} {
		c := load(t, Input{Sets: sets})
		text, err := c.YAML(changed)
		if err != nil {
			t.Fatal(err)
		}
		again := load(t, Input{Files: []string{write(t, "all.yaml", string(text))}})
		for _, k := range c.rows() {
			got, _ := again.Get(k.qualified())
			if want := k.value.text(); got != want && k.name != "brokerConfigPath" && k.name != "configStorePath" {
				t.Errorf("changed %v: %s is %q, want %q", changed, k.qualified(), got, want)
			}
		}
		if strings.Contains(string(text), "fileReservedTime") == changed {
			t.Errorf("changed %v prints defaults: %v\n%s", changed, !changed, text)
		}
		if !strings.Contains(string(text), "# flag --set") {
			t.Errorf("the source is not marked:\n%s", text)
		}
	}
}
