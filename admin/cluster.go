package admin

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/view"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
)

// Brokers lists what the name server knows, by cluster and name.
func (a *Admin) Brokers(ctx context.Context) ([]view.Registered, error) {
	info, err := a.clusterInfo(ctx)
	if err != nil {
		return nil, err
	}
	list := []view.Registered{}
	for _, d := range info.Brokers {
		list = append(list, view.Registered{Name: d.BrokerName, Cluster: d.Cluster, Addrs: d.BrokerAddrs})
	}
	slices.SortFunc(list, func(x, y view.Registered) int {
		return cmp.Or(strings.Compare(x.Cluster, y.Cluster), strings.Compare(x.Name, y.Name))
	})
	return list, nil
}

// TopicNames lists the topics that the name server knows, sorted.
func (a *Admin) TopicNames(ctx context.Context) ([]string, error) {
	resp, err := a.ns(ctx, remoting.GetAllTopicListFromNameserver, nil, nil)
	if err != nil {
		return nil, err
	}
	list, err := decode[body.TopicList](resp)
	if err != nil {
		return nil, err
	}
	slices.Sort(list.Topics)
	return list.Topics, nil
}

// BrokerState is what a master says of itself.
type BrokerState struct {
	Name      string  `json:"name"`
	Cluster   string  `json:"cluster"`
	Address   string  `json:"address"`
	Version   string  `json:"protocolVersion"`
	BootMs    int64   `json:"bootMs"`
	PutTps    float64 `json:"putTps"` // messages a second, mean of the last ten seconds
	GetTps    float64 `json:"getTps"`
	Put       int64   `json:"put"` // since the start
	Got       int64   `json:"got"`
	Timers    int64   `json:"timers"`    // that wait; -1: not told
	DiskRatio float64 `json:"diskRatio"` // share of the disk that is used; -1: not told
	// Runtime is everything the broker told, as it told it.
	Runtime map[string]string `json:"runtime"`
}

// BrokerStates asks each master for its state.
func (a *Admin) BrokerStates(ctx context.Context) ([]BrokerState, error) {
	masters, err := a.masters(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]BrokerState, len(masters))
	return list, each(ctx, masters, func(ctx context.Context, i int, s server) error {
		resp, err := a.call(ctx, s, remoting.GetBrokerRuntimeInfo, nil, nil)
		if err != nil {
			return err
		}
		table, err := decode[body.KVTable](resp)
		if err != nil {
			return err
		}
		t := table.Table
		list[i] = BrokerState{
			Name: s.broker, Cluster: s.cluster, Address: s.addr, Version: cmp.Or(t["brokerVersionDesc"], remoting.VersionName(resp.Version)),
			BootMs: whole(t["bootTimestamp"], 0), PutTps: first(t["putTps"]), GetTps: first(t["getTransferredTps"]),
			Put: whole(t["putMessageTimesTotal"], 0), Got: whole(t["getMessageTransferredMsgCount"], 0), Timers: timers(t), DiskRatio: diskRatio(t), Runtime: t,
		}
		return nil
	})
}

func timers(t map[string]string) int64 {
	text, ok := t["timerCongestNum"]
	if !ok {
		return -1
	}
	return whole(text, -1)
}

func diskRatio(t map[string]string) float64 {
	if v, err := strconv.ParseFloat(t["commitLogDiskRatio"], 64); err == nil {
		return v
	}
	return -1
}

func whole(text string, def int64) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return def
	}
	return n
}

// first is the first of several numbers: rates are told for 10 s, 1 min and 10 min.
func first(text string) float64 {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return 0
	}
	v, err := strconv.ParseFloat(fields[0], 64)
	if err != nil {
		return 0
	}
	return v
}

// ServerConfig is the configuration of a running server.
type ServerConfig struct {
	Server string            `json:"server"` // broker name, or HOST:PORT of a name server
	Values map[string]string `json:"values"`
}

// Config reads the configuration of the brokers, or of the name servers.
func (a *Admin) Config(ctx context.Context, ofNamesrv bool) ([]ServerConfig, error) {
	servers, code, err := a.configured(ctx, ofNamesrv)
	if err != nil {
		return nil, err
	}
	list := make([]ServerConfig, len(servers))
	return list, each(ctx, servers, func(ctx context.Context, i int, s server) error {
		resp, err := a.call(ctx, s, code, nil, nil)
		if err != nil {
			return err
		}
		list[i] = ServerConfig{Server: cmp.Or(s.broker, s.addr), Values: map[string]string{}}
		entries, err := conf.ParseProperties(resp.Body)
		for _, p := range entries {
			list[i].Values[p.Key] = p.Value
		}
		return err
	})
}

func (a *Admin) configured(ctx context.Context, ofNamesrv bool) ([]server, int32, error) {
	if !ofNamesrv {
		masters, err := a.masters(ctx)
		return masters, remoting.GetBrokerConfig, err
	}
	var list []server
	for _, addr := range a.o.Namesrv {
		list = append(list, server{addr: addr})
	}
	return list, remoting.GetNamesrvConfig, nil
}

// SetConfig changes keys of the running brokers, or name servers. A key that one of them does not know is refused before anything is changed:
// Apache's servers would say yes and do nothing.
func (a *Admin) SetConfig(ctx context.Context, ofNamesrv bool, values map[string]string) error {
	servers, _, err := a.configured(ctx, ofNamesrv)
	if err != nil {
		return err
	}
	current, err := a.Config(ctx, ofNamesrv)
	if err != nil {
		return err
	}
	var text []byte
	for name, value := range values {
		for _, c := range current {
			if _, known := c.Values[name]; !known {
				return &NotFound{What: "key", Name: name, Hint: "rocketd config get lists the keys of " + c.Server}
			}
		}
		text = conf.AppendProperty(text, name, value)
	}
	code := remoting.UpdateBrokerConfig
	if ofNamesrv {
		code = remoting.UpdateNamesrvConfig
	}
	return each(ctx, servers, func(ctx context.Context, _ int, s server) error {
		_, err := a.call(ctx, s, code, nil, text)
		return err
	})
}

// Stat is one of the broker's counters.
type Stat struct {
	Broker string  `json:"broker"`
	Name   string  `json:"name"`
	Key    string  `json:"key"`
	Minute float64 `json:"minuteTps"` // events a second
	Hour   float64 `json:"hourTps"`
	Day    float64 `json:"dayTps"`
	Today  int64   `json:"daySum"`
}

// TopicStats are the rates of a topic and, for a group that is not empty, of the group in it. Counters that do not exist are left out.
func (a *Admin) TopicStats(ctx context.Context, topic, group string) ([]Stat, error) {
	masters, err := a.masters(ctx)
	if err != nil {
		return nil, err
	}
	wanted := []Stat{{Name: "TOPIC_PUT_NUMS", Key: topic}, {Name: "TOPIC_PUT_SIZE", Key: topic}}
	if group != "" {
		for _, name := range []string{"GROUP_GET_NUMS", "GROUP_GET_SIZE", "SNDBCK_PUT_NUMS"} {
			wanted = append(wanted, Stat{Name: name, Key: topic + "@" + group})
		}
	}
	var all []Stat
	for _, s := range masters {
		for _, w := range wanted {
			resp, err := a.call(ctx, s, remoting.ViewBrokerStatsData, &remoting.ViewBrokerStatsDataRequestHeader{StatsName: w.Name, StatsKey: w.Key}, nil, remoting.SystemError)
			if err != nil {
				return nil, err
			}
			if resp.Code != remoting.Success {
				continue // the counter does not exist: nothing has been counted yet
			}
			d, err := decode[body.BrokerStatsData](resp)
			if err != nil {
				return nil, err
			}
			w.Broker, w.Minute, w.Hour, w.Day, w.Today = s.broker, d.StatsMinute.Tps, d.StatsHour.Tps, d.StatsDay.Tps, d.StatsDay.Sum
			all = append(all, w)
		}
	}
	return all, nil
}
