package broker

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Tags of the messages on the revive topic (PopAckConstants).
const (
	popCheckpointTag = "ck"
	popAckTag        = "ack"
	popBatchAckTag   = "bAck"
)

// popCheckpointLead is how long before its messages become visible again a checkpoint reaches the revive topic
// (PopAckConstants.ackTimeInterval), ms.
const popCheckpointLead = 1000

// popKey names a checkpoint: the messages of one queue that one pop gave to a group.
type popKey struct {
	topic       string
	group       string
	queueID     int32
	startOffset int64
	popTime     int64
	broker      string
}

// popCheckpoint is the body of a checkpoint message (PopCheckPoint): messages that are invisible until reviveTime.
type popCheckpoint struct {
	BitMap        int32   `json:"bm"`
	BrokerName    string  `json:"bn,omitempty"`
	Group         string  `json:"c,omitempty"`
	Diffs         []int32 `json:"d,omitempty"` // offsets of the messages less StartOffset; none: they are consecutive
	InvisibleTime int64   `json:"it"`
	Num           int8    `json:"n"`
	PopTime       int64   `json:"pt"`
	QueueID       int32   `json:"q"`
	ReviveTime    int64   `json:"reviveTime"` // derived, ignored when read
	ReviveOffset  int64   `json:"ro"`
	RePutTimes    string  `json:"rp,omitempty"`
	StartOffset   int64   `json:"so"`
	Suspend       bool    `json:"sp"` // given back by the consumer: does not count as a delivery
	Topic         string  `json:"t,omitempty"`
}

func (c *popCheckpoint) key() popKey {
	return popKey{c.Topic, c.Group, c.QueueID, c.StartOffset, c.PopTime, c.BrokerName}
}

func (c *popCheckpoint) reviveTime() int64 { return c.PopTime + c.InvisibleTime }

// uniqueKey is the UNIQ_KEY of the checkpoint's message (PopMessageProcessor#genCkUniqueId).
func (c *popCheckpoint) uniqueKey() string {
	return fmt.Sprintf("%s@%d@%d@%s@%d@%s@%s", c.Topic, c.QueueID, c.StartOffset, c.Group, c.PopTime, c.BrokerName, popCheckpointTag)
}

// count is the number of messages.
func (c *popCheckpoint) count() int {
	if len(c.Diffs) > 0 {
		return len(c.Diffs)
	}
	return int(max(c.Num, 0))
}

// offset is the queue offset of the i-th message.
func (c *popCheckpoint) offset(i int) int64 {
	if len(c.Diffs) > 0 {
		return c.StartOffset + int64(c.Diffs[i])
	}
	return c.StartOffset + int64(i)
}

// index is the place of a queue offset among the messages, -1 when it is not one of them.
func (c *popCheckpoint) index(offset int64) int {
	diff := offset - c.StartOffset
	if diff < 0 || diff > 1<<31-1 {
		return -1
	}
	if len(c.Diffs) > 0 {
		return slices.Index(c.Diffs, int32(diff))
	}
	if diff < int64(c.Num) {
		return int(diff)
	}
	return -1
}

// rePuts is how often the checkpoint was written anew because its messages could not be brought back
// (PopCheckPoint#parseRePutTimes).
func (c *popCheckpoint) rePuts() int {
	if c.RePutTimes == "" {
		return 0
	}
	n, err := strconv.Atoi(c.RePutTimes)
	if err != nil {
		return 127
	}
	return n
}

func (c *popCheckpoint) encode() ([]byte, error) {
	c.ReviveTime = c.reviveTime()
	return json.Marshal(c)
}

// decodePopCheckpoint reads a checkpoint's body; bounds are checked, so that index and offset cannot fail.
func decodePopCheckpoint(data []byte) (*popCheckpoint, error) {
	var c popCheckpoint
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("pop checkpoint: %w", err)
	}
	if c.Topic == "" || c.Group == "" {
		return nil, fmt.Errorf("pop checkpoint: topic %q and group %q must be there", c.Topic, c.Group)
	}
	if c.count() > maxPopMessages {
		return nil, fmt.Errorf("pop checkpoint: %d messages, the limit is %d", c.count(), maxPopMessages)
	}
	return &c, nil
}

// maxPopMessages bounds the messages of one pop, and so of a checkpoint, whose bit map has 32 bits.
const maxPopMessages = 32

// popAck is the body of an ack message (AckMsg), and with Offsets of a batch of them (BatchAckMsg).
type popAck struct {
	Offset      int64   `json:"ao"` // -1 in a batch
	Offsets     []int64 `json:"aol,omitempty"`
	BrokerName  string  `json:"bn,omitempty"`
	Group       string  `json:"c,omitempty"`
	PopTime     int64   `json:"pt"`
	QueueID     int32   `json:"q"`
	StartOffset int64   `json:"so"`
	Topic       string  `json:"t,omitempty"`
}

func (a *popAck) key() popKey {
	return popKey{a.Topic, a.Group, a.QueueID, a.StartOffset, a.PopTime, a.BrokerName}
}

func (a *popAck) tag() string {
	if a.Offsets != nil {
		return popBatchAckTag
	}
	return popAckTag
}

// all lists the acknowledged queue offsets.
func (a *popAck) all() []int64 {
	if a.Offsets != nil {
		return a.Offsets
	}
	return []int64{a.Offset}
}

// uniqueKey is the UNIQ_KEY of the ack's message (PopMessageProcessor#genAckUniqueId, which names batches too).
func (a *popAck) uniqueKey() string {
	return fmt.Sprintf("%s@%d@%d@%s@%d@%s@%s", a.Topic, a.QueueID, a.Offset, a.Group, a.PopTime, a.BrokerName, popAckTag)
}

func (a *popAck) encode() ([]byte, error) { return json.Marshal(a) }

// popAckNames are the long names that older brokers wrote.
type popAckNames struct {
	Offset      *int64  `json:"ackOffset"`
	Offsets     []int64 `json:"ackOffsetList"`
	BrokerName  string  `json:"brokerName"`
	Group       string  `json:"consumerGroup"`
	PopTime     *int64  `json:"popTime"`
	QueueID     *int32  `json:"queueId"`
	StartOffset *int64  `json:"startOffset"`
	Topic       string  `json:"topic"`
}

// decodePopAck reads the body of an ack or batch ack.
func decodePopAck(data []byte, batch bool) (*popAck, error) {
	var a popAck
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, fmt.Errorf("pop ack: %w", err)
	}
	if a.Topic == "" && strings.Contains(string(data), `"topic"`) {
		var long popAckNames
		if err := json.Unmarshal(data, &long); err != nil {
			return nil, fmt.Errorf("pop ack: %w", err)
		}
		a = popAck{Offsets: long.Offsets, BrokerName: long.BrokerName, Group: long.Group, Topic: long.Topic}
		for _, n := range []struct{ to, from *int64 }{{&a.Offset, long.Offset}, {&a.PopTime, long.PopTime}, {&a.StartOffset, long.StartOffset}} {
			if n.from != nil {
				*n.to = *n.from
			}
		}
		if long.QueueID != nil {
			a.QueueID = *long.QueueID
		}
	}
	if batch && a.Offsets == nil {
		a.Offsets = []int64{}
	}
	return &a, nil
}
