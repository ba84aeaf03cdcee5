package console

import (
	"net/http"
	"slices"
	"strings"

	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// Lane is a queue of requests.
type Lane struct {
	Name     string `json:"name"`
	Workers  int    `json:"workers"`
	Queued   int    `json:"queued"`
	Running  int    `json:"running"`
	Done     int64  `json:"done"`
	Rejected int64  `json:"rejected"`
}

// Overview is the state of the broker at one moment.
type Overview struct {
	NowMs    int64  `json:"nowMs"`
	BootMs   int64  `json:"bootMs"`
	Version  string `json:"version"`
	Protocol string `json:"protocolVersion"`
	Name     string `json:"name"`
	Cluster  string `json:"cluster"`
	BrokerID int64  `json:"brokerId"`
	Address  string `json:"address"`
	Namesrv  string `json:"namesrv"` // of this process; empty: none
	DataDir  string `json:"dataDir"`
	NotReady string `json:"notReady"` // why messages are not taken; empty: they are
	Writes   bool   `json:"writes"`   // the asker may send messages

	Topics      int   `json:"topics"`
	Groups      int   `json:"groups"`
	Connections int   `json:"connections"`
	Put         int64 `json:"put"`
	PutBytes    int64 `json:"putBytes"`
	PutFailed   int64 `json:"putFailed"`
	Got         int64 `json:"got"`

	HeldPulls    int64 `json:"heldPulls"`
	HalfMessages int64 `json:"halfMessages"`
	Timers       int64 `json:"timers"`
	TimerBehind  int64 `json:"timerBehind"`
	NextTimerMs  int64 `json:"nextTimerMs"` // 0: none is pending
	Delayed      int64 `json:"delayed"`
	DeadLetters  int64 `json:"deadLetters"`
	Warnings     int64 `json:"warnings"`

	LogMin       int64   `json:"logMin"`
	LogMax       int64   `json:"logMax"`
	FlushBehind  int64   `json:"flushBehindBytes"`
	DiskPath     string  `json:"diskPath"`
	DiskTotal    uint64  `json:"diskTotal"`
	DiskFree     uint64  `json:"diskFree"`
	DiskRatio    float64 `json:"diskRatio"`
	EarliestMs   int64   `json:"earliestMs"` // -1: no message
	FsyncCount   int64   `json:"fsyncCount"`
	FsyncMeanUs  int64   `json:"fsyncMeanUs"`
	MaxLateMs    int64   `json:"maxTimerLatenessMs"`
	MaxDelayLate int64   `json:"maxDelayLatenessMs"`

	Lanes []Lane `json:"lanes"`
}

func (c *Console) overview(r *http.Request) (Overview, error) {
	b := c.o.Broker
	st, listed, totals, server := b.Store(), b.Listed(), b.Totals(), b.Server()
	usage := st.DiskUsage()
	end := st.MaxPhysicalOffset()
	_, warnings := c.o.Warnings.newest()
	o := Overview{
		NowMs: c.o.Clock.NowMs(), BootMs: totals.BootMs, Version: c.o.Version, Protocol: remoting.VersionName(remoting.CurrentVersion),
		Name: listed.Name, Cluster: listed.Cluster, BrokerID: listed.ID, Address: listed.Address, DataDir: c.o.Config.Rocketd.DataDir,
		Writes: c.mayWrite(r), Topics: len(b.Topics()), Groups: len(b.Groups()), Connections: server.Connections,
		Put: totals.Put, PutBytes: totals.PutBytes, PutFailed: totals.PutFailed, Got: totals.Got,
		HeldPulls: b.HeldPulls() + b.PopHeld(), TimerBehind: b.Timer().Behind(), NextTimerMs: b.Timer().NextDue(), Warnings: warnings,
		LogMin: st.MinPhysicalOffset(), LogMax: end, FlushBehind: max(0, end-st.FlushedOffset()),
		DiskPath: usage.Path, DiskTotal: usage.Total, DiskFree: usage.Free, DiskRatio: usage.Ratio, EarliestMs: st.EarliestTime(),
		MaxLateMs: b.Timer().Stats().MaxLateness, MaxDelayLate: b.Schedule().Stats().MaxLateness, Lanes: []Lane{},
	}
	if err := c.ready(); err != nil {
		o.NotReady = err.Error()
	}
	if c.o.Namesrv != nil {
		o.Namesrv = c.o.Config.NamesrvAddr(int(c.o.Namesrv.Addr().Port()))
	}
	for _, n := range b.HalfMessages() {
		o.HalfMessages += n
	}
	for _, t := range b.Timer().TopicCounts() {
		o.Timers += t.Count
	}
	for _, level := range b.Schedule().Pending() {
		o.Delayed += level.Count
	}
	for _, d := range b.DeadLetters() {
		o.DeadLetters += d.Count
	}
	classes, sumUs := st.FlushTimes()
	for _, class := range classes {
		o.FsyncCount += class.Count
	}
	if o.FsyncCount > 0 {
		o.FsyncMeanUs = sumUs / o.FsyncCount
	}
	for _, l := range server.Lanes {
		o.Lanes = append(o.Lanes, Lane{l.Name, l.Workers, l.Queued, l.Running, l.Done, l.Rejected})
	}
	return o, nil
}

// mayWrite tells whether changes of this asker would be taken.
func (c *Console) mayWrite(r *http.Request) bool {
	switch c.o.Config.Rocketd.HTTPWrites {
	case "all":
		return true
	case "none":
		return false
	}
	return fromLoopback(r.RemoteAddr)
}

// Rates are messages per second, one entry a second, oldest first.
type Rates struct {
	Seconds   []int64   `json:"seconds"` // since the epoch
	Put       []float64 `json:"put"`
	Got       []float64 `json:"got"`
	Timed     []float64 `json:"timersSet"`
	Delivered []float64 `json:"timersDelivered"`
}

func (c *Console) rates(*http.Request) (Rates, error) {
	out := Rates{Seconds: []int64{}, Put: []float64{}, Got: []float64{}, Timed: []float64{}, Delivered: []float64{}}
	readings := c.o.Broker.Readings()
	for i := 1; i < len(readings); i++ {
		a, b := readings[i-1], readings[i]
		span := float64(b.Ms-a.Ms) / 1000
		if span <= 0 {
			continue // the clock went back
		}
		out.Seconds = append(out.Seconds, b.Ms/1000)
		out.Put = append(out.Put, float64(b.Put-a.Put)/span)
		out.Got = append(out.Got, float64(b.Got-a.Got)/span)
		out.Timed = append(out.Timed, float64(b.Enqueued-a.Enqueued)/span)
		out.Delivered = append(out.Delivered, float64(b.Delivered-a.Delivered)/span)
	}
	return out, nil
}

// ConfigAnswer is the effective configuration.
type ConfigAnswer struct {
	YAML string `json:"yaml"`
	// Notes are what an operator should know of it.
	Notes   []string `json:"notes"`
	Ignored []string `json:"ignored"` // keys that are set and have no effect
}

func (c *Console) config(r *http.Request) (ConfigAnswer, error) {
	current := c.o.Config
	if c.o.Broker != nil {
		current = c.o.Broker.Config()
	}
	text, err := current.YAML(r.URL.Query().Get("changed") == "true")
	return ConfigAnswer{YAML: hideSecrets(string(text)), Notes: orEmpty(current.Notes()), Ignored: orEmpty(current.Ignored())}, err
}

// hideSecrets takes the values of keys that name secrets out of YAML.
func hideSecrets(yaml string) string {
	lines := strings.Split(yaml, "\n")
	for i, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		lower := strings.ToLower(name)
		secret := slices.ContainsFunc([]string{"secret", "password", "credential", "exporterheader"}, func(s string) bool { return strings.Contains(lower, s) })
		if ok && secret && strings.Trim(value, ` "'`) != "" && !strings.HasPrefix(strings.TrimSpace(name), "#") {
			lines[i] = name + ": (hidden)"
		}
	}
	return strings.Join(lines, "\n")
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// WarningsAnswer are the newest warnings of the log, newest first.
type WarningsAnswer struct {
	Total    int64     `json:"total"` // since the start
	Warnings []Warning `json:"warnings"`
}

func (c *Console) warnings(*http.Request) (WarningsAnswer, error) {
	list, total := c.o.Warnings.newest()
	return WarningsAnswer{Total: total, Warnings: list}, nil
}

func (c *Console) brokers(*http.Request) (BrokersAnswer, error) {
	out := BrokersAnswer{Brokers: []Registered{}}
	if c.o.Namesrv == nil {
		return out, nil
	}
	info := c.o.Namesrv.ClusterInfo()
	for _, data := range info.Brokers {
		out.Brokers = append(out.Brokers, registered(&data))
	}
	slices.SortFunc(out.Brokers, func(a, b Registered) int { return strings.Compare(a.Name, b.Name) })
	out.Topics = len(c.o.Namesrv.Topics())
	return out, nil
}

func registered(d *body.BrokerData) Registered {
	return Registered{Name: d.BrokerName, Cluster: d.Cluster, Addrs: d.BrokerAddrs}
}
