package console

import (
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rocketd/rocketd/broker"
	"github.com/rocketd/rocketd/internal/relay"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
	"github.com/rocketd/rocketd/timer"
)

// broker adds what the reference's exporter has of a broker, under its names (BrokerMetricsManager, DefaultStoreMetricsManager), and ours.
func (s *scrape) broker(b *broker.Broker) {
	c := &b.Config().Broker
	if c.EnableStatsMetrics {
		s.state(b)
	}
	if c.EnableRequestMetrics {
		s.creations(b)
	}
	if c.EnableRemotingMetrics {
		s.latencies(b)
	}
	if c.EnablePopMetrics {
		s.pop(b)
	}
	if c.EnableRequestMetrics || c.EnableTransactionMetrics || c.EnableLagAndDLQMetrics {
		s.traffic(b)
	}
	if c.EnableConnectionMetrics {
		s.connections(b)
	}
	if c.EnableLagAndDLQMetrics {
		s.lag(b)
	}
	if c.EnableMessageStoreMetrics {
		s.store(b)
		s.timers(b)
	}
	s.listener("broker", b.Server())
	s.ours(b)
}

// lanes are the reference's thread pools and the lanes that do their work; "" works on the event loop, where nothing waits.
var lanes = [][2]string{
	{"send", ""},
	{"async_put", ""},
	{"pull", ""},
	{"ack", "pop"},
	{"query_message", "query"},
	{"client_manager", "client"},
	{"heartbeat", "client"},
	{"lite_pull", ""},
	{"transaction", "transaction"},
	{"consumer_manager", "offset"},
	{"admin", "admin"},
	{"reply", "reply"},
}

func (s *scrape) state(b *broker.Broker) {
	queued := map[string]int{}
	for _, lane := range b.Server().Lanes {
		queued[lane.Name] = lane.Queued
	}
	for _, l := range lanes {
		s.gauge("rocketmq_processor_watermark", "Requests that wait for a worker.", float64(queued[l[1]]), "processor", l[0])
	}
	s.gauge("rocketmq_broker_permission", "Permission of the broker: 4 read, 2 write.", float64(b.Config().Broker.BrokerPermission))
	s.gauge("rocketmq_topic_number", "Topics of the broker.", float64(len(b.Topics())))
	groups := 0
	for _, g := range b.Groups() {
		if g.Config != nil {
			groups++
		}
	}
	s.gauge("rocketmq_consumer_group_number", "Subscription groups of the broker.", float64(groups))
}

func floats(n []int64) []float64 {
	out := make([]float64, len(n))
	for i, v := range n {
		out[i] = float64(v)
	}
	return out
}

// sized is a histogram of the reference's.
func (s *scrape) sized(name, help string, h broker.Histogram, labels ...string) {
	s.histogram(name, help, s.e.labels, h.Count, float64(h.Sum), floats(h.Bounds), h.AtMost, labels...)
}

func (s *scrape) traffic(b *broker.Broker) {
	c := &b.Config().Broker
	t := b.Traffic()
	if c.EnableRequestMetrics {
		for i := range t.In {
			in := &t.In[i]
			labels := pairs{"topic", in.Topic, "message_type", in.Type, "is_system", strconv.FormatBool(in.System)}
			s.counter("rocketmq_messages_in_total", "Messages that producers sent.", float64(in.Messages), labels...)
			s.counter("rocketmq_throughput_in_total", "Bytes of the records of messages that producers sent.", float64(in.Bytes), labels...)
			s.sized("rocketmq_message_size", "Sizes of sent messages' records, bytes.", in.Size, labels...)
		}
		for i := range t.Out {
			out := &t.Out[i]
			if out.Messages == 0 {
				continue
			}
			labels := pairs{"topic", out.Topic, "consumer_group", out.Group, "is_system", strconv.FormatBool(out.System)}
			if out.Pop {
				labels = append(labels, "is_retry", strconv.FormatBool(out.Retry))
			}
			s.counter("rocketmq_messages_out_total", "Messages given to consumers.", float64(out.Messages), labels...)
			s.counter("rocketmq_throughput_out_total", "Bytes of the records given to consumers.", float64(out.Bytes), labels...)
		}
	}
	if c.EnableLagAndDLQMetrics {
		for i := range t.Out {
			if out := &t.Out[i]; out.DeadLetters > 0 {
				s.counter("rocketmq_send_to_dlq_messages_total", "Messages that became dead letters.", float64(out.DeadLetters),
					"topic", out.Topic, "consumer_group", out.Group, "is_system", strconv.FormatBool(out.System))
			}
		}
	}
	if c.EnableTransactionMetrics {
		for i := range t.Transactions {
			d := &t.Transactions[i]
			s.counter("rocketmq_commit_messages_total", "Committed transactions.", float64(d.Commits), "topic", d.Topic)
			s.counter("rocketmq_rollback_messages_total", "Transactions rolled back.", float64(d.Rollbacks), "topic", d.Topic)
			s.sized("rocketmq_finish_message_latency_milliseconds", "Seconds (the name is the reference's) from a half message's birth to its commit.", d.Latency, "topic", d.Topic)
		}
		for topic, n := range b.HalfMessages() {
			s.gauge("rocketmq_half_messages", "Half messages that nobody has decided yet.", float64(n), "topic", topic)
		}
	}
	for i := range t.Timed {
		d := &t.Timed[i]
		if d.Delivered > 0 {
			s.counter("rocketmq_timer_dequeue_total", "Timers delivered.", float64(d.Delivered), storage("topic", d.Topic)...)
		}
		if d.Ahead.Count > 0 {
			s.counter("rocketmq_timer_enqueue_total", "Timers set.", float64(d.Ahead.Count), storage("topic", d.Topic)...)
			s.sized("rocketmq_delay_message_latency_seconds", "How far ahead timers were set.", d.Ahead, storage("topic", d.Topic)...)
		}
	}
}

// storage are labels of the store's metrics.
func storage(labels ...string) pairs {
	return append(pairs{"storage_type", "local", "storage_medium", "disk"}, labels...)
}

// clientKind is what connections are counted by.
type clientKind struct {
	group, mode, language, version string
}

func kindOf(m *broker.Member) clientKind {
	return clientKind{language: strings.ToLower(m.Language.String()), version: strings.ToLower(remoting.VersionName(m.Version))}
}

// modes are the reference's words for ways to consume (ConsumeType#getTypeCN).
func mode(consumeType string) string {
	switch body.ConsumeType(consumeType) {
	case body.ConsumePassively:
		return "push"
	case body.ConsumeActively:
		return "pull"
	case body.ConsumePop:
		return "pop"
	}
	return strings.ToLower(consumeType)
}

func (s *scrape) connections(b *broker.Broker) {
	producers := map[clientKind]int{}
	for _, group := range b.ProducerGroups() {
		for _, m := range b.Producers(group) {
			producers[kindOf(&m)]++
		}
	}
	for k, n := range producers {
		s.gauge("rocketmq_producer_connections", "Connections of producers.", float64(n),
			"language", k.language, "version", k.version, "protocol_type", "remoting")
	}
	consumers := map[clientKind]int{}
	for _, name := range b.ConsumerGroups() {
		g := b.Group(name)
		for i := range g.Members {
			k := kindOf(&g.Members[i].Member)
			k.group, k.mode = name, mode(g.ConsumeType)
			consumers[k]++
		}
	}
	for k, n := range consumers {
		s.gauge("rocketmq_consumer_connections", "Connections of consumers.", float64(n), "consumer_group", k.group, "consume_mode", k.mode,
			"language", k.language, "version", k.version, "protocol_type", "remoting", "is_system", strconv.FormatBool(message.IsSystemGroup(k.group)))
	}
}

// lag is computed for groups that are online, by the topics that they subscribe (ConsumerLagCalculator#processAllGroup), and for those
// that have popped without a heartbeat, as proxies do.
func (s *scrape) lag(b *broker.Broker) {
	type reading struct{ group, topic string }
	now := s.e.c.o.Clock.NowMs()
	done := map[reading]bool{}
	one := func(group, topic string, pop bool) {
		if done[reading{group, topic}] || message.IsRetryTopic(topic) || b.Topic(topic) == nil {
			return
		}
		done[reading{group, topic}] = true
		s.lagOf(b, group, topic, topic, false, now)
		if pop {
			s.lagOf(b, group, topic, message.PopRetryTopic(topic, group, b.Config().Broker.EnableRetryTopicV2), true, now)
		}
	}
	for _, name := range b.ConsumerGroups() {
		pop := b.Group(name).ConsumeType == string(body.ConsumePop)
		for _, topic := range b.Subscriptions(name) {
			one(name, topic, pop)
		}
	}
	out := b.Traffic().Out
	for i := range out {
		if out[i].Pop {
			one(out[i].Group, out[i].Topic, true)
		}
	}
}

func (s *scrape) lagOf(b *broker.Broker, group, topic, read string, retry bool, now int64) {
	sum := sumProgress(b.Progress(group, read))
	system := message.IsSystemTopic(topic) || message.IsSystemGroup(group)
	labels := pairs{"consumer_group", group, "topic", topic, "is_retry", strconv.FormatBool(retry), "is_system", strconv.FormatBool(system)}
	s.gauge("rocketmq_consumer_lag_messages", "Messages not committed.", float64(sum.Lag), labels...)
	s.gauge("rocketmq_consumer_lag_latency_milliseconds", "Age of the oldest message not committed.", float64(age(sum.WaitingSinceMs, now)), labels...)
	s.gauge("rocketmq_consumer_inflight_messages", "Messages read and not committed.", float64(sum.InFlight), labels...)
	s.gauge("rocketmq_consumer_queueing_latency_milliseconds", "Age of the oldest message not read.", float64(age(sum.UnreadSinceMs, now)), labels...)
	s.gauge("rocketmq_consumer_ready_messages", "Messages not read.", float64(sum.Ready), labels...)
}

func age(sinceMs, now int64) int64 {
	if sinceMs <= 0 {
		return 0
	}
	return max(0, now-sinceMs)
}

// sumProgress adds up the queues of a topic.
func sumProgress(queues []broker.QueueProgress) (sum broker.QueueProgress) {
	for i := range queues {
		q := &queues[i]
		sum.Lag, sum.InFlight, sum.Ready = sum.Lag+q.Lag, sum.InFlight+q.InFlight, sum.Ready+q.Ready
		sum.WaitingSinceMs = earlier(sum.WaitingSinceMs, q.WaitingSinceMs)
		sum.UnreadSinceMs = earlier(sum.UnreadSinceMs, q.UnreadSinceMs)
	}
	return sum
}

// earlier is the earlier of two times, of which 0 is none.
func earlier(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func (s *scrape) store(b *broker.Broker) {
	st := b.Store()
	if usage := st.DiskUsage(); usage.Total > 0 {
		s.gauge("rocketmq_storage_size_bytes", "Used bytes of the commit log's file system.", float64(usage.Total-usage.Free), storage()...)
	}
	end := st.MaxPhysicalOffset()
	s.gauge("rocketmq_storage_flush_behind_bytes", "Bytes not on disk yet.", float64(max(0, end-st.FlushedOffset())), storage()...)
	s.gauge("rocketmq_storage_dispatch_behind_bytes", "Bytes not visible in their queues yet.", float64(max(0, end-st.DispatchedOffset())), storage()...)
	if earliest := st.EarliestTime(); earliest > 0 {
		s.gauge("rocketmq_storage_message_reserve_time_milliseconds", "Age of the oldest message.", float64(age(earliest, s.e.c.o.Clock.NowMs())), storage()...)
	}
}

// snapshotBounds are how far ahead pending timers are counted, in seconds (TimerMetrics#timerDist).
var snapshotBounds = []int64{5, 60, 300, 900, 3600, 14400, 28800, 86400}

func (s *scrape) timers(b *broker.Broker) {
	t := b.Timer()
	now := s.e.c.o.Clock.NowMs()
	stats := t.Stats()
	s.gauge("rocketmq_timer_enqueue_lag", "Timers stored and not in the wheel yet.", float64(t.Behind()), storage()...)
	s.gauge("rocketmq_timer_enqueue_latency_milliseconds", "Age of the oldest timer that is not in the wheel yet.", float64(s.enqueueAge(b, now)), storage()...)
	late := int64(0)
	if due := t.NextDue(); due > 0 {
		late = age(due, now)
	}
	s.gauge("rocketmq_timer_dequeue_latency_milliseconds", "How late the next timer is.", float64(late), storage()...)
	for _, topic := range t.TopicCounts() {
		s.gauge("rocketmq_timing_messages", "Timers that are pending.", float64(topic.Count), storage("topic", topic.Topic)...)
	}
	report, err := t.Pending(context.Background(), timer.PendingQuery{Bucket: time.Second})
	if err != nil {
		return
	}
	counts, overdue := make([]int64, len(snapshotBounds)), int64(0)
	for _, bucket := range report.Buckets {
		ahead := bucket.StartMs - now
		if ahead+1000 <= 0 {
			overdue += bucket.Count
		}
		for i, bound := range snapshotBounds {
			if ahead < bound*1000 {
				counts[i] += bucket.Count
				break
			}
		}
	}
	for i, bound := range snapshotBounds {
		s.gauge("rocketmq_timer_message_snapshot", "Timers that are due within so many seconds and not within the bound below.", float64(counts[i]),
			storage("timer_bound_s", strconv.FormatInt(bound, 10))...)
	}
	s.gauge("rocketmq_timer_dequeue_lag", "Timers that are overdue.", float64(overdue), storage()...)
	s.lateness("rocketd_timer_lateness_seconds", "How much later than wanted timers were delivered.", stats.Lateness)
	s.lateness("rocketd_delay_lateness_seconds", "How much later than wanted messages with a delay level were delivered.", b.Schedule().Stats().Lateness)
	s.own("rocketd_timer_pending", "Timers that are pending.", prometheus.GaugeValue, float64(report.Total))
	s.own("rocketd_timer_next_due_seconds", "When the next timer is due, seconds since the epoch; 0: none is pending.", prometheus.GaugeValue, float64(report.NextDue)/1000)
	for name, n := range map[string]int64{"rolled": stats.Rolled, "delivered": stats.Delivered, "cancelled": stats.Cancelled, "skipped": stats.Skipped, "retried": stats.Retried, "repaired": stats.Repaired} {
		s.own("rocketd_timer_"+name+"_total", "Timers "+name+".", prometheus.CounterValue, float64(n))
	}
	for _, level := range b.Schedule().Pending() {
		s.own("rocketd_delay_pending", "Messages that wait, by delay level.", prometheus.GaugeValue, float64(level.Count), "level", strconv.Itoa(int(level.Level)))
	}
}

// enqueueAge is how old the first message is that is not in the wheel yet.
func (s *scrape) enqueueAge(b *broker.Broker, now int64) int64 {
	behind := b.Timer().Behind()
	queue := b.Store().Queue(message.TopicTimer, 0)
	if behind == 0 || queue == nil {
		return 0
	}
	return age(max(0, queue.StoreTime(queue.MaxOffset()-behind)), now)
}

func (s *scrape) lateness(name, help string, classes []relay.LatenessClass) {
	var bounds []float64
	var atMost []int64
	count, sum := int64(0), 0.0
	for _, class := range classes {
		count += class.Count
		if class.Ms == math.MaxInt64 {
			continue
		}
		bounds, atMost = append(bounds, float64(class.Ms)/1000), append(atMost, count)
		sum += float64(class.Ms*class.Count) / 1000 // the sum is not counted; this is its upper bound
	}
	s.histogram(name, help, nil, count, sum, bounds, atMost)
}

// listener adds a server's state.
func (s *scrape) listener(part string, st remoting.ServerStats) {
	gauge := func(name, help string, v float64) { s.own(name, help, prometheus.GaugeValue, v, "part", part) }
	counter := func(name, help string, v float64) { s.own(name, help, prometheus.CounterValue, v, "part", part) }
	gauge("rocketd_connections", "Open connections.", float64(st.Connections))
	counter("rocketd_connections_accepted_total", "Connections taken.", float64(st.Accepted))
	counter("rocketd_connections_refused_total", "Connections over maxConnections.", float64(st.Refused))
	counter("rocketd_frames_in_total", "Frames received.", float64(st.FramesIn))
	counter("rocketd_bytes_in_total", "Bytes received.", float64(st.BytesIn))
	counter("rocketd_bytes_out_total", "Bytes sent.", float64(st.BytesOut))
	gauge("rocketd_inbound_bytes", "Unfinished frames and waiting requests.", float64(st.InboundBytes))
	gauge("rocketd_outbound_bytes", "Bytes that wait for slow readers.", float64(st.OutboundBytes))
	for _, lane := range st.Lanes {
		s.own("rocketd_lane_queued", "Requests that wait for a worker.", prometheus.GaugeValue, float64(lane.Queued), "part", part, "lane", lane.Name)
		s.own("rocketd_lane_running", "Requests in a worker.", prometheus.GaugeValue, float64(lane.Running), "part", part, "lane", lane.Name)
		s.own("rocketd_lane_done_total", "Requests handled.", prometheus.CounterValue, float64(lane.Done), "part", part, "lane", lane.Name)
		s.own("rocketd_lane_rejected_total", "Requests answered SYSTEM_BUSY because the queue was full.", prometheus.CounterValue, float64(lane.Rejected), "part", part, "lane", lane.Name)
	}
}

// ours adds what the reference does not tell of a broker.
func (s *scrape) ours(b *broker.Broker) {
	half := int64(0)
	for _, n := range b.HalfMessages() {
		half += n
	}
	s.own("rocketd_half_messages", "Half messages that nobody has decided yet.", prometheus.GaugeValue, float64(half))
	s.own("rocketd_held_pulls", "Pulls that wait for messages.", prometheus.GaugeValue, float64(b.HeldPulls()))
	s.own("rocketd_held_pops", "Pops and notifications that wait for messages.", prometheus.GaugeValue, float64(b.PopHeld()))
	totals := b.Totals()
	s.own("rocketd_put_failed_total", "Writes that the store refused.", prometheus.CounterValue, float64(totals.PutFailed))
	ready := 1.0
	if b.Ready() != nil {
		ready = 0
	}
	s.own("rocketd_ready", "1 while messages are taken.", prometheus.GaugeValue, ready)
	classes, sumUs := b.Store().FlushTimes()
	var bounds []float64
	var atMost []int64
	count := int64(0)
	for _, class := range classes {
		count += class.Count
		if class.Us > 0 {
			bounds, atMost = append(bounds, float64(class.Us)/1e6), append(atMost, count)
		}
	}
	s.histogram("rocketd_fsync_seconds", "How long fsyncs of the commit log took.", nil, count, float64(sumUs)/1e6, bounds, atMost)
}
