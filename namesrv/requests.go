package namesrv

import (
	"hash/crc32"
	"strings"

	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// laneAll is the lane of everything but routes.
const laneAll remoting.Lane = 1

// laneWorkers is the number of its workers: its requests wait for the table's lock and for the KV file at most.
const laneWorkers = 4

// Ext fields that are no header fields (MixAll).
const (
	zoneNameField = "__ZONE_NAME"
	zoneModeField = "__ZONE_MODE"
)

// Bits of topicSysFlag.
const (
	unitFlag    int32 = 1
	unitSubFlag int32 = 2
)

// routes is the request table.
func (n *NameServer) routes() []remoting.Route {
	return []remoting.Route{
		{Code: remoting.GetRouteinfoByTopic, Lane: remoting.OnLoop, Handle: n.getRoute},

		{Code: remoting.RegisterBroker, Lane: laneAll, Handle: n.registerBroker},
		{Code: remoting.UnregisterBroker, Lane: laneAll, Handle: n.unregisterBroker},
		{Code: remoting.QueryDataVersion, Lane: laneAll, Handle: n.queryDataVersion},
		{Code: remoting.BrokerHeartbeat, Lane: laneAll, Handle: n.brokerHeartbeat},
		{Code: remoting.GetBrokerMemberGroup, Lane: laneAll, Handle: n.getBrokerMemberGroup},
		{Code: remoting.GetBrokerClusterInfo, Lane: laneAll, Handle: n.getBrokerClusterInfo},
		{Code: remoting.WipeWritePermOfBroker, Lane: laneAll, Handle: n.wipeWritePerm},
		{Code: remoting.AddWritePermOfBroker, Lane: laneAll, Handle: n.addWritePerm},

		{Code: remoting.GetAllTopicListFromNameserver, Lane: laneAll, Handle: n.getAllTopics},
		{Code: remoting.DeleteTopicInNamesrv, Lane: laneAll, Handle: n.deleteTopic},
		{Code: remoting.RegisterTopicInNamesrv, Lane: laneAll, Handle: n.registerTopic},
		{Code: remoting.GetTopicsByCluster, Lane: laneAll, Handle: n.getTopicsByCluster},
		{Code: remoting.GetSystemTopicListFromNS, Lane: laneAll, Handle: n.getSystemTopics},
		{Code: remoting.GetUnitTopicList, Lane: laneAll, Handle: n.topicsWith(func(flag int32) bool { return flag&unitFlag != 0 })},
		{Code: remoting.GetHasUnitSubTopicList, Lane: laneAll, Handle: n.topicsWith(func(flag int32) bool { return flag&unitSubFlag != 0 })},
		{Code: remoting.GetHasUnitSubUnunitTopicList, Lane: laneAll, Handle: n.topicsWith(func(flag int32) bool {
			return flag&(unitFlag|unitSubFlag) == unitSubFlag
		})},

		{Code: remoting.PutKVConfig, Lane: laneAll, Handle: n.putKV},
		{Code: remoting.GetKVConfig, Lane: laneAll, Handle: n.getKV},
		{Code: remoting.DeleteKVConfig, Lane: laneAll, Handle: n.deleteKV},
		{Code: remoting.GetKvlistByNamespace, Lane: laneAll, Handle: n.getKVList},

		{Code: remoting.UpdateNamesrvConfig, Lane: laneAll, Handle: n.updateNamesrvConfig},
		{Code: remoting.GetNamesrvConfig, Lane: laneAll, Handle: n.getNamesrvConfig},
	}
}

func success(b []byte) *remoting.Command {
	resp := remoting.NewResponse(remoting.Success)
	resp.Body = b
	return resp
}

func withHeader(h remoting.Header) *remoting.Command {
	resp := remoting.NewResponse(remoting.Success)
	resp.Header = h
	return resp
}

func (n *NameServer) getRoute(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.GetRouteInfoRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	if c := &n.config().Namesrv; c.NeedWaitForService {
		if n.clock.NowMs()-n.startMs.Load() < int64(c.WaitSecondsForService)*1000 {
			return nil, remoting.Errorf(remoting.SystemError, "name server not ready")
		}
	}
	a := n.table.route(h.Topic, n.routeRules)
	if a == nil {
		return nil, remoting.Errorf(remoting.TopicNotExist, "No topic route info in name server for the topic: %s", h.Topic)
	}
	standard := req.Version >= remoting.V494 || h.AcceptStandardJSONOnly.Or(false)
	if zone, ok := zoneOf(req); ok {
		near := inZone(a.route, zone)
		if standard {
			return success(body.Encode(near)), nil
		}
		return success(body.EncodeBare(near)), nil
	}
	if standard {
		return success(a.quoted()), nil
	}
	return success(a.bare()), nil
}

// zoneOf is the zone that the client wants to stay in.
func zoneOf(req *remoting.Command) (zone string, ok bool) {
	if mode, _ := req.ExtValue(zoneModeField); !strings.EqualFold(mode, "true") {
		return "", false
	}
	zone, _ = req.ExtValue(zoneNameField)
	return zone, strings.TrimSpace(zone) != ""
}

func (n *NameServer) registerBroker(c *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	h := new(remoting.RegisterBrokerRequestHeader)
	if err := req.Decode(h); err != nil {
		return nil, err
	}
	if sum := h.BodyCRC32.Or(0); sum != 0 && sum != int32(crc32.ChecksumIEEE(req.Body)&0x7fffffff) { // UtilAll.crc32
		return nil, remoting.Errorf(remoting.SystemError, "crc32 not match")
	}
	b, err := decodeRegistration(req)
	if err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "%v", err)
	}
	// What is kept must not hold the frame.
	h.BrokerName, h.BrokerAddr = strings.Clone(h.BrokerName), strings.Clone(h.BrokerAddr)
	h.ClusterName, h.HAServerAddr = strings.Clone(h.ClusterName), strings.Clone(h.HAServerAddr)
	zone, _ := req.ExtValue(zoneNameField)
	r := &registration{RegisterBrokerRequestHeader: h, RegisterBrokerBody: b, zone: strings.Clone(zone)}
	if c != nil {
		r.conn = c
	}
	out, err := n.register(r)
	if err != nil {
		return nil, err
	}
	resp := withHeader(&remoting.RegisterBrokerResponseHeader{HAServerAddr: out.haServerAddr, MasterAddr: out.masterAddr})
	if order, ok := n.orderTopics(); ok {
		resp.Body = body.Encode(&body.KVTable{Table: order})
	}
	return resp, nil
}

// decodeRegistration reads the body of REGISTER_BROKER, which before 3.0.11 was a topic table alone. None is an empty table of version
// zero.
func decodeRegistration(req *remoting.Command) (*body.RegisterBrokerBody, error) {
	if req.Version >= remoting.V3011 {
		return body.DecodeRegisterBroker(req.Body, req.Version)
	}
	table, err := body.Decode[body.TopicConfigTable](req.Body)
	if err != nil {
		return nil, err
	}
	return &body.RegisterBrokerBody{
		Topics: body.TopicConfigAndMappingTable{Topics: table.Topics, DataVersion: table.DataVersion},
	}, nil
}

func (n *NameServer) unregisterBroker(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.UnregisterBrokerRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	n.UnregisterBroker(&h)
	return success(nil), nil
}

func (n *NameServer) queryDataVersion(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.QueryDataVersionRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	asked, err := body.Decode[body.DataVersion](req.Body)
	if err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "%v", err)
	}
	stored, known := n.table.heard(brokerKey{h.ClusterName, h.BrokerAddr}, n.clock.NowMs())
	resp := withHeader(&remoting.QueryDataVersionResponseHeader{Changed: !known || len(req.Body) == 0 || stored != *asked})
	if known {
		resp.Body = body.Encode(&stored)
	}
	return resp, nil
}

func (n *NameServer) brokerHeartbeat(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.BrokerHeartbeatRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	n.table.heard(brokerKey{h.ClusterName, h.BrokerAddr}, n.clock.NowMs())
	return success(nil), nil
}

func (n *NameServer) getBrokerMemberGroup(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.GetBrokerMemberGroupRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	members := n.table.memberGroup(h.ClusterName, h.BrokerName)
	return success(body.Encode(&body.BrokerMemberGroupReply{BrokerMemberGroup: members})), nil
}

func (n *NameServer) getBrokerClusterInfo(*remoting.Conn, *remoting.Command) (*remoting.Command, error) {
	return success(body.Encode(n.table.clusterInfo())), nil
}

func (n *NameServer) wipeWritePerm(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.WipeWritePermOfBrokerRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	count := n.table.setPerm(h.BrokerName, func(perm int32) int32 { return perm &^ permWrite })
	n.log.WithField("broker", h.BrokerName).WithField("topics", count).Info("write permission taken from broker")
	return withHeader(&remoting.WipeWritePermOfBrokerResponseHeader{WipeTopicCount: count}), nil
}

func (n *NameServer) addWritePerm(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.AddWritePermOfBrokerRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	count := n.table.setPerm(h.BrokerName, func(int32) int32 { return permRead | permWrite })
	n.log.WithField("broker", h.BrokerName).WithField("topics", count).Info("write permission given to broker")
	return withHeader(&remoting.AddWritePermOfBrokerResponseHeader{AddTopicCount: count}), nil
}

// errDisabled is answered for lists that are switched off.
var errDisabled = remoting.Errorf(remoting.SystemError, "disable")

func topicList(names []string) (*remoting.Command, error) {
	return success(body.Encode(&body.TopicList{Topics: names})), nil
}

func (n *NameServer) getAllTopics(*remoting.Conn, *remoting.Command) (*remoting.Command, error) {
	if !n.config().Namesrv.EnableAllTopicList {
		return nil, errDisabled
	}
	return topicList(n.Topics())
}

func (n *NameServer) getTopicsByCluster(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	if !n.config().Namesrv.EnableTopicList {
		return nil, errDisabled
	}
	var h remoting.GetTopicsByClusterRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	return topicList(n.table.topicsOfCluster(h.Cluster))
}

// topicsWith lists the topics whose first queue data has a flag that matches.
func (n *NameServer) topicsWith(match func(flag int32) bool) remoting.Handler {
	return func(*remoting.Conn, *remoting.Command) (*remoting.Command, error) {
		if !n.config().Namesrv.EnableTopicList {
			return nil, errDisabled
		}
		return topicList(n.table.topicNames(func(queues map[string]body.QueueData) bool {
			return match(sortedQueueDatas(queues)[0].TopicSysFlag)
		}))
	}
}

func (n *NameServer) getSystemTopics(*remoting.Conn, *remoting.Command) (*remoting.Command, error) {
	list := n.table.systemNames()
	return success(body.Encode(&list)), nil
}

func (n *NameServer) deleteTopic(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.DeleteTopicFromNamesrvRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	n.table.deleteTopic(h.Topic, h.ClusterName)
	n.log.WithField("topic", h.Topic).WithField("cluster", h.ClusterName).Info("topic deleted")
	return success(nil), nil
}

func (n *NameServer) registerTopic(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.RegisterTopicRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	route, err := body.Decode[body.TopicRouteData](req.Body)
	if err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "%v", err)
	}
	if len(route.QueueDatas) > 0 {
		if err := n.table.setTopic(strings.Clone(h.Topic), route.QueueDatas); err != nil {
			return nil, err
		}
	}
	return success(nil), nil
}

func (n *NameServer) putKV(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.PutKVConfigRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	err := n.kv.put(strings.Clone(h.Namespace), strings.Clone(h.Key), strings.Clone(h.Value))
	n.kvChanged(h.Namespace, h.Key)
	if err != nil {
		return nil, err
	}
	return success(nil), nil
}

func (n *NameServer) deleteKV(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.DeleteKVConfigRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	err := n.kv.remove(h.Namespace, h.Key)
	n.kvChanged(h.Namespace, h.Key)
	if err != nil {
		return nil, err
	}
	return success(nil), nil
}

func (n *NameServer) kvChanged(namespace, key string) {
	n.log.WithField("namespace", namespace).WithField("key", key).Info("KV configuration changed")
	if namespace == orderNamespace {
		n.table.forgetAnswers()
	}
}

func (n *NameServer) getKV(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.GetKVConfigRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	value, ok := n.kv.get(h.Namespace, h.Key)
	if !ok {
		return nil, remoting.Errorf(remoting.QueryNotFound, "No config item, Namespace: %s Key: %s", h.Namespace, h.Key)
	}
	return withHeader(&remoting.GetKVConfigResponseHeader{Value: value}), nil
}

func (n *NameServer) getKVList(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.GetKVListByNamespaceRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	values, ok := n.kv.list(h.Namespace)
	if !ok {
		return nil, remoting.Errorf(remoting.QueryNotFound, "No config item, Namespace: %s", h.Namespace)
	}
	return success(body.Encode(&body.KVTable{Table: values})), nil
}

func (n *NameServer) updateNamesrvConfig(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	if len(req.Body) == 0 {
		return success(nil), nil
	}
	if err := n.updateConfig(req.Body); err != nil {
		return nil, err
	}
	return success(nil), nil
}

func (n *NameServer) getNamesrvConfig(*remoting.Conn, *remoting.Command) (*remoting.Command, error) {
	return success(n.config().NamesrvProperties()), nil
}
