package conf

import (
	"bufio"
	"os"
	"strings"
	"testing"
)

// differences are the defaults that differ from the reference's on purpose.
var differences = map[string]string{
	"BrokerConfig.listenPort":             "BrokerStartup gives NettyServerConfig 10911, which wins in the listing; 6888 is never used",
	"BrokerConfig.brokerName":             "filled in by Load from the machine",
	"BrokerConfig.brokerIP1":              "filled in by Load from the machine",
	"BrokerConfig.brokerIP2":              "filled in by Load from the machine",
	"BrokerConfig.enablePropertyFilter":   "SQL92 subscriptions work without a setting: DIFFERENCES.md",
	"MessageStoreConfig.haListenPort":     "BrokerStartup sets 0 and then listenPort + 1, as Load does",
	"MessageStoreConfig.storePathRootDir": "filled in by Load: below dataDir, not below the home directory",
	"NettyServerConfig.bindAddress":       "filled in by Load: loopback unless said otherwise",
	"NettyServerConfig.listenPort":        "BrokerStartup sets 10911, NamesrvStartup 9876",
	"NamesrvConfig.kvConfigPath":          "filled in by Load: below dataDir, not below the home directory",
	"NamesrvConfig.configStorePath":       "filled in by Load: below dataDir, not below the home directory",
}

// enums are the reference's types that are written as text.
var enums = map[string]bool{"MessageRequestMode": true, "MetricsExporterType": true, "BrokerRole": true, "FlushDiskType": true}

// TestDefaultsAgainstApache compares every key and default with the reference's own classes; the file tells how it was made.
func TestDefaultsAgainstApache(t *testing.T) {
	f, err := os.Open("testdata/apache-defaults.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	c := defaults(2)
	lists := map[string]func(*keySet){
		"BrokerConfig": c.Broker.keys, "MessageStoreConfig": c.Store.keys, "NettyServerConfig": c.Server.keys,
		"NettyClientConfig": c.Client.keys, "NamesrvConfig": c.Namesrv.keys,
	}
	ours := make(map[string]key)
	for class, list := range lists {
		k := keySet{section: SectionBroker, cpus: 2}
		list(&k)
		for _, row := range k.keys {
			ours[class+"."+row.name] = row
		}
	}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		column := strings.Split(lines.Text(), "\t")
		name, want := column[0]+"."+column[1], column[3]
		row, ok := ours[name]
		if !ok {
			t.Errorf("%s is not one of our keys", name)
			continue
		}
		delete(ours, name)
		if got := javaKind(row.value); got != column[2] && (got != "String" || !enums[column[2]]) {
			t.Errorf("%s is a %s, the reference's a %s", name, got, column[2])
		}
		if isNull := want == "<null>"; isNull != row.nullable {
			t.Errorf("%s: nullable %v, the reference's %v", name, row.nullable, isNull)
		}
		got := row.value.text()
		same := got == want || got == "" && want == "<null>"
		if _, known := differences[name]; same == known {
			t.Errorf("%s: default %q, the reference's %q, named as a difference: %v", name, got, want, known)
		}
	}
	for name := range ours {
		t.Errorf("%s is no key of the reference", name)
	}
}

func javaKind(v value) string {
	switch v.(type) {
	case *intValue[int32]:
		return "int"
	case *intValue[int64]:
		return "long"
	case *floatValue:
		return "double"
	case *boolValue:
		return "boolean"
	default:
		return "String"
	}
}

// Every default passes its own row's rules, and no two rows of a section differ in type.
func TestDefaultsAreValid(t *testing.T) {
	c := defaults(4)
	seen := make(map[string]string)
	for _, k := range c.rows() {
		text := k.value.text()
		if err := k.setText(text); err != nil && text != "" {
			t.Errorf("%s: default %q: %v", k.qualified(), text, err)
		}
		if kind, twice := seen[k.qualified()]; twice && kind != k.value.kind() {
			t.Errorf("%s is both %s and %s", k.qualified(), kind, k.value.kind())
		}
		seen[k.qualified()] = k.value.kind()
	}
}
