package broker

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rocketd/rocketd/remoting/body"
)

// TestKeptTextIsTheFile lets a table of topics and one of groups change, and compares what is kept with all of it written anew.
func TestKeptTextIsTheFile(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var topics keptText[*body.TopicConfig]
	var groups keptText[*body.SubscriptionGroupConfig]
	topicTable := body.TopicConfigTable{Topics: map[string]*body.TopicConfig{}}
	groupTable := body.SubscriptionGroupTable{Groups: map[string]*body.SubscriptionGroupConfig{}, Forbidden: map[string]map[string]int32{"G": {"T": 4}}}
	for step := range 300 {
		topics.follow(topicTable.Topics)
		got := topics.file(body.EncodePretty(&body.TopicConfigTable{DataVersion: topicTable.DataVersion}))
		if want := body.EncodePretty(&topicTable); string(got) != string(want) {
			t.Fatalf("step %d: topics are written as\n%s\nwant\n%s", step, got, want)
		}
		groups.follow(groupTable.Groups)
		got = groups.file(body.EncodePretty(&body.SubscriptionGroupTable{Forbidden: groupTable.Forbidden, DataVersion: groupTable.DataVersion}))
		if want := body.EncodePretty(&groupTable); string(got) != string(want) {
			t.Fatalf("step %d: groups are written as\n%s\nwant\n%s", step, got, want)
		}
		for range random.IntN(4) {
			name := fmt.Sprintf("n%d\"\u00e9", random.IntN(8))
			switch topic, group := body.NewTopicConfig(name), body.NewSubscriptionGroupConfig(name); random.IntN(3) {
			case 0:
				delete(topicTable.Topics, name)
				delete(groupTable.Groups, name)
			case 1:
				topic.Attributes = map[string]string{"b": "2", "a": "1"}
				group.SubscriptionDataSet = []body.SimpleSubscriptionData{{Topic: "T", Expression: "*"}}
				fallthrough
			default:
				topic.WriteQueueNums, group.RetryMaxTimes = random.Int32N(9), random.Int32N(9)
				topicTable.Topics[name], groupTable.Groups[name] = topic, group
			}
			topicTable.DataVersion.NextVersion(int64(step), 0)
		}
	}
}
