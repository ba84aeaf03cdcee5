package brokertest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rocketd/rocketd/brokertest"
	"github.com/rocketd/rocketd/remoting"
)

// ignoreLibraries are goroutines that libraries start when they are loaded.
func ignoreLibraries() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreTopFunction("github.com/panjf2000/ants/v2.(*poolCommon).purgeStaleWorkers"),
		goleak.IgnoreTopFunction("github.com/panjf2000/ants/v2.(*poolCommon).ticktock"),
	}
}

// within bounds one wait of a test in real time.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// raw calls the broker without a client library.
type raw struct {
	t      *testing.T
	client *remoting.Client
	addr   string
}

func newRaw(t *testing.T, b *brokertest.Broker) *raw {
	t.Helper()
	c := remoting.NewClient(remoting.ClientOptions{})
	t.Cleanup(c.Close)
	return &raw{t: t, client: c, addr: b.Addr()}
}

func (r *raw) call(cmd *remoting.Command) *remoting.Command {
	r.t.Helper()
	answer, err := r.client.Invoke(within(r.t), r.addr, cmd)
	must(r.t, err)
	return answer
}

// seen tells whether a wait failed in time and said what it saw.
func seen(err error) (*brokertest.WaitError, bool) {
	var w *brokertest.WaitError
	return w, errors.As(err, &w)
}

// sorted joins names in order.
func sorted(names []string) string {
	slices.Sort(names)
	return strings.Join(names, " ")
}
