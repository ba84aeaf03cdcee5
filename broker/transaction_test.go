package broker

import (
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// half is a half message as its producer knows it.
type half struct {
	key      string
	offset   int64 // in the half topic
	physical int64
}

const commit, rollback = "8", "12"

// sendHalf sends a half message for queue 1 of topic T.
func (c *testClient) sendHalf(key string, more ...string) half {
	c.t.Helper()
	properties := "TRAN_MSG\x01true\x02PGROUP\x01P\x02UNIQ_KEY\x01" + key + "\x02TAGS\x01A\x02WAIT\x01true\x02" + strings.Join(more, "")
	a := c.want(0, remoting.SendMessage, sendFields("T", 1, properties).with("sysFlag", "4"), []byte("body of "+key))
	_, physical, err := message.ParseOffsetMessageID(a.ext["msgId"])
	if err != nil {
		c.t.Fatal(err)
	}
	if a.ext["transactionId"] != key {
		c.t.Errorf("transaction id %q, want %q", a.ext["transactionId"], key)
	}
	return half{key, a.num(c.t, "queueOffset"), physical}
}

func endFields(h half, decision string) fields {
	return fields{
		"producerGroup", "P", "tranStateTableOffset", itoa(h.offset), "commitLogOffset", itoa(h.physical), "commitOrRollback", decision,
		"fromTransactionCheck", "false", "msgId", h.key, "transactionId", h.key,
	}
}

func (c *testClient) end(h half, decision string) {
	c.t.Helper()
	c.want(0, remoting.EndTransaction, endFields(h, decision), nil)
}

// produce makes the client a member of producer group P.
func (c *testClient) produce() {
	c.t.Helper()
	c.want(0, remoting.HeartBeat, nil, body.Encode(&body.HeartbeatData{ClientID: "p", ProducerDataSet: []body.ProducerData{{GroupName: "P"}}}))
}

// checked waits for a question about a half message and returns what it is called now.
func (c *testClient) checked(key string, times string) half {
	c.t.Helper()
	a := c.awaitAsked(remoting.CheckTransactionState)
	list := records(c.t, a.body)
	if len(list) != 1 || !a.oneway {
		c.t.Fatalf("%d records, one-way %v", len(list), a.oneway)
	}
	r := &list[0]
	if r.Topic != "T" || r.QueueID != 1 || string(r.Body) != "body of "+key || property(r, "TRANSACTION_CHECK_TIMES") != times ||
		property(r, "PGROUP") != "P" || property(r, "UNIQ_KEY") != key {
		c.t.Errorf("asked about %s[%d] %q %q, want %s, check %s", r.Topic, r.QueueID, r.Body, r.Properties, key, times)
	}
	for field, want := range map[string]string{"msgId": key, "transactionId": key, "bname": "broker-a"} {
		if a.ext[field] != want {
			c.t.Errorf("field %s is %q, want %q", field, a.ext[field], want)
		}
	}
	h := half{key, a.num(c.t, "tranStateTableOffset"), a.num(c.t, "commitLogOffset")}
	if _, physical, err := message.ParseOffsetMessageID(a.ext["offsetMsgId"]); err != nil || physical != h.physical {
		c.t.Errorf("offsetMsgId %q, want the id of %d", a.ext["offsetMsgId"], h.physical)
	}
	return h
}

// asked lets time pass in steps until the client is asked about a half message, and returns what it is called now.
func (x *testBroker) asked(c *testClient, key, times string, step time.Duration) half {
	x.t.Helper()
	for range 600 {
		if c.askedCount(remoting.CheckTransactionState) > 0 {
			return c.checked(key, times)
		}
		c.produce()
		x.manual.Advance(step)
	}
	x.t.Fatalf("not asked about %s, check %s", key, times)
	return half{}
}

// givenUp lets time pass until nothing is undecided any more.
func (x *testBroker) givenUp(c *testClient) {
	x.t.Helper()
	eventually(x.t, "it is given up", func() bool {
		c.call(remoting.GetMaxOffset, fields{"topic", "T", "queueId", "0"}, nil)
		x.manual.Advance(time.Second)
		return x.inUse() == 0
	})
}

// quiet lets time pass and makes sure that nobody is asked.
func (x *testBroker) quiet(c *testClient, d time.Duration) {
	x.t.Helper()
	for left := d; left > 0; left -= 30 * time.Second {
		if x.producers.find("p") != nil {
			c.produce()
		}
		x.manual.Advance(min(left, 30*time.Second))
		c.want(0, remoting.GetMaxOffset, fields{"topic", "T", "queueId", "0"}, nil)
	}
	if n := c.askedCount(remoting.CheckTransactionState); n > 0 {
		x.t.Errorf("%d questions in %v of rest", n, d)
	}
}

// inUse is how many half messages are undecided.
func (x *testBroker) inUse() int {
	x.transactions.mu.Lock()
	defer x.transactions.mu.Unlock()
	return x.transactions.pending.count()
}

// ops is what the op topic says.
func (x *testBroker) ops() string {
	var s strings.Builder
	for i := range x.count(message.TopicTransOpHalf, 0) {
		r := x.stored(message.TopicTransOpHalf, 0, i)
		s.Write(r.Body)
	}
	return s.String()
}

func TestCommit(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 2)
	c := b.dial()
	h := c.sendHalf("k1", "KEYS\x01order-1\x02")
	if b.count("T", 1) != 0 || b.inUse() != 1 {
		t.Fatalf("%d messages visible, %d undecided", b.count("T", 1), b.inUse())
	}
	stored := b.stored(message.TopicTransHalf, 0, 0)
	if property(&stored, "REAL_TOPIC") != "T" || property(&stored, "REAL_QID") != "1" {
		t.Errorf("half message %q", stored.Properties)
	}
	c.end(h, commit)
	r := b.stored("T", 1, 0)
	if string(r.Body) != "body of k1" || r.TransactionType() != message.TransactionCommit || r.PreparedTransactionOffset != h.physical ||
		r.BornTimestamp != stored.BornTimestamp || r.BornHost != stored.BornHost {
		t.Errorf("committed message %q type %d half at %d", r.Body, r.TransactionType(), r.PreparedTransactionOffset)
	}
	for key, want := range map[string]string{
		"REAL_TOPIC": "", "REAL_QID": "", "TRAN_MSG": "true", "PGROUP": "P", "KEYS": "order-1", "TAGS": "A", "UNIQ_KEY": "k1", "__transactionId__": "k1",
	} {
		if got := property(&r, key); got != want {
			t.Errorf("property %s is %q, want %q", key, got, want)
		}
	}
	eventually(t, "the op message is there", func() bool { b.manual.Advance(20 * time.Millisecond); return b.ops() == "0," })
	op := b.stored(message.TopicTransOpHalf, 0, 0)
	if string(op.Properties) != "WAIT\x01true\x02TAGS\x01d\x02" {
		t.Errorf("op message %q", op.Properties)
	}
	// Found by tag, the message is there once.
	a := c.want(0, remoting.PullMessage, pullFields("G", "T", 1, 0).with("subscription", "A"), nil)
	if n := len(records(t, a.body)); n != 1 {
		t.Errorf("%d messages by tag A", n)
	}
	c.end(h, commit) // the client repeats itself
	if b.count("T", 1) != 1 || b.inUse() != 0 {
		t.Errorf("%d messages, %d undecided", b.count("T", 1), b.inUse())
	}
	if a := c.want(remoting.IllegalOperation, remoting.EndTransaction, endFields(h, rollback), nil); !strings.Contains(a.remark, "committed before") {
		t.Errorf("remark %q", a.remark)
	}
}

func TestRollback(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 2)
	c := b.dial()
	c.produce()
	h := c.sendHalf("k1")
	c.oneway(remoting.EndTransaction, endFields(h, rollback), nil)
	eventually(t, "the op message is there", func() bool { return b.ops() == "0," })
	c.end(h, rollback)
	if a := c.want(remoting.IllegalOperation, remoting.EndTransaction, endFields(h, commit), nil); !strings.Contains(a.remark, "rolled back before") {
		t.Errorf("remark %q", a.remark)
	}
	b.quiet(c, time.Minute)
	if b.count("T", 1) != 0 || b.inUse() != 0 || b.ops() != "0," {
		t.Errorf("%d messages, %d undecided, ops %q", b.count("T", 1), b.inUse(), b.ops())
	}
}

func TestEndTransactionRefused(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 2)
	c := b.dial()
	b.put("T", 0, 1, "")
	plain := b.stored("T", 0, 0).PhysicalOffset
	h := c.sendHalf("k1")
	for name, bad := range map[string]struct {
		code   int32
		remark string
		f      fields
	}{
		"no message there": {1, "Find prepared transaction message failed", endFields(h, commit).with("commitLogOffset", "999999")},
		"not a record":     {1, "Find prepared transaction message failed", endFields(h, commit).with("commitLogOffset", itoa(h.physical+1))},
		"negative":         {1, "Find prepared transaction message failed", endFields(h, commit).with("commitLogOffset", "-1")},
		"a plain message":  {1, "Find prepared transaction message failed", endFields(h, commit).with("commitLogOffset", itoa(plain))},
		"another group":    {1, "The producer group wrong", endFields(h, commit).with("producerGroup", "Q")},
		"another offset":   {1, "The transaction state table offset wrong", endFields(h, commit).with("tranStateTableOffset", "1")},
		"undecided":        {0, "", endFields(h, "0")},
		"nonsense":         {0, "", endFields(h, "7")},
		"missing field":    {1, "commitLogOffset", endFields(h, commit).without("commitLogOffset")},
	} {
		if a := c.call(remoting.EndTransaction, bad.f, nil); a.code != bad.code || !strings.Contains(a.remark, bad.remark) {
			t.Errorf("%s: code %d, remark %q", name, a.code, a.remark)
		}
	}
	if b.count("T", 1) != 0 || b.inUse() != 1 {
		t.Errorf("%d messages, %d undecided", b.count("T", 1), b.inUse())
	}
}

func quickChecks(c *conf.Config) {
	c.Broker.TransactionTimeOut, c.Broker.TransactionCheckInterval, c.Broker.TransactionCheckMax = 6000, 30_000, 3
}

// TestChecks asks a silent producer exactly three times, at their times, and then gives the message up.
func TestChecks(t *testing.T) {
	b := newTestBroker(t, withConfig(quickChecks))
	b.create("T", 2)
	c := b.dial()
	c.produce()
	first := c.sendHalf("k1")
	b.quiet(c, 5999*time.Millisecond)
	b.manual.Advance(time.Millisecond)
	asked := b.asked(c, "k1", "1", 20*time.Millisecond)
	if asked.offset != first.offset+1 {
		t.Errorf("the copy is at %d, want %d", asked.offset, first.offset+1)
	}
	b.quiet(c, 29*time.Second)
	b.manual.Advance(time.Millisecond)
	b.asked(c, "k1", "2", 20*time.Millisecond)
	b.manual.Advance(30 * time.Second)
	b.asked(c, "k1", "3", 20*time.Millisecond)
	b.quiet(c, 29*time.Second)
	b.givenUp(c)
	b.quiet(c, 10*time.Minute)
	given := b.stored("TRANS_CHECK_MAX_TIME_TOPIC", 0, 0)
	if string(given.Body) != "body of k1" || property(&given, "REAL_TOPIC") != "T" || b.count("TRANS_CHECK_MAX_TIME_TOPIC", 0) != 1 {
		t.Errorf("given up: %q %q", given.Body, given.Properties)
	}
	if len(b.logged.with("transaction given up", "k1")) != 1 || len(b.logged.with("producer asked", "transaction=k1", "group=P", "of=3", "127.0.0.1")) != 3 {
		t.Error("nothing is logged")
	}
	if b.count("T", 1) != 0 {
		t.Error("it became visible")
	}
	// All four copies are done with.
	if got := b.ops(); got != "0,1,2,3," {
		t.Errorf("ops %q", got)
	}
	// A late decision still finds it.
	c.end(first, commit)
	if b.count("T", 1) != 1 {
		t.Error("the late commit has no effect")
	}
	c.end(first, commit)
	if b.count("T", 1) != 1 {
		t.Error("the late commit has its effect twice")
	}
}

// TestCheckAnswered: an answer to a check, or a late one to what came before, ends the checks at once and counts once.
func TestCheckAnswered(t *testing.T) {
	for _, decision := range []string{commit, rollback} {
		for _, which := range []string{"first", "asked"} {
			t.Run(decision+" "+which, func(t *testing.T) {
				b := newTestBroker(t, withConfig(quickChecks))
				b.create("T", 2)
				c := b.dial()
				c.produce()
				copies := map[string]half{"first": c.sendHalf("k1")}
				b.manual.Advance(6 * time.Second)
				copies["asked"] = b.asked(c, "k1", "1", 20*time.Millisecond)
				c.want(0, remoting.EndTransaction, endFields(copies[which], decision).with("fromTransactionCheck", "true"), nil)
				want := int64(0)
				if decision == commit {
					want = 1
				}
				for _, h := range copies { // whatever comes after changes nothing
					c.end(h, decision)
					c.want(remoting.IllegalOperation, remoting.EndTransaction, endFields(h, map[string]string{commit: rollback, rollback: commit}[decision]), nil)
				}
				if b.count("T", 1) != want || b.inUse() != 0 {
					t.Errorf("%d visible, %d undecided", b.count("T", 1), b.inUse())
				}
				b.quiet(c, 10*time.Minute)
				eventually(t, "both copies are done with", func() bool {
					ops := b.ops()
					return strings.Contains(ops, "0,") && strings.Contains(ops, "1,")
				})
			})
		}
	}
}

// TestImmunity: CHECK_IMMUNITY_TIME_IN_SECONDS puts the first check off.
func TestImmunity(t *testing.T) {
	b := newTestBroker(t, withConfig(quickChecks))
	b.create("T", 2)
	c := b.dial()
	c.produce()
	c.sendHalf("k1", "CHECK_IMMUNITY_TIME_IN_SECONDS\x0120\x02")
	b.quiet(c, 19*time.Second)
	b.manual.Advance(time.Millisecond)
	b.asked(c, "k1", "1", 20*time.Millisecond)
	b.manual.Advance(30 * time.Second)
	b.asked(c, "k1", "2", 20*time.Millisecond)
}

// TestNobodyToAsk: without a producer the message waits, is not counted as asked, and goes when its time is over.
func TestNobodyToAsk(t *testing.T) {
	b := newTestBroker(t, withConfig(quickChecks))
	b.create("T", 2)
	c := b.dial()
	c.sendHalf("k1")
	for range 100 {
		b.quiet(c, 30*time.Second)
	}
	if b.inUse() != 1 || b.count(message.TopicTransHalf, 0) != 1 {
		t.Fatalf("%d undecided, %d copies", b.inUse(), b.count(message.TopicTransHalf, 0))
	}
	c.produce()
	b.manual.Advance(30 * time.Second)
	b.asked(c, "k1", "1", 20*time.Millisecond)
	c.want(0, remoting.UnregisterClient, fields{"clientID", "p", "producerGroup", "P"}, nil)
	b.manual.Step(71 * time.Hour)
	b.quiet(c, time.Minute)
	if b.inUse() != 1 {
		t.Fatal("given up after 71 hours")
	}
	b.manual.Step(time.Hour)
	b.givenUp(c)
	if b.count("TRANS_CHECK_MAX_TIME_TOPIC", 0) != 1 {
		t.Error("it is not where it should be")
	}
}

// TestResumeCheck puts a given-up message back.
func TestResumeCheck(t *testing.T) {
	b := newTestBroker(t, withConfig(quickChecks))
	b.create("T", 2)
	c := b.dial()
	c.produce()
	c.sendHalf("k1")
	for _, times := range []string{"1", "2", "3"} {
		b.asked(c, "k1", times, time.Second)
	}
	b.givenUp(c)
	given := b.stored("TRANS_CHECK_MAX_TIME_TOPIC", 0, 0)
	id := message.OffsetMessageID(given.StoreHost, given.PhysicalOffset)
	c.want(0, remoting.ResumeCheckHalfMessage, fields{"topic", "TRANS_CHECK_MAX_TIME_TOPIC", "msgId", id}, nil)
	h := b.asked(c, "k1", "1", time.Second)
	c.end(h, commit)
	if b.count("T", 1) != 1 {
		t.Error("it is not visible")
	}
	for _, bad := range []string{"", "nonsense", message.OffsetMessageID(given.StoreHost, 1<<40)} {
		if a := c.call(remoting.ResumeCheckHalfMessage, fields{"msgId", bad}, nil); a.code != 1 || a.remark == "" {
			t.Errorf("msgId %q: code %d, remark %q", bad, a.code, a.remark)
		}
	}
}
