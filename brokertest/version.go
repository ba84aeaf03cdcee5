package brokertest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// Version is a release line of Apache RocketMQ.
type Version string

// The release lines that can be emulated.
const (
	// V4 is 4.9, as 4.9.4 was seen to behave: its version in each command, no request codes of 5.x, a name server that leaves unknown
	// codes without an answer, no heartbeats of the second kind, the fields and JSON members of its answers, numbers as keys in cluster
	// information, and no timers: messages with a time of delivery are delivered at once.
	V4 Version = "4.9"
	// V5 is the newest release that this package knows, 5.5.0.
	V5 Version = "5.x"
)

// emulation is what an older release does otherwise. A nil one changes nothing. It never changes.
type emulation struct {
	version  int32
	knows    func(Server, int32) bool
	fields   []string // ext fields that its answers do not have
	members  []string // JSON members that its bodies do not have
	bareKeys []int32  // request codes whose answers have numbers as keys
	noTimers bool
}

// emulations holds every known version. It never changes.
var emulations = map[Version]*emulation{
	V5: nil,
	V4: {
		version:  remoting.V494,
		knows:    knownTo494,
		fields:   []string{"IS_SUPPORT_HEART_BEAT_V2", "IS_SUB_CHANGE", "recallHandle", "topicSysFlag", "groupSysFlag", "forbiddenType", "totalTopicNum", "totalGroupNum"},
		members:  []string{"enableActingMaster", "zoneName", "attributes", "stateVersion", "mappingDataVersion", "topicQueueMappingInfoMap", "topicQueueMappingDetailMap", "consumeMessageOrderly", "consumeTimeoutMinute", "groupRetryPolicy", "groupSysFlag", "subscriptionDataSet", "forbiddenTable"},
		bareKeys: []int32{remoting.GetBrokerClusterInfo},
		noTimers: true,
	},
}

func knownVersions() []string {
	var names []string
	for v := range maps.Keys(emulations) {
		names = append(names, string(v))
	}
	slices.Sort(names)
	return names
}

// knownTo494 tells whether the server of 4.9.4 takes a request code that a newer one takes.
func knownTo494(s Server, code int32) bool {
	if s == Namesrv {
		return code < remoting.GetBrokerMemberGroup && code != remoting.RegisterTopicInNamesrv
	}
	switch code {
	case remoting.UpdateAndCreateTopicList, remoting.GetTimerCheckPoint, remoting.GetTimerMetrics, remoting.UpdateAndCreateSubscriptiongroupList,
		remoting.QueryTopicsByConsumer, remoting.QuerySubscriptionByConsumer:
		return false
	}
	return code < remoting.GetTopicConfig
}

// refuses is what the release does with a request code that it does not know.
func (e *emulation) refuses(s Server, code int32) Decision {
	switch {
	case e == nil || e.knows(s, code):
		return Decision{}
	case s == Namesrv:
		return Drop()
	}
	return Fail(remoting.RequestCodeNotSupported, fmt.Sprintf(" request type %d not supported", code))
}

// dress makes an answer to a request code, or a request of the server, look as the release's.
func (e *emulation) dress(code int32, cmd *remoting.Command) {
	if e == nil {
		return
	}
	cmd.Version = e.version
	if !cmd.IsResponse() {
		return
	}
	e.dressFields(cmd)
	if len(cmd.Body) == 0 || cmd.Body[0] != '{' {
		return
	}
	if slices.Contains(e.bareKeys, code) {
		if info, err := body.Decode[body.ClusterInfo](cmd.Body); err == nil {
			cmd.Body = body.EncodeBare(info)
		}
	}
	if code == remoting.GetRouteinfoByTopic || code == remoting.GetBrokerClusterInfo || code == remoting.GetAllTopicConfig ||
		code == remoting.GetAllSubscriptiongroupConfig {
		cmd.Body = withoutMembers(cmd.Body, e.members)
	}
}

// dressFields takes fields out: of the ext fields, and of the header where it has them.
func (e *emulation) dressFields(cmd *remoting.Command) {
	unknown := func(f remoting.ExtField) bool { return slices.Contains(e.fields, f.Key) }
	if cmd.Header != nil {
		plain := withFields(cmd)
		if slices.ContainsFunc(plain.Ext, unknown) {
			cmd.Header, cmd.Ext = nil, plain.Ext
		}
	}
	if slices.ContainsFunc(cmd.Ext, unknown) {
		cmd.Ext = slices.DeleteFunc(slices.Clone(cmd.Ext), unknown)
	}
}

// rewrite is the frame of a request as the release would understand it, nil when it is the same.
func (e *emulation) rewrite(cmd *remoting.Command) []byte {
	if e == nil || !e.noTimers {
		return nil
	}
	field := "properties"
	switch cmd.Code {
	case remoting.SendMessage:
	case remoting.SendMessageV2:
		field = "i"
	default:
		return nil
	}
	properties, _ := cmd.ExtValue(field)
	if !strings.Contains(properties, "TIMER_") {
		return nil
	}
	plain := message.Properties(properties).Without(message.KeyTimerDeliverMs, message.KeyTimerDelayMs, message.KeyTimerDelaySec)
	out := *cmd
	out.Ext = slices.Clone(cmd.Ext)
	for i := range out.Ext {
		if out.Ext[i].Key == field {
			out.Ext[i].Value = string(plain)
		}
	}
	return remoting.AppendFrame(nil, &out)
}
