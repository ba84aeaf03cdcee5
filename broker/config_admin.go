package broker

import (
	"errors"
	"strconv"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

func (b *Broker) configAdminRoutes() []remoting.Route {
	return []remoting.Route{
		{Code: remoting.UpdateBrokerConfig, Lane: laneAdmin, Handle: b.updateBrokerConfig},
		{Code: remoting.GetBrokerConfig, Lane: laneAdmin, Handle: b.getBrokerConfig},
		{Code: remoting.GetBrokerRuntimeInfo, Lane: laneAdmin, Handle: b.getRuntimeInfo},
		{Code: remoting.ViewBrokerStatsData, Lane: laneAdmin, Handle: b.viewBrokerStats},
		{Code: remoting.GetTimerCheckPoint, Lane: laneAdmin, Handle: b.getTimerCheckpoint},
		{Code: remoting.GetTimerMetrics, Lane: laneAdmin, Handle: b.getTimerMetrics},
		{Code: remoting.UpdateColdDataFlowCtrConfig, Lane: laneAdmin, Handle: b.acceptColdDataConfig},
		{Code: remoting.RemoveColdDataFlowCtrConfig, Lane: laneAdmin, Handle: b.acceptColdDataConfig},
		{Code: remoting.GetColdDataFlowCtrInfo, Lane: laneAdmin, Handle: b.getColdDataInfo},
		{Code: remoting.SetCommitlogReadMode, Lane: laneAdmin, Handle: b.setReadMode},
		{Code: remoting.SwitchTimerEngine, Lane: laneAdmin, Handle: b.switchTimerEngine},
		{Code: remoting.PopRollback, Lane: laneAdmin, Handle: b.popRollback},
	}
}

// updateBrokerConfig changes configuration keys while the broker runs, all of them or none, and saves them
// (AdminBrokerProcessor#updateBrokerConfig).
func (b *Broker) updateBrokerConfig(c *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	if len(req.Body) == 0 {
		return success(), nil
	}
	changes, err := conf.ParseProperties(req.Body)
	if err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "string2Properties error: %v", err)
	}
	permission := false
	for i := range changes {
		changes[i].Key, changes[i].Value = cloned(changes[i].Key), cloned(changes[i].Value)
		permission = permission || changes[i].Key == "brokerPermission"
		b.log.WithFields(logrus.Fields{"key": changes[i].Key, "value": changes[i].Value, "caller": caller(c)}).Info("configuration to be changed")
	}
	err = b.changeConfig(changes)
	switch {
	case errors.Is(err, conf.ErrBlackListed):
		return nil, remoting.Errorf(remoting.NoPermission, "Can not update config in black list.")
	case err != nil:
		return nil, remoting.Errorf(remoting.SystemError, "%v", err)
	}
	if permission {
		b.topics.bump()
		b.registerNow()
	}
	return success(), nil
}

// getBrokerConfig answers all effective keys as properties text (AdminBrokerProcessor#getBrokerConfig).
func (b *Broker) getBrokerConfig(*remoting.Conn, *remoting.Command) (*remoting.Command, error) {
	resp := success()
	version := b.configVersion()
	resp.Header = &remoting.GetBrokerConfigResponseHeader{Version: string(body.Encode(&version))}
	resp.Body = b.config().BrokerProperties()
	return resp, nil
}

// viewBrokerStats answers one counter's windows (AdminBrokerProcessor#ViewBrokerStatsData).
func (b *Broker) viewBrokerStats(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	var h remoting.ViewBrokerStatsDataRequestHeader
	if err := req.Decode(&h); err != nil {
		return nil, err
	}
	minute, hour, day, ok := b.stats.view(h.StatsName, h.StatsKey)
	if !ok {
		return nil, remoting.Errorf(remoting.SystemError, "The stats <%s> <%s> not exist", h.StatsName, h.StatsKey)
	}
	item := func(s snapshot) body.BrokerStatsItem {
		return body.BrokerStatsItem{Sum: s.sum, Tps: s.tps, Avgpt: s.avgPT}
	}
	return bodyResponse(&body.BrokerStatsData{StatsMinute: item(minute), StatsHour: item(hour), StatsDay: item(day)}), nil
}

// getTimerCheckpoint answers the timer's progress, 56 bytes, for slaves (AdminBrokerProcessor#getTimerCheckPoint).
func (b *Broker) getTimerCheckpoint(*remoting.Conn, *remoting.Command) (*remoting.Command, error) {
	if b.timer == nil {
		return nil, remoting.Errorf(remoting.SystemError, "The checkpoint is null")
	}
	resp := success()
	resp.Body = b.timer.Checkpoint()
	return resp, nil
}

// getTimerMetrics answers how many timers are pending by topic (AdminBrokerProcessor#getTimerMetrics).
func (b *Broker) getTimerMetrics(*remoting.Conn, *remoting.Command) (*remoting.Command, error) {
	if b.timer == nil {
		return nil, remoting.Errorf(remoting.SystemError, "The timer message store is null")
	}
	resp := success()
	resp.Body = b.timer.MetricsJSON()
	return resp, nil
}

// acceptColdDataConfig takes thresholds of the reference's flow control for cold reads and lets them be: reads of cold
// data have a lane of their own here (AdminBrokerProcessor#updateColdDataFlowCtrGroupConfig).
func (b *Broker) acceptColdDataConfig(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	if req.Code == remoting.UpdateColdDataFlowCtrConfig {
		if _, err := conf.ParseProperties(req.Body); err != nil {
			return nil, remoting.Errorf(remoting.SystemError, "string2Properties error: %v", err)
		}
	}
	return success(), nil
}

// getColdDataInfo answers that no group is held back (AdminBrokerProcessor#getColdDataFlowCtrInfo).
func (b *Broker) getColdDataInfo(*remoting.Conn, *remoting.Command) (*remoting.Command, error) {
	resp := success()
	c := &b.config().Broker
	resp.Body = []byte(`{"runtimeTable":{},"configTable":{},"cgColdReadThreshold":` + decimal(c.CgColdReadThreshold) +
		`,"globalColdReadThreshold":` + decimal(c.GlobalColdReadThreshold) + `,"globalAcc":0}`)
	return resp, nil
}

// setReadMode takes the reference's advice for how the commit log is read; the kernel decides here
// (AdminBrokerProcessor#setCommitLogReadaheadMode).
func (b *Broker) setReadMode(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	text, ok := req.ExtValue("READ_AHEAD_MODE")
	if !ok {
		return nil, remoting.Errorf(remoting.SystemError, "set commitlog readahead mode param error")
	}
	mode, err := strconv.Atoi(text)
	if err != nil {
		return nil, remoting.Errorf(remoting.SystemError, "set commitlog readahead mode failed")
	}
	if mode != 0 && mode != 1 {
		return nil, remoting.Errorf(remoting.InvalidParameter, "set commitlog readahead mode param value error")
	}
	resp := success()
	resp.Remark = "set commitlog readahead mode success, mode: " + text
	return resp, nil
}

// switchTimerEngine chooses between the reference's two timers; this broker has the one that keeps its state in files
// (AdminBrokerProcessor#switchTimerEngine).
func (b *Broker) switchTimerEngine(_ *remoting.Conn, req *remoting.Command) (*remoting.Command, error) {
	if !b.config().Store.TimerWheelEnable {
		return nil, remoting.Errorf(remoting.InvalidParameter, "broker timerWheelEnable is false")
	}
	switch engine, _ := req.ExtValue("E_T"); engine {
	case "F":
		resp := success()
		resp.Remark = "switch timer engine success"
		return resp, nil
	case "R":
		return nil, remoting.Errorf(remoting.InvalidParameter, "timerRocksDBEnable must be configured true when broker start")
	default:
		return nil, remoting.Errorf(remoting.InvalidParameter, "param error: E_T is %.16q, F (files) and R (RocksDB) are known", engine)
	}
}

// popRollback has the reference move its pop state out of RocksDB into the revive topic, where it is here always
// (AdminBrokerProcessor#transferPopToFsStore).
func (b *Broker) popRollback(*remoting.Conn, *remoting.Command) (*remoting.Command, error) {
	return success(), nil
}
