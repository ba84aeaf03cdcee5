package broker

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// testClient is one connection to a broker that speaks frames.
type testClient struct {
	t    testing.TB
	conn net.Conn
	form remoting.SerializeType

	opaque  atomic.Int32
	writeMu sync.Mutex

	mu      sync.Mutex
	waiting map[int32]chan *answer // guarded by mu
	asked   []*answer              // requests of the broker; guarded by mu
	arrived chan struct{}
	done    chan struct{}
}

// answer is a command from the broker with its ext fields as a map.
type answer struct {
	code   int32
	remark string
	ext    map[string]string
	body   []byte
	oneway bool
	opaque int32
}

func dial(tb testing.TB, addr string) *testClient {
	tb.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		tb.Fatal(err)
	}
	c := &testClient{
		t: tb, conn: conn, waiting: map[int32]chan *answer{}, arrived: make(chan struct{}, 1), done: make(chan struct{}),
	}
	go c.read()
	tb.Cleanup(c.close)
	return c
}

// close ends the connection and waits for its reader.
func (c *testClient) close() {
	_ = c.conn.Close()
	<-c.done
}

func (c *testClient) read() {
	defer close(c.done)
	for {
		frame, err := readFrame(c.conn)
		if err != nil {
			return
		}
		var cmd remoting.Command
		if err := remoting.DecodeFrame(frame, &cmd); err != nil {
			c.t.Errorf("answer cannot be decoded: %v", err)
			return
		}
		a := &answer{code: cmd.Code, remark: cmd.Remark, ext: map[string]string{}, body: cmd.Body, oneway: cmd.IsOneway(), opaque: cmd.Opaque}
		for _, f := range cmd.Ext {
			a.ext[f.Key] = f.Value
		}
		c.mu.Lock()
		if cmd.IsResponse() {
			if ch := c.waiting[cmd.Opaque]; ch != nil {
				delete(c.waiting, cmd.Opaque)
				ch <- a
			} else {
				c.t.Errorf("answer to a request that was not made: opaque %d, code %d", cmd.Opaque, cmd.Code)
			}
		} else {
			c.asked = append(c.asked, a)
			signal(c.arrived)
		}
		c.mu.Unlock()
	}
}

func readFrame(r io.Reader) ([]byte, error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head)
	if n > 64<<20 {
		return nil, fmt.Errorf("frame of %d bytes", n)
	}
	frame := make([]byte, 4+n)
	copy(frame, head)
	_, err := io.ReadFull(r, frame[4:])
	return frame, err
}

// fields are the ext fields of a request, in pairs.
type fields []string

// request makes a request with ext fields.
func (c *testClient) request(code int32, f fields, data []byte) *remoting.Command {
	cmd := remoting.NewRequest(code, nil)
	cmd.Opaque, cmd.Serialize, cmd.Body = c.opaque.Add(1), c.form, data
	for i := 0; i < len(f); i += 2 {
		cmd.AddExt(f[i], f[i+1])
	}
	return cmd
}

// send writes a request and gives the channel of its answer.
func (c *testClient) send(cmd *remoting.Command) <-chan *answer {
	ch := make(chan *answer, 1)
	c.mu.Lock()
	c.waiting[cmd.Opaque] = ch
	c.mu.Unlock()
	c.write(remoting.AppendFrame(nil, cmd))
	return ch
}

// write puts bytes on the wire.
func (c *testClient) write(data []byte) {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	if _, err := c.conn.Write(data); err != nil && !errors.Is(err, net.ErrClosed) {
		c.t.Logf("write: %v", err)
	}
}

// call sends a request and waits for its answer.
func (c *testClient) call(code int32, f fields, data []byte) *answer {
	c.t.Helper()
	return c.await(c.send(c.request(code, f, data)))
}

func (c *testClient) await(ch <-chan *answer) *answer {
	c.t.Helper()
	select {
	case a := <-ch:
		return a
	case <-c.done:
		select {
		case a := <-ch:
			return a
		default:
		}
		c.t.Fatal("the connection closed before the answer")
	case <-time.After(20 * time.Second):
		c.t.Fatal("no answer in 20 s")
	}
	return nil
}

// oneway sends a request that gets no answer, and then one that does, so that the first has been seen.
func (c *testClient) oneway(code int32, f fields, data []byte) {
	c.t.Helper()
	cmd := c.request(code, f, data)
	cmd.Flag |= 2
	c.write(remoting.AppendFrame(nil, cmd))
	c.call(remoting.GetMaxOffset, fields{"topic", "none", "queueId", "0"}, nil)
}

// want calls and checks the code.
func (c *testClient) want(code int32, requestCode int32, f fields, data []byte) *answer {
	c.t.Helper()
	a := c.call(requestCode, f, data)
	if a.code != code {
		c.t.Fatalf("request %d %v: got code %d, remark %q, want %d", requestCode, f, a.code, a.remark, code)
	}
	return a
}

// awaitAsked waits for a request of the broker with a code, and takes it.
func (c *testClient) awaitAsked(code int32) *answer {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		c.mu.Lock()
		for i, a := range c.asked {
			if a.code == code {
				c.asked = append(c.asked[:i], c.asked[i+1:]...)
				c.mu.Unlock()
				return a
			}
		}
		c.mu.Unlock()
		select {
		case <-c.arrived:
		case <-ctx.Done():
			c.t.Fatalf("no request %d came", code)
		}
	}
}

// reply answers a request of the broker.
func (c *testClient) reply(a *answer, data []byte) {
	cmd := remoting.NewResponse(remoting.Success)
	cmd.Opaque, cmd.Serialize, cmd.Body = a.opaque, c.form, data
	c.write(remoting.AppendFrame(nil, cmd))
}

// askedCount is the number of requests with a code that came and were not taken.
func (c *testClient) askedCount(code int32) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, a := range c.asked {
		if a.code == code {
			n++
		}
	}
	return n
}

// num is an ext field of an answer as a number.
func (a *answer) num(tb testing.TB, key string) int64 {
	tb.Helper()
	n, err := strconv.ParseInt(a.ext[key], 10, 64)
	if err != nil {
		tb.Fatalf("ext field %s is %q: %v (all: %v)", key, a.ext[key], err, a.ext)
	}
	return n
}

// sendFields are the long-named fields of a send.
func sendFields(topic string, queueID int, properties string) fields {
	return fields{
		"producerGroup", "P", "topic", topic, "defaultTopic", "TBW102", "defaultTopicQueueNums", "4", "queueId", itoa(queueID),
		"sysFlag", "0", "bornTimestamp", "1700000000000", "flag", "0", "properties", properties, "reconsumeTimes", "0",
		"unitMode", "false", "batch", "false",
	}
}

// with replaces or adds one field.
func (f fields) with(key, value string) fields {
	out := append(fields(nil), f...)
	for i := 0; i < len(out); i += 2 {
		if out[i] == key {
			out[i+1] = value
			return out
		}
	}
	return append(out, key, value)
}

// without removes one field.
func (f fields) without(key string) fields {
	var out fields
	for i := 0; i < len(f); i += 2 {
		if f[i] != key {
			out = append(out, f[i], f[i+1])
		}
	}
	return out
}

// pullFields are those of a pull with its subscription in the header, which is not held.
func pullFields(group, topic string, queueID int, offset int64) fields {
	return fields{
		"consumerGroup", group, "topic", topic, "queueId", itoa(queueID), "queueOffset", itoa(offset), "maxMsgNums", "32",
		"sysFlag", "4", "commitOffset", "0", "suspendTimeoutMillis", "15000", "subscription", "*", "subVersion", "0",
		"expressionType", "TAG",
	}
}

// heartbeatOf is the body of a heartbeat with one consumer group.
func heartbeatOf(clientID, group string, subs ...body.SubscriptionData) []byte {
	return body.Encode(&body.HeartbeatData{
		ClientID: clientID,
		ConsumerDataSet: []body.ConsumerData{{
			GroupName: group, ConsumeType: body.ConsumePassively, MessageModel: body.Clustering,
			ConsumeFromWhere: body.ConsumeFromFirstOffset, SubscriptionDataSet: subs,
		}},
	})
}

func tagSub(topic, expression string, version int64) body.SubscriptionData {
	s, err := parseSubscription(topic, expression, "TAG", version)
	if err != nil {
		panic(err)
	}
	return s.data
}

func sqlSub(topic, expression string, version int64) body.SubscriptionData {
	return body.SubscriptionData{Topic: topic, SubString: expression, ExpressionType: "SQL92", SubVersion: version}
}
