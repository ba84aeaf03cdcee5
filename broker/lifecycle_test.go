package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/remoting"
	"github.com/rocketd/rocketd/remoting/body"
	"github.com/rocketd/rocketd/store"
)

func TestStepsAreWalkedUpAndDown(t *testing.T) {
	for _, fails := range []string{"", "two"} {
		var walked []string
		l := &lifecycle{}
		for _, name := range []string{"one", "two", "three"} {
			l.steps = append(l.steps, step{
				name: name,
				start: func(context.Context) error {
					walked = append(walked, "start "+name)
					if name == fails {
						return errors.New("no")
					}
					return nil
				},
				stop: func(context.Context) error { walked = append(walked, "stop "+name); return nil },
			})
		}
		x := newTables(t, nil)
		err := l.start(t.Context(), x.log)
		want := []string{"start one", "start two", "start three", "stop three", "stop two", "stop one"}
		if fails != "" {
			want = []string{"start one", "start two", "stop one"}
			if err == nil || !strings.Contains(err.Error(), "start broker: two: no") {
				t.Errorf("got %v", err)
			}
		}
		for range 2 {
			if err := l.stop(t.Context(), x.log); err != nil {
				t.Error(err)
			}
		}
		if !slices.Equal(walked, want) {
			t.Errorf("got  %v\nwant %v", walked, want)
		}
	}
}

// TestRestartKeepsEverything: messages, topics, groups and offsets, after a proper stop and after a kill.
func TestRestartKeepsEverything(t *testing.T) {
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed %t", killed), func(t *testing.T) {
			b := newTestBroker(t)
			c := b.dial()
			c.want(0, remoting.HeartBeat, nil, heartbeatOf("c", "G", tagSub("T", "*", 1)))
			for i := range 100 {
				c.want(0, remoting.SendMessage, sendFields("T", i%4, ""), []byte(itoa(i)))
			}
			c.want(0, remoting.UpdateConsumerOffset, offsetFields("G", "T", 1).with("commitOffset", "7"), nil)
			if killed {
				eventually(t, "offsets are written", func() bool {
					b.manual.Advance(200 * time.Millisecond)
					return strings.Contains(string(b.offsets.encode()), "T@G") && fileHas(b.mem, "/data/config/consumerOffset.json", "T@G")
				})
				b.mem = b.mem.Clone()
				b = startTestBroker(t, b.mem, clock.NewManual(testNow.Add(time.Minute)))
			} else {
				b = b.restart()
			}
			c = b.dial()
			for q := range 4 {
				a := c.want(0, remoting.PullMessage, pullFields("G", "T", q, 0), nil)
				if got := records(t, a.body); len(got) != 25 || string(got[24].Body) != itoa(96+q) {
					t.Errorf("queue %d: %d records", q, len(got))
				}
			}
			if a := c.want(0, remoting.QueryConsumerOffset, offsetFields("G", "T", 1), nil); a.ext["offset"] != "7" {
				t.Errorf("offset %s", a.ext["offset"])
			}
			if b.groups.get("G") == nil || b.topics.get("%RETRY%G") == nil {
				t.Error("group or retry topic is gone")
			}
			if a := c.want(0, remoting.SendMessage, sendFields("T", 0, ""), []byte("more")); a.num(t, "queueOffset") != 25 {
				t.Errorf("next offset %s", a.ext["queueOffset"])
			}
		})
	}
}

func fileHas(fs *vfs.Mem, name, part string) bool {
	data, err := vfs.ReadFile(fs, name, 1<<20)
	return err == nil && strings.Contains(string(data), part)
}

// recordedNameServer notes what it is told.
type recordedNameServer struct {
	b      *Broker
	mu     sync.Mutex
	topics map[string]bool
	events []string
}

func (s *recordedNameServer) note(event string, b *body.RegisterBrokerBody) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if event != "" {
		s.events = append(s.events, event)
	}
	if b != nil {
		for name := range b.Topics.Topics {
			s.topics[name] = true
		}
	}
}

func (s *recordedNameServer) has(topic string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.topics[topic]
}

func (s *recordedNameServer) RegisterBroker(_ *remoting.RegisterBrokerRequestHeader, b *body.RegisterBrokerBody) (map[string]string, error) {
	s.note("register", b)
	return nil, nil
}

func (s *recordedNameServer) RegisterTopics(_ *remoting.RegisterBrokerRequestHeader, b *body.RegisterBrokerBody) error {
	s.note("", b)
	return nil
}

func (s *recordedNameServer) UnregisterBroker(*remoting.UnregisterBrokerRequestHeader) {
	s.note(fmt.Sprintf("unregister draining=%t", s.b.draining.Load()), nil)
}

// TestTopicIsRoutableBeforeItsAnswer: scenario R-59: made by a send, a heartbeat or a give-back.
func TestTopicIsRoutableBeforeItsAnswer(t *testing.T) {
	ns := &recordedNameServer{topics: map[string]bool{}}
	b := newTestBroker(t, func(o *Options) { o.NameServers = []NameServer{ns} })
	ns.b = b.Broker
	c := b.dial()
	c.want(0, remoting.SendMessage, sendFields("T", 0, ""), []byte("x"))
	if !ns.has("T") || !ns.has("TBW102") {
		t.Error("topics are not routable")
	}
	c.want(0, remoting.HeartBeat, nil, heartbeatOf("c", "G", tagSub("T", "*", 1)))
	if !ns.has("%RETRY%G") {
		t.Error("the retry topic is not routable")
	}
	c.want(0, remoting.ConsumerSendMsgBack, backFields("G", 0, -1), nil)
	if !ns.has("%DLQ%G") {
		t.Error("the dead-letter topic is not routable")
	}
	b.close()
	if want := []string{"register", "unregister draining=false"}; !slices.Equal(ns.events, want) {
		t.Errorf("events %v, want %v: first the name servers are left", ns.events, want)
	}
}

// TestGoAway: while the broker stops, clients that know the code are sent away and the others served.
func TestGoAway(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	c := b.dial()
	b.draining.Store(true)
	for version, code := range map[int32]int32{401: 0, 475: 0, 476: 1500, 513: 1500} {
		cmd := c.request(remoting.SendMessage, sendFields("T", 0, ""), []byte("x"))
		cmd.Version = version
		if a := c.await(c.send(cmd)); a.code != code || code == 1500 && a.remark != "please go away" {
			t.Errorf("version %d: code %d, %q, want %d", version, a.code, a.remark, code)
		}
	}
	c.oneway(remoting.SendMessage, sendFields("T", 0, ""), []byte("x"))
}

// TestStopUnderLoad: everything acknowledged before the end is there after the restart, once.
func TestStopUnderLoad(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	acked := make(chan string, 100_000)
	var clients []*testClient
	ended := make(chan struct{})
	for i := range 8 {
		c := b.dial()
		clients = append(clients, c)
		go func() {
			defer func() { ended <- struct{}{} }()
			for n := 0; ; n++ {
				text := fmt.Sprintf("%d/%d", i, n)
				cmd := c.request(remoting.SendMessage, sendFields("T", 0, ""), []byte(text))
				select {
				case a := <-c.send(cmd):
					if a.code != 0 {
						return
					}
					acked <- text
				case <-c.done:
					return
				}
			}
		}()
	}
	eventually(t, "some are stored", func() bool { return b.count("T", 0) > 500 })
	b.close()
	for range clients {
		<-ended
	}
	close(acked)
	b = startTestBroker(t, b.mem, b.manual)
	seen := map[string]int{}
	for next := int64(0); next < b.count("T", 0); {
		a := b.dialOnce().want(0, remoting.PullMessage, pullFields("G", "T", 0, next), nil)
		for _, r := range records(t, a.body) {
			seen[string(r.Body)]++
		}
		next = a.num(t, "nextBeginOffset")
	}
	n := 0
	for text := range acked {
		n++
		if seen[text] != 1 {
			t.Fatalf("%s was acknowledged and is there %d times", text, seen[text])
		}
	}
	if n < 500 {
		t.Errorf("only %d were acknowledged", n)
	}
}

// TestSyncFlush: with SYNC_FLUSH an answer comes when the message is on disk, and WAIT=false does not wait.
func TestSyncFlush(t *testing.T) {
	fault := vfs.NewFault(vfs.NewMem())
	b := newTestBroker(t, withConfig(func(c *conf.Config) { c.Store.FlushDiskType = "SYNC_FLUSH" }), func(o *Options) { o.FS = fault })
	b.create("T", 1)
	c := b.dial()
	a := c.want(0, remoting.SendMessage, sendFields("T", 0, ""), []byte("x"))
	if flushed := b.store.FlushedOffset(); flushed != b.store.MaxPhysicalOffset() || a.num(t, "queueOffset") != 0 {
		t.Errorf("flushed %d of %d", flushed, b.store.MaxPhysicalOffset())
	}
	var waiting []<-chan *answer
	for i := range 100 {
		waiting = append(waiting, c.send(c.request(remoting.SendMessage, sendFields("T", 0, "UNIQ_KEY\x01k"+itoa(i)+"\x02"), []byte("x"))))
	}
	for i, ch := range waiting {
		if a := c.await(ch); a.code != 0 || a.num(t, "queueOffset") != int64(i+1) || a.ext["transactionId"] != "k"+itoa(i) {
			t.Fatalf("send %d: code %d, %v", i, a.code, a.ext)
		}
	}
	for range 100 { // in lock-step, whose flush is the connection's own
		c.want(0, remoting.SendMessage, sendFields("T", 0, ""), []byte("x"))
		if flushed := b.store.FlushedOffset(); flushed != b.store.MaxPhysicalOffset() {
			t.Fatalf("flushed %d of %d", flushed, b.store.MaxPhysicalOffset())
		}
	}
	fault.SetRule(vfs.FailOn(vfs.OpSync, "commitlog", errors.New("no disk")))
	c.want(0, remoting.SendMessage, sendFields("T", 0, "WAIT\x01false\x02"), []byte("x"))
	if a := c.call(remoting.SendMessage, sendFields("T", 0, ""), []byte("x")); a.code != 14 {
		t.Errorf("the flush failed: code %d, %q", a.code, a.remark)
	}
	b.closed = true
	if err := b.Broker.Close(t.Context()); !errors.Is(err, store.ErrFlushFailed) {
		t.Errorf("close: %v", err)
	}
}

// TestFailedWriteIsAnswered: the messages of the turn are not stored, each sender hears of it, and later ones are.
func TestFailedWriteIsAnswered(t *testing.T) {
	fault := vfs.NewFault(vfs.NewMem())
	b := newTestBroker(t, func(o *Options) { o.FS = fault })
	b.create("T", 1)
	c := b.dial()
	c.want(0, remoting.SendMessage, sendFields("T", 0, ""), []byte("x"))
	fault.SetRule(vfs.FailOn(vfs.OpWrite, "commitlog", errors.New("no room")))
	if a := c.call(remoting.SendMessage, sendFields("T", 0, ""), []byte("x")); a.code == 0 || a.remark == "" || a.ext["MSG_REGION"] == "" {
		t.Errorf("code %d, remark %q, %v", a.code, a.remark, a.ext)
	}
	fault.SetRule(nil)
	eventually(t, "writing goes on", func() bool {
		b.manual.Advance(time.Second)
		return c.call(remoting.SendMessage, sendFields("T", 0, ""), []byte("again")).code == 0
	})
	if r := b.stored("T", 0, 1); string(r.Body) != "again" {
		t.Errorf("offset 1 holds %q", r.Body)
	}
}

func TestPutErrorCodes(t *testing.T) {
	b := newTestBroker(t)
	for err, want := range map[error]int32{
		store.ErrMessageIllegal: 13, store.ErrDiskFull: 14, store.ErrClosed: 14, store.ErrFlushFailed: 14, store.ErrBusy: 2,
		store.ErrWriteFailed: 1, store.ErrTooManyQueues: 2017, errors.New("other"): 1, remoting.Errorf(29, "x"): 29,
	} {
		if code, remark := b.putError(fmt.Errorf("wrapped: %w", err)); code != want || remark == "" {
			t.Errorf("%v: got %d, %q, want %d", err, code, remark, want)
		}
	}
}

func TestStartErrorsNameTheStep(t *testing.T) {
	b := newTestBroker(t)
	c := conf.Default()
	c.Broker.ListenPort, c.Server.BindAddress = int32(b.Addr().Port()), "127.0.0.1"
	c.Store.StorePathRootDir = "/other"
	x := newTables(t, nil)
	other, err := New(Options{Config: c, Log: x.log, Clock: x.clock, FS: x.fs})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "start broker: server") {
		t.Errorf("port in use: %v", err)
	}
	if err := other.Close(t.Context()); err != nil {
		t.Errorf("close after a failed start: %v", err)
	}
	c = conf.Default()
	c.Store.StorePathRootDir = "/data"
	second, err := New(Options{Config: c, Log: x.log, Clock: x.clock, FS: b.mem})
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "start broker: store") {
		t.Errorf("directory in use: %v", err)
	}
}
