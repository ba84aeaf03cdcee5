package broker

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// getRuntimeInfo answers the broker's state as a table of texts (AdminBrokerProcessor#getBrokerRuntimeInfo). It is the
// reference's table, and what older tools read without asking whether it is there.
func (b *Broker) getRuntimeInfo(*remoting.Conn, *remoting.Command) (*remoting.Command, error) {
	table := make(map[string]string, 96)
	set := func(key string, value int64) { table[key] = strconv.FormatInt(value, 10) }
	b.putCounters(table, set)
	b.putStoreState(table, set)
	b.putProgress(table, set)
	b.putQueues(set)
	table["brokerActive"] = strconv.FormatBool(!b.isSlave())
	table["brokerVersionDesc"] = remoting.VersionName(remoting.CurrentVersion)
	set("brokerVersion", int64(remoting.CurrentVersion)) // rocketmq-exporter parses it; the reference dropped it
	set("startAcceptSendRequestTimeStamp", b.config().Broker.StartAcceptSendRequestTimeStamp)
	return bodyResponse(&body.KVTable{Table: table}), nil
}

// putCounters adds what has been counted since the start (StoreStatsService#getRuntimeInfo).
func (b *Broker) putCounters(table map[string]string, set func(string, int64)) {
	r := &b.stats.runtime
	times, size := r.putTimes.Load(), r.putSize.Load()
	set("bootTimestamp", r.bootMs)
	table["runtime"] = formatRuntime(b.clock.NowMs() - r.bootMs)
	set("putMessageEntireTimeMax", r.putMaxMs.Load())
	set("putMessageTimesTotal", max(times, 1)) // as in the reference, which divides by it
	set("putMessageFailedTimes", r.putFailed.Load())
	set("putMessageSizeTotal", size)
	table["putMessageDistributeTime"] = r.distribution()
	table["putMessageAverageSize"] = javaDouble(float64(size) / float64(max(times, 1)))
	set("dispatchMaxBuffer", 0)
	set("getMessageEntireTimeMax", r.getMaxMs.Load())
	table["putTps"] = r.rates(func(v rateReading) int64 { return v.put })
	table["getFoundTps"] = r.rates(func(v rateReading) int64 { return v.found })
	table["getMissTps"] = r.rates(func(v rateReading) int64 { return v.miss })
	table["getTotalTps"] = r.rates(func(v rateReading) int64 { return v.found + v.miss })
	table["getTransferredTps"] = r.rates(func(v rateReading) int64 { return v.transferred })
	table["getTransferedTps"] = table["getTransferredTps"] // the spelling of 4.x, which exporters read
	table["putLatency99"] = r.latencyPercentile(0.99)
	table["putLatency999"] = r.latencyPercentile(0.999)

	put, get := b.stats.brokerPutNoSystem.value.Load(), b.stats.brokerGetNoSystem.value.Load()
	r.mu.Lock()
	defer r.mu.Unlock()
	set("msgPutTotalYesterdayMorning", r.putYesterday)
	set("msgPutTotalTodayMorning", r.putToday)
	set("msgPutTotalTodayNow", put)
	set("msgGetTotalYesterdayMorning", r.getYesterday)
	set("msgGetTotalTodayMorning", r.getToday)
	set("msgGetTotalTodayNow", get)
}

// putStoreState adds where the log begins and ends, and the state of its disk.
func (b *Broker) putStoreState(table map[string]string, set func(string, int64)) {
	usage := b.store.DiskUsage()
	table["commitLogDiskRatio"] = javaDouble(usage.Ratio)
	table["commitLogDiskRatio_"+usage.Path] = table["commitLogDiskRatio"]
	table["consumeQueueDiskRatio"] = javaDouble(usage.QueueRatio)
	table["commitLogDirCapacity"] = fmt.Sprintf("Total : %s, Free : %s.", readableBytes(int64(usage.Total)), readableBytes(int64(usage.Free)))
	end := b.store.MaxPhysicalOffset()
	set("commitLogMinOffset", b.store.MinPhysicalOffset())
	set("commitLogMaxOffset", end)
	set("dispatchBehindBytes", max(end-b.store.DispatchedOffset(), 0))
	set("pageCacheLockTimeMills", 0)
	set("earliestMessageTimeStamp", b.store.EarliestTime())
	set("remainTransientStoreBufferNumbs", math.MaxInt32) // DefaultMessageStore: there is no pool
	table["remainHowManyDataToFlush"] = readableBytes(max(end-b.store.FlushedOffset(), 0))
}

// putProgress adds how far delay levels and timers are.
func (b *Broker) putProgress(table map[string]string, set func(string, int64)) {
	for _, o := range b.schedule.Offsets() {
		table["scheduleMessageOffset_"+strconv.Itoa(int(o.Level))] = fmt.Sprintf("%d,%d", o.Offset, o.MaxOffset)
	}
	b.putTimer(table, set)
}

// putQueues adds the requests that wait for a worker. Where the reference has a thread pool and this broker the event
// loop, nothing waits.
func (b *Broker) putQueues(set func(string, int64)) {
	c := &b.config().Broker
	queued := map[string]int{}
	for _, lane := range b.server.Stats().Lanes {
		queued[lane.Name] = lane.Queued
	}
	for _, q := range []struct {
		name     string
		size     int
		capacity int32
	}{
		{"send", 0, c.SendThreadPoolQueueCapacity},
		{"pull", 0, c.PullThreadPoolQueueCapacity},
		{"litePull", 0, c.LitePullThreadPoolQueueCapacity},
		{"query", queued["query"], c.QueryThreadPoolQueueCapacity},
		{"ack", queued["pop"], c.AckThreadPoolQueueCapacity},
	} {
		set(q.name+"ThreadPoolQueueSize", int64(q.size))
		set(q.name+"ThreadPoolQueueCapacity", int64(q.capacity))
		set(q.name+"ThreadPoolQueueHeadWaitTimeMills", 0)
	}
	set("EndTransactionQueueSize", int64(queued["transaction"]))
	set("EndTransactionThreadPoolQueueCapacity", int64(c.EndTransactionPoolQueueCapacity))
}

// formatRuntime is how long the broker runs, in the words of StoreStatsService#getFormatRuntime.
func formatRuntime(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	return fmt.Sprintf("[ %d days, %d hours, %d minutes, %d seconds ]",
		int64(d/(24*time.Hour)), int64(d%(24*time.Hour)/time.Hour), int64(d%time.Hour/time.Minute), int64(d%time.Minute/time.Second))
}

// readableBytes is a size as MixAll#humanReadableByteCount writes it.
func readableBytes(n int64) string {
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	value, unit := float64(n)/1024, 0
	for value >= 1024 && unit < len("KMGTPE")-1 {
		value /= 1024
		unit++
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGTPE"[unit])
}
