package broker

import (
	"slices"
	"strings"
	"testing"
)

// Bodies as the reference writes them (PopCheckPoint, AckMsg, BatchAckMsg).
const (
	referenceCheckpoint = `{"bm":5,"bn":"broker-a","c":"billing","d":[0,1,4],"it":60000,"n":3,"pt":1700000000123,"q":2,` +
		`"reviveTime":1700000060123,"ro":0,"so":41,"sp":false,"t":"orders"}`
	referenceRePut = `{"bm":0,"bn":"broker-a","c":"billing","it":60000,"n":1,"pt":1700000000123,"q":2,` +
		`"reviveTime":1700000060123,"ro":0,"rp":"2","so":41,"sp":false,"t":"orders"}`
	referenceAck      = `{"ao":42,"bn":"broker-a","c":"billing","pt":1700000000123,"q":2,"so":41,"t":"orders"}`
	referenceBatchAck = `{"ao":-1,"aol":[41,45],"bn":"broker-a","c":"billing","pt":1700000000123,"q":2,"so":41,"t":"orders"}`
	// An older broker's words.
	olderAck = `{"ackOffset":42,"brokerName":"broker-a","consumerGroup":"billing","popTime":1700000000123,"queueId":2,` +
		`"startOffset":41,"topic":"orders"}`
)

func TestPopCheckpointBody(t *testing.T) {
	for _, want := range []string{referenceCheckpoint, referenceRePut} {
		c, err := decodePopCheckpoint([]byte(want))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.encode(); err != nil || string(got) != want {
			t.Errorf("%s (%v)\nwant %s", got, err, want)
		}
	}
	c, _ := decodePopCheckpoint([]byte(referenceCheckpoint))
	if got, want := c.uniqueKey(), "orders@2@41@billing@1700000000123@broker-a@ck"; got != want {
		t.Errorf("unique key %s, want %s", got, want)
	}
	if c.count() != 3 || c.offset(2) != 45 || c.reviveTime() != 1700000060123 || c.rePuts() != 0 {
		t.Errorf("%d messages, the last at %d, revived at %d, stored anew %d times", c.count(), c.offset(2), c.reviveTime(), c.rePuts())
	}
	for offset, want := range map[int64]int{41: 0, 42: 1, 43: -1, 45: 2, 40: -1, 46: -1, 41 + 1<<33: -1} {
		if got := c.index(offset); got != want {
			t.Errorf("offset %d is message %d, want %d", offset, got, want)
		}
	}
	c, _ = decodePopCheckpoint([]byte(referenceRePut))
	if c.index(41) != 0 || c.index(42) != -1 || c.offset(0) != 41 || c.rePuts() != 2 {
		t.Errorf("without differences: %d %d %d, %d", c.index(41), c.index(42), c.offset(0), c.rePuts())
	}
}

func TestPopCheckpointErrors(t *testing.T) {
	many := strings.Repeat("1,", 40) + "1"
	for _, bad := range []string{
		"", "null", "[]", "{}", `{"t":"orders"}`, `{"t":"orders","c":"billing","n":100}`,
		`{"t":"orders","c":"billing","d":[` + many + `]}`, `{"t":1}`,
	} {
		if _, err := decodePopCheckpoint([]byte(bad)); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
	if c, err := decodePopCheckpoint([]byte(`{"t":"orders","c":"billing","n":-5,"rp":"x"}`)); err != nil || c.count() != 0 || c.rePuts() < 100 {
		t.Errorf("%+v %v", c, err)
	}
}

func TestPopAckBody(t *testing.T) {
	ack, err := decodePopAck([]byte(referenceAck), false)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := ack.encode(); string(got) != referenceAck {
		t.Errorf("%s\nwant %s", got, referenceAck)
	}
	if got, want := ack.uniqueKey(), "orders@2@42@billing@1700000000123@broker-a@ack"; got != want {
		t.Errorf("unique key %s, want %s", got, want)
	}
	if ack.tag() != "ack" || !slices.Equal(ack.all(), []int64{42}) {
		t.Errorf("tag %s, offsets %v", ack.tag(), ack.all())
	}
	older, err := decodePopAck([]byte(olderAck), false)
	if err != nil || older.key() != ack.key() || older.Offset != 42 {
		t.Errorf("older words: %+v %v", older, err)
	}
	batch, err := decodePopAck([]byte(referenceBatchAck), true)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := batch.encode(); string(got) != referenceBatchAck {
		t.Errorf("%s\nwant %s", got, referenceBatchAck)
	}
	if batch.tag() != "bAck" || !slices.Equal(batch.all(), []int64{41, 45}) {
		t.Errorf("tag %s, offsets %v", batch.tag(), batch.all())
	}
	checkpoint, _ := decodePopCheckpoint([]byte(referenceCheckpoint))
	if ack.key() != checkpoint.key() || batch.key() != checkpoint.key() {
		t.Error("acks do not find their checkpoint")
	}
	for _, bad := range []string{"", "[1]", `{"ao":"x"}`, `{"topic":5}`} {
		if _, err := decodePopAck([]byte(bad), false); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

func FuzzPopCheckpoint(f *testing.F) {
	for _, s := range []string{referenceCheckpoint, referenceRePut, "null", `{"t":"a","c":"b","n":127}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := decodePopCheckpoint(data)
		if err != nil {
			return
		}
		for i := range c.count() {
			c.index(c.offset(i))
		}
		if c.count() > 32 {
			t.Fatalf("%d messages", c.count())
		}
		if _, err := c.encode(); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzPopAck(f *testing.F) {
	f.Add([]byte(referenceAck), false)
	f.Add([]byte(referenceBatchAck), true)
	f.Add([]byte(olderAck), false)
	f.Fuzz(func(t *testing.T, data []byte, batch bool) {
		a, err := decodePopAck(data, batch)
		if err != nil {
			return
		}
		if batch != (a.tag() == "bAck") && a.Offsets == nil {
			t.Fatalf("tag %s", a.tag())
		}
		a.all()
		if _, err := a.encode(); err != nil {
			t.Fatal(err)
		}
	})
}
