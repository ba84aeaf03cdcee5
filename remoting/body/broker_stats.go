package body

// BrokerStatsData is the reply of VIEW_BROKER_STATS_DATA.
type BrokerStatsData struct {
	StatsMinute BrokerStatsItem
	StatsHour   BrokerStatsItem
	StatsDay    BrokerStatsItem
}

func (b *BrokerStatsData) members(m *members) {
	if m.at("statsDay") {
		object(m.x, &b.StatsDay)
	}
	if m.at("statsHour") {
		object(m.x, &b.StatsHour)
	}
	if m.at("statsMinute") {
		object(m.x, &b.StatsMinute)
	}
}

// BrokerStatsItem is a statistic over one span: its sum, its rate per second, and the average of one event.
type BrokerStatsItem struct {
	Sum   int64
	Tps   float64
	Avgpt float64
}

func (b *BrokerStatsItem) members(m *members) {
	m.double("avgpt", &b.Avgpt)
	m.i64("sum", &b.Sum)
	m.double("tps", &b.Tps)
}
