package console

import (
	"strconv"
	"strings"

	"github.com/rocketd/rocketd/broker"
	"github.com/rocketd/rocketd/remoting"
)

// latencies adds how long answers took (RemotingMetricsManager).
func (s *scrape) latencies(b *broker.Broker) {
	for _, l := range b.Latencies() {
		s.histogram("rocketmq_rpc_latency_milliseconds", "From the request to its answer.", s.e.labels, l.Count, float64(l.SumMs), floats(l.Bounds), l.AtMost,
			"protocol_type", "remoting", "request_code", strings.ToLower(remoting.RequestName(l.Request)),
			"response_code", strings.ToLower(remoting.ResponseName(l.Response)), "is_long_polling", strconv.FormatBool(l.Held), "result", l.Result.String())
	}
}

func outcome(failed bool) string {
	if failed {
		return "failure"
	}
	return "success"
}

// creations adds how long it took to create topics and groups.
func (s *scrape) creations(b *broker.Broker) {
	topics, groups := b.Creations()
	for i := range topics {
		c := &topics[i]
		s.sized("rocketmq_topic_create_execution_time_milliseconds", "How long it took to create or change topics.", c.Took,
			"invocation_status", outcome(c.Failed), "is_system", strconv.FormatBool(c.System))
	}
	for i := range groups {
		c := &groups[i]
		s.sized("rocketmq_consumer_group_create_execution_time_milliseconds", "How long it took to create or change groups.", c.Took,
			"invocation_status", outcome(c.Failed))
	}
}

// putStatus is the reference's word for what became of a write (PutMessageStatus).
func putStatus(failed bool) string {
	if failed {
		return "UNKNOWN_ERROR"
	}
	return "PUT_OK"
}

func reviveType(ack bool) string {
	if ack {
		return "ACK"
	}
	return "CK"
}

// pop adds what goes through the revive topic (PopMetricsManager).
func (s *scrape) pop(b *broker.Broker) {
	m := b.PopMetrics()
	for i := range m.Put {
		c := &m.Put[i]
		s.counter("rocketmq_pop_revive_in_message_total", "Checkpoints and acks written for the revive topic.", float64(c.N),
			"consumer_group", c.Group, "topic", c.Topic, "revive_message_type", reviveType(c.Ack), "put_status", putStatus(c.Failed))
	}
	for i := range m.Taken {
		c := &m.Taken[i]
		s.counter("rocketmq_pop_revive_out_message_total", "Checkpoints and acks read from the revive topic.", float64(c.N),
			"consumer_group", c.Group, "topic", c.Topic, "queue_id", strconv.Itoa(int(c.QueueID)), "revive_message_type", reviveType(c.Ack))
	}
	for i := range m.Retried {
		c := &m.Retried[i]
		s.counter("rocketmq_pop_revive_retry_messages_total", "Messages put into a retry topic because nobody acknowledged them.", float64(c.N),
			"consumer_group", c.Group, "topic", c.Topic, "put_status", putStatus(c.Failed))
	}
	s.sized("rocketmq_pop_buffer_scan_time_consume_milliseconds", "Rounds over the checkpoints that wait.", m.Scan)
	s.gauge("rocketmq_pop_offset_buffer_size", "Offsets that are kept in memory only: none.", 0)
	s.gauge("rocketmq_pop_checkpoint_buffer_size", "Checkpoints whose messages are invisible.", float64(m.InFlight))
	now := s.e.c.o.Clock.NowMs()
	for _, lag := range m.Revive {
		queue, late := strconv.Itoa(int(lag.QueueID)), int64(0)
		if lag.BehindSinceMs > 0 {
			late = age(lag.BehindSinceMs, now)
		}
		s.gauge("rocketmq_pop_revive_lag_milliseconds", "Messages (the name is the reference's) of the revive topic not done with.", float64(lag.Behind), "queue_id", queue)
		s.gauge("rocketmq_pop_revive_latency_milliseconds", "Age of the first message of the revive topic that is not done with.", float64(late), "queue_id", queue)
	}
}
