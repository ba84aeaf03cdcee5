package broker

import (
	"strconv"
	"time"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/store"
)

// deliver stores a message that the broker makes of another one; its delay or timer properties take effect from now on.
// It may wait for the disk. Errors are *remoting.Error.
func (b *Broker) deliver(m *message.Message) (store.Placed, error) {
	err := b.transform(m)
	if err == nil {
		var placed store.Placed
		if placed, err = b.store.Put(m); err == nil {
			return placed, nil
		}
	}
	b.stats.putFailed()
	code, remark := b.putError(err)
	return store.Placed{}, &remoting.Error{Code: code, Remark: remark}
}

// awaitServing is how soon those who write on their own look again whether the broker knows its address: it stands in
// each record.
const awaitServing = 20 * time.Millisecond

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
