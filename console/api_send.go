package console

import (
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
)

// sendTimeout bounds the wait for the broker's answer.
const sendTimeout = 10 * time.Second

// producerGroup is who test messages come from.
const producerGroup = "rocketd_console"

// SendRequest is a message to send. Of DelayLevel, DelayMs and DeliverAtMs at most one is given.
type SendRequest struct {
	Topic       string            `json:"topic"`
	Tags        string            `json:"tags"`
	Keys        []string          `json:"keys"`
	Body        string            `json:"body"`
	BodyBase64  string            `json:"bodyBase64"` // instead of body
	Properties  map[string]string `json:"properties"`
	Queue       *int32            `json:"queue"` // absent: any
	ShardingKey string            `json:"shardingKey"`
	DelayLevel  int32             `json:"delayLevel"`
	DelayMs     int64             `json:"delayMs"`
	DeliverAtMs int64             `json:"deliverAtMs"`
}

// SendAnswer says where the message went.
type SendAnswer struct {
	ID           string `json:"id"`
	UniqueKey    string `json:"uniqueKey"`
	Queue        int32  `json:"queue"`
	Offset       int64  `json:"offset"`
	RecallHandle string `json:"recallHandle"` // of a timed message
}

func (c *Console) send(r *http.Request) (SendAnswer, error) {
	req, err := decode[SendRequest](r)
	if err != nil {
		return SendAnswer{}, err
	}
	body, properties, err := req.check()
	if err != nil {
		return SendAnswer{}, err
	}
	h := &remoting.SendMessageRequestHeader{
		ProducerGroup: producerGroup, Topic: req.Topic, DefaultTopic: message.TopicAutoCreate, DefaultTopicQueueNums: 4, QueueID: -1,
		BornTimestamp: c.o.Clock.NowMs(), Properties: string(properties),
	}
	if req.Queue != nil {
		h.QueueID = *req.Queue
	}
	cmd := remoting.NewRequest(remoting.SendMessage, h)
	cmd.Body = body
	client := c.sender()
	if client == nil {
		return SendAnswer{}, errors.New("the console is closing")
	}
	ctx, cancel := context.WithTimeout(r.Context(), sendTimeout)
	defer cancel()
	resp, err := client.Invoke(ctx, c.brokerAddr(), cmd)
	if err != nil {
		return SendAnswer{}, err
	}
	if resp.Code != remoting.Success {
		return SendAnswer{}, &remoting.Error{Code: resp.Code, Remark: resp.Remark}
	}
	var placed remoting.SendMessageResponseHeader
	if err := resp.Decode(&placed); err != nil {
		return SendAnswer{}, err
	}
	return SendAnswer{ID: placed.MsgID, UniqueKey: placed.TransactionID, Queue: placed.QueueID, Offset: placed.QueueOffset, RecallHandle: placed.RecallHandle}, nil
}

// check reads a request's body and properties.
func (r *SendRequest) check() (body []byte, p message.Properties, err error) {
	if strings.TrimSpace(r.Topic) == "" {
		return nil, nil, bad("topic is missing")
	}
	delays := 0
	for _, n := range []int64{int64(r.DelayLevel), r.DelayMs, r.DeliverAtMs} {
		if n < 0 {
			return nil, nil, bad("delayLevel, delayMs and deliverAtMs must not be negative")
		}
		if n > 0 {
			delays++
		}
	}
	if delays > 1 {
		return nil, nil, bad("of delayLevel, delayMs and deliverAtMs only one can be given")
	}
	body = []byte(r.Body)
	if r.BodyBase64 != "" {
		if body, err = base64.StdEncoding.DecodeString(r.BodyBase64); err != nil {
			return nil, nil, bad("bodyBase64: " + err.Error())
		}
	}
	if len(body) == 0 {
		return nil, nil, bad("body is missing")
	}
	set := maps.Clone(r.Properties)
	if set == nil {
		set = map[string]string{}
	}
	for key, value := range map[string]string{
		message.KeyTags: r.Tags, message.KeyKeys: strings.Join(r.Keys, message.KeySeparator), message.KeyShardingKey: r.ShardingKey,
		message.KeyDelayLevel: unlessZero(int64(r.DelayLevel)), message.KeyTimerDelayMs: unlessZero(r.DelayMs), message.KeyTimerDeliverMs: unlessZero(r.DeliverAtMs),
	} {
		if value != "" {
			set[key] = value
		}
	}
	for _, key := range slices.Sorted(maps.Keys(set)) {
		if key == "" || strings.ContainsAny(key+set[key], "\x01\x02") {
			return nil, nil, bad("property " + quoted(key) + " has no name, or one of the characters 0x01 and 0x02, which split properties")
		}
		p = p.Append(key, set[key])
	}
	return body, p, nil
}

func unlessZero(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// sender is the client that messages are sent by, nil when the console has been closed.
func (c *Console) sender() *remoting.Client {
	c.caller.Do(func() { c.client = remoting.NewClient(remoting.ClientOptions{Log: c.log, Language: remoting.Go}) })
	return c.client
}

// brokerAddr is where this process reaches its own broker.
func (c *Console) brokerAddr() string {
	addr := c.o.Broker.Addr()
	if addr.Addr().IsUnspecified() {
		loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
		if addr.Addr().Is6() {
			loopback = netip.IPv6Loopback()
		}
		addr = netip.AddrPortFrom(loopback, addr.Port())
	}
	return addr.String()
}

// ResendRequest names dead letters of a group.
type ResendRequest struct {
	Group   string  `json:"group"`
	Offsets []int64 `json:"offsets"` // in queue 0 of its dead-letter topic
}

func (c *Console) resend(r *http.Request) (ResendAnswer, error) {
	req, err := decode[ResendRequest](r)
	if err != nil {
		return ResendAnswer{}, err
	}
	if req.Group == "" || len(req.Offsets) == 0 || len(req.Offsets) > maxMessages {
		return ResendAnswer{}, bad("group and 1 to " + strconv.Itoa(maxMessages) + " offsets are wanted")
	}
	out := ResendAnswer{Resent: make([]Resent, 0, len(req.Offsets))}
	for _, offset := range req.Offsets {
		one := Resent{Offset: offset}
		if one.Topic, one.At, err = c.o.Broker.Resend(req.Group, offset); err != nil {
			_, one.Error = describe(err)
		}
		out.Resent = append(out.Resent, one)
	}
	return out, nil
}
