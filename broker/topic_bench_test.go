package broker

import (
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/remoting/body"
)

// BenchmarkNewTopic makes topics one by one, and 16 at a time, beside 10,000 that there are: the time until each is durable.
func BenchmarkNewTopic(b *testing.B) {
	for _, together := range []int{1, 16} {
		b.Run(fmt.Sprintf("together=%d", together), func(b *testing.B) {
			log := logrus.New()
			log.SetOutput(io.Discard)
			entry := logrus.NewEntry(log)
			config := conf.Default()
			c := clock.System{}
			table := newTopicTable(&stateFiles{fs: vfs.OS{}, dir: b.TempDir(), log: entry}, c, entry, func() *conf.Config { return config }, newThrottle(c))
			table.register = func(...*body.TopicConfig) {}
			for i := range 10_000 {
				topic := body.NewTopicConfig(fmt.Sprintf("old%05d", i))
				table.topics[topic.TopicName] = topic
			}
			b.ResetTimer()
			for n := 0; n < b.N; n += together {
				var all sync.WaitGroup
				for i := range together {
					all.Go(func() {
						if _, err := table.createIfAbsent(body.NewTopicConfig(fmt.Sprintf("new%d", n+i))); err != nil {
							b.Error(err)
						}
					})
				}
				all.Wait()
			}
		})
	}
}
