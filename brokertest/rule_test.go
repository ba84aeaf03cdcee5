package brokertest_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/brokertest"
	"github.com/rocketd/rocketd/remoting"
)

// sendRequest is a send as an old client makes it.
func sendRequest(topic, group string) *remoting.Command {
	cmd := remoting.NewRequest(remoting.SendMessage, &remoting.SendMessageRequestHeader{
		ProducerGroup: group, Topic: topic, DefaultTopic: "TBW102", DefaultTopicQueueNums: 4, Properties: "KEYS\x01k\x02",
	})
	cmd.Body = []byte("body")
	return cmd
}

func heartbeat(clientID, group string) *remoting.Command {
	cmd := remoting.NewRequest(remoting.HeartBeat, nil)
	cmd.Body = []byte(`{"clientID":"` + clientID + `","consumerDataSet":[],"producerDataSet":[{"groupName":"` + group + `"}]}`)
	return cmd
}

func TestRulesMatchWhatTheySay(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithTopics("x:1", "y:1"))
	r := newRaw(t, b)
	fail := brokertest.Always(brokertest.Fail(remoting.SystemError, "by the test"))
	codes := func(topic, group string, n int) string {
		var out []string
		for range n {
			out = append(out, remoting.ResponseName(r.call(sendRequest(topic, group)).Code))
		}
		return strings.ReplaceAll(strings.ReplaceAll(strings.Join(out, " "), "SYSTEM_ERROR", "-"), "SUCCESS", "+")
	}
	r.call(heartbeat("me", "p"))
	for _, c := range []struct {
		name    string
		matches []brokertest.Match
		topic   string
		group   string
		want    string
	}{
		{"all", nil, "x", "p", "- - - - -"},
		{"the second", []brokertest.Match{brokertest.Nth(2)}, "x", "p", "+ - + + +"},
		{"the first two", []brokertest.Match{brokertest.First(2)}, "x", "p", "- - + + +"},
		{"after three", []brokertest.Match{brokertest.After(3)}, "x", "p", "+ + + - -"},
		{"topic", []brokertest.Match{brokertest.ForTopic("x")}, "x", "p", "- - - - -"},
		{"other topic", []brokertest.Match{brokertest.ForTopic("y")}, "x", "p", "+ + + + +"},
		{"group", []brokertest.Match{brokertest.ForGroup("p")}, "x", "p", "- - - - -"},
		{"other group", []brokertest.Match{brokertest.ForGroup("p")}, "x", "q", "+ + + + +"},
		{"client", []brokertest.Match{brokertest.ForClient("me")}, "x", "p", "- - - - -"},
		{"other client", []brokertest.Match{brokertest.ForClient("you")}, "x", "p", "+ + + + +"},
		{"server", []brokertest.Match{brokertest.ForServer(brokertest.BrokerServer)}, "x", "p", "- - - - -"},
		{"other server", []brokertest.Match{brokertest.ForServer(brokertest.Namesrv)}, "x", "p", "+ + + + +"},
		{"second of a topic", []brokertest.Match{brokertest.ForTopic("x"), brokertest.Nth(2)}, "x", "p", "+ - + + +"},
	} {
		rule := b.On(remoting.SendMessage, fail, c.matches...)
		if got := codes(c.topic, c.group, 5); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
		rule.Remove()
		if got := codes(c.topic, c.group, 1); got != "+" {
			t.Errorf("%s: got %s after the rule was removed", c.name, got)
		}
	}
}

func TestTheNewestRuleThatDoesNotPassDecides(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithTopics("x:1"))
	r := newRaw(t, b)
	old := b.OnEvery(brokertest.Always(brokertest.Fail(remoting.SystemError, "old")))
	odd := b.OnSend(func(r *brokertest.Request) brokertest.Decision {
		var h remoting.SendMessageRequestHeader
		if err := r.Decode(&h); err != nil || h.Topic != "x" || r.Field("topic") != "x" || string(r.Body) != "body" || r.Group() != "p" {
			return brokertest.Fail(remoting.SystemError, "the request is not what was sent")
		}
		if r.N%2 == 0 {
			return brokertest.Pass()
		}
		return brokertest.Fail(remoting.NoPermission, "odd")
	})
	var got []string
	for range 4 {
		got = append(got, r.call(sendRequest("x", "p")).Remark)
	}
	if strings.Join(got, " ") != "odd old odd old" {
		t.Errorf("got %v", got)
	}
	if old.Hits() != 2 || old.Seen() != 2 || odd.Hits() != 2 || odd.Seen() != 4 {
		t.Errorf("hits %d and %d, seen %d and %d", old.Hits(), odd.Hits(), old.Seen(), odd.Seen())
	}
	must(t, odd.Wait(within(t), 2))
	b.ClearRules()
	if answer := r.call(sendRequest("x", "p")); answer.Code != remoting.Success {
		t.Errorf("after ClearRules: %s", answer.Remark)
	}
}

// dial opens a connection that the test reads byte by byte.
func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	must(t, c.SetDeadline(time.Now().Add(20*time.Second)))
	return c
}

func TestDecisionsOnTheWire(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithTopics("x:1"), brokertest.WithFrozenClock())
	stored := 0
	for _, c := range []struct {
		name   string
		d      brokertest.Decision
		stores bool
		check  func(t *testing.T, answer []byte)
	}{
		{"close", brokertest.Close(), false, func(t *testing.T, answer []byte) {
			t.Helper()
			if len(answer) != 0 {
				t.Errorf("got %d bytes before the close", len(answer))
			}
		}},
		{"close in mid-frame", brokertest.CloseMidFrame(), false, func(t *testing.T, answer []byte) {
			t.Helper()
			if len(answer) < 8 || int(binary.BigEndian.Uint32(answer))+4 <= len(answer) {
				t.Errorf("got %d bytes, want a part of a frame", len(answer))
			}
		}},
		{"cut answer", brokertest.CutAnswer(9), true, func(t *testing.T, answer []byte) {
			t.Helper()
			if len(answer) != 9 || int(binary.BigEndian.Uint32(answer))+4 <= len(answer) {
				t.Errorf("got % x, want the first 9 bytes of a frame", answer)
			}
		}},
		{"cut before the first byte", brokertest.CutAnswer(0), true, func(t *testing.T, answer []byte) {
			t.Helper()
			if len(answer) != 0 {
				t.Errorf("got % x", answer)
			}
		}},
		{"delayed, then closed", brokertest.Delay(time.Hour).And(brokertest.Close()), false, func(t *testing.T, answer []byte) {
			t.Helper()
			if len(answer) != 0 {
				t.Errorf("got % x", answer)
			}
		}},
	} {
		rule := b.OnSend(brokertest.Always(c.d))
		conn := dial(t, b.Addr())
		_, err := conn.Write(remoting.AppendFrame(nil, sendRequest("x", "p")))
		must(t, err)
		if strings.HasPrefix(c.name, "delayed") {
			must(t, rule.Wait(within(t), 1))
			b.Clock.Advance(time.Hour)
		}
		answer, err := io.ReadAll(conn)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		c.check(t, answer)
		rule.Remove()
		if c.stores {
			stored++
		}
		if got, err := b.Messages("x"); err != nil || len(got) != stored {
			t.Errorf("%s: %d messages are stored, want %d", c.name, len(got), stored)
		}
	}
}

func TestDropAndDelay(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithTopics("x:1"), brokertest.WithFrozenClock())
	r := newRaw(t, b)
	messages := func() int {
		list, err := b.Messages("x")
		must(t, err)
		return len(list)
	}
	// unanswered sends once and gives up a little after the broker has come to the request, however late that is.
	unanswered := func(rule *brokertest.Rule) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan error, 1)
		go func() {
			_, err := r.client.Invoke(ctx, r.addr, sendRequest("x", "p"))
			ended <- err
		}()
		must(t, rule.Wait(within(t), 1))
		select {
		case err := <-ended:
			t.Fatalf("%s: ended with %v", rule, err)
		case <-time.After(50 * time.Millisecond):
		}
		cancel()
		<-ended
		rule.Remove()
	}
	unanswered(b.OnSend(brokertest.Always(brokertest.Drop())))
	if n := messages(); n != 0 {
		t.Fatalf("dropped: %d messages", n)
	}
	unanswered(b.OnSend(brokertest.Always(brokertest.DropAnswer())))
	if list, err := b.WaitMessages(within(t), "x", 1); err != nil || len(list) != 1 {
		t.Fatalf("answer dropped: %v, %d messages", err, len(list))
	}
	for i, d := range []brokertest.Decision{brokertest.Delay(time.Minute), brokertest.DelayAnswer(time.Minute)} {
		rule := b.OnSend(brokertest.Always(d))
		answered := make(chan error, 1)
		go func() {
			answer, err := r.client.Invoke(within(t), r.addr, sendRequest("x", "p"))
			if err == nil && answer.Code != remoting.Success {
				err = io.ErrUnexpectedEOF
			}
			answered <- err
		}()
		must(t, rule.Wait(within(t), 1))
		b.Clock.Advance(59 * time.Second)
		select {
		case err := <-answered:
			t.Fatalf("%s: answered early: %v", d, err)
		default:
		}
		if i == 0 && messages() != 1 {
			t.Fatalf("%s: stored early", d)
		}
		// The delay may have begun after the first move of the clock: it is moved on until it ends.
		for done := false; !done; {
			b.Clock.Advance(time.Second)
			select {
			case err := <-answered:
				must(t, err)
				done = true
			case <-time.After(5 * time.Millisecond):
			}
		}
		if messages() != i+2 {
			t.Fatalf("%s: %d messages", d, messages())
		}
		rule.Remove()
	}
}

func TestAnswersCanBeMadeAndChanged(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithTopics("x:1"))
	r := newRaw(t, b)
	own := remoting.NewResponse(remoting.Success)
	own.AddExt("hello", "world")
	own.Body = []byte("made up")
	b.On(4711, brokertest.Always(brokertest.Answer(own)))
	for range 2 {
		answer := r.call(remoting.NewRequest(4711, nil))
		if value, _ := answer.ExtValue("hello"); value != "world" || string(answer.Body) != "made up" {
			t.Errorf("own answer: %+v", answer)
		}
	}
	edit := b.OnSend(brokertest.Always(brokertest.EditAnswer(func(answer *remoting.Command) {
		answer.Remark = "edited"
		answer.AddExt("extra", "1")
	})))
	answer := r.call(sendRequest("x", "p"))
	if value, _ := answer.ExtValue("extra"); value != "1" || answer.Remark != "edited" || answer.Code != remoting.Success {
		t.Errorf("edited answer: %+v", answer)
	}
	edit.Remove()
	b.OnSend(brokertest.Always(brokertest.FailAnswer(remoting.FlushDiskTimeout, "too slow")))
	if answer := r.call(sendRequest("x", "p")); answer.Code != remoting.FlushDiskTimeout || answer.Remark != "too slow" {
		t.Errorf("failed answer: %+v", answer)
	}
	if got, err := b.Messages("x"); err != nil || len(got) != 2 {
		t.Errorf("%d messages are stored, want 2", len(got))
	}
}

func TestJournal(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithTopics("x:1"), brokertest.WithJournal(5))
	r := newRaw(t, b)
	r.call(heartbeat("me", "p"))
	r.call(sendRequest("x", "p"))
	b.OnSend(brokertest.Always(brokertest.Fail(remoting.SystemBusy, "no")), brokertest.First(1))
	r.call(sendRequest("x", "q"))
	r.call(remoting.NewRequest(9999, nil))
	all := b.Journal()
	if len(all) != 4 {
		t.Fatalf("%d exchanges, want 4: %v", len(all), all)
	}
	beat, sent, refused, unknown := all[0], all[1], all[2], all[3]
	if beat.ClientID != "me" || beat.Group() != "p" || beat.Name != "HEART_BEAT" || !beat.Answered || beat.AnswerCode != 0 {
		t.Errorf("heartbeat: %v", beat)
	}
	if sent.ClientID != "me" || sent.Topic != "x" || sent.BodyBytes != 4 || sent.AnswerName != "SUCCESS" || sent.Fault != "" {
		t.Errorf("send: %v", sent)
	}
	if refused.AnswerName != "SYSTEM_BUSY" || refused.Remark != "no" || refused.Fault != "answered SYSTEM_BUSY by a rule" {
		t.Errorf("refused: %v", refused)
	}
	if unknown.Name != "9999" || unknown.AnswerName != "REQUEST_CODE_NOT_SUPPORTED" {
		t.Errorf("unknown code: %v", unknown)
	}
	if got := b.Journal(brokertest.ForCode(remoting.SendMessage), brokertest.ForGroup("q")); len(got) != 1 || got[0].Seq != 3 {
		t.Errorf("filtered: %v", got)
	}
	for range 4 {
		r.call(sendRequest("x", "p"))
	}
	if all := b.Journal(); len(all) != 5 || all[0].Seq != 4 || all[4].Seq != 8 {
		t.Errorf("bounded: %v", all)
	}
	b.ClearJournal()
	r.call(sendRequest("x", "p"))
	if all := b.Journal(); len(all) != 1 || all[0].Seq != 9 {
		t.Errorf("after clearing: %v", all)
	}
	if e, err := b.WaitExchange(within(t), brokertest.ForTopic("x")); err != nil || e.Seq != 9 {
		t.Errorf("waited for %v, %v", e, err)
	}
}

func TestFailedWaitsSayWhatWasSeen(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, brokertest.WithTopics("x:1"))
	newRaw(t, b).call(sendRequest("x", "p"))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	for what, err := range map[string]error{
		"members":     b.WaitMembers(ctx, "g", 1),
		"lag":         b.WaitLag(ctx, "g", 0),
		"transaction": b.WaitUndecided(ctx, 1),
		"rule":        b.OnSend(brokertest.Always(brokertest.Drop())).Wait(ctx, 1),
	} {
		w, ok := seen(err)
		if !ok {
			t.Errorf("%s: %v is no WaitError", what, err)
			continue
		}
		for _, part := range []string{"topic x: 1 messages", "SEND_MESSAGE topic=x group=p = SUCCESS"} {
			if !strings.Contains(w.Error(), part) {
				t.Errorf("%s: %q is not in %s", what, part, w)
			}
		}
	}
	if _, err := b.WaitMessages(ctx, "x", 2); err == nil || !strings.Contains(err.Error(), "topic x to have 2 messages, it has 1") {
		t.Errorf("messages: %v", err)
	}
}
