package remoting

import "strconv"

// Ordinals of org.apache.rocketmq.common.MQVersion.Version that decide something. A request's Version is compared
// with them; an ordinal beyond the table counts as newer than all.
const (
	V307Snapshot int32 = 28  // clients from here on take RESET_CONSUMER_CLIENT_OFFSET
	V3011        int32 = 37  // brokers from here on register with a RegisterBrokerBody
	V318Snapshot int32 = 62  // clients from here on answer GET_CONSUMER_RUNNING_INFO
	V349         int32 = 121 // clients from here on send maxReconsumeTimes
	V410         int32 = 233
	V493         int32 = 399 // clients up to here add _UNIQUE_KEY_QUERY after signing
	V494         int32 = 401 // clients from here on read standard JSON in routes
	V500         int32 = 413
	V531         int32 = 475 // clients after it understand GO_AWAY
	V550         int32 = 513
)

// CurrentVersion is the version this package writes into every command it sends.
const CurrentVersion = V550

// VersionName is the reference's name of a version ordinal, as "V5_5_0". Ordinals before 4.0.0 are all "V3";
// ordinals beyond the table are HIGHER_VERSION.
func VersionName(ordinal int32) string {
	const (
		firstSnapshot = 212 // V4_0_0_SNAPSHOT
		higher        = 612
		lineSlots     = 20 // ten patch versions of a minor line, each as snapshot and as release
	)
	switch {
	case ordinal < firstSnapshot:
		return "V3"
	case ordinal >= higher:
		return "HIGHER_VERSION"
	}
	n := int(ordinal - firstSnapshot)
	line, patch := n/lineSlots, n%lineSlots/2
	name := "V" + strconv.Itoa(4+line/10) + "_" + strconv.Itoa(line%10) + "_" + strconv.Itoa(patch)
	if n%2 == 0 {
		name += "_SNAPSHOT"
	}
	return name
}
