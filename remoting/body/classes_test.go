package body

import (
	"bufio"
	"os"
	"strings"
	"testing"
	"time"
)

// codecOf reads a class's text and writes it again, with bare integer keys.
type codecOf func(text []byte) ([]byte, error)

func codec[T any, P bodyOf[T]](text []byte) ([]byte, error) {
	v, err := Decode[T, P](text)
	if err != nil {
		return nil, err
	}
	return EncodeBare(P(v)), nil
}

// classes are the reference's classes and the bodies that stand for them.
var classes = map[string]codecOf{
	"AclInfo":                               codec[ACLInfo],
	"BatchAckMessageRequestBody":            codec[BatchAckRequest],
	"BrokerMemberGroup":                     codec[BrokerMemberGroup],
	"BrokerStatsData":                       codec[BrokerStatsData],
	"CheckClientRequestBody":                codec[CheckClientConfig],
	"ClusterInfo":                           codec[ClusterInfo],
	"ConsumeMessageDirectlyResult":          codec[ConsumeDirectlyResult],
	"ConsumeStats":                          codec[ConsumeStats],
	"ConsumeStatsList":                      codec[ConsumeStatsList],
	"ConsumerConnection":                    codec[ConsumerConnection],
	"ConsumerFilterData":                    codec[ConsumerFilterData],
	"ConsumerOffsetSerializeWrapper":        codec[ConsumerOffsetTable],
	"ConsumerRunningInfo":                   codec[ConsumerRunningInfo],
	"CreateTopicListRequestBody":            codec[TopicConfigList],
	"CustomizedRetryPolicy":                 codec[CustomizedRetryPolicy],
	"DataVersion":                           codec[DataVersion],
	"DelayOffsetSerializeWrapper":           codec[DelayOffsetTable],
	"ElectMasterResponseBody":               codec[ElectMasterReply],
	"EpochEntry":                            codec[EpochEntry],
	"EpochEntryCache":                       codec[EpochEntryCache],
	"ExponentialRetryPolicy":                codec[ExponentialRetryPolicy],
	"GetBrokerMemberGroupResponseBody":      codec[BrokerMemberGroupReply],
	"GetConsumerListByGroupResponseBody":    codec[ConsumerList],
	"GetConsumerStatusBody":                 codec[ConsumerStatus],
	"GroupForbidden":                        codec[GroupForbidden],
	"GroupList":                             codec[GroupList],
	"GroupRetryPolicy":                      codec[GroupRetryPolicy],
	"HARuntimeInfo":                         codec[HAStatus],
	"HeartbeatData":                         codec[HeartbeatData],
	"KVConfigSerializeWrapper":              codec[KVConfigTable],
	"KVTable":                               codec[KVTable],
	"LockBatchRequestBody":                  codec[LockBatchRequest],
	"LockBatchResponseBody":                 codec[LockBatchReply],
	"LogicQueueMappingItem":                 codec[LogicQueueMappingItem],
	"MessageQueue":                          codec[MessageQueue],
	"MessageRequestModeSerializeWrapper":    codec[MessageRequestModeTable],
	"OrderInfo":                             codec[ConsumerOrder],
	"ProducerConnection":                    codec[ProducerConnection],
	"ProducerTableInfo":                     codec[ProducerTable],
	"QueryAssignmentRequestBody":            codec[QueryAssignment],
	"QueryAssignmentResponseBody":           codec[QueryAssignmentReply],
	"QueryConsumeQueueResponseBody":         codec[QueryConsumeQueueReply],
	"QueryConsumeTimeSpanBody":              codec[ConsumeTimeSpan],
	"QueryCorrectionOffsetBody":             codec[CorrectionOffsets],
	"QuerySubscriptionResponseBody":         codec[QuerySubscriptionReply],
	"RegisterBrokerBody":                    codec[RegisterBrokerBody],
	"ResetOffsetBody":                       codec[ResetOffset],
	"ResetOffsetBodyForC":                   codec[ResetOffsetForC],
	"SetMessageRequestModeRequestBody":      codec[SetMessageRequestMode],
	"SimpleSubscriptionData":                codec[SimpleSubscriptionData],
	"SubscriptionData":                      codec[SubscriptionData],
	"SubscriptionGroupConfig":               codec[SubscriptionGroupConfig],
	"SubscriptionGroupList":                 codec[SubscriptionGroupList],
	"SubscriptionGroupWrapper":              codec[SubscriptionGroupTable],
	"SyncStateSet":                          codec[SyncStateSet],
	"TimerMetricsSerializeWrapper":          codec[TimerMetrics],
	"TopicConfig":                           codec[TopicConfig],
	"TopicConfigAndMappingSerializeWrapper": codec[TopicConfigAndMappingTable],
	"TopicConfigAndQueueMapping":            codec[TopicConfigAndQueueMapping],
	"TopicConfigSerializeWrapper":           codec[TopicConfigTable],
	"TopicList":                             codec[TopicList],
	"TopicQueueMappingDetail":               codec[TopicQueueMappingDetail],
	"TopicQueueMappingInfo":                 codec[TopicQueueMappingInfo],
	"TopicQueueMappingSerializeWrapper":     codec[TopicQueueMappingTable],
	"TopicRouteData":                        codec[TopicRouteData],
	"TopicStatsTable":                       codec[TopicStatsTable],
	"TransactionMetricsSerializeWrapper":    codec[TransactionMetrics],
	"UnlockBatchRequestBody":                codec[LockBatchRequest],
	"UserInfo":                              codec[UserInfo],
}

// writesEmpty are the classes whose collections are null by default in the reference, which never sends them so, and empty here.
var writesEmpty = map[string]bool{
	"BatchAckMessageRequestBody": true, "BrokerStatsData": true, "ClusterInfo": true, "ConsumerOffsetSerializeWrapper": true,
	"CreateTopicListRequestBody": true, "DelayOffsetSerializeWrapper": true, "ElectMasterResponseBody": true,
	"GetConsumerListByGroupResponseBody": true, "GroupForbidden": true, "KVConfigSerializeWrapper": true, "MessageQueue": true,
	"QueryConsumeQueueResponseBody": true, "ResetOffsetBodyForC": true, "SubscriptionGroupList": true,
}

type classText struct{ class, kind, text string }

// classTexts reads testdata/classes.txt.
func classTexts(t testing.TB) []classText {
	t.Helper()
	f, err := os.Open("testdata/classes.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // read only
	var texts []classText
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		fields := strings.SplitN(lines.Text(), " ", 3)
		texts = append(texts, classText{fields[0], fields[1], fields[2]})
	}
	if lines.Err() != nil || len(texts) < 100 {
		t.Fatalf("%d texts, error %v", len(texts), lines.Err())
	}
	return texts
}

func TestTextsOfTheReferencesClassesReadAndWrittenByteForByte(t *testing.T) {
	local := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = local })
	for _, text := range classTexts(t) {
		t.Run(text.class+"/"+text.kind, func(t *testing.T) {
			reencode := classes[text.class]
			if reencode == nil {
				t.Fatal("no body for this class")
			}
			got, err := reencode([]byte(text.text))
			if err != nil {
				t.Fatal(err)
			}
			if text.kind == "default" && writesEmpty[text.class] {
				return
			}
			if string(got) != text.text {
				t.Errorf("\n got %s\nwant %s", got, text.text)
			}
		})
	}
}

func TestMissingMembersKeepTheDefaultsOfTheReferencesClass(t *testing.T) {
	for _, text := range classTexts(t) {
		if text.kind != "default" || writesEmpty[text.class] {
			continue
		}
		for _, input := range []string{"{}", "", "null", `{"unknown":[{"a":null}]}`} {
			got, err := classes[text.class]([]byte(input))
			if err != nil {
				t.Errorf("%s from %q: %v", text.class, input, err)
			} else if string(got) != text.text {
				t.Errorf("%s from %q\n got %s\nwant %s", text.class, input, got, text.text)
			}
		}
	}
}
