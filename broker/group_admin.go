package broker

import (
	"errors"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

func (b *Broker) groupAdminRoutes() []remoting.Route {
	return []remoting.Route{
		{Code: remoting.UpdateAndCreateSubscriptiongroup, Lane: laneAdmin, Handle: b.updateGroup},
		{Code: remoting.UpdateAndCreateSubscriptiongroupList, Lane: laneAdmin, Handle: b.updateGroupList},
		{Code: remoting.GetAllSubscriptiongroupConfig, Lane: laneAdmin, Handle: b.getAllGroups},
		{Code: remoting.GetSubscriptiongroupConfig, Lane: laneAdmin, Handle: b.getGroup},
		{Code: remoting.DeleteSubscriptiongroup, Lane: laneAdmin, Handle: b.deleteGroup},
		{Code: remoting.UpdateAndGetGroupForbidden, Lane: laneAdmin, Handle: b.forbidGroup},
	}
}

// updateGroup creates or changes a subscription group (AdminBrokerProcessor#updateAndCreateSubscriptionGroup).
func (b *Broker) updateGroup(c *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	if len(req.Body) == 0 {
		return success(), nil
	}
	group, err := body.Decode[body.SubscriptionGroupConfig](req.Body)
	if err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "body: %v", err)
	}
	return b.changeGroups(c, *group)
}

// updateGroupList creates or changes groups, all or none (AdminBrokerProcessor#updateAndCreateSubscriptionGroupList).
func (b *Broker) updateGroupList(c *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	list, err := body.Decode[body.SubscriptionGroupList](req.Body)
	if err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "body: %v", err)
	}
	return b.changeGroups(c, list.Groups...)
}

func (b *Broker) changeGroups(c *remoting.Conn, groups ...body.SubscriptionGroupConfig) (resp *remoting.Command, err error) {
	begun := b.clock.NowMs()
	defer func() { b.countGroupCreation(begun, err) }()
	for i := range groups {
		if err := message.ValidateGroup(groups[i].GroupName); err != nil {
			return nil, remoting.Errorf(remoting.InvalidParameter, "%v", err)
		}
		b.log.WithFields(logrus.Fields{"group": groups[i].GroupName, "caller": caller(c)}).Info("group to be created or updated")
	}
	if err := b.groups.update(groups...); err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "%v", err)
	}
	return success(), nil
}

// getAllGroups answers all groups, or a page of them to a client that asks by page
// (AdminBrokerProcessor#getAllSubscriptionGroup); see getAllTopicConfig.
func (b *Broker) getAllGroups(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.GetAllSubscriptionGroupRequestHeader
	_, paged := req.ExtValue("groupSeq")
	if paged {
		if err := req.Decode(&h); err != nil {
			return nil, err
		}
	}
	reply := b.groups.snapshot()
	total := len(reply.Groups)
	if c := b.config(); paged && c.Broker.EnableSplitMetadata {
		limit := min(c.Broker.SplitMetadataSize, h.MaxGroupNum.Or(c.Broker.SplitMetadataSize))
		reply.Groups = page(reply.Groups, pageStart(h.GroupSeq, h.DataVersion, reply.DataVersion), limit)
		for group := range reply.Forbidden {
			if reply.Groups[group] == nil {
				delete(reply.Forbidden, group)
			}
		}
	}
	resp := bodyResponse(&reply)
	resp.Header = &remoting.GetAllSubscriptionGroupResponseHeader{TotalGroupNum: int32(total)}
	return resp, nil
}

// getGroup answers one group; asking for one that may be created by use creates it, as in the reference
// (AdminBrokerProcessor#getSubscriptionGroup).
func (b *Broker) getGroup(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.GetSubscriptionGroupConfigRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	group := b.groups.getOrCreate(h.Group)
	if group == nil {
		return nil, remoting.Errorf(remoting.SubscriptionGroupNotExist, "No group in this broker")
	}
	return bodyResponse(group), nil
}

// deleteGroup removes a group, and with cleanOffset its progress (AdminBrokerProcessor#deleteSubscriptionGroup).
func (b *Broker) deleteGroup(c *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.DeleteSubscriptionGroupRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	b.log.WithFields(logrus.Fields{"group": h.GroupName, "cleanOffset": h.CleanOffset, "caller": caller(c)}).Info("group to be deleted")
	_, err := b.groups.delete(h.GroupName)
	if h.CleanOffset {
		b.offsets.removeGroup(h.GroupName)
		err = errors.Join(err, b.offsets.file.save())
		b.pop.removeGroup(h.GroupName)
	}
	if err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "%v", err)
	}
	if b.config().Broker.AutoDeleteUnusedStats {
		b.stats.groupDeleted(h.GroupName)
	}
	return success(), nil
}

// forbidGroup sets or asks whether a group may read a topic (AdminBrokerProcessor#updateAndGetGroupForbidden).
func (b *Broker) forbidGroup(c *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.UpdateGroupForbiddenRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	reply := body.GroupForbidden{Group: cloned(h.Group), Topic: cloned(h.Topic)}
	if h.Readable.Set {
		b.log.WithFields(logrus.Fields{"group": reply.Group, "topic": reply.Topic, "readable": h.Readable.Value, "caller": caller(c)}).
			Info("what a group may read is set")
		if err := b.groups.forbid(reply.Group, reply.Topic, !h.Readable.Value); err != nil {
			return nil, remoting.Errorf(remoting.SystemError, "%v", err)
		}
	}
	reply.Readable = !b.groups.isForbidden(reply.Group, reply.Topic)
	return bodyResponse(&reply), nil
}
