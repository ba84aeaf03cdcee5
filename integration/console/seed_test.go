package console

import (
	"context"
	"fmt"
	"testing"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
	"github.com/rocketd/rocketd/standalone"
	"github.com/rocketd/rocketd/standalone/standalonetest"
)

// startSeeded starts a broker with a console and gives it producers, a consumer that fails now and then, timers, delays and an
// undecided transaction.
func startSeeded(t *testing.T) *standalone.Standalone {
	t.Helper()
	rlog.SetLogLevel("fatal")
	log := logrus.New()
	log.SetOutput(t.Output())
	s := standalonetest.Start(t, standalone.Options{Console: true, Version: "test", Log: logrus.NewEntry(log)}, "brokerName=tester", "topics=orders:4;payments:2;audit:1",
		"groups=billing:0", "transactionCheckInterval=2000", "transactionCheckMax=1000")
	log.WithField("group", "billing").Warn("a warning for the page")
	seed(t, s.NamesrvAddr())
	twins(t, s.BrokerAddr())
	return s
}

type undecided struct{}

func (undecided) ExecuteLocalTransaction(*primitive.Message) primitive.LocalTransactionState {
	return primitive.UnkonwnState
}

func (undecided) CheckLocalTransaction(*primitive.MessageExt) primitive.LocalTransactionState {
	return primitive.UnkonwnState
}

func seed(t *testing.T, namesrv string) {
	t.Helper()
	p, err := rocketmq.NewProducer(producer.WithNameServer([]string{namesrv}), producer.WithGroupName("shop"), producer.WithInstanceName("shop"))
	start(t, err, func() error { return p.Start() }, func() error { return p.Shutdown() })
	tx, err := rocketmq.NewTransactionProducer(undecided{}, producer.WithNameServer([]string{namesrv}), producer.WithGroupName("shop-tx"), producer.WithInstanceName("tx"))
	start(t, err, func() error { return tx.Start() }, func() error { return tx.Shutdown() })
	con, err := rocketmq.NewPushConsumer(consumer.WithNameServer([]string{namesrv}), consumer.WithGroupName("billing"), consumer.WithInstance("billing"),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset), consumer.WithMaxReconsumeTimes(0))
	if err != nil {
		t.Fatal(err)
	}
	err = con.Subscribe("orders", consumer.MessageSelector{}, func(_ context.Context, list ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, m := range list {
			if m.GetTags() == "broken" {
				return consumer.ConsumeRetryLater, nil
			}
		}
		return consumer.ConsumeSuccess, nil
	})
	start(t, err, con.Start, con.Shutdown)

	for i := range 60 {
		m := primitive.NewMessage("orders", fmt.Appendf(nil, `{"order":%d,"item":"tea","city":"Zürich","price":4.5}`, i)).WithTag("tea").WithKeys([]string{fmt.Sprint("order-", i)})
		if i%20 == 3 {
			m.WithTag("broken")
		}
		send(t, p, m)
		timed := primitive.NewMessage("payments", []byte("pay"))
		timed.WithProperty("TIMER_DELAY_MS", fmt.Sprint(60_000+i*i*200))
		send(t, p, timed)
		send(t, p, primitive.NewMessage("audit", []byte{0, 1, 2, byte(i), 0xff}))
		if i%3 == 0 {
			send(t, p, primitive.NewMessage("audit", []byte("later")).WithDelayTimeLevel(5+i%4).WithKeys([]string{"later"}))
		}
	}
	if _, err := tx.SendMessageInTransaction(t.Context(), primitive.NewMessage("payments", []byte("half"))); err != nil {
		t.Fatal(err)
	}
}

// twins are two connections that call themselves the same.
func twins(t *testing.T, addr string) {
	t.Helper()
	for range 2 {
		client := remoting.NewClient(remoting.ClientOptions{})
		t.Cleanup(client.Close)
		req := remoting.NewRequest(remoting.HeartBeat, &remoting.HeartbeatRequestHeader{})
		req.Body = body.Encode(&body.HeartbeatData{ClientID: "twin", ConsumerDataSet: []body.ConsumerData{{
			GroupName: "twins", ConsumeType: body.ConsumePassively, MessageModel: body.Clustering, ConsumeFromWhere: "CONSUME_FROM_LAST_OFFSET",
			SubscriptionDataSet: []body.SubscriptionData{{Topic: "audit", SubString: "*", ExpressionType: "TAG"}},
		}}})
		if resp, err := client.Invoke(t.Context(), addr, req); err != nil || resp.Code != remoting.Success {
			t.Fatalf("%+v, %v", resp, err)
		}
	}
}

func start(t *testing.T, err error, begin, end func() error) {
	t.Helper()
	if err == nil {
		err = begin()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

func send(t *testing.T, p rocketmq.Producer, m *primitive.Message) {
	t.Helper()
	if _, err := p.SendSync(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}
