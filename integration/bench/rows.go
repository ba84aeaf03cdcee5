package main

import (
	"fmt"
	"io"
	"sync/atomic"
	"text/tabwriter"
	"time"
)

// figures of one row in one round.
type figures struct {
	cpuPerMillion float64 // seconds of the server's CPU per million messages
	perSecond     float64
	p50, p99      time.Duration
	anonMB        float64
}

func (f figures) String() string {
	return fmt.Sprintf("%.2f s CPU/M, %.0f/s, p50 %v, p99 %v, %.0f MB", f.cpuPerMillion, f.perSecond, f.p50.Round(time.Microsecond), f.p99.Round(time.Microsecond), f.anonMB)
}

// row is one line of the table.
type row struct {
	name     string
	settings []string
	messages int // per request
	warm     load
	load     load
	bare     bool                                           // also on the bare servers
	measure  func(addr string) (float64, loadResult, error) // instead of load: messages and what was seen
}

func allRows(scale float64) []row {
	n := func(requests int) int { return max(1000, int(float64(requests)*scale)) }
	send := func(name string, size, conns, inFlight, requests int, binaryHeader bool, settings ...string) row {
		build := jsonFrame
		if binaryHeader {
			build = binaryFrame
		}
		l := load{conns: conns, inFlight: inFlight, requests: n(requests), okCodes: []int{0}, frame: func(conn int) prebuilt {
			return build(310, sendFields("bench", conn%4, uniqueKey, false), payload(size))
		}}
		warm := l
		warm.requests = n(requests / 10)
		return row{name: name, messages: 1, load: l, warm: warm, bare: len(settings) == 0, settings: settings}
	}
	batch := func() row {
		l := load{conns: 4, inFlight: 4, requests: n(20000), okCodes: []int{0}, frame: func(conn int) prebuilt {
			return jsonFrame(320, sendFields("bench", conn%4, uniqueKey, true), batchBody(32, 1024))
		}}
		warm := l
		warm.requests = n(1000)
		return row{name: "batch of 32 x 1 KB", messages: 32, load: l, warm: warm}
	}
	return []row{
		send("SEND 1 KB, JSON, 8 x 16", 1024, 8, 16, 500000, false),
		send("SEND 1 KB, ROCKETMQ, 8 x 16", 1024, 8, 16, 500000, true),
		send("SEND 128 B, JSON, 8 x 16", 128, 8, 16, 500000, false),
		send("SEND 1 KB, lock-step", 1024, 1, 1, 60000, false),
		send("SEND 64 KB, JSON, 4 x 4", 65536, 4, 4, 20000, false),
		batch(),
		send("SYNC_FLUSH 1 KB, 8 x 16", 1024, 8, 16, 100000, false, "flushDiskType=SYNC_FLUSH"),
		send("SYNC_FLUSH 1 KB, lock-step", 1024, 1, 1, 3000, false, "flushDiskType=SYNC_FLUSH"),
		{name: "PULL 1 KB, 32 a pull", measure: func(addr string) (float64, loadResult, error) { return pullRow(addr, n(20000)) }},
		{name: "PULL idle: 200 parked for 5 s", measure: parkedRow},
	}
}

// pullRow fills a queue and reads it from the start again and again: hot.
func pullRow(addr string, pulls int) (float64, loadResult, error) {
	fill := load{conns: 1, inFlight: 64, requests: 20000, okCodes: []int{0}, frame: func(int) prebuilt {
		return jsonFrame(310, sendFields("bench", 0, uniqueKey, false), payload(1024))
	}}
	if _, err := fill.run(addr); err != nil {
		return 0, loadResult{}, err
	}
	l := load{conns: 8, inFlight: 4, requests: pulls, okCodes: []int{0}, frame: func(conn int) prebuilt {
		return jsonFrame(11, [][2]string{
			{"consumerGroup", "G"}, {"topic", "bench"}, {"queueId", "0"}, {"queueOffset", fmt.Sprint(conn * 1000)}, {"maxMsgNums", "32"}, {"sysFlag", "4"},
			{"commitOffset", "0"}, {"suspendTimeoutMillis", "0"}, {"subscription", "*"}, {"subVersion", "0"}, {"expressionType", "TAG"},
		}, nil)
	}}
	var bytes atomic.Int64
	l.keepBody = func(_ int, body []byte) { bytes.Add(int64(len(body))) }
	r, err := l.run(addr)
	return float64(pulls * 32), r, err
}

// parkedRow holds 200 long polls for five seconds. Its "messages" are a million seconds: CPU per million becomes CPU seconds per second.
func parkedRow(addr string) (float64, loadResult, error) {
	l := load{conns: 200, inFlight: 1, requests: 200, okCodes: []int{19}, frame: func(conn int) prebuilt {
		return jsonFrame(11, [][2]string{
			{"consumerGroup", "G"}, {"topic", "TBW102"}, {"queueId", fmt.Sprint(conn % 8)}, {"queueOffset", "0"}, {"maxMsgNums", "32"}, {"sysFlag", "6"},
			{"commitOffset", "0"}, {"suspendTimeoutMillis", "5000"}, {"subscription", "*"}, {"subVersion", "0"}, {"expressionType", "TAG"},
		}, nil)
	}}
	r, err := l.run(addr)
	return 1e6 * r.took.Seconds(), r, err
}

func measure(h *host, s side, r row) (figures, error) {
	if s.bare != "" && !r.bare {
		return figures{}, errSkipped
	}
	var addr string
	var pid int
	if s.bare != "" {
		addr, pid = bareProcess(h, s.bare)
	} else {
		c := s.start(h, r.settings)
		addr, pid = c.Broker, c.BrokerPID()
		time.Sleep(500 * time.Millisecond)
	}
	defer h.close()
	if r.warm.requests > 0 {
		if _, err := r.warm.run(addr); err != nil {
			return figures{}, err
		}
	}
	before := cpuSeconds(pid)
	var result loadResult
	var messages float64
	var err error
	if r.measure != nil {
		messages, result, err = r.measure(addr)
	} else {
		result, err = r.load.run(addr)
		messages = float64(r.load.requests * r.messages)
	}
	if err != nil {
		return figures{}, err
	}
	if result.failed > 0 {
		return figures{}, fmt.Errorf("%d of %d failed: %s", result.failed, len(result.latencies), result.firstFail)
	}
	return figures{
		cpuPerMillion: (cpuSeconds(pid) - before) / messages * 1e6,
		perSecond:     messages / result.took.Seconds(),
		p50:           result.quantile(0.5), p99: result.quantile(0.99), anonMB: anonymousMB(pid),
	}, nil
}

type skipped struct{}

func (skipped) Error() string { return "not measured on this side" }

var errSkipped error = skipped{}

func printTable(w io.Writer, rows []row, all []side, results map[string]map[string][]figures) {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintln(t, "| row | side | broker CPU s per million | messages/s | p50 ms | p99 ms | anonymous MB |")
	fmt.Fprintln(t, "| --- | --- | --- | --- | --- | --- | --- |")
	pick := func(fs []figures, f func(figures) float64) float64 {
		values := make([]float64, len(fs))
		for i := range fs {
			values[i] = f(fs[i])
		}
		return median(values)
	}
	for _, r := range rows {
		for _, s := range all {
			fs := results[r.name][s.name]
			if len(fs) == 0 {
				continue
			}
			fmt.Fprintf(t, "| %s | %s | %.2f | %.0f | %.3f | %.2f | %.0f |\n", r.name, s.name,
				pick(fs, func(f figures) float64 { return f.cpuPerMillion }),
				pick(fs, func(f figures) float64 { return f.perSecond }),
				pick(fs, func(f figures) float64 { return float64(f.p50.Microseconds()) / 1000 }),
				pick(fs, func(f figures) float64 { return float64(f.p99.Microseconds()) / 1000 }),
				pick(fs, func(f figures) float64 { return f.anonMB }))
		}
	}
	_ = t.Flush()
}
