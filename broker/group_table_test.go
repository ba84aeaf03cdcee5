package broker

import (
	"errors"
	"slices"
	"testing"

	"github.com/rocketd/rocketd/remoting/body"
)

func TestGroupsAreCreatedByUse(t *testing.T) {
	for _, row := range []struct {
		name, group       string
		autoCreate, sysOK bool
		want              bool
	}{
		{"auto-creation on", "G", true, true, true},
		{"auto-creation off", "G", false, true, false},
		{"a system group needs no auto-creation", "CID_RMQ_SYS_X", false, true, true},
		{"system groups are off too", "CID_RMQ_SYS_X", false, false, false},
		{"illegal name", "a b", true, true, false},
		{"name of 121 characters", string(make121()), true, true, false},
		{"blank", "", true, true, false},
		{"reserved", "TOOLS_CONSUMER", false, false, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			x := newTables(t, nil)
			x.conf.Broker.AutoCreateSubscriptionGroup, x.conf.Broker.EnableCreateSysGroup = row.autoCreate, row.sysOK
			groups := x.groups(t)
			got := groups.getOrCreate(row.group)
			if (got != nil) != row.want {
				t.Fatalf("got %v, want %t", got, row.want)
			}
			if got != nil && (got.RetryMaxTimes != 16 || got.RetryQueueNums != 1 || !got.ConsumeEnable) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func make121() []byte { return slices.Repeat([]byte{'g'}, 121) }

func TestReservedGroups(t *testing.T) {
	names := newTables(t, nil).groups(t).names()
	want := []string{
		"CID_ONS-HTTP-PROXY", "CID_ONSAPI_OWNER", "CID_ONSAPI_PERMISSION", "CID_ONSAPI_PULL", "CID_RMQ_SYS_TRANS",
		"FILTERSRV_CONSUMER", "SELF_TEST_C_GROUP", "TOOLS_CONSUMER",
	}
	if !slices.Equal(names, want) {
		t.Errorf("got  %v\nwant %v", names, want)
	}
}

func TestGroupsSurviveARestart(t *testing.T) {
	x := newTables(t, nil)
	groups := x.groups(t)
	g := *body.NewSubscriptionGroupConfig("G")
	g.RetryMaxTimes, g.ConsumeEnable = 3, false
	if err := groups.update(g); err != nil {
		t.Fatal(err)
	}
	if err := groups.forbid("G", "T", true); err != nil {
		t.Fatal(err)
	}
	again := newTables(t, x.fs).groups(t)
	if got := again.get("G"); got == nil || got.RetryMaxTimes != 3 || got.ConsumeEnable {
		t.Errorf("got %+v", got)
	}
	if !again.isForbidden("G", "T") || again.isForbidden("G", "U") || again.isForbidden("H", "T") {
		t.Error("forbidden table is wrong")
	}
	if again.dataVersion() != groups.dataVersion() {
		t.Errorf("version %v, want %v", again.dataVersion(), groups.dataVersion())
	}
	if err := again.forbid("G", "T", false); err != nil || again.isForbidden("G", "T") {
		t.Errorf("still forbidden, %v", err)
	}
	if ok, err := again.delete("G"); !ok || err != nil || again.get("G") != nil {
		t.Errorf("delete: %t, %v", ok, err)
	}
	if ok, err := again.delete("G"); ok || err != nil {
		t.Errorf("second delete: %t, %v", ok, err)
	}
}

func TestGroupsAreBounded(t *testing.T) {
	x := newTables(t, nil)
	groups := x.groups(t)
	x.conf.Rocketd.MaxGroups = int32(len(groups.names())) + 1
	if groups.getOrCreate("G1") == nil {
		t.Fatal("no room for one")
	}
	if groups.getOrCreate("G2") != nil {
		t.Error("G2 exists")
	}
	if err := groups.update(*body.NewSubscriptionGroupConfig("G3")); !errors.Is(err, errTooManyGroups) {
		t.Errorf("got %v", err)
	}
}
