package broker

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// TestConfigOverTheWire changes keys, sees them, and finds them in the file.
func TestConfigOverTheWire(t *testing.T) {
	mem := vfs.NewMem()
	if err := mem.MkdirAll("/etc", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := vfs.WriteFileAtomic(mem, "/etc/broker.conf", []byte("# mine\nbrokerName = broker-a\n")); err != nil {
		t.Fatal(err)
	}
	b := newTestBroker(t, withConfig(func(c *conf.Config) { c.Broker.BrokerConfigPath = "/etc/broker.conf" }), func(o *Options) { o.FS = mem })
	c := b.dial()
	a := c.want(0, remoting.GetBrokerConfig, nil, nil)
	if !strings.Contains(string(a.body), "\nbrokerName=broker-a\n") || !strings.Contains(string(a.body), "transactionCheckMax=15") {
		t.Errorf("properties %.200q", a.body)
	}
	before, err := body.Decode[body.DataVersion]([]byte(a.ext["version"]))
	if err != nil {
		t.Fatalf("version %q: %v", a.ext["version"], err)
	}
	c.want(0, remoting.UpdateBrokerConfig, nil, []byte("transactionCheckMax=3\nmaxMessageSize=1000\n"))
	a = c.want(0, remoting.GetBrokerConfig, nil, nil)
	after, _ := body.Decode[body.DataVersion]([]byte(a.ext["version"]))
	if !strings.Contains(string(a.body), "\ntransactionCheckMax=3\n") || after.Counter != before.Counter+1 {
		t.Errorf("version %v after %v", after, before)
	}
	b.create("T", 1)
	c.want(13, remoting.SendMessage, sendFields("T", 0, ""), make([]byte, 1001))
	saved, err := vfs.ReadFile(mem, "/etc/broker.conf", 1<<20)
	if err != nil || !strings.Contains(string(saved), "# mine\nbrokerName = broker-a\n") || !strings.Contains(string(saved), "transactionCheckMax=3") {
		t.Errorf("file %q (%v)", saved, err)
	}
	for _, bad := range []struct {
		text   string
		code   int32
		remark string
	}{
		{"brokerConfigPath=/etc/passwd", 16, "Can not update config in black list."},
		{"maxMessageSize=abc", 1, "maxMessageSize"},
		{"transactionCheckMax=5\nmaxMessageSize=-1", 1, "maxMessageSize"},
	} {
		if a := c.call(remoting.UpdateBrokerConfig, nil, []byte(bad.text)); a.code != bad.code || !strings.Contains(a.remark, bad.remark) {
			t.Errorf("%q: code %d, remark %q", bad.text, a.code, a.remark)
		}
	}
	if got := b.config().Broker.TransactionCheckMax; got != 3 {
		t.Errorf("a refused update changed transactionCheckMax to %d", got)
	}
	c.want(0, remoting.UpdateBrokerConfig, nil, nil)
	// The broker's permission is part of its topics' routes: they are registered anew.
	_, old := b.topics.snapshot()
	c.want(0, remoting.UpdateBrokerConfig, nil, []byte("brokerPermission=4"))
	if _, now := b.topics.snapshot(); now == old {
		t.Error("the version of the topics has not changed")
	}
}

// runtimeKeys are those of the reference's answer to GET_BROKER_RUNTIME_INFO, and what tools of 4.x read.
const runtimeKeys = `bootTimestamp brokerActive brokerVersion brokerVersionDesc commitLogDirCapacity commitLogDiskRatio commitLogMaxOffset
commitLogMinOffset consumeQueueDiskRatio dispatchBehindBytes dispatchMaxBuffer earliestMessageTimeStamp EndTransactionQueueSize
EndTransactionThreadPoolQueueCapacity getFoundTps getMessageEntireTimeMax getMissTps getTotalTps getTransferedTps getTransferredTps
msgGetTotalTodayMorning msgGetTotalTodayNow msgGetTotalYesterdayMorning msgPutTotalTodayMorning msgPutTotalTodayNow
msgPutTotalYesterdayMorning pageCacheLockTimeMills pullThreadPoolQueueCapacity pullThreadPoolQueueHeadWaitTimeMills
pullThreadPoolQueueSize putLatency99 putLatency999 putMessageAverageSize putMessageDistributeTime putMessageEntireTimeMax
putMessageFailedTimes putMessageSizeTotal putMessageTimesTotal putTps queryThreadPoolQueueCapacity queryThreadPoolQueueHeadWaitTimeMills
queryThreadPoolQueueSize remainHowManyDataToFlush remainTransientStoreBufferNumbs runtime sendThreadPoolQueueCapacity
sendThreadPoolQueueHeadWaitTimeMills sendThreadPoolQueueSize startAcceptSendRequestTimeStamp timerCongestNum timerDequeueTps
timerEnqueueTps timerOffsetBehind timerReadBehind`

func TestRuntimeInfo(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	c := b.dial()
	b.manual.Advance(time.Second)
	for range 20 {
		c.want(0, remoting.SendMessage, sendFields("T", 0, ""), make([]byte, 100))
	}
	c.want(0, remoting.SendMessage, sendFields("T", 0, "TIMER_DELAY_SEC\x01600\x02"), []byte("x"))
	c.want(0, remoting.SendMessage, sendFields("T", 0, "DELAY\x012\x02"), []byte("x"))
	c.want(0, remoting.PullMessage, pullFields("G", "T", 0, 0), nil)
	var table map[string]string
	eventually(t, "the rates are told", func() bool {
		b.manual.Advance(time.Second)
		table = decoded[body.KVTable](t, c.want(0, remoting.GetBrokerRuntimeInfo, nil, nil)).Table
		return !strings.HasPrefix(table["putTps"], "0.0") && table["timerCongestNum"] == "1" && table["scheduleMessageOffset_2"] != ""
	})
	for key := range strings.FieldsSeq(runtimeKeys) {
		if table[key] == "" {
			t.Errorf("%s is missing", key)
		}
	}
	for key, want := range map[string]string{
		"msgPutTotalTodayNow": "20", "msgGetTotalTodayNow": "20", "brokerActive": "true", "commitLogMinOffset": "0", "timerOffsetBehind": "0",
		"commitLogMaxOffset": itoa(b.store.MaxPhysicalOffset()), "brokerVersionDesc": "V5_5_0", "bootTimestamp": itoa(testNow.UnixMilli()),
		"dispatchBehindBytes": "0", "putMessageFailedTimes": "0", "timerReadBehind": "0",
	} {
		if table[key] != want {
			t.Errorf("%s is %q, want %q", key, table[key], want)
		}
	}
	if n, err := strconv.ParseFloat(table["commitLogDiskRatio"], 64); err != nil || n > 1 {
		t.Errorf("commitLogDiskRatio %q", table["commitLogDiskRatio"])
	}
	if parts := strings.Fields(table["putTps"]); len(parts) != 3 {
		t.Errorf("putTps %q", table["putTps"])
	}
	if !strings.HasPrefix(table["runtime"], "[ 0 days, 0 hours, 0 minutes, ") {
		t.Errorf("runtime %q", table["runtime"])
	}
}

func TestTextsOfRuntimeInfo(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 1 << 20: "1.0 MiB", 5 << 40: "5.0 TiB"} {
		if got := readableBytes(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
	ms := int64(((2*24+3)*60+4)*60_000 + 5999)
	if got, want := formatRuntime(ms), "[ 2 days, 3 hours, 4 minutes, 5 seconds ]"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for v, want := range map[float64]string{0: "0.0", 12: "12.0", 0.25: "0.25"} {
		if got := javaDouble(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
}

// TestSmallAnswers: requests of tools and slaves that need a sensible answer.
func TestSmallAnswers(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	b.put("T", 0, 3, "")
	c := b.dial()
	if a := c.want(0, remoting.GetTimerCheckPoint, nil, nil); len(a.body) != 56 {
		t.Errorf("timer checkpoint of %d bytes", len(a.body))
	}
	for _, code := range []int32{remoting.GetTimerMetrics, remoting.GetColdDataFlowCtrInfo} {
		if a := c.want(0, code, nil, nil); !json.Valid(a.body) {
			t.Errorf("request %d: %q", code, a.body)
		}
	}
	c.want(0, remoting.UpdateColdDataFlowCtrConfig, nil, []byte("G=100"))
	c.want(0, remoting.RemoveColdDataFlowCtrConfig, nil, []byte("G"))
	c.want(0, remoting.SetCommitlogReadMode, fields{"READ_AHEAD_MODE", "1"}, nil)
	c.want(29, remoting.SetCommitlogReadMode, fields{"READ_AHEAD_MODE", "7"}, nil)
	c.want(1, remoting.SetCommitlogReadMode, fields{"READ_AHEAD_MODE", "x"}, nil)
	c.want(1, remoting.SetCommitlogReadMode, nil, nil)
	c.want(0, remoting.PopRollback, nil, nil)
	c.want(0, remoting.SwitchTimerEngine, fields{"E_T", "F"}, nil)
	for _, engine := range []string{"R", "x", ""} {
		c.want(29, remoting.SwitchTimerEngine, fields{"E_T", engine}, nil)
	}
	if got := decoded[body.HAStatus](t, c.want(0, remoting.GetBrokerHAStatus, nil, nil)); !got.Master || got.MasterCommitLogMaxOffset != b.store.MaxPhysicalOffset() {
		t.Errorf("%+v", got)
	}
	if a := c.want(0, remoting.ExchangeBrokerHAInfo, nil, nil); a.ext["masterAddress"] != b.Advertised() || a.ext["masterHaAddress"] == "" {
		t.Errorf("%v", a.ext)
	}
	c.want(0, remoting.ResetMasterFlushOffset, fields{"masterFlushOffset", "0"}, nil)
	if a := c.want(3, 3001, nil, nil); !strings.Contains(a.remark, "3001") {
		t.Errorf("remark %q", a.remark)
	}
}
