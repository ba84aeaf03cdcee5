package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rocketd/rocketd/integration/peer"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
)

// swapBatchQueues lets Apache's broker and rocketd take turns on one directory with a topic of queue.type=BatchCQ: after stops and kills each
// finds every message by every offset, and goes on behind them.
func swapBatchQueues(t *testing.T) {
	t.Parallel()
	s := &batchSwap{T: t, dir: t.TempDir(), client: remoting.NewClient(remoting.ClientOptions{})}
	t.Cleanup(s.client.Close)
	for i, stage := range []swapStage{{}, {apache: true}, {kill: true}, {apache: true, kill: true}, {}} {
		s.stage(i, stage)
		if t.Failed() {
			return
		}
	}
	(&crashModel{dir: s.dir}).storeCheck(t)
}

// batchSwap is a directory with batches and what they hold.
type batchSwap struct {
	*testing.T
	dir    string
	client *remoting.Client
	addr   string
	starts [2][]int64 // offset of each batch, by queue
	ends   [2]int64
}

func (s *batchSwap) stage(n int, stage swapStage) {
	var c *peer.Cluster
	if stage.apache {
		c = peer.StartApache(s.T, s.dir)
	} else {
		c = peer.StartRocketd(s.T, s.dir)
	}
	s.addr = c.Broker
	if n == 0 {
		topic := remoting.NewRequest(remoting.UpdateAndCreateTopic, nil)
		for _, f := range [][2]string{
			{"topic", "inner"},
			{"defaultTopic", "TBW102"},
			{"readQueueNums", "2"},
			{"writeQueueNums", "2"},
			{"perm", "6"},
			{"topicFilterType", "SINGLE_TAG"},
			{"topicSysFlag", "0"},
			{"order", "false"},
			{"attributes", "+queue.type=BatchCQ"},
		} {
			topic.AddExt(f[0], f[1])
		}
		s.invoke(topic)
		group := remoting.NewRequest(remoting.UpdateAndCreateSubscriptiongroup, nil)
		group.Body = []byte(`{"groupName":"check","consumeEnable":true,"retryMaxTimes":7,"retryQueueNums":1}`)
		s.invoke(group)
	}
	s.verify(fmt.Sprintf("%d: %v: what was there", n, stage))
	for i := range 40 {
		s.send(i%2, 1+(i*7+n)%9)
	}
	s.verify(fmt.Sprintf("%d: %v: with what is new", n, stage))
	if stage.kill {
		// Apache's queues are flushed with its next second.
		time.Sleep(2 * time.Second)
		c.Kill(s.T)
	} else {
		c.Stop(s.T)
	}
}

func (s *batchSwap) invoke(cmd *remoting.Command) *remoting.Command {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 10*time.Second)
	defer cancel()
	resp, err := s.client.Invoke(ctx, s.addr, cmd)
	if err != nil {
		s.Fatal(err)
	}
	return resp
}

// send sends a batch of n messages whose bodies are their offsets.
func (s *batchSwap) send(queue, n int) {
	s.Helper()
	var batch []byte
	for i := range n {
		var err error
		batch, err = message.AppendBatchEntry(batch, message.BatchEntry{Body: fmt.Append(nil, s.ends[queue]+int64(i))})
		if err != nil {
			s.Fatal(err)
		}
	}
	h := &remoting.SendMessageRequestHeader{
		ProducerGroup: "p", Topic: "inner", DefaultTopic: "TBW102", DefaultTopicQueueNums: 4, QueueID: int32(queue), BornTimestamp: time.Now().UnixMilli(),
		Properties: fmt.Sprintf("UNIQ_KEY\x01u%d.%d\x02WAIT\x01true\x02", queue, s.ends[queue]), Batch: remoting.Some(true),
	}
	cmd := remoting.NewRequest(remoting.SendBatchMessage, h.V2())
	cmd.Body = batch
	resp := s.invoke(cmd)
	var answer remoting.SendMessageResponseHeader
	if err := resp.Decode(&answer); err != nil || resp.Code != remoting.Success || answer.QueueOffset != s.ends[queue] || answer.BatchUniqID == "" {
		s.Fatalf("send: code %d %s, %+v, %v, want offset %d", resp.Code, resp.Remark, answer, err, s.ends[queue])
	}
	s.starts[queue] = append(s.starts[queue], s.ends[queue])
	s.ends[queue] += int64(n)
}

// verify pulls everything, from the beginning and from every seventh offset.
func (s *batchSwap) verify(what string) {
	s.Helper()
	for queue := range s.ends {
		for at := int64(0); at < s.ends[queue]; {
			at = s.pull(what, queue, at, 32)
		}
		for at := int64(3); at < s.ends[queue]; at += 7 {
			s.pull(what, queue, at, 1)
		}
	}
}

// pull pulls once: the first record is the one that holds the offset, and the bodies are the offsets.
func (s *batchSwap) pull(what string, queue int, at int64, most int32) (next int64) {
	s.Helper()
	var resp *remoting.Command
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		resp = s.invoke(remoting.NewRequest(remoting.PullMessage, &remoting.PullMessageRequestHeader{
			ConsumerGroup: "check", Topic: "inner", QueueID: int32(queue), QueueOffset: at, MaxMsgNums: most, SysFlag: 4, Subscription: "*",
		}))
		// A record is visible a little after its answer at Apache.
		if resp.Code == remoting.Success || time.Since(begun) > 20*time.Second {
			break
		}
	}
	var h remoting.PullMessageResponseHeader
	if err := resp.Decode(&h); err != nil || resp.Code != remoting.Success {
		s.Fatalf("%s: pull of %d at %d: code %d %s, %v", what, queue, at, resp.Code, resp.Remark, err)
	}
	next = -1
	for rest := resp.Body; len(rest) > 0; {
		var r message.Record
		n, err := message.DecodeRecord(rest, &r, true)
		if err != nil {
			s.Fatal(err)
		}
		rest = rest[n:]
		if next < 0 && (r.QueueOffset > at) || next >= 0 && r.QueueOffset != next {
			s.Fatalf("%s: pull of %d at %d: record at %d", what, queue, at, r.QueueOffset)
		}
		next = r.QueueOffset
		for batch := r.Body; len(batch) > 0; next++ {
			var e message.BatchEntry
			if e, batch, err = message.CutBatchEntry(batch); err != nil || string(e.Body) != fmt.Sprint(next) {
				s.Fatalf("%s: message %d of queue %d has body %q, %v", what, next, queue, e.Body, err)
			}
		}
	}
	if h.NextBeginOffset != next || next <= at {
		s.Fatalf("%s: pull of %d at %d: next %d, the records end at %d", what, queue, at, h.NextBeginOffset, next)
	}
	return next
}
