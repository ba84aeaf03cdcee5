package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/rocketd/rocketd/integration/measure"
	"github.com/rocketd/rocketd/remoting"
)

// queuesPerTopic is how the queues of the store with many queues are spread.
const queuesPerTopic = 10

// manyQueues measures a broker with many queues, all of which get messages.
func (o *options) manyQueues(dir string) (*table, error) {
	t := newTable(fmt.Sprintf("A broker with %d queues in %d topics", o.queues, o.queues/queuesPerTopic), "what", "figure")
	dir = filepath.Join(dir, "store")
	p, err := o.start(dir, [2]int{})
	if err != nil {
		return t, err
	}
	t.add("memory of an empty broker", fmt.Sprintf("%.0f MB", p.anonymousMB()))
	begun := time.Now()
	if err := o.touchQueues(p.broker); err != nil {
		return t, err
	}
	t.add("making the topics and one message into each queue", seconds(time.Since(begun)))
	t.add("memory then", fmt.Sprintf("%.0f MB", p.anonymousMB()))
	took, err := p.end(syscall.SIGTERM)
	if err != nil {
		return t, err
	}
	t.add("stop, every queue written to since the last checkpoint", ms(took))
	for _, how := range []string{"start after a clean stop", "start after a clean stop, nothing in the page cache"} {
		if how != "start after a clean stop" {
			measure.DropCache(dir)
		}
		if p, err = o.start(dir, [2]int{}); err != nil {
			return t, err
		}
		t.add(how, ms(p.took))
		t.add("memory after that start", fmt.Sprintf("%.0f MB", p.anonymousMB()))
		if took, err = p.end(syscall.SIGTERM); err != nil {
			return t, err
		}
		t.add("stop without anything new", ms(took))
	}
	if p, err = o.start(dir, [2]int{}); err != nil {
		return t, err
	}
	if err := o.touchQueues(p.broker); err != nil {
		return t, err
	}
	if _, err := p.end(syscall.SIGKILL); err != nil {
		return t, err
	}
	if p, err = o.start(dir, [2]int{}); err != nil {
		return t, err
	}
	t.add("start after SIGKILL, every queue written to since the last checkpoint", ms(p.took))
	if took, err = p.end(syscall.SIGTERM); err != nil {
		return t, err
	}
	t.add("stop after that start", ms(took))
	return t, nil
}

// touchQueues makes the topics and sends a message into each queue.
func (o *options) touchQueues(broker string) error {
	c := remoting.NewClient(remoting.ClientOptions{})
	defer c.Close()
	call := func(cmd *remoting.Command) error {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		resp, err := c.Invoke(ctx, broker, cmd)
		if err == nil && resp.Code != remoting.Success {
			err = fmt.Errorf("code %d: %s", resp.Code, resp.Remark)
		}
		return err
	}
	for i := range o.queues / queuesPerTopic {
		topic := "bench" + strconv.Itoa(i)
		cmd := remoting.NewRequest(remoting.UpdateAndCreateTopic, nil)
		for _, f := range [][2]string{
			{"topic", topic},
			{"defaultTopic", "TBW102"},
			{"readQueueNums", strconv.Itoa(queuesPerTopic)},
			{"writeQueueNums", strconv.Itoa(queuesPerTopic)},
			{"perm", "6"},
			{"topicFilterType", "SINGLE_TAG"},
			{"topicSysFlag", "0"},
			{"order", "false"},
		} {
			cmd.AddExt(f[0], f[1])
		}
		if err := call(cmd); err != nil {
			return err
		}
		for q := range int32(queuesPerTopic) {
			send := remoting.NewRequest(remoting.SendMessage, &remoting.SendMessageRequestHeader{
				ProducerGroup: "P", Topic: topic, DefaultTopic: "TBW102", DefaultTopicQueueNums: queuesPerTopic, QueueID: q, BornTimestamp: time.Now().UnixMilli(),
			})
			send.Body = []byte("body")
			if err := call(send); err != nil {
				return err
			}
		}
	}
	return nil
}
