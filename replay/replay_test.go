package replay_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"go.uber.org/goleak"

	"github.com/rocketd/rocketd/brokertest"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
	"github.com/rocketd/rocketd/replay"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("github.com/panjf2000/ants/v2.(*poolCommon).purgeStaleWorkers"),
		goleak.IgnoreTopFunction("github.com/panjf2000/ants/v2.(*poolCommon).ticktock"))
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// record runs a scenario through a recorder in front of a new broker and gives the recording.
func record(t *testing.T, scenario func(t *testing.T, namesrv string), options ...brokertest.Option) []byte {
	t.Helper()
	b := brokertest.Start(t, options...)
	log := logrus.New()
	log.SetOutput(io.Discard)
	var out bytes.Buffer
	r, err := replay.NewRecorder(replay.RecorderOptions{
		Listen: "127.0.0.1:0", Namesrv: b.NamesrvAddr(), Out: &out, Log: logrus.NewEntry(log), Clock: clock.System{},
	})
	if err != nil {
		t.Fatal(err)
	}
	scenario(t, r.Addr())
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatalf("second close: %v", err)
	}
	return out.Bytes()
}

// story is a client's: route, heartbeat, sends, a pull that finds and one that is held, a transaction that is checked, a give-back.
func story(t *testing.T, namesrv string) {
	t.Helper()
	asked := make(chan int32, 10)
	client := remoting.NewClient(remoting.ClientOptions{Handle: func(_ string, req *remoting.Command) (*remoting.Command, error) {
		asked <- req.Code
		return remoting.NewResponse(remoting.Success), nil
	}})
	defer client.Close()
	call := func(addr string, cmd *remoting.Command) *remoting.Command {
		t.Helper()
		answer, err := client.Invoke(within(t), addr, cmd)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	answer := call(namesrv, remoting.NewRequest(remoting.GetRouteinfoByTopic, &remoting.GetRouteInfoRequestHeader{Topic: "x"}))
	route, err := body.Decode[body.TopicRouteData](answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	broker := route.BrokerDatas[0].BrokerAddrs[0]
	beat := remoting.NewRequest(remoting.HeartBeat, nil)
	beat.Body = []byte(`{"clientID":"me","consumerDataSet":[{"groupName":"g","consumeType":"CONSUME_PASSIVELY","messageModel":"CLUSTERING",` +
		`"consumeFromWhere":"CONSUME_FROM_FIRST_OFFSET","subscriptionDataSet":[{"topic":"x","subString":"*","subVersion":1,"expressionType":"TAG"}],` +
		`"unitMode":false}],"producerDataSet":[{"groupName":"p"}]}`)
	call(broker, beat)
	<-asked // NOTIFY_CONSUMER_IDS_CHANGED
	send := func(properties string) *remoting.Command {
		cmd := remoting.NewRequest(remoting.SendMessage, &remoting.SendMessageRequestHeader{
			ProducerGroup: "p", Topic: "x", DefaultTopic: "TBW102", DefaultTopicQueueNums: 4, Properties: properties, BornTimestamp: 1,
		})
		cmd.Body = []byte("body")
		return cmd
	}
	sent := call(broker, send("KEYS\x01k\x02"))
	call(broker, send("DELAY\x011\x02"))
	pull := func(offset int64, sysFlag int32) *remoting.Command {
		return remoting.NewRequest(remoting.PullMessage, &remoting.PullMessageRequestHeader{
			ConsumerGroup: "g", Topic: "x", QueueOffset: offset, MaxMsgNums: 32, SysFlag: sysFlag, SuspendTimeoutMillis: 10_000, SubVersion: 1,
		})
	}
	call(broker, pull(0, 0))
	held := make(chan *remoting.Command, 1)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if answer, err := client.Invoke(within(t), broker, pull(1, 2)); err == nil {
			held <- answer
		}
	})
	if got := <-held; got.Code != remoting.Success { // the delayed one
		t.Errorf("held pull: %s", got.Remark)
	}
	waiting.Wait()
	var h remoting.SendMessageResponseHeader
	if err := sent.Decode(&h); err != nil {
		t.Fatal(err)
	}
	_, physical, err := message.ParseOffsetMessageID(h.MsgID)
	if err != nil {
		t.Fatal(err)
	}
	call(broker, remoting.NewRequest(remoting.ConsumerSendMsgBack, &remoting.ConsumerSendMsgBackRequestHeader{
		Offset: physical, Group: "g", DelayLevel: 3, OriginTopic: "x",
	}))
	half := send("TRAN_MSG\x01true\x02PGROUP\x01p\x02UNIQ_KEY\x01half\x02")
	half.Header.(*remoting.SendMessageRequestHeader).SysFlag = message.TransactionPrepared
	answer = call(broker, half)
	if err := answer.Decode(&h); err != nil {
		t.Fatal(err)
	}
	if _, physical, err = message.ParseOffsetMessageID(h.MsgID); err != nil {
		t.Fatal(err)
	}
	call(broker, remoting.NewRequest(remoting.EndTransaction, &remoting.EndTransactionRequestHeader{
		ProducerGroup: "p", TranStateTableOffset: h.QueueOffset, CommitLogOffset: physical, CommitOrRollback: message.TransactionCommit,
		MsgID: "half", TransactionID: "half",
	}))
	call(broker, pull(2, 2))
	call(broker, remoting.NewRequest(4711, nil))
}

func play(t *testing.T, recording []byte, o replay.PlayOptions) *replay.Report {
	t.Helper()
	o.Recording = bytes.NewReader(recording)
	report, err := replay.Play(within(t), o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestAnEqualServerAnswersEqually(t *testing.T) {
	recording := record(t, story, brokertest.WithTopics("x:1"))
	// Messages of before shift the physical offsets, which the client repeats.
	b := brokertest.Start(t, brokertest.WithTopics("x:1", "before"), brokertest.WithMessages(brokertest.Message{Topic: "before", Body: []byte("shift")}))
	report := play(t, recording, replay.PlayOptions{Namesrv: b.NamesrvAddr()})
	if len(report.Differences) != 0 || report.Answers != 11 || report.Equal != report.Answers || report.Carried != 2 || report.Connections != 2 {
		var text strings.Builder
		if err := report.Print(&text); err != nil {
			t.Fatal(err)
		}
		t.Errorf("%+v\n%s", report, &text)
	}
	if list, err := b.Messages("x"); err != nil || len(list) != 3 {
		t.Errorf("played: %v, %v", list, err)
	}
}

func TestDifferencesAreFound(t *testing.T) {
	recording := record(t, story, brokertest.WithTopics("x:1"))
	b := brokertest.Start(t, brokertest.WithTopics("x:1"))
	b.OnSend(brokertest.Always(brokertest.Fail(remoting.NoPermission, "no")), brokertest.Nth(1))
	b.OnPull(brokertest.Always(brokertest.EditAnswer(func(answer *remoting.Command) { answer.AddExt("extra", "1") })), brokertest.Nth(2))
	b.On(remoting.EndTransaction, brokertest.Always(brokertest.Drop()))
	report := play(t, recording, replay.PlayOptions{Namesrv: b.NamesrvAddr(), Timeout: 3 * time.Second})
	var text strings.Builder
	if err := report.Print(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"SEND_MESSAGE: answered NO_PERMISSION \"no\", recorded SUCCESS",
		"PULL_MESSAGE: ", "END_TRANSACTION: there is no answer after 3s, recorded SUCCESS", " differences\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, &text)
		}
	}
	ignored := play(t, recording, replay.PlayOptions{
		Brokers: map[string]string{"": brokertest.Start(t, brokertest.WithTopics("x:1")).Addr()}, Namesrv: b.NamesrvAddr(),
		Ignore: []int32{remoting.GetRouteinfoByTopic},
	})
	if len(ignored.Differences) != 0 {
		t.Errorf("ignored: %+v", ignored)
	}
}

func TestOneServerIsRecordedAsItIs(t *testing.T) {
	b := brokertest.Start(t, brokertest.WithTopics("x:1"))
	log := logrus.New()
	log.SetOutput(io.Discard)
	var out bytes.Buffer
	r, err := replay.NewRecorder(replay.RecorderOptions{
		Listen: "127.0.0.1:0", Server: b.NamesrvAddr(), Out: &out, Log: logrus.NewEntry(log), Clock: clock.System{}, MaxBytes: 800,
	})
	if err != nil {
		t.Fatal(err)
	}
	client := remoting.NewClient(remoting.ClientOptions{})
	for range 3 {
		answer, err := client.Invoke(within(t), r.Addr(), remoting.NewRequest(remoting.GetRouteinfoByTopic, &remoting.GetRouteInfoRequestHeader{Topic: "x"}))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(answer.Body), b.Addr()) {
			t.Errorf("the route is changed: %s", answer.Body)
		}
	}
	client.Close()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.HasSuffix(text, `"what":"full"}`+"\n") || len(text) > 900 {
		t.Errorf("bounded recording: %s", text)
	}
}

func TestBrokenRecordings(t *testing.T) {
	const header = `{"recording":"rocketd","version":1,"began":"2030-01-02T15:04:05Z"}` + "\n"
	for name, text := range map[string]string{
		"empty":                 "",
		"something else":        "hello\n",
		"another version":       `{"recording":"rocketd","version":2}` + "\n",
		"no JSON":               header + "{\n",
		"unknown event":         header + `{"what":"open","conn":1,"server":"namesrv"}` + "\n" + `{"what":"burn","conn":1}` + "\n",
		"connection not open":   header + `{"what":"sent","conn":7,"frame":"AAAA"}` + "\n",
		"broken frame":          header + `{"what":"open","conn":1,"server":"namesrv"}` + "\n" + `{"what":"sent","conn":1,"frame":"AAAA"}` + "\n",
		"frame that is not one": header + `{"what":"open","conn":1,"server":"namesrv"}` + "\n" + `{"what":"got","conn":1,"frame":"AAAAAAAA"}` + "\n",
	} {
		b := brokertest.Start(t)
		_, err := replay.Play(within(t), replay.PlayOptions{Recording: strings.NewReader(text), Namesrv: b.NamesrvAddr()})
		if err == nil || !strings.Contains(err.Error(), replay.ErrRecording.Error()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := replay.Play(within(t), replay.PlayOptions{Recording: strings.NewReader(header + `{"what":"open","conn":1,"server":"broker"}` + "\n")})
	if err == nil {
		t.Error("a broker that nobody knows: no error")
	}
	if _, err := replay.NewRecorder(replay.RecorderOptions{Listen: "127.0.0.1:0"}); err == nil {
		t.Error("a recorder in front of nothing: no error")
	}
}

func ExampleReport_Print() {
	report := replay.Report{Connections: 1, Requests: 2, Answers: 2, Equal: 1, Differences: []replay.Difference{
		{Line: 5, Conn: 1, Server: replay.Broker, Request: "SEND_MESSAGE", What: "answered SYSTEM_BUSY, recorded SUCCESS"},
	}}
	var out strings.Builder
	if err := report.Print(&out); err != nil {
		panic(err)
	}
	fmt.Print(out.String())
	// Output:
	// line 5, connection 1 to broker, SEND_MESSAGE: answered SYSTEM_BUSY, recorded SUCCESS
	// 1 connections, 2 requests sent (0 with values carried over), 2 answers compared, 1 equal, 1 differences
}
