package integration

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/integration/peer"
	"github.com/rocketd/rocketd/remoting"
)

// metricDiffs are differences on purpose between the metrics of Apache and of rocketd: by what is missing or extra, as compareMetrics names it.
// A * stands for any text, as does what follows the end.
var metricDiffs = map[string]string{
	"missing rocketmq_messages_out_total *consumer_group=CID_RMQ_SYS_":                              "what the broker itself reads of half messages and of the revive topic is not counted as given out",
	"missing rocketmq_throughput_out_total *consumer_group=CID_RMQ_SYS_":                            "what the broker itself reads of half messages and of the revive topic is not counted as given out",
	"missing rocketmq_rpc_latency_*request_code_not_supported":                                      "requests that are not served are not counted",
	"missing rocketmq_rpc_latency_*request_code=send_batch_message response_code=system_error":      "a batch that cannot be read is MESSAGE_ILLEGAL",
	"extra rocketmq_rpc_latency_*request_code=send_batch_message response_code=message_illegal":     "a batch that cannot be read is MESSAGE_ILLEGAL",
	"extra rocketmq_rpc_latency_*request_code=pull_message response_code=subscription_parse_failed": "an expression that cannot be parsed is refused",
	"missing rocketmq_rpc_latency_*request_code=view_message_by_id":                                 "Apache leaves out the label is_long_polling here",
	"extra rocketmq_rpc_latency_*request_code=view_message_by_id":                                   "Apache leaves out the label is_long_polling here",
}

// TestMetrics sends the same traffic to Apache and to rocketd, scrapes both and compares names, labels, their values and the bounds of histograms.
func TestMetrics(t *testing.T) {
	peer.NeedJava(t)
	settings := func(port int) []string {
		return []string{
			"transactionCheckInterval=2000", "transactionTimeOut=1000", "enablePropertyFilter=true", "recallMessageEnable=true", "messageDelayLevel=1s 2s 3s",
			"metricsExporterType=PROM", "metricsPromExporterHost=127.0.0.1", fmt.Sprintf("metricsPromExporterPort=%d", port),
		}
	}
	ports := [2]int{peer.FreePorts(t), peer.FreePorts(t)}
	sides := [2]*side{
		newSide(t, peer.StartApache(t, t.TempDir(), settings(ports[0])...)),
		newSide(t, peer.StartRocketd(t, t.TempDir(), settings(ports[1])...)),
	}
	var done [2]chan struct{}
	for i, s := range sides {
		done[i] = make(chan struct{})
		go func() {
			defer close(done[i])
			metricTraffic(t, s)
		}()
	}
	<-done[0]
	<-done[1]
	if t.Failed() {
		return
	}
	var problems []string
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Second) {
		problems = compareMetrics(scrapeMetrics(t, ports[0]), scrapeMetrics(t, ports[1]))
		problems = slices.DeleteFunc(problems, func(p string) bool { return metricReason(p) != "" })
		if len(problems) == 0 || time.Now().After(deadline) {
			break
		}
	}
	for _, p := range problems {
		t.Error(p)
	}
}

func metricReason(problem string) string {
	for name, why := range metricDiffs {
		begin, middle, _ := strings.Cut(name, "*")
		if rest, ok := strings.CutPrefix(problem, begin); ok && strings.Contains(rest, middle) {
			return why
		}
	}
	return ""
}

// metricTraffic is some of everything: what the exchanges do, then sends of each kind, transactions, pops that nobody acknowledges, dead letters.
func metricTraffic(t *testing.T, s *side) {
	t.Helper()
	for _, e := range exchanges {
		if !strings.Contains(e.name, "unregister") && !strings.Contains(e.name, "wipe") {
			s.ask(t, e)
		}
	}
	ask := func(code int32, body string, ext ...string) *remoting.Command {
		return s.ask(t, exchange{code: code, ext: ext, body: body})
	}
	ask(remoting.UpdateAndCreateTopic, "", "topic=M", "defaultTopic=TBW102", "readQueueNums=1", "writeQueueNums=1", "perm=6", "topicFilterType=SINGLE_TAG", "order=false")
	ask(remoting.HeartBeat, strings.NewReplacer(`"D"`, `"M"`, `"G"`, `"GM"`, `"P"`, `"PM"`, `"c1"`, `"cm"`).Replace(heartbeat))
	for _, properties := range []string{"TAGS\x01A\x02", "__SHARDINGKEY\x01a\x02", "DELAY\x011\x02", "TIMER_DELAY_MS\x011000\x02", "TIMER_DELAY_SEC\x01900\x02"} {
		ask(remoting.SendMessage, "hello", send("topic=M", "properties=UNIQ_KEY\x01"+strings.ToUpper(properties[:1])+"\x02"+properties)...)
	}
	for _, decision := range []string{"8", "12"} {
		half := ask(remoting.SendMessage, "half", send("topic=M", "sysFlag=4", "properties=UNIQ_KEY\x01H"+decision+"\x02TRAN_MSG\x01true\x02PGROUP\x01PM\x02")...)
		id, _ := half.ExtValue("msgId")
		offset, _ := half.ExtValue("queueOffset")
		if len(id) < 16 {
			t.Errorf("%s: half message answered %d %s", s.c.Name, half.Code, half.Remark)
			return
		}
		position, err := strconv.ParseInt(id[len(id)-16:], 16, 64)
		if err != nil {
			t.Error(err)
			return
		}
		ask(remoting.EndTransaction, "", "topic=M", "producerGroup=PM", "tranStateTableOffset="+offset, fmt.Sprintf("commitLogOffset=%d", position), "commitOrRollback="+decision, "msgId="+id)
	}
	ask(remoting.PullMessage, "", pull("topic=M", "consumerGroup=GM")...)
	ask(remoting.PullMessage, "", pull("topic=M", "consumerGroup=GM", "queueOffset=100", "sysFlag=2", "suspendTimeoutMillis=1000")...)
	ask(remoting.UpdateConsumerOffset, "", "consumerGroup=GM", "topic=M", "queueId=0", "commitOffset=2")
	ask(remoting.ConsumerSendMsgBack, "", "offset=0", "group=GM", "delayLevel=-1", "originTopic=D")
	pop := func(group string, invisible int) string {
		resp := ask(remoting.PopMessage, "", "consumerGroup="+group, "topic=M", "queueId=-1", "maxMsgNums=1", fmt.Sprintf("invisibleTime=%d", invisible), "pollTime=0", "bornTime=$now", "initMode=0")
		start, _ := resp.ExtValue("startOffsetInfo")
		offsets, _ := resp.ExtValue("msgOffsetInfo")
		when, _ := resp.ExtValue("popTime")
		revive, _ := resp.ExtValue("reviveQid")
		first := regexp.MustCompile(`\d+$`).FindString(strings.Split(offsets, ";")[0])
		_ = start
		return fmt.Sprintf("%s %s %d %s 0 broker-a 0 %s", first, when, invisible, revive, first)
	}
	handle := pop("GP1", 20_000)
	ask(remoting.AckMessage, "", "consumerGroup=GP1", "topic=M", "queueId=0", "extraInfo="+handle, "offset="+handle[strings.LastIndex(handle, " ")+1:])
	pop("GP2", 2000)
	ask(remoting.UpdateAndCreateSubscriptiongroup, `{"groupName":"GX"}`)
}

// scrapeMetrics reads the samples of the reference's names: labels by name, with the values of addresses cut out.
func scrapeMetrics(t *testing.T, port int) map[string][]map[string]string {
	t.Helper()
	resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics", port))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, rest, ok := strings.Cut(line, "{")
		if !ok || !strings.HasPrefix(name, "rocketmq_") {
			continue
		}
		labels := map[string]string{}
		for _, m := range metricLabel.FindAllStringSubmatch(rest, -1) {
			labels[m[1]] = m[2]
		}
		out[name] = append(out[name], labels)
	}
	return out
}

var metricLabel = regexp.MustCompile(`([a-z_]+)="([^"]*)"`)

// compareMetrics lists what only one of two scrapes has: names, label names, bounds of histograms, and the values of labels.
func compareMetrics(apache, ours map[string][]map[string]string) []string {
	var out []string
	names := map[string]bool{}
	for name := range apache {
		names[name] = true
	}
	for name := range ours {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		switch {
		case ours[name] == nil:
			out = append(out, "missing "+name)
			continue
		case apache[name] == nil:
			out = append(out, "extra "+name)
			continue
		}
		a, o := labelSets(apache[name]), labelSets(ours[name])
		for _, set := range slices.Sorted(maps.Keys(a)) {
			if !o[set] {
				out = append(out, "missing "+name+" "+set)
			}
		}
		for _, set := range slices.Sorted(maps.Keys(o)) {
			if !a[set] {
				out = append(out, "extra "+name+" "+set)
			}
		}
	}
	return out
}

func labelSets(samples []map[string]string) map[string]bool {
	out := map[string]bool{}
	for _, labels := range samples {
		var pairs []string
		for k, v := range labels {
			if k == "le" {
				if f, err := strconv.ParseFloat(v, 64); err == nil {
					v = strconv.FormatFloat(f, 'g', -1, 64)
				}
			}
			pairs = append(pairs, k+"="+v)
		}
		sort.Strings(pairs)
		out[strings.Join(pairs, " ")] = true
	}
	return out
}
