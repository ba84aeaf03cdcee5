package standalone

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/vfs"
)

// counted is the number of messages in queue 0 of a topic.
func counted(s *Standalone, topic string) int64 {
	q := s.Broker().Store().Queue(topic, 0)
	if q == nil {
		return 0
	}
	return q.MaxOffset()
}

// Messages of the configuration are sent once for each data directory; a new one is sent at the next start.
func TestMessagesOfTheConfiguration(t *testing.T) {
	fs, queue := vfs.NewMem(), int32(0)
	list := []conf.MessageSpec{
		{Topic: "orders", Body: "1", Tags: "a", Keys: "k1 k2", Queue: &queue, Properties: map[string]string{"color": "red"}},
		{Topic: "orders", Body: "same", Queue: &queue},
		{Topic: "orders", Body: "same", Queue: &queue},
		{Topic: "orders", Body: "later", Queue: &queue, Delay: "1h"},
	}
	begin := func() *Standalone {
		text, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		return start(t, Options{Config: load(t, "dataDir=/seeded", "topics=orders:1", "messages="+string(text)), FS: fs})
	}
	for _, c := range []struct {
		what         string
		more         []conf.MessageSpec
		want, timers int64
	}{
		{"first start", nil, 3, 1},
		{"again", nil, 3, 1},
		{"one more", []conf.MessageSpec{{Topic: "orders", Body: "new", Queue: &queue}}, 4, 1},
	} {
		list = append(list, c.more...)
		s := begin()
		if got, timers := counted(s, "orders"), counted(s, "rmq_sys_wheel_timer"); got != c.want || timers != c.timers {
			t.Errorf("%s: %d messages and %d timers, want %d and %d", c.what, got, timers, c.want, c.timers)
		}
		closeIt(t, s)
	}
}

// A message that cannot be sent ends the start and says which.
func TestMessageForNoTopic(t *testing.T) {
	_, err := Start(t.Context(), Options{Config: load(t, "autoCreateTopicEnable=false", "clusterTopicEnable=false", "brokerTopicEnable=false", `messages=[{"topic":"nope","body":"x"}]`)})
	if err == nil || !strings.Contains(err.Error(), "message 1 of the configuration, for the topic nope, cannot be sent") {
		t.Errorf("%v", err)
	}
}
