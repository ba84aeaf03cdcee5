//go:build !race

package brokertest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"

	"github.com/rocketd/rocketd/brokertest"
)

// bank writes a transfer to its database and tells others of it, both or neither: it sends a half message, writes, and commits. When it does
// not know whether it wrote, it says so, and the broker asks later.
type bank struct {
	producer rocketmq.TransactionProducer

	mu   sync.Mutex
	rows []string
	fail error // of the next write
	lost bool  // the answer of the next write is lost
}

func (b *bank) transfer(ctx context.Context, id string) error {
	_, err := b.producer.SendMessageInTransaction(ctx, primitive.NewMessage("transfers", []byte(id)))
	return err
}

// ExecuteLocalTransaction writes.
func (b *bank) ExecuteLocalTransaction(m *primitive.Message) primitive.LocalTransactionState {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail == nil {
		b.rows = append(b.rows, string(m.Body))
	}
	if b.fail != nil || b.lost {
		return primitive.UnkonwnState
	}
	return primitive.CommitMessageState
}

// CheckLocalTransaction looks whether it wrote.
func (b *bank) CheckLocalTransaction(m *primitive.MessageExt) primitive.LocalTransactionState {
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.Contains(b.rows, string(m.Body)) {
		return primitive.CommitMessageState
	}
	return primitive.RollbackMessageState
}

func TestTransfersAreToldIfAndOnlyIfTheyHappened(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithTopics("transfers:1"))
	bank := &bank{}
	bank.producer = newTransactionProducer(t, b, bank)

	must(t, bank.transfer(t.Context(), "good"))
	bank.lost = true
	must(t, bank.transfer(t.Context(), "written, and the answer lost"))
	bank.lost, bank.fail = false, errors.New("disk full")
	must(t, bank.transfer(t.Context(), "not written"))

	must(t, b.WaitUndecided(within(t), 2))
	must(t, b.WaitProducers(within(t), "tx", 1)) // the broker asks who has sent a heartbeat
	b.Clock.Advance(time.Minute)
	must(t, b.WaitUndecided(within(t), 0))
	list, err := b.Messages("transfers")
	must(t, err)
	if got := bodies(list); !slices.Equal(got, []string{"good", "written, and the answer lost"}) {
		t.Errorf("told: %q", got)
	}
}
