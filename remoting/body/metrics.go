package body

// Metric is a count of pending messages and the time of its last change in ms.
type Metric struct {
	Count     int64
	Timestamp int64
}

func (t *Metric) members(m *members) {
	m.i64("count", &t.Count)
	m.i64("timeStamp", &t.Timestamp)
}

// TimerMetrics is the file timermetrics and the reply of GET_TIMER_METRICS (TimerMetricsSerializeWrapper).
type TimerMetrics struct {
	TimingCount map[string]Metric // by topic
	DataVersion DataVersion
}

func (t *TimerMetrics) members(m *members) {
	if m.at("dataVersion") {
		object(m.x, &t.DataVersion)
	}
	if m.at("timingCount") {
		mapOf(m.x, &t.TimingCount, stringKey{}, object[Metric])
	}
}

// TransactionMetrics is the file transactionMetrics (TransactionMetricsSerializeWrapper).
type TransactionMetrics struct {
	TransactionCount map[string]Metric // by topic
	DataVersion      DataVersion
}

func (t *TransactionMetrics) members(m *members) {
	if m.at("dataVersion") {
		object(m.x, &t.DataVersion)
	}
	if m.at("transactionCount") {
		mapOf(m.x, &t.TransactionCount, stringKey{}, object[Metric])
	}
}
