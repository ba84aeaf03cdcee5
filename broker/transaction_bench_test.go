package broker

import (
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// BenchmarkTransactionCheck asks a producer about half messages while so many are undecided: what one check costs with its copy
// in the half topic, its op message and the request to the producer.
func BenchmarkTransactionCheck(b *testing.B) {
	for _, n := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x := newTestBroker(b, withConfig(func(c *conf.Config) {
				c.Broker.TransactionTimeOut, c.Broker.TransactionCheckInterval, c.Broker.TransactionCheckMax = 1000, 1, 1<<30
			}))
			x.create("T", 1)
			for i := range n {
				m := message.Message{
					Topic: message.TopicTransHalf, Body: []byte("body"), StoreHost: x.identity.storeHost, BornHost: x.identity.storeHost, BornTimestamp: 1,
					Properties: message.Properties(fmt.Sprintf("REAL_TOPIC\x01T\x02UNIQ_KEY\x01%032d\x02PGROUP\x01P\x02REAL_QID\x010\x02", i)),
				}
				if _, err := x.store.Put(&m); err != nil {
					b.Fatal(err)
				}
			}
			conn, err := net.Dial("tcp", x.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			hello := remoting.NewRequest(remoting.HeartBeat, nil)
			hello.Body = body.Encode(&body.HeartbeatData{ClientID: "p", ProducerDataSet: []body.ProducerData{{GroupName: "P"}}})
			if _, err := conn.Write(remoting.AppendFrame(nil, hello)); err != nil {
				b.Fatal(err)
			}
			go func() { _, _ = io.Copy(io.Discard, conn) }()
			eventually(b, "the producer is there", func() bool { return x.producers.online("P") })
			x.manual.Advance(time.Second)
			x.manual.Run()
			defer x.manual.Freeze()
			asked := func() int64 { return x.count(message.TopicTransHalf, 0) - int64(n) }
			eventually(b, "the first is asked", func() bool { return asked() > 0 })
			b.ReportAllocs()
			b.ResetTimer()
			from := asked()
			for asked()-from < int64(b.N) {
				time.Sleep(100 * time.Microsecond)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(asked()-from), "ns/check")
		})
	}
}
