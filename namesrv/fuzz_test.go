package namesrv

import (
	"testing"

	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// FuzzRequests gives every handler any fields and any body: it answers, and the table stays whole.
func FuzzRequests(f *testing.F) {
	j := join("a", 0, "a:1", "T", "U")
	f.Add(uint8(1), "a", "a:1", "C", "0", body.Encode(&j.body))
	f.Add(uint8(1), "a", "a:1", "C", "1", body.EncodeRegisterBrokerCompressed(&j.body))
	f.Add(uint8(11), "T", "", "", "", []byte(`{"queueDatas":[{"brokerName":"a"}]}`))
	f.Add(uint8(21), "", "", "", "", []byte("enableTopicList=false"))
	b := newBench(f)
	routes := b.routes()
	f.Fuzz(func(t *testing.T, which uint8, name, addr, cluster, number string, data []byte) {
		var req remoting.Command
		sent := remoting.NewRequest(routes[int(which)%len(routes)].Code, nil)
		sent.Body = data
		for _, field := range []string{"brokerName", "topic", "namespace"} {
			sent.Ext = append(sent.Ext, remoting.ExtField{Key: field, Value: name})
		}
		for _, field := range []string{"brokerAddr", "haServerAddr", "key"} {
			sent.Ext = append(sent.Ext, remoting.ExtField{Key: field, Value: addr})
		}
		for _, field := range []string{"clusterName", "cluster", "value"} {
			sent.Ext = append(sent.Ext, remoting.ExtField{Key: field, Value: cluster})
		}
		for _, field := range []string{"brokerId", "heartbeatTimeoutMillis", "enableActingMaster", "compressed", "acceptStandardJsonOnly"} {
			sent.Ext = append(sent.Ext, remoting.ExtField{Key: field, Value: number})
		}
		if remoting.DecodeFrame(remoting.AppendFrame(nil, sent), &req) != nil {
			return
		}
		if resp := b.do(t, &req); resp.Code != remoting.Success && resp.Remark == "" {
			t.Fatalf("code %d: response code %d without remark", req.Code, resp.Code)
		}
		b.routeOf(t, "T")
		count := 0
		for topic, queues := range b.table.topics {
			count += len(queues)
			if len(queues) == 0 {
				t.Fatalf("topic %q has no queues", topic)
			}
		}
		if count != b.table.queues {
			t.Fatalf("the table counts %d queue datas and has %d", b.table.queues, count)
		}
	})
}
