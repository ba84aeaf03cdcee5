package admin_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rocketd/rocketd/admin"
	"github.com/rocketd/rocketd/standalone"
	"github.com/rocketd/rocketd/standalone/standalonetest"
)

// gnet keeps a pool of its own from the start of the process; it is there before any test.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) }

func open(t *testing.T, namesrv ...string) *admin.Admin {
	t.Helper()
	a := admin.New(admin.Options{Namesrv: namesrv, Timeout: 30 * time.Second})
	t.Cleanup(a.Close)
	return a
}

func send(t *testing.T, a *admin.Admin, topic string, n int) {
	t.Helper()
	s, err := a.Sender(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if _, err := s.Send(t.Context(), admin.SendRequest{Topic: topic, Body: fmt.Append(nil, i), Queue: -1}); err != nil {
			t.Fatal(err)
		}
	}
}

func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not in time: " + what)
		}
	}
}

// of counts the queues of a topic that a member has.
func of(topic string, m admin.Member) int {
	n := 0
	for _, q := range m.Queues {
		if q.Topic == topic {
			n++
		}
	}
	return n
}

// bodies collects what a consumer gets.
type bodies struct {
	mu   sync.Mutex
	list []string
}

func (b *bodies) add(m *admin.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = append(b.list, m.Body.Text)
	return nil
}

func (b *bodies) sorted() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := slices.Clone(b.list)
	slices.Sort(list)
	return list
}

// Two members share the queues, each message comes once; when one leaves, the other goes on where it was.
func TestMembersShare(t *testing.T) {
	s := standalonetest.Start(t, standalone.Options{}, "topics=orders:4")
	a, b := open(t, s.NamesrvAddr()), open(t, s.NamesrvAddr())
	var got, others bodies
	run := func(a *admin.Admin, into *bodies) (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- a.Consume(ctx, admin.ConsumeOptions{Topic: "orders", Group: "g", Follow: true, Start: admin.Start{First: true}}, into.add)
		}()
		return func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	stopA := run(a, &got)
	await(t, "the first member has all queues", func() bool {
		members, err := a.Members(t.Context(), "g", nil)
		return err == nil && len(members) == 1 && of("orders", members[0]) == 4
	})
	stopB := run(b, &others)
	await(t, "each has two queues", func() bool {
		members, err := a.Members(t.Context(), "g", nil)
		return err == nil && len(members) == 2 && of("orders", members[0]) == 2 && of("orders", members[1]) == 2
	})
	send(t, a, "orders", 8)
	await(t, "all have come", func() bool { return len(got.sorted())+len(others.sorted()) == 8 })
	if len(got.sorted()) != 4 || len(others.sorted()) != 4 {
		t.Errorf("%v and %v, want four each", got.sorted(), others.sorted())
	}
	stopB()
	await(t, "the first member has all queues again", func() bool {
		members, err := a.Members(t.Context(), "g", nil)
		return err == nil && len(members) == 1 && of("orders", members[0]) == 4
	})
	send(t, a, "orders", 8)
	await(t, "all have come to the one that is left", func() bool { return len(got.sorted()) == 12 })
	stopA()
	g, err := a.Group(t.Context(), "g")
	if err != nil || g.Lag != 0 || g.Online || len(others.sorted()) != 4 {
		t.Errorf("%+v, %v", g, err)
	}
	// What is there is consumed again after a reset, and reading ends by itself without Follow.
	if _, err := a.ResetOffsets(t.Context(), "g", "orders", 0); err != nil {
		t.Fatal(err)
	}
	var again bodies
	if err := a.Consume(t.Context(), admin.ConsumeOptions{Topic: "orders", Group: "g"}, again.add); err != nil || len(again.sorted()) != 16 {
		t.Errorf("%v, %v", again.sorted(), err)
	}
}

// Reading to the end after a reset begins where the group was set to: nothing is left of the members that were there.
func TestReadingToTheEndAfterAReset(t *testing.T) {
	s := standalonetest.Start(t, standalone.Options{}, "topics=orders:2")
	a := open(t, s.NamesrvAddr())
	send(t, a, "orders", 8)
	read := func() []string {
		var got bodies
		if err := a.Consume(t.Context(), admin.ConsumeOptions{Topic: "orders", Group: "g", Start: admin.Start{First: true}}, got.add); err != nil {
			t.Fatal(err)
		}
		return got.sorted()
	}
	if got := read(); len(got) != 8 {
		t.Fatalf("%v, want all", got)
	}
	if _, err := a.ResetOffsets(t.Context(), "g", "orders", 0); err != nil {
		t.Fatal(err)
	}
	if got := read(); len(got) != 8 {
		t.Errorf("%v after a reset to the beginning, want all", got)
	}
	if _, err := a.SetOffset(t.Context(), "g", "orders", 1, 2); err != nil {
		t.Fatal(err)
	}
	if got := read(); len(got) != 2 {
		t.Errorf("%v after one queue was set two back, want two", got)
	}
	if got := read(); len(got) != 0 {
		t.Errorf("%v at the end, want nothing", got)
	}
}

// A reset reaches a member that is connected.
func TestResetOfAConnectedGroup(t *testing.T) {
	s := standalonetest.Start(t, standalone.Options{}, "topics=orders:1")
	a := open(t, s.NamesrvAddr())
	send(t, a, "orders", 3)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got bodies
	ended := make(chan error, 1)
	go func() {
		ended <- a.Consume(ctx, admin.ConsumeOptions{Topic: "orders", Group: "g", Follow: true, Start: admin.Start{First: true}}, got.add)
	}()
	await(t, "all have come", func() bool { return len(got.sorted()) == 3 })
	if _, err := a.ResetOffsets(t.Context(), "g", "orders", 0); err != nil {
		t.Fatal(err)
	}
	send(t, a, "orders", 1) // wakes the pull that waits
	await(t, "all have come again", func() bool { return len(got.sorted()) >= 7 })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestTail(t *testing.T) {
	s := standalonetest.Start(t, standalone.Options{}, "topics=orders:2")
	a := open(t, s.NamesrvAddr())
	send(t, a, "orders", 20)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got bodies
	ended := make(chan error, 1)
	go func() { ended <- a.Tail(ctx, admin.ConsumeOptions{Topic: "orders"}, 3, got.add) }()
	await(t, "the last ones", func() bool { return len(got.sorted()) == 3 })
	if want := []string{"17", "18", "19"}; !slices.Equal(got.sorted(), want) {
		t.Errorf("%v, want %v", got.sorted(), want)
	}
	send(t, a, "orders", 4)
	await(t, "those that come", func() bool { return len(got.sorted()) == 7 })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A consumer waits for a broker that restarts, and what fails says what to do.
func TestErrors(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	a := admin.New(admin.Options{Namesrv: []string{silent.Addr().String()}, Timeout: 50 * time.Millisecond})
	t.Cleanup(a.Close)
	var gone *admin.Unreachable
	if _, err := a.Brokers(t.Context()); !errors.As(err, &gone) || !strings.Contains(err.Error(), "nothing came in time") {
		t.Errorf("a name server that does not answer: %v", err)
	}
	s := standalonetest.Start(t, standalone.Options{})
	second := open(t, "127.0.0.1:1", s.NamesrvAddr())
	if list, err := second.Brokers(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("the second name server answers: %v, %v", list, err)
	}
	stop := errors.New("stop")
	send(t, second, "orders", 1)
	if err := second.Consume(t.Context(), admin.ConsumeOptions{Topic: "orders", Start: admin.Start{First: true}}, func(*admin.Message) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("an error of the caller: %v", err)
	}
	if err := second.Consume(t.Context(), admin.ConsumeOptions{Topic: "orders", Group: "a/b"}, nil); err == nil {
		t.Error("a group name that is none")
	}
}
