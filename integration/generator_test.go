package integration

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/rocketd/rocketd/message"
	r "github.com/rocketd/rocketd/remoting"
)

// generator makes requests of one sequence out of a seed. Names carry the number of the sequence, so that sequences do not meet.
// Values that a side itself gave out (offsets, handles) stand as $name and are filled in for each side.
type generator struct {
	*rand.Rand
	n int
}

// generated is one request of a sequence.
type generated struct {
	exchange
	// spoiled names the field that was left out or got a value that is none of its type.
	spoiled string
	// reads tells that the request changes nothing: it is asked again when answers differ, as Apache dispatches with a delay.
	reads bool
}

func newGenerator(seed uint64, n int) *generator {
	return &generator{rand.New(rand.NewPCG(seed, uint64(n))), n}
}

func (g *generator) one(of ...string) string { return of[g.IntN(len(of))] }

// rarely is true once in n times.
func (g *generator) rarely(n int) bool { return g.IntN(n) == 0 }

func (g *generator) topic() string {
	if g.rarely(12) {
		return g.one("nothing_"+fmt.Sprint(g.n), "TBW102", "a b", "%RETRY%"+g.group(), "%DLQ%"+g.group(), strings.Repeat("t", 128))
	}
	return g.one(fmt.Sprintf("FA_%d", g.n), fmt.Sprintf("FA_%d", g.n), fmt.Sprintf("FB_%d", g.n))
}

func (g *generator) group() string {
	if g.rarely(15) {
		return g.one("nobody_"+fmt.Sprint(g.n), "a b")
	}
	return g.one(fmt.Sprintf("GA_%d", g.n), fmt.Sprintf("GA_%d", g.n), fmt.Sprintf("GB_%d", g.n))
}

func (g *generator) queue() string {
	if g.rarely(10) {
		return g.one("4", "7", "99")
	}
	return g.one("0", "0", "0", "1", "2", "3")
}

func (g *generator) offset() string {
	return g.one("0", "0", "1", "2", "3", "5", "100", "-1", "9223372036854775807")
}

func (g *generator) expression() []string {
	if g.rarely(2) {
		return []string{"subscription=*", "expressionType=TAG"}
	}
	if g.rarely(2) {
		return []string{"subscription=" + g.one("A", "B", "A || B", "zz", "A||", "||", ""), "expressionType=TAG"}
	}
	return []string{"subscription=" + g.one("n > 1", "n BETWEEN 1 AND 3", "n IS NULL", "TAGS = 'A'", "n IN ('1','2') OR TAGS = 'B'", "NOT n = 2", "n LIKE '1'",
		"n CONTAINS '1'", "TAGS STARTSWITH 'A'", "TAGS NOT ENDSWITH 'B'", "n <> '2'", "n = 'x'", "x = TRUE", "n > 1 AND x IS NOT NULL"), "expressionType=SQL92"}
}

func (g *generator) properties() string {
	p := "UNIQ_KEY\x01" + fmt.Sprintf("%032X", g.Uint64()) + "\x02"
	if !g.rarely(3) {
		p += "TAGS\x01" + g.one("A", "B", "C") + "\x02"
	}
	if g.rarely(2) {
		p += "n\x01" + g.one("1", "2", "3", "x", "1.5", "-1") + "\x02"
	}
	if g.rarely(3) {
		p += "KEYS\x01" + g.one("k1", "k2", "k1 k2") + "\x02"
	}
	if g.rarely(4) {
		p += "WAIT\x01" + g.one("true", "false") + "\x02"
	}
	if g.rarely(12) {
		p += "DELAY\x01" + g.one("0", "-1", "3", "18", "19", "1959") + "\x02"
	}
	if g.rarely(15) {
		p += g.one("TIMER_DELAY_SEC\x01300", "TIMER_DELAY_MS\x01300000", "TIMER_DELIVER_MS\x011600000000000", "TIMER_DELAY_SEC\x01259300", "TIMER_DELIVER_MS\x01x") + "\x02"
	}
	if g.rarely(25) {
		p += g.one("novalue", "a\x01", "\x01b\x02", "\x02", "x\x01TRUE\x02") // text without a separator behind it, empty names
	}
	return p
}

func (g *generator) body() string {
	switch g.IntN(20) {
	case 0:
		return strings.Repeat("b", g.IntN(20000)+1)
	case 1:
		return strings.Repeat("b", 4<<20+g.IntN(2))
	}
	return g.one("a", "hello", "{}", "0")
}

func (g *generator) next() generated {
	makers := []struct {
		weight int
		make   func() generated
	}{
		{14, g.send},
		{3, g.sendBatch},
		{3, g.sendHalf},
		{3, g.endTransaction},
		{12, g.pull},
		{4, g.sendBack},
		{8, g.offsets},
		{6, g.queues},
		{6, g.membership},
		{4, g.locks},
		{8, g.pop},
		{8, g.ack},
		{5, g.lookup},
		{5, g.topics},
		{4, g.groups},
		{3, g.names},
		{2, g.reset},
	}
	total := 0
	for _, m := range makers {
		total += m.weight
	}
	at := g.IntN(total)
	for _, m := range makers {
		if at -= m.weight; at < 0 {
			return g.spoil(m.make())
		}
	}
	return g.pull()
}

// spoil leaves out a field or makes it none of its type, in one of 30 requests.
func (g *generator) spoil(e generated) generated {
	if len(e.ext) == 0 || !g.rarely(30) {
		return e
	}
	at := g.IntN(len(e.ext))
	key, _, _ := strings.Cut(e.ext[at], "=")
	e.spoiled = key
	if g.rarely(2) {
		e.ext = append(append([]string{}, e.ext[:at]...), e.ext[at+1:]...)
		e.name += " without " + key
		return e
	}
	e.ext[at] = key + "=" + g.one("x", "", "1e3", "99999999999999999999", " 1", "-", "中")
	e.name += " with " + e.ext[at]
	return e
}

func (g *generator) sendHeader(properties, sysFlag string) []string {
	return send("topic="+g.topic(), "producerGroup="+fmt.Sprintf("P_%d", g.n), "queueId="+g.queue(), "properties="+properties, "sysFlag="+sysFlag,
		"flag="+g.one("0", "7", "-1"), "reconsumeTimes="+g.one("0", "0", "3"))
}

func (g *generator) send() generated {
	ext := unique(g.sendHeader(g.properties(), "0"))
	if g.rarely(20) {
		ext = unique(append(ext, "topic=SCHEDULE_TOPIC_XXXX"))
	}
	e := generated{exchange: exchange{name: "send", code: r.SendMessage, ext: ext, body: g.body()}}
	if g.rarely(2) {
		e.name, e.code, e.ext = "send v2", r.SendMessageV2, shortNames(ext)
	}
	return e
}

func (g *generator) sendBatch() generated {
	var body []byte
	for range g.IntN(4) + 1 {
		body, _ = message.AppendBatchEntry(body, message.BatchEntry{Flag: int32(g.IntN(3)), Body: []byte(g.one("a", "bb", "ccc")), Properties: message.Properties("UNIQ_KEY\x01" + fmt.Sprintf("%032X", g.Uint64()) + "\x02TAGS\x01A\x02")})
	}
	ext := unique(append(g.sendHeader("", "0"), "batch=true"))
	return generated{exchange: exchange{name: "send batch", code: r.SendBatchMessage, ext: shortNames(ext), body: string(body)}}
}

func (g *generator) sendHalf() generated {
	p := "TRAN_MSG\x01true\x02PGROUP\x01" + fmt.Sprintf("P_%d", g.n) + "\x02UNIQ_KEY\x01" + fmt.Sprintf("%032X", g.Uint64()) + "\x02TAGS\x01A\x02"
	return generated{exchange: exchange{name: "send half", code: r.SendMessage, ext: unique(g.sendHeader(p, "4")), body: "half"}}
}

func (g *generator) endTransaction() generated {
	return generated{exchange: exchange{name: "end transaction", code: r.EndTransaction, ext: []string{
		"producerGroup=" + fmt.Sprintf("P_%d", g.n), "tranStateTableOffset=$half.queue", "commitLogOffset=" + g.one("$half.log", "$half.log", "$half.log", "99999999999", "-1"),
		"commitOrRollback=" + g.one("8", "12"), "fromTransactionCheck=" + g.one("true", "false"), "msgId=$half.key", "transactionId=$half.key",
	}}}
}

func (g *generator) pull() generated {
	ext := append(pull("topic="+g.topic(), "consumerGroup="+g.group(), "queueId="+g.queue(), "queueOffset="+g.offset(), "maxMsgNums="+g.one("1", "2", "32", "32", "0", "-1"),
		"sysFlag="+g.one("4", "4", "4", "0", "5")), g.expression()...)
	return generated{exchange: exchange{name: "pull", code: r.PullMessage, ext: unique(ext)}, reads: true}
}

func (g *generator) sendBack() generated {
	return generated{exchange: exchange{name: "send back", code: r.ConsumerSendMsgBack, ext: []string{
		"offset=" + g.one("$log", "$log", "$log", "99999999999", "-1"), "group=" + g.group(), "delayLevel=" + g.one("0", "1", "18", "-1", "99"), "originMsgId=0A", "originTopic=FA_" + fmt.Sprint(g.n),
		"unitMode=false", "maxReconsumeTimes=" + g.one("16", "0", "-1", "1"),
	}}}
}

func (g *generator) offsets() generated {
	if g.rarely(2) {
		ext := []string{"consumerGroup=" + g.group(), "topic=" + g.topic(), "queueId=" + g.queue()}
		if g.rarely(2) {
			ext = append(ext, "setZeroIfNotFound="+g.one("true", "false"))
		}
		return generated{exchange: exchange{name: "query offset", code: r.QueryConsumerOffset, ext: ext}, reads: true}
	}
	return generated{exchange: exchange{name: "commit offset", code: r.UpdateConsumerOffset, ext: []string{
		"consumerGroup=" + g.group(), "topic=" + g.topic(), "queueId=" + g.queue(), "commitOffset=" + g.one("0", "1", "2", "3", "100"),
	}}}
}

func (g *generator) queues() generated {
	ext := []string{"topic=" + g.topic(), "queueId=" + g.queue()}
	switch g.IntN(5) {
	case 0:
		return generated{exchange: exchange{name: "max offset", code: r.GetMaxOffset, ext: ext}, reads: true}
	case 1:
		return generated{exchange: exchange{name: "min offset", code: r.GetMinOffset, ext: ext}, reads: true}
	case 2:
		return generated{exchange: exchange{name: "earliest", code: r.GetEarliestMsgStoretime, ext: ext}, reads: true}
	case 3:
		ext = append(ext, "timestamp="+g.one("0", "1600000000000", "9999999999999", "-1"))
		if g.rarely(2) {
			ext = append(ext, "boundaryType="+g.one("LOWER", "UPPER", "lower", "upper", "middle"))
		}
		return generated{exchange: exchange{name: "search offset", code: r.SearchOffsetByTimestamp, ext: ext}, reads: true}
	}
	return generated{exchange: exchange{name: "topic stats", code: r.GetTopicStatsInfo, ext: ext[:1]}, reads: true}
}

func (g *generator) membership() generated {
	client := fmt.Sprintf("c%d@%d", g.IntN(2), g.n)
	switch g.IntN(6) {
	case 0, 1:
		return generated{exchange: exchange{name: "heartbeat", code: r.HeartBeat, body: strings.NewReplacer(`"c1"`, `"`+client+`"`, `"P"`, fmt.Sprintf(`"P_%d"`, g.n), `"G"`, fmt.Sprintf(`"GA_%d"`, g.n),
			`"D"`, fmt.Sprintf(`"FA_%d"`, g.n), `"subVersion":1`, `"subVersion":`+g.one("1", "2"), "CONSUME_FROM_LAST_OFFSET", g.one("CONSUME_FROM_LAST_OFFSET", "CONSUME_FROM_FIRST_OFFSET"),
			`"CLUSTERING"`, g.one(`"CLUSTERING"`, `"CLUSTERING"`, `"BROADCASTING"`)).Replace(heartbeat)}}
	case 2:
		return generated{exchange: exchange{name: "unregister", code: r.UnregisterClient, ext: []string{"clientID=" + client, "producerGroup=" + fmt.Sprintf("P_%d", g.n), "consumerGroup=" + fmt.Sprintf("GA_%d", g.n)}}}
	case 3:
		return generated{exchange: exchange{name: "consumer list", code: r.GetConsumerListByGroup, ext: []string{"consumerGroup=" + g.group()}}, reads: true}
	case 4:
		return generated{exchange: exchange{name: "subscription", code: r.QuerySubscriptionByConsumer, ext: []string{"group=" + g.group(), "topic=" + g.topic()}}, reads: true}
	}
	return generated{exchange: exchange{name: "topics of group", code: r.QueryTopicsByConsumer, ext: []string{"group=" + g.group()}}, reads: true}
}

func (g *generator) locks() generated {
	body := fmt.Sprintf(`{"clientId":"c%d","consumerGroup":"GA_%d","mqSet":[{"brokerName":"broker-a","queueId":%d,"topic":"FA_%d"},{"brokerName":"broker-a","queueId":%d,"topic":"FA_%d"}],"onlyThisBroker":%t}`,
		g.IntN(2), g.n, g.IntN(3), g.n, g.IntN(6), g.n, g.rarely(2))
	if g.rarely(3) {
		return generated{exchange: exchange{name: "unlock", code: r.UnlockBatchMQ, body: body}}
	}
	return generated{exchange: exchange{name: "lock", code: r.LockBatchMQ, body: body}}
}

func (g *generator) pop() generated {
	ext := []string{
		"consumerGroup=" + g.one("GP", "GP", "GO") + fmt.Sprintf("_%d", g.n), "topic=" + g.topic(), "queueId=" + g.one("0", "0", "1", "3", "9"), "maxMsgNums=" + g.one("1", "2", "32", "33", "0"),
		"invisibleTime=" + g.one("600000", "600000", "3600000"), "pollTime=0", "bornTime=$now", "initMode=" + g.one("0", "0", "1"),
	}
	if strings.Contains(ext[0], "GO") {
		ext = append(ext, "order=true", "attemptId="+g.one("a", "a", "b"))
	}
	if g.rarely(4) {
		ext = append(ext, "exp="+g.one("A", "*", "B", "n > 1"), "expType=TAG")
	}
	if g.rarely(4) {
		return generated{exchange: exchange{name: "peek", code: r.PeekMessage, ext: ext[:4]}, reads: true}
	}
	if g.rarely(8) {
		return generated{exchange: exchange{name: "notification", code: r.Notification, ext: append(ext[:3:3], "pollTime=0", "bornTime=$now")}, reads: true}
	}
	return generated{exchange: exchange{name: "pop", code: r.PopMessage, ext: ext}}
}

func (g *generator) ack() generated {
	ext := []string{"consumerGroup=$pop.group", "topic=$pop.topic", "queueId=$pop.queue", "extraInfo=" + g.one("$pop.handle", "$pop.handle", "$pop.handle", "$pop.handle", "0 1 2", "nonsense"), "offset=" + g.one("$pop.offset", "$pop.offset", "$pop.offset", "77")}
	if g.rarely(3) {
		ext = append(ext, "invisibleTime="+g.one("600000", "0", "-1", "700000"))
		return generated{exchange: exchange{name: "change invisible", code: r.ChangeMessageInvisibletime, ext: ext}}
	}
	return generated{exchange: exchange{name: "ack", code: r.AckMessage, ext: ext}}
}

func (g *generator) lookup() generated {
	switch g.IntN(3) {
	case 0:
		return generated{exchange: exchange{name: "view by offset", code: r.ViewMessageByID, ext: []string{"topic=" + g.topic(), "offset=" + g.one("$log", "$log", "99999999999", "-1", "3")}}, reads: true}
	case 1:
		return generated{exchange: exchange{name: "query message", code: r.QueryMessage, ext: []string{
			"topic=" + g.topic(), "key=" + g.one("k1", "k2", "zz", ""), "maxNum=" + g.one("1", "32", "64"),
			"beginTimestamp=" + g.one("0", "9999999999999"), "endTimestamp=" + g.one("9999999999999", "9999999999999", "0"),
		}}, reads: true}
	}
	return generated{exchange: exchange{name: "consume stats", code: r.GetConsumeStats, ext: []string{"consumerGroup=" + g.group(), "topic=" + g.topic()}}, reads: true}
}

func (g *generator) topics() generated {
	switch g.IntN(4) {
	case 0, 1:
		ext := []string{
			"topic=" + g.topic(), "defaultTopic=TBW102", "readQueueNums=" + g.one("4", "4", "2", "8"), "writeQueueNums=" + g.one("4", "4", "2", "8"), "perm=" + g.one("6", "6", "6", "4", "2", "0"),
			"topicFilterType=SINGLE_TAG", "topicSysFlag=0", "order=" + g.one("true", "false"),
		}
		if g.rarely(2) {
			ext = append(ext, "attributes="+g.one("+message.type=NORMAL", "+message.type=FIFO", "+nonsense=1", "-message.type", "+message.type=odd", "message.type=FIFO", "+cleanup.policy=DELETE"))
		}
		return generated{exchange: exchange{name: "create topic", code: r.UpdateAndCreateTopic, ext: ext}}
	case 2:
		return generated{exchange: exchange{name: "delete topic", code: r.DeleteTopicInBroker, ext: []string{"topic=" + g.topic()}}}
	}
	return generated{exchange: exchange{name: "topic config", code: r.GetTopicConfig, ext: []string{"topic=" + g.topic()}}, reads: true}
}

func (g *generator) groups() generated {
	switch g.IntN(3) {
	case 0:
		return generated{exchange: exchange{name: "create group", code: r.UpdateAndCreateSubscriptiongroup, body: fmt.Sprintf(`{"groupName":"G%s_%d","consumeEnable":%t,"retryMaxTimes":%s,"retryQueueNums":%s,"consumeBroadcastEnable":true}`,
			g.one("A", "B", "P"), g.n, !g.rarely(8), g.one("0", "1", "16", "-1"), g.one("1", "1", "2"))}}
	case 1:
		return generated{exchange: exchange{name: "delete group", code: r.DeleteSubscriptiongroup, ext: []string{"groupName=" + g.group(), "cleanOffset=" + g.one("true", "false")}}}
	}
	return generated{exchange: exchange{name: "group config", code: r.GetSubscriptiongroupConfig, ext: []string{"group=" + g.group()}}, reads: true}
}

func (g *generator) names() generated {
	if g.rarely(2) {
		return generated{exchange: exchange{name: "route", namesrv: true, code: r.GetRouteinfoByTopic, ext: []string{"topic=" + g.topic()}}, reads: true}
	}
	return generated{exchange: exchange{name: "who consumes", code: r.QueryTopicConsumeByWho, ext: []string{"topic=" + g.topic()}}, reads: true}
}

func (g *generator) reset() generated {
	ext := []string{"group=" + g.group(), "topic=" + g.topic(), "timestamp=" + g.one("0", "-1", "9999999999999"), "isForce=" + g.one("true", "false"), "queueId=" + g.one("-1", "0", "1")}
	if g.rarely(2) {
		ext = append(ext, "offset="+g.offset())
	}
	return generated{exchange: exchange{name: "reset", code: r.InvokeBrokerToResetOffset, ext: ext}}
}

// unique keeps the last of several values of one field.
func unique(ext []string) []string {
	last := map[string]int{}
	for i, kv := range ext {
		k, _, _ := strings.Cut(kv, "=")
		last[k] = i
	}
	var out []string
	for i, kv := range ext {
		if k, _, _ := strings.Cut(kv, "="); last[k] == i {
			out = append(out, kv)
		}
	}
	return out
}

// shortNames is the header of a send in the form of SEND_MESSAGE_V2.
func shortNames(ext []string) []string {
	short := map[string]string{
		"producerGroup": "a", "topic": "b", "defaultTopic": "c", "defaultTopicQueueNums": "d", "queueId": "e", "sysFlag": "f", "bornTimestamp": "g", "flag": "h",
		"properties": "i", "reconsumeTimes": "j", "unitMode": "k", "maxReconsumeTimes": "l", "batch": "m",
	}
	out := make([]string, 0, len(ext))
	for _, kv := range ext {
		k, v, _ := strings.Cut(kv, "=")
		out = append(out, short[k]+"="+v)
	}
	return out
}
