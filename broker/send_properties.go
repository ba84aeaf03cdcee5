package broker

import (
	"strconv"
	"strings"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
)

// sendProperties is what a send needs to know of a message's properties, found in one pass. Its strings alias them.
type sendProperties struct {
	uniqueKey  string
	delay      string // DELAY, "" when absent
	priority   string // _SYS_MSG_PRIORITY_
	liteTopic  string // __LITE_TOPIC
	timer      bool   // a TIMER_DELAY_SEC, TIMER_DELAY_MS or TIMER_DELIVER_MS is there
	timed      bool   // TIMER_OUT_MS is there: it has been a timer message before
	prepared   bool   // TRAN_MSG is true: a half message
	waitStored bool   // WAIT is true or absent
	keys       bool   // KEYS is not blank
	innerNum   bool   // INNER_NUM is there
	sharded    bool   // __SHARDINGKEY is there
	owned      bool   // something is there that the broker sets or takes away: see withoutOwned
}

// withoutOwned takes away the properties that a client may send and that the broker sets itself, or takes away for good:
// POP_CK is a consumer's receipt of a message that it sends on. Text that is no pair of name and value goes too
// (MessageDecoder#string2messageProperties).
func withoutOwned(p message.Properties) message.Properties {
	kept := make(message.Properties, 0, len(p)+1)
	p.Range(func(key, value string) bool {
		switch key {
		case message.KeyMsgRegion, message.KeyTraceOn, message.KeyCluster, message.KeyPopCheckpoint:
		default:
			kept = kept.Append(key, value)
		}
		return true
	})
	return kept
}

// scan reads properties once.
func (p *sendProperties) scan(properties message.Properties) {
	*p = sendProperties{waitStored: true}
	pairs := 0 // bytes of them, with separators
	properties.Range(func(key, value string) bool {
		pairs += len(key) + len(value) + 2
		switch key {
		case message.KeyUniqueKey:
			p.uniqueKey = value
		case message.KeyDelayLevel:
			p.delay = value
		case message.KeyPriority:
			p.priority = value
		case message.KeyLiteTopic:
			p.liteTopic = value
		case message.KeyTimerDelaySec, message.KeyTimerDelayMs, message.KeyTimerDeliverMs:
			p.timer = true
		case message.KeyTimerOutMs:
			p.timed = true
		case message.KeyTransactionPrepared:
			p.prepared = strings.EqualFold(value, "true")
		case message.KeyWait:
			p.waitStored = strings.EqualFold(value, "true")
		case message.KeyKeys:
			p.keys = strings.TrimSpace(value) != ""
		case message.KeyInnerNum:
			p.innerNum = true
		case message.KeyShardingKey:
			p.sharded = true
		case message.KeyMsgRegion, message.KeyTraceOn, message.KeyCluster, message.KeyPopCheckpoint:
			p.owned = true
		}
		return true
	})
	if pairs != len(properties) && pairs != len(properties)+1 { // the last separator may be missing
		p.owned = true
	}
}

// delayLevel is the value of DELAY, 0 when absent. One that is no number is an error as in the reference
// (Message#getDelayTimeLevel throws, which becomes SYSTEM_ERROR).
func (p *sendProperties) delayLevel() (int32, error) {
	if p.delay == "" {
		return 0, nil
	}
	level, err := strconv.ParseInt(p.delay, 10, 32)
	if err != nil {
		return 0, remoting.Errorf(remoting.SystemError, "property %s has value %s: not a whole number from -2147483648 to 2147483647",
			message.KeyDelayLevel, quoted(p.delay))
	}
	return int32(level), nil
}

// priorityOf is the value of _SYS_MSG_PRIORITY_, -1 when absent or no number (Message#getPriority).
func (p *sendProperties) priorityOf() int32 {
	if p.priority == "" {
		return -1
	}
	n, err := strconv.ParseInt(p.priority, 10, 32)
	if err != nil {
		return -1
	}
	return int32(n)
}
