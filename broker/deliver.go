package broker

import (
	"strconv"

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

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
