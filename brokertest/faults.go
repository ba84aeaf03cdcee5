package brokertest

import (
	"strings"
	"syscall"
	"time"

	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// Busy answers sends and pulls SYSTEM_BUSY, as a broker under too much load does.
func (b *Broker) Busy(matches ...Match) *Rule {
	return b.rule(append(sendCodes(), pullCodes()...),
		Always(Fail(remoting.SystemBusy, "[OVERLOAD]system busy, start flow control for a while")), matches)
}

// LoseSendAnswers stores messages and loses the answers: producers run into their timeout and send again, so that there are duplicates.
func (b *Broker) LoseSendAnswers(matches ...Match) *Rule {
	return b.OnSend(Always(DropAnswer()), matches...)
}

// BreakSendAnswers is LoseSendAnswers with the connection closed at once, so that producers need not wait for their timeout.
func (b *Broker) BreakSendAnswers(matches ...Match) *Rule {
	return b.OnSend(Always(CutAnswer(0)), matches...)
}

// NamesrvAway closes the connection of every request to the name server. StopNamesrv is the harder way: nobody listens then.
func (b *Broker) NamesrvAway(matches ...Match) *Rule {
	return b.OnEvery(Always(Close()), append(matches, ForServer(Namesrv))...)
}

// StaleRoute answers every question for the route of a topic with what is the truth now, also when it is not any more. A topic without a
// route is answered TOPIC_NOT_EXIST, also when it has been created.
func (b *Broker) StaleRoute(topic string) *Rule {
	var route *body.TopicRouteData
	b.mu.Lock()
	if b.namesrv != nil {
		route = b.namesrv.Namesrv().Route(topic)
	}
	b.mu.Unlock()
	return b.On(remoting.GetRouteinfoByTopic, func(r *Request) Decision {
		if route == nil {
			return Fail(remoting.TopicNotExist, "No topic route info in name server for the topic: "+topic)
		}
		answer := remoting.NewResponse(remoting.Success)
		if r.Command().Version >= remoting.V494 || r.Field("acceptStandardJsonOnly") == "true" {
			answer.Body = body.Encode(route)
		} else {
			answer.Body = body.EncodeBare(route)
		}
		return Answer(answer)
	}, ForTopic(topic))
}

// NoRoute answers every question for the route of a topic TOPIC_NOT_EXIST.
func (b *Broker) NoRoute(topic string) *Rule {
	return b.On(remoting.GetRouteinfoByTopic,
		Always(Fail(remoting.TopicNotExist, "No topic route info in name server for the topic: "+topic)), ForTopic(topic))
}

// FlapConsumers lets a consumer group seem to change all the time: of its list of members every other answer leaves out all but the first,
// and the members are told of a change at once and when the rule is removed by whoever calls NotifyConsumers.
func (b *Broker) FlapConsumers(group string) *Rule {
	r := b.On(remoting.GetConsumerListByGroup, func(r *Request) Decision {
		if r.N%2 == 0 {
			return Pass()
		}
		return EditAnswer(func(answer *remoting.Command) {
			list, err := body.Decode[body.ConsumerList](answer.Body)
			if err != nil || len(list.ConsumerIDs) < 2 {
				return
			}
			list.ConsumerIDs = list.ConsumerIDs[:1]
			answer.Body = body.Encode(list)
		})
	}, ForGroup(group))
	b.NotifyConsumers(group)
	return r
}

// NotifyConsumers tells the members of a consumer group that their number has changed: they share the queues out anew.
func (b *Broker) NotifyConsumers(group string) {
	if now := b.now(); now != nil {
		now.NotifyConsumers(group)
	}
}

// ExpireLocks takes the queue locks of an orderly consumer group from their owners and tells how many there were.
func (b *Broker) ExpireLocks(group string) int {
	if now := b.now(); now != nil {
		return now.ExpireQueueLocks(group)
	}
	return 0
}

// CloseClient closes all connections of a client id and tells how many there were.
func (b *Broker) CloseClient(clientID string) int {
	if now := b.now(); now != nil {
		return now.CloseClient(clientID, "closed by the test")
	}
	return 0
}

// SlowDisk lets each write and sync of the commit log take d of the broker's clock longer, until HealDisk. Sends wait meanwhile, and with
// flushDiskType SYNC_FLUSH those that wait for longer than syncFlushTimeout are answered FLUSH_DISK_TIMEOUT.
func (b *Broker) SlowDisk(d time.Duration) {
	b.Disk().SetRule(func(c vfs.Call) vfs.Action {
		if c.Op != vfs.OpWrite && c.Op != vfs.OpSync || !ofCommitLog(c.Path) {
			return vfs.Action{}
		}
		return vfs.Action{Before: func() { b.pause(d) }}
	})
}

// FailFlush lets every sync of the commit log fail from now on. The store takes no messages after the first one: what it has written may
// be lost. It needs HealDisk and Restart, as a broker on a broken disk does.
func (b *Broker) FailFlush() { b.Disk().SetRule(onCommitLog(vfs.OpSync, syscall.EIO)) }

// FailWrites lets every write to the commit log fail until HealDisk: sends are refused.
func (b *Broker) FailWrites() { b.Disk().SetRule(onCommitLog(vfs.OpWrite, syscall.EIO)) }

// FillDisk lets every write to the commit log fail for want of room until HealDisk.
func (b *Broker) FillDisk() { b.Disk().SetRule(onCommitLog(vfs.OpWrite, syscall.ENOSPC)) }

// HealDisk ends the disk's faults. A store that has refused messages looks at its disk once a second, on the broker's clock.
func (b *Broker) HealDisk() { b.Disk().SetRule(nil) }

func ofCommitLog(path string) bool { return strings.Contains(path, "commitlog") }

func onCommitLog(op vfs.Op, err error) vfs.Rule {
	return func(c vfs.Call) vfs.Action {
		if c.Op == op && ofCommitLog(c.Path) {
			return vfs.Action{Err: err}
		}
		return vfs.Action{}
	}
}

// pause waits for d of the clock, or until the broker is closed.
func (b *Broker) pause(d time.Duration) {
	timer := b.clk.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-b.running.Done():
	}
}

// ClearRules removes all rules.
func (b *Broker) ClearRules() { b.rules.clear() }

// Heal ends all faults: rules and those of the disk.
func (b *Broker) Heal() {
	b.ClearRules()
	b.HealDisk()
}
