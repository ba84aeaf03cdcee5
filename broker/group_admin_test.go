package broker

import (
	"strings"
	"testing"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// TestUpdateGroup creates, changes, reads back, restarts.
func TestUpdateGroup(t *testing.T) {
	b := newTestBroker(t, withConfig(func(c *conf.Config) { c.Broker.AutoCreateSubscriptionGroup = false }))
	c := b.dial()
	get := func(group string) *body.SubscriptionGroupConfig {
		return decoded[body.SubscriptionGroupConfig](t, c.want(0, remoting.GetSubscriptiongroupConfig, fields{"group", group}, nil))
	}
	c.want(26, remoting.GetSubscriptiongroupConfig, fields{"group", "G"}, nil)
	c.want(0, remoting.UpdateAndCreateSubscriptiongroup, nil, []byte(`{"groupName":"G","consumeEnable":true,"retryMaxTimes":3,"consumeMessageOrderly":true}`))
	if g := get("G"); !g.ConsumeEnable || g.RetryMaxTimes != 3 || !g.ConsumeMessageOrderly || g.RetryQueueNums != 1 || g.ConsumeTimeoutMinute != 15 {
		t.Errorf("%+v", g)
	}
	c.want(0, remoting.UpdateAndCreateSubscriptiongroup, nil, []byte(`{"groupName":"G","consumeEnable":false}`))
	if g := get("G"); g.ConsumeEnable || g.RetryMaxTimes != 16 {
		t.Errorf("%+v", g)
	}
	c.want(0, remoting.UpdateAndCreateSubscriptiongroupList, nil, []byte(`{"groupConfigList":[{"groupName":"A"},{"groupName":"B"}]}`))
	b = b.restart(withConfig(func(c *conf.Config) { c.Broker.AutoCreateSubscriptionGroup = false }))
	c = b.dial()
	for _, group := range []string{"G", "A", "B"} {
		get(group)
	}
	a := c.want(0, remoting.GetAllSubscriptiongroupConfig, nil, nil)
	all := decoded[body.SubscriptionGroupTable](t, a)
	if all.Groups["A"] == nil || all.Groups["G"] == nil || all.Groups["TOOLS_CONSUMER"] == nil || a.num(t, "totalGroupNum") != int64(len(all.Groups)) {
		t.Errorf("%d groups, %v", len(all.Groups), a.ext)
	}
	for _, bad := range []struct {
		code    int32
		content string
		want    int32
		remark  string
	}{
		{remoting.UpdateAndCreateSubscriptiongroup, `{"groupName":"a b"}`, 29, "a b"},
		{remoting.UpdateAndCreateSubscriptiongroup, `{"groupName":""}`, 29, "blank"},
		{remoting.UpdateAndCreateSubscriptiongroup, `{`, 1, "body"},
		{remoting.UpdateAndCreateSubscriptiongroup, `{"groupName":"` + strings.Repeat("g", 300) + `"}`, 29, "120"},
		{remoting.UpdateAndCreateSubscriptiongroupList, `{"groupConfigList":[{"groupName":"X"},{"groupName":"a b"}]}`, 29, "a b"},
	} {
		if a := c.call(bad.code, nil, []byte(bad.content)); a.code != bad.want || !strings.Contains(a.remark, bad.remark) {
			t.Errorf("%.60s: code %d, remark %q", bad.content, a.code, a.remark)
		}
	}
	c.want(26, remoting.GetSubscriptiongroupConfig, fields{"group", "X"}, nil)
}

// TestDeleteGroup with and without its progress.
func TestDeleteGroup(t *testing.T) {
	for _, clean := range []bool{false, true} {
		b := newTestBroker(t)
		b.create("T", 1)
		b.put("T", 0, 5, "")
		c := b.dial()
		c.want(0, remoting.HeartBeat, nil, heartbeatOf("c", "G", tagSub("T", "*", 1)))
		c.want(0, remoting.UpdateConsumerOffset, offsetFields("G", "T", 0).with("commitOffset", "3"), nil)
		c.want(0, remoting.DeleteSubscriptiongroup, fields{"groupName", "G", "cleanOffset", map[bool]string{true: "true", false: "false"}[clean]}, nil)
		if b.groups.get("G") != nil {
			t.Error("the group is there")
		}
		if got := b.offsets.committed("G", "T", 0); (got == 3) == clean {
			t.Errorf("clean %v: offset %d", clean, got)
		}
		c.want(0, remoting.DeleteSubscriptiongroup, fields{"groupName", "G"}, nil)
	}
}

// TestForbidGroup: a group that may not read a topic is refused, and others are not.
func TestForbidGroup(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	b.put("T", 0, 1, "")
	c := b.dial()
	set := func(f fields) *body.GroupForbidden {
		return decoded[body.GroupForbidden](t, c.want(0, remoting.UpdateAndGetGroupForbidden, f, nil))
	}
	for _, group := range []string{"G", "H"} {
		c.want(0, remoting.HeartBeat, nil, heartbeatOf("c", group, tagSub("T", "*", 0)))
	}
	pull := func(code int32, group string) {
		c.want(code, remoting.PullMessage, pullFields(group, "T", 0, 0).with("sysFlag", "0"), nil)
	}
	f := fields{"group", "G", "topic", "T"}
	if got := set(f); !got.Readable || got.Group != "G" || got.Topic != "T" {
		t.Errorf("%+v", got)
	}
	if got := set(f.with("readable", "false")); got.Readable {
		t.Errorf("%+v", got)
	}
	pull(16, "G")
	pull(0, "H")
	b = b.restart()
	c = b.dial()
	c.want(0, remoting.HeartBeat, nil, heartbeatOf("c", "G", tagSub("T", "*", 0)))
	if got := set(f); got.Readable {
		t.Errorf("after a restart %+v", got)
	}
	pull(16, "G")
	if got := set(f.with("readable", "true")); !got.Readable {
		t.Errorf("%+v", got)
	}
	pull(0, "G")
}

// TestGroupPages reads all groups page by page.
func TestGroupPages(t *testing.T) {
	b := newTestBroker(t, withConfig(func(c *conf.Config) { c.Broker.EnableSplitMetadata, c.Broker.SplitMetadataSize = true, 5 }))
	c := b.dial()
	for _, name := range []string{"A", "B", "C"} {
		c.want(0, remoting.UpdateAndCreateSubscriptiongroup, nil, []byte(`{"groupName":"`+name+`"}`))
	}
	total := int(c.want(0, remoting.GetAllSubscriptiongroupConfig, nil, nil).num(t, "totalGroupNum"))
	names, known := map[string]bool{}, ""
	for seq := 0; seq < total; seq += 5 {
		a := c.want(0, remoting.GetAllSubscriptiongroupConfig, fields{"groupSeq", itoa(seq), "dataVersion", known, "maxGroupNum", "100"}, nil)
		part := decoded[body.SubscriptionGroupTable](t, a)
		if len(part.Groups) != min(5, total-seq) {
			t.Errorf("page at %d: %d groups", seq, len(part.Groups))
		}
		for name := range part.Groups {
			names[name] = true
		}
		known = string(body.Encode(&part.DataVersion))
	}
	if len(names) != total {
		t.Errorf("%d groups in all pages, want %d", len(names), total)
	}
}
