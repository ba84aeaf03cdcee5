package broker

import (
	"strconv"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
)

// answerParts are what the configuration puts into each send, made once for each configuration.
type answerParts struct {
	// suffix are the pairs that each message gets: region, trace switch, cluster.
	suffix message.Properties
	// ext are the fields that each answer to a send carries, also an error (SendMessageProcessor#preSend).
	ext []remoting.ExtField
}

func newAnswerParts(c *conf.Config) *answerParts {
	region, trace := c.Broker.RegionID, strconv.FormatBool(c.Broker.TraceOn)
	var suffix message.Properties
	suffix = suffix.Append(message.KeyMsgRegion, region)
	suffix = suffix.Append(message.KeyTraceOn, trace)
	suffix = suffix.Append(message.KeyCluster, c.Broker.BrokerClusterName)
	return &answerParts{
		suffix: suffix[:len(suffix):len(suffix)],
		ext: []remoting.ExtField{
			{Key: message.KeyMsgRegion, Value: region},
			{Key: message.KeyTraceOn, Value: trace},
		},
	}
}
