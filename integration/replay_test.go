package integration

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/integration/peer"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/replay"
)

// TestReplayOfApache records the Go client in front of Apache and plays the recording to rocketd, which has to answer as Apache did.
func TestReplayOfApache(t *testing.T) {
	rlog.SetLogLevel("fatal")
	apache := peer.StartApache(t, t.TempDir(), settings...)
	makeRetryTopic(t, apache)
	recording := recordGoClient(t, apache.Namesrv)
	rocketd := peer.StartRocketd(t, t.TempDir(), settings...)
	makeRetryTopic(t, rocketd)
	playAndCompare(t, recording, rocketd.Namesrv)
}

// TestReplayOfRocketd does the same with rocketd on both sides, so that it runs without Java.
func TestReplayOfRocketd(t *testing.T) {
	rlog.SetLogLevel("fatal")
	recorded := peer.StartRocketd(t, t.TempDir(), settings...)
	makeRetryTopic(t, recorded)
	recording := recordGoClient(t, recorded.Namesrv)
	played := peer.StartRocketd(t, t.TempDir(), settings...)
	makeRetryTopic(t, played)
	playAndCompare(t, recording, played.Namesrv)
}

// makeRetryTopic makes the topic that the consumer's heartbeat makes otherwise. The client asks for its route at the same time, on another
// connection, and is told the one or the other.
func makeRetryTopic(t *testing.T, c *peer.Cluster) {
	t.Helper()
	client := remoting.NewClient(remoting.ClientOptions{})
	defer client.Close()
	const topic = "%RETRY%G_replay"
	makeTopic(t, client, c.Broker, topic, "")
	await(t, 30*time.Second, "a route of "+topic, func() bool {
		resp, err := client.Invoke(t.Context(), c.Namesrv, remoting.NewRequest(remoting.GetRouteinfoByTopic, &remoting.GetRouteInfoRequestHeader{Topic: topic}))
		return err == nil && resp.Code == remoting.Success
	})
}

func playAndCompare(t *testing.T, recording []byte, namesrv string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	report, err := replay.Play(ctx, replay.PlayOptions{Recording: bytes.NewReader(recording), Namesrv: namesrv})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := report.Print(&text); err != nil {
		t.Fatal(err)
	}
	if len(report.Differences) > 0 || report.Answers < 20 {
		t.Errorf("%s", &text)
	}
	t.Log(text.String())
}

// recordGoClient runs a producer, a consumer that gives a message back, and a transaction, and gives what they said.
func recordGoClient(t *testing.T, namesrv string) []byte {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	var out bytes.Buffer
	r, err := replay.NewRecorder(replay.RecorderOptions{
		Listen: "127.0.0.1:0", Namesrv: namesrv, Out: &out, Log: logrus.NewEntry(log), Clock: clock.System{},
	})
	if err != nil {
		t.Fatal(err)
	}
	runGoClient(t, r.Addr())
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func runGoClient(t *testing.T, namesrv string) {
	t.Helper()
	instance := fmt.Sprintf("replay_%d", time.Now().UnixNano())
	p, err := rocketmq.NewProducer(producer.WithNameServer([]string{namesrv}), producer.WithGroupName("P_replay"), producer.WithInstanceName(instance+"p"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		m := primitive.NewMessage("replay", fmt.Appendf(nil, "message %d", i))
		m.WithTag("t").WithKeys([]string{"k", fmt.Sprint(i)}).WithProperty("p", "v")
		if i == 4 {
			m.WithDelayTimeLevel(1)
		}
		if _, err := p.SendSync(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	var got []string
	c, err := rocketmq.NewPushConsumer(consumer.WithNameServer([]string{namesrv}), consumer.WithGroupName("G_replay"), consumer.WithInstance(instance+"c"),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Subscribe("replay", consumer.MessageSelector{Type: consumer.TAG, Expression: "t"}, func(_ context.Context, ms ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		mu.Lock()
		defer mu.Unlock()
		for _, m := range ms {
			body := string(m.Body)
			first := !slices.Contains(got, body)
			got = append(got, body)
			if body == "message 2" && first {
				return consumer.ConsumeRetryLater, nil
			}
		}
		return consumer.ConsumeSuccess, nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, 30*time.Second, "five messages", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(got) >= 5
	})
	tx, err := rocketmq.NewTransactionProducer(commits{}, producer.WithNameServer([]string{namesrv}), producer.WithGroupName("T_replay"), producer.WithInstanceName(instance+"t"))
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.SendMessageInTransaction(t.Context(), primitive.NewMessage("replay_tx", []byte("half"))); err != nil {
		t.Fatal(err)
	}
	for _, shutdown := range []func() error{tx.Shutdown, c.Shutdown, p.Shutdown} {
		if err := shutdown(); err != nil {
			t.Fatal(err)
		}
	}
}

// commits commits every transaction.
type commits struct{}

func (commits) ExecuteLocalTransaction(*primitive.Message) primitive.LocalTransactionState {
	return primitive.CommitMessageState
}

func (commits) CheckLocalTransaction(*primitive.MessageExt) primitive.LocalTransactionState {
	return primitive.CommitMessageState
}
