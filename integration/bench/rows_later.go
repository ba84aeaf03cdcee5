package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/rocketd/rocketd/integration/measure"
	"github.com/rocketd/rocketd/remoting"
)

// laterWait bounds how long delayed messages may take beyond their time.
const laterWait = 90 * time.Second

// timers sends messages that are due in three seconds and waits until all are delivered.
func timers(t *target) (figures, error) {
	return delivered(t, "timers", func() string {
		return properties + "TIMER_DELIVER_MS\x01" + strconv.FormatInt(time.Now().Add(3*time.Second).UnixMilli(), 10) + "\x02"
	})
}

// delayLevels sends messages of level 2, five seconds.
func delayLevels(t *target) (figures, error) {
	return delivered(t, "levels", func() string { return properties + "DELAY\x012\x02" })
}

// delivered sends delayed messages and measures from the first send to the last delivery.
func delivered(t *target, topic string, props func() string) (figures, error) {
	l := load{conns: 8, inFlight: 16, okCodes: []int32{remoting.Success}, frame: func(conn int) prebuilt {
		return jsonFrame(remoting.SendMessageV2, sendFields(topic, conn%4, props(), false), payload(1024))
	}}
	before, err := endOf(t.addr, topic, 4)
	if err != nil {
		return figures{}, err
	}
	before = max(before, 0)
	m := t.meter()
	l.requests = t.o.count(100_000)
	r, err := l.run(t.addr)
	if err != nil {
		return figures{}, err
	}
	if err := awaitEnd(t.addr, topic, 4, before+int64(l.requests), laterWait); err != nil {
		return figures{}, err
	}
	f := m.figures(float64(l.requests))
	f.perSecond = noFigures().perSecond // most of the time is the delay
	f.latency(r)
	return m.stored(f, float64(l.requests)), nil
}

// transactions sends half messages, commits them and waits until all are there.
func transactions(t *target) (figures, error) {
	const topic = "transactions"
	n := t.o.count(20_000)
	half := load{conns: 8, inFlight: 16, requests: n, okCodes: []int32{remoting.Success}, frame: func(conn int) prebuilt {
		fields := sendFields(topic, conn%4, properties+"TRAN_MSG\x01true\x02PGROUP\x01P\x02", false)
		fields[5][1] = "4" // sysFlag: prepared
		return jsonFrame(remoting.SendMessageV2, fields, payload(1024))
	}}
	placed := make([][][2]int64, half.conns) // offsets in the half queue and in the log
	half.seen = func(conn, _ int, a measure.Answer) {
		placed[conn] = append(placed[conn], [2]int64{a.Number("queueOffset"), physicalOffset(a)})
	}
	before, err := endOf(t.addr, topic, 4)
	if err != nil {
		return figures{}, err
	}
	m := t.meter()
	r, err := half.run(t.addr)
	if err != nil {
		return figures{}, err
	}
	commit := load{conns: half.conns, inFlight: 16, requests: n, okCodes: []int32{remoting.Success}}
	commit.next = func(conn, seq int) prebuilt {
		at := placed[conn][seq]
		return jsonFrame(remoting.EndTransaction, [][2]string{
			{"topic", topic},
			{"producerGroup", "P"},
			{"tranStateTableOffset", fmt.Sprint(at[0])},
			{"commitLogOffset", fmt.Sprint(at[1])},
			{"commitOrRollback", "8"},
			{"fromTransactionCheck", "false"},
			{"msgId", ""},
			{"transactionId", ""},
		}, nil)
	}
	if _, err := commit.run(t.addr); err != nil {
		return figures{}, err
	}
	if err := awaitEnd(t.addr, topic, 4, max(before, 0)+int64(n), laterWait); err != nil {
		return figures{}, err
	}
	f := m.figures(float64(n))
	f.latency(r)
	return m.stored(f, float64(n)), nil
}

// retries sends messages back to the broker, which delivers each again by its group's retry topic after a second.
func retries(t *target) (figures, error) {
	const topic, consumer = "retries", "RetryBench"
	n := t.o.count(20_000)
	send := load{conns: 8, inFlight: 16, requests: n, okCodes: []int32{remoting.Success}, frame: func(conn int) prebuilt {
		return jsonFrame(remoting.SendMessageV2, sendFields(topic, conn%4, properties, false), payload(1024))
	}}
	physical := make([][]int64, send.conns)
	send.seen = func(conn, _ int, a measure.Answer) {
		physical[conn] = append(physical[conn], physicalOffset(a))
	}
	if _, err := send.run(t.addr); err != nil {
		return figures{}, err
	}
	beat := `{"clientID":"retry-bench","consumerDataSet":[{"consumeFromWhere":"CONSUME_FROM_FIRST_OFFSET","consumeType":"CONSUME_PASSIVELY","groupName":"` + consumer +
		`","messageModel":"CLUSTERING","subscriptionDataSet":[],"unitMode":false}],"producerDataSet":[]}`
	if _, err := measure.Ask(t.addr, jsonFrame(remoting.HeartBeat, nil, []byte(beat)).bytes); err != nil {
		return figures{}, err
	}
	retryTopic := "%RETRY%" + consumer
	before, err := endOf(t.addr, retryTopic, 1)
	if err != nil {
		return figures{}, err
	}
	m := t.meter()
	back := load{conns: send.conns, inFlight: 16, requests: n, okCodes: []int32{remoting.Success}}
	back.next = func(conn, seq int) prebuilt {
		return jsonFrame(remoting.ConsumerSendMsgBack, [][2]string{
			{"offset", fmt.Sprint(physical[conn][seq])},
			{"group", consumer},
			{"delayLevel", "1"},
			{"originMsgId", ""},
			{"originTopic", topic},
			{"unitMode", "false"},
			{"maxReconsumeTimes", "16"},
		}, nil)
	}
	r, err := back.run(t.addr)
	if err != nil {
		return figures{}, err
	}
	if err := awaitEnd(t.addr, retryTopic, 1, max(before, 0)+int64(n), laterWait); err != nil {
		return figures{}, err
	}
	f := m.figures(float64(n))
	f.latency(r)
	return m.stored(f, float64(n)), nil
}

// physicalOffset is where a send's answer says that the message lies: the end of its id.
func physicalOffset(a measure.Answer) int64 {
	id := a.Text("msgId")
	at, err := strconv.ParseInt(id[max(0, len(id)-16):], 16, 64)
	if err != nil {
		return -1
	}
	return at
}
