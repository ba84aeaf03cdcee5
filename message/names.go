package message

import (
	"fmt"
	"strings"
	"unicode"
)

// Topics with a role of their own (TopicValidator).
const (
	TopicAutoCreate              = "TBW102" // its settings are the pattern of topics created by a send
	TopicSchedule                = "SCHEDULE_TOPIC_XXXX"
	TopicBenchmark               = "BenchmarkTest"
	TopicTransHalf               = "RMQ_SYS_TRANS_HALF_TOPIC"
	TopicTransOpHalf             = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
	TopicRocksDBTransHalf        = "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC"
	TopicRocksDBTransOpHalf      = "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC"
	TopicTrace                   = "RMQ_SYS_TRACE_TOPIC"
	TopicTransCheckMaxTime       = "TRANS_CHECK_MAX_TIME_TOPIC"
	TopicSelfTest                = "SELF_TEST_TOPIC"
	TopicOffsetMovedEvent        = "OFFSET_MOVED_EVENT"
	TopicCheckpoint              = "CHECKPOINT_TOPIC"
	TopicTimer                   = "rmq_sys_wheel_timer"
	SystemTopicPrefix            = "rmq_sys_"
	SyncMemberTopicPrefix        = SystemTopicPrefix + "SYNC_BROKER_MEMBER_" // + broker name
	ReviveTopicPrefix            = SystemTopicPrefix + "REVIVE_LOG_"         // + cluster name
	ReplyTopicSuffix             = "_REPLY_TOPIC"                            // behind the cluster name
	RetryPrefix                  = "%RETRY%"
	DLQPrefix                    = "%DLQ%"
	LMQPrefix                    = "%LMQ%"
	LogicalBrokerPrefix          = "__syslo__" // broker name of a static topic
	retryTopicSeparatorV1   byte = '_'
	retryTopicSeparatorV2   byte = '+'
)

// Groups with a role of their own (MixAll, PopAckConstants).
const (
	GroupDefaultProducer      = "DEFAULT_PRODUCER"
	GroupDefaultConsumer      = "DEFAULT_CONSUMER"
	GroupTools                = "TOOLS_CONSUMER"
	GroupSchedule             = "SCHEDULE_CONSUMER"
	GroupFilterServer         = "FILTERSRV_CONSUMER"
	GroupMonitor              = "__MONITOR_CONSUMER"
	GroupInnerProducer        = "CLIENT_INNER_PRODUCER"
	GroupSelfTestProducer     = "SELF_TEST_P_GROUP"
	GroupSelfTestConsumer     = "SELF_TEST_C_GROUP"
	GroupONSHTTPProxy         = "CID_ONS-HTTP-PROXY"
	GroupONSAPIPermission     = "CID_ONSAPI_PERMISSION"
	GroupONSAPIOwner          = "CID_ONSAPI_OWNER"
	GroupONSAPIPull           = "CID_ONSAPI_PULL"
	GroupTransaction          = "CID_RMQ_SYS_TRANS"
	GroupRevive               = "CID_RMQ_SYS_REVIVE_GROUP"
	SystemGroupPrefix         = "CID_RMQ_SYS_"
	maxTopicLength            = 127
	maxRetryTopicLength       = 255
	maxGroupLength            = 120
	allowedNamePattern        = "^[%|a-zA-Z0-9_-]+$"
	quotedNameLimit       int = 1024 // units of a bad name repeated in a remark
)

// NameError says why a topic or group name is refused. Its text is the reference's remark.
type NameError struct{ remark string }

// Error returns the remark.
func (e *NameError) Error() string { return e.remark }

// ValidateTopic checks a topic name that came from outside as TopicValidator.validateTopic does. The error is a *NameError.
func ValidateTopic(topic string) error {
	if blank(topic) {
		return &NameError{"The specified topic is blank."}
	}
	if !legalName(topic) {
		return &NameError{fmt.Sprintf("The specified topic: %s, contains illegal characters, allowing only %s", clip(topic), allowedNamePattern)}
	}
	if IsRetryTopic(topic) || IsDLQTopic(topic) {
		if len(topic) > maxRetryTopicLength {
			return &NameError{fmt.Sprintf("The specified topic is DLQ or Retry topic: %s, and it's longer than topic max length: %d", clip(topic), maxRetryTopicLength)}
		}
		return nil
	}
	if len(topic) > maxTopicLength {
		return &NameError{fmt.Sprintf("The specified topic: %s, is longer than topic max length: %d", clip(topic), maxTopicLength)}
	}
	return nil
}

// ValidateGroup checks a group name as TopicValidator.validateGroup does. The error is a *NameError.
func ValidateGroup(group string) error {
	switch {
	case blank(group):
		return &NameError{"The specified group is blank."}
	case !legalName(group):
		return &NameError{fmt.Sprintf("The specified group: %s, contains illegal characters, allowing only %s", clip(group), allowedNamePattern)}
	case len(group) > maxGroupLength:
		return &NameError{fmt.Sprintf("The specified group: %s, is longer than group max length: %d", clip(group), maxGroupLength)}
	}
	return nil
}

// IsSystemTopic tells whether topic is one of the fixed system topics or has their prefix. The broker knows some more
// (its own and its cluster's name, the reply topic).
func IsSystemTopic(topic string) bool {
	switch topic {
	case TopicAutoCreate, TopicSchedule, TopicBenchmark, TopicTransHalf, TopicTrace, TopicTransOpHalf, TopicTransCheckMaxTime,
		TopicSelfTest, TopicOffsetMovedEvent, TopicCheckpoint, TopicRocksDBTransHalf, TopicRocksDBTransOpHalf:
		return true
	}
	return strings.HasPrefix(topic, SystemTopicPrefix)
}

// SystemTopics lists the fixed system topics.
func SystemTopics() []string {
	return []string{
		TopicAutoCreate, TopicSchedule, TopicBenchmark, TopicTransHalf, TopicTrace, TopicTransOpHalf, TopicTransCheckMaxTime,
		TopicSelfTest, TopicOffsetMovedEvent, TopicCheckpoint, TopicRocksDBTransHalf, TopicRocksDBTransOpHalf,
	}
}

// IsNotAllowedSendTopic tells whether a client may not send to topic (TopicValidator.isNotAllowedSendTopic).
func IsNotAllowedSendTopic(topic string) bool {
	switch topic {
	case TopicSchedule, TopicTransHalf, TopicTransOpHalf, TopicTransCheckMaxTime, TopicSelfTest, TopicOffsetMovedEvent,
		TopicRocksDBTransHalf, TopicRocksDBTransOpHalf:
		return true
	}
	return false
}

// IsPredefinedGroup tells whether group is one of the fixed groups (MixAll.isPredefinedGroup).
func IsPredefinedGroup(group string) bool {
	switch group {
	case GroupDefaultConsumer, GroupDefaultProducer, GroupTools, GroupSchedule, GroupFilterServer, GroupMonitor, GroupInnerProducer,
		GroupSelfTestProducer, GroupSelfTestConsumer, GroupONSHTTPProxy, GroupONSAPIPermission, GroupONSAPIOwner, GroupONSAPIPull,
		GroupTransaction:
		return true
	}
	return false
}

// IsSystemGroup tells whether group has the prefix of the broker's own consumers.
func IsSystemGroup(group string) bool { return strings.HasPrefix(group, SystemGroupPrefix) }

// IsRetryTopic tells whether topic is a %RETRY% topic.
func IsRetryTopic(topic string) bool { return strings.HasPrefix(topic, RetryPrefix) }

// IsDLQTopic tells whether topic is a %DLQ% topic.
func IsDLQTopic(topic string) bool { return strings.HasPrefix(topic, DLQPrefix) }

// IsLMQ tells whether name is a light queue's or its group's.
func IsLMQ(name string) bool { return strings.HasPrefix(name, LMQPrefix) }

// AllowsLMQ tells whether messages of topic are dispatched to light queues (MixAll.topicAllowsLMQ).
func AllowsLMQ(topic string) bool {
	return !IsRetryTopic(topic) && !IsDLQTopic(topic) && !strings.HasPrefix(topic, SystemTopicPrefix) && topic != TopicSchedule
}

// RetryTopic is where group's messages come back to.
func RetryTopic(group string) string { return RetryPrefix + group }

// DLQTopic is where group's messages end when all retries failed.
func DLQTopic(group string) string { return DLQPrefix + group }

// ReplyTopic is where answers of request-reply go.
func ReplyTopic(cluster string) string { return cluster + ReplyTopicSuffix }

// ReviveTopic is where pop keeps its checkpoints and acks.
func ReviveTopic(cluster string) string { return ReviveTopicPrefix + cluster }

// PopRetryTopic is where pop brings back group's messages of topic: with '_' before the topic, or '+' (version 2), which
// no name from outside can hold.
func PopRetryTopic(topic, group string, v2 bool) string {
	separator := retryTopicSeparatorV1
	if v2 {
		separator = retryTopicSeparatorV2
	}
	return RetryPrefix + group + string(separator) + topic
}

// IsPopRetryTopicV2 tells whether topic is of the second form of PopRetryTopic.
func IsPopRetryTopicV2(topic string) bool {
	return IsRetryTopic(topic) && strings.IndexByte(topic, retryTopicSeparatorV2) >= 0
}

// PopRetryOrigin undoes PopRetryTopic for group, in either form. Another topic is returned as it is.
func PopRetryOrigin(topic, group string) string {
	rest, ok := strings.CutPrefix(topic, RetryPrefix)
	if !ok {
		return topic
	}
	rest, ok = strings.CutPrefix(rest, group)
	if !ok || rest == "" || rest[0] != retryTopicSeparatorV1 && rest[0] != retryTopicSeparatorV2 {
		return topic
	}
	return rest[1:]
}

// RetryGroup returns the group of a %RETRY% topic: what stands before '+' or else all of it, as KeyBuilder.parseGroup does
// (so for a first-form pop retry topic the original topic is part of it).
func RetryGroup(topic string) string {
	group := strings.TrimPrefix(topic, RetryPrefix)
	if name, origin, ok := strings.Cut(group, string(retryTopicSeparatorV2)); ok && origin != "" && strings.IndexByte(origin, retryTopicSeparatorV2) < 0 {
		return name
	}
	return group
}

func legalName(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '%', c == '|', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// blank is UtilAll.isBlank: only white space as Java's Character.isWhitespace sees it.
func blank(s string) bool {
	for _, r := range s {
		if !javaWhitespace(r) {
			return false
		}
	}
	return true
}

func javaWhitespace(r rune) bool {
	switch {
	case r >= 0x09 && r <= 0x0D, r >= 0x1C && r <= 0x1F:
		return true
	case r == 0xA0, r == 0x2007, r == 0x202F:
		return false
	}
	return unicode.In(r, unicode.Zs, unicode.Zl, unicode.Zp)
}
