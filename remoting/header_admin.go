package remoting

// CheckRocksDBCQWriteProgressRequestHeader is the reference's header class CheckRocksdbCqWriteProgressRequestHeader.
type CheckRocksDBCQWriteProgressRequestHeader struct {
	Topic          string
	CheckStoreTime int64
}

func (h *CheckRocksDBCQWriteProgressRequestHeader) fields(f *fieldSet) {
	f.str("topic", &h.Topic, required)
	f.i64("checkStoreTime", &h.CheckStoreTime, primitive)
}

// ExportRocksDBConfigToJSONRequestHeader is the reference's header class ExportRocksDBConfigToJsonRequestHeader.
type ExportRocksDBConfigToJSONRequestHeader struct {
	ConfigType string
}

func (h *ExportRocksDBConfigToJSONRequestHeader) fields(f *fieldSet) {
	f.str("configType", &h.ConfigType, required)
}

// GetBrokerConfigResponseHeader is the reference's header class GetBrokerConfigResponseHeader.
type GetBrokerConfigResponseHeader struct {
	Version string
}

func (h *GetBrokerConfigResponseHeader) fields(f *fieldSet) {
	f.str("version", &h.Version, required)
}

// StatisticsMessagesRequestHeader is the reference's header class StatisticsMessagesRequestHeader.
type StatisticsMessagesRequestHeader struct {
	ConsumerGroup string
	Topic         string
	QueueID       int32
	FromTime      int64
	ToTime        int64
}

func (h *StatisticsMessagesRequestHeader) fields(f *fieldSet) {
	f.str("consumerGroup", &h.ConsumerGroup, required)
	f.str("topic", &h.Topic, required)
	f.i32("queueId", &h.QueueID, required)
	f.i64("fromTime", &h.FromTime, primitive)
	f.i64("toTime", &h.ToTime, primitive)
}

// ViewBrokerStatsDataRequestHeader is the reference's header class ViewBrokerStatsDataRequestHeader.
type ViewBrokerStatsDataRequestHeader struct {
	StatsName string
	StatsKey  string
}

func (h *ViewBrokerStatsDataRequestHeader) fields(f *fieldSet) {
	f.str("statsName", &h.StatsName, required)
	f.str("statsKey", &h.StatsKey, required)
}
