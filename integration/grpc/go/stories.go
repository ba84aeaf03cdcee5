package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	rocketmq "github.com/apache/rocketmq-clients/golang/v5"
)

var stories = map[string]func(*session, *facts) error{
	"normal": normal, "push": push, "dead": dead, "simple": simple, "filter_sql": filterSQL, "fifo": fifo, "delay": delay, "recall": recall,
	"transaction": transaction,
}

func normal(s *session, f *facts) error {
	topic, p, err := s.fresh("NORMAL")
	if err != nil {
		return err
	}
	like := func(n int) func(*rocketmq.Message) {
		return func(m *rocketmq.Message) {
			m.SetTag("TagA")
			m.SetKeys("k"+strconv.Itoa(n), "x")
			m.AddProperty("colour", "blue "+strconv.Itoa(n))
		}
	}
	for n := range 30 {
		if _, err := send(p, topic, fmt.Sprintf("body %d", n), like(n)); err != nil {
			return err
		}
	}
	var wait sync.WaitGroup
	for n := 30; n < 40; n++ {
		m := &rocketmq.Message{Topic: topic, Body: fmt.Appendf(nil, "body %d", n)}
		like(n)(m)
		wait.Add(1)
		p.SendAsync(context.Background(), m, func(_ context.Context, _ []*rocketmq.SendReceipt, err error) {
			f.must(err == nil, "asynchronous send: %v", err)
			wait.Done()
		})
	}
	wait.Wait()
	c, err := s.simple(topic, rocketmq.SUB_ALL)
	if err != nil {
		return err
	}
	var in inbox
	if err := in.drain(c, 40, time.Minute); err != nil {
		return err
	}
	in.expect(f, 40, 100*time.Millisecond)
	messages, _ := in.all()
	if len(messages) == 0 {
		return nil
	}
	m := messages[0]
	f.see("tag", *m.GetTag())
	f.see("keys", len(m.GetKeys()))
	f.see("properties", slices.Sorted(maps.Keys(m.GetProperties())))
	f.see("attempt", m.GetDeliveryAttempt())
	f.see("born host", m.GetBornHost() != nil && *m.GetBornHost() != "")
	return nil
}

func push(s *session, f *facts) error {
	topic, p, err := s.fresh("NORMAL")
	if err != nil {
		return err
	}
	var in inbox
	var mu sync.Mutex
	var attempts []int32
	_, err = s.push(topic, func(m *rocketmq.MessageView) rocketmq.ConsumerResult {
		mu.Lock()
		defer mu.Unlock()
		if string(m.GetBody()) == "body 7" {
			attempts = append(attempts, m.GetDeliveryAttempt())
			if len(attempts) < 2 {
				return rocketmq.FAILURE
			}
		}
		return in.add(m)
	})
	if err != nil {
		return err
	}
	for n := range 40 {
		if _, err := send(p, topic, fmt.Sprintf("body %d", n), nil); err != nil {
			return err
		}
	}
	in.expect(f, 40, time.Minute)
	mu.Lock()
	defer mu.Unlock()
	f.see("attempts", attempts)
	return nil
}

// dead: the group's retries end after one; whoever runs the story looks at the dead letters.
func dead(s *session, f *facts) error {
	topic, p, err := s.fresh("NORMAL")
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var attempts []int32
	_, err = s.push(topic, func(m *rocketmq.MessageView) rocketmq.ConsumerResult {
		mu.Lock()
		defer mu.Unlock()
		attempts = append(attempts, m.GetDeliveryAttempt())
		return rocketmq.FAILURE
	})
	if err != nil {
		return err
	}
	if _, err := send(p, topic, "poison", nil); err != nil {
		return err
	}
	await(time.Minute, func() bool { mu.Lock(); defer mu.Unlock(); return len(attempts) >= 2 })
	time.Sleep(3 * time.Second)
	mu.Lock()
	defer mu.Unlock()
	f.see("attempts", attempts)
	return nil
}

// simple acknowledges one message, leaves one to itself and changes the invisible time of a third.
func simple(s *session, f *facts) error {
	topic, p, err := s.fresh("NORMAL")
	if err != nil {
		return err
	}
	for _, body := range []string{"acked", "left", "changed"} {
		if _, err := send(p, topic, body, nil); err != nil {
			return err
		}
	}
	c, err := s.simple(topic, rocketmq.SUB_ALL)
	if err != nil {
		return err
	}
	attempts, first := map[string][]int32{}, map[string]time.Time{}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline) && (len(attempts["left"]) < 2 || len(attempts["changed"]) < 2); {
		messages, err := receive(c, 16, 10*time.Second)
		if err != nil {
			return err
		}
		for _, m := range messages {
			body := string(m.GetBody())
			attempts[body] = append(attempts[body], m.GetDeliveryAttempt())
			seen, again := first[body]
			switch {
			case body == "acked":
				f.see("ack", answer(c.Ack(context.Background(), m)))
				f.see("ack twice", answer(c.Ack(context.Background(), m)))
			case again:
				f.see(body+" waited its time", time.Since(seen) >= 9*time.Second)
				f.see(body+" acked", answer(c.Ack(context.Background(), m)))
			case body == "changed":
				f.see("change", answer(c.ChangeInvisibleDuration(m, 15*time.Second)))
				f.see("change of a change", answer(c.ChangeInvisibleDuration(m, 12*time.Second)))
				first[body] = time.Now()
			default:
				first[body] = time.Now()
			}
		}
	}
	f.see("attempts", attempts)
	f.must(len(attempts["acked"]) == 1 && len(attempts["left"]) == 2 && len(attempts["changed"]) == 2, "attempts %v", attempts)
	rest, err := receive(c, 16, 10*time.Second)
	f.see("rest", len(rest))
	return err
}

func filterSQL(s *session, f *facts) error {
	topic, p, err := s.fresh("NORMAL")
	if err != nil {
		return err
	}
	for _, tag := range []string{"TagA", "TagB", "TagC"} {
		for n := range 10 {
			_, err := send(p, topic, fmt.Sprintf("%s %d", tag, n), func(m *rocketmq.Message) {
				m.SetTag(tag)
				m.AddProperty("n", strconv.Itoa(n))
			})
			if err != nil {
				return err
			}
		}
	}
	c, err := s.simple(topic, rocketmq.NewFilterExpressionWithType("n > 5 AND n IS NOT NULL", rocketmq.SQL92))
	if err != nil {
		return err
	}
	var in inbox
	if err := in.drain(c, 12, 30*time.Second); err != nil {
		return err
	}
	in.expect(f, 12, 100*time.Millisecond)
	return nil
}

// fifo has no failures: the client goes on with the next messages of a group while it waits to offer a failed one again.
func fifo(s *session, f *facts) error {
	topic, p, err := s.fresh("FIFO")
	if err != nil {
		return err
	}
	var mu sync.Mutex
	seen, total := map[string][]int{}, 0
	_, err = s.push(topic, func(m *rocketmq.MessageView) rocketmq.ConsumerResult {
		mu.Lock()
		defer mu.Unlock()
		group, number, _ := strings.Cut(string(m.GetBody()), ":")
		n, err := strconv.Atoi(number)
		f.must(err == nil, "body %q", m.GetBody())
		seen[group] = append(seen[group], n)
		total++
		return rocketmq.SUCCESS
	})
	if err != nil {
		return err
	}
	for n := range 20 {
		for g := range 4 {
			group := fmt.Sprintf("g%d", g)
			if _, err := send(p, topic, fmt.Sprintf("%s:%d", group, n), func(m *rocketmq.Message) { m.SetMessageGroup(group) }); err != nil {
				return err
			}
		}
	}
	await(time.Minute, func() bool { mu.Lock(); defer mu.Unlock(); return total >= 80 })
	time.Sleep(500 * time.Millisecond)
	mu.Lock()
	defer mu.Unlock()
	f.see("groups", len(seen))
	for group, numbers := range seen {
		f.see(group, len(numbers))
		f.must(slices.IsSorted(numbers) && len(numbers) == 20, "%s in order: %v", group, numbers)
	}
	return nil
}

func delay(s *session, f *facts) error {
	topic, p, err := s.fresh("DELAY")
	if err != nil {
		return err
	}
	var in inbox
	if _, err := s.push(topic, in.add); err != nil {
		return err
	}
	due := map[string]time.Time{}
	for n := range 10 {
		body, at := fmt.Sprintf("body %d", n), time.Now().Add(2500*time.Millisecond+time.Duration(n)*300*time.Millisecond)
		due[body] = at.Truncate(time.Millisecond)
		r, err := send(p, topic, body, func(m *rocketmq.Message) { m.SetDelayTimestamp(at) })
		if err != nil {
			return err
		}
		f.see("handle", r.RecallHandle != "")
	}
	in.expect(f, 10, time.Minute)
	messages, at := in.all()
	for i, m := range messages {
		early := due[string(m.GetBody())].Sub(at[i])
		f.must(early <= 0 || !s.exact && early <= time.Second, "%s early by %v", m.GetBody(), early)
		f.must(early > -10*time.Second, "%s late by %v", m.GetBody(), -early)
		f.see("delivery time", m.GetDeliveryTimestamp() != nil)
	}
	_, err = send(p, topic, "far", func(m *rocketmq.Message) { m.SetDelayTimestamp(time.Now().Add(240 * time.Hour)) })
	f.see("too far", answer(err))
	return nil
}

func recall(s *session, f *facts) error {
	topic, p, err := s.fresh("DELAY")
	if err != nil {
		return err
	}
	var in inbox
	if _, err := s.push(topic, in.add); err != nil {
		return err
	}
	later := func(m *rocketmq.Message) { m.SetDelayTimestamp(time.Now().Add(12 * time.Second)) }
	gone, err := send(p, topic, "recalled", later)
	if err != nil {
		return err
	}
	if _, err := send(p, topic, "stays", later); err != nil {
		return err
	}
	try := func(fact, handle string) {
		_, err := p.Recall(context.Background(), topic, handle)
		f.see(fact, answer(err))
	}
	try("recall", gone.RecallHandle)
	try("recall with garbage", "garbage")
	in.expect(f, 1, 30*time.Second)
	f.must(in.bodies()["stays"] == 1, "got %v", in.bodies())
	try("recall late", gone.RecallHandle)
	return nil
}

func transaction(s *session, f *facts) error {
	topic := s.topic("TRANSACTION")
	var mu sync.Mutex
	asked := map[string]bool{}
	p, err := s.producer(topic, rocketmq.WithTransactionChecker(&rocketmq.TransactionChecker{Check: func(m *rocketmq.MessageView) rocketmq.TransactionResolution {
		mu.Lock()
		defer mu.Unlock()
		body := string(m.GetBody())
		asked[body] = true
		if strings.HasSuffix(body, "later") {
			return rocketmq.COMMIT
		}
		return rocketmq.ROLLBACK
	}}))
	if err != nil {
		return err
	}
	var in inbox
	if _, err := s.push(topic, in.add); err != nil {
		return err
	}
	for n := range 5 {
		for _, what := range []string{"commit", "rollback", "later", "never"} {
			t := p.BeginTransaction()
			if _, err := p.SendWithTransaction(context.Background(), &rocketmq.Message{Topic: topic, Body: fmt.Appendf(nil, "%d %s", n, what)}, t); err != nil {
				return err
			}
			switch what {
			case "commit":
				err = t.Commit()
			case "rollback":
				err = t.RollBack()
			}
			if err != nil {
				return err
			}
		}
	}
	undecided := func() int {
		mu.Lock()
		defer mu.Unlock()
		n := 0
		for body := range asked {
			if strings.HasSuffix(body, "never") || strings.HasSuffix(body, "later") {
				n++
			}
		}
		return n
	}
	await(90*time.Second, func() bool { return len(in.bodies()) >= 10 && undecided() >= 10 })
	f.see("asked", undecided())
	f.see("visible", len(in.bodies()))
	f.must(len(in.bodies()) == 10, "visible: %v", in.bodies())
	for body, times := range in.bodies() {
		f.must(strings.HasSuffix(body, "commit") || strings.HasSuffix(body, "later"), "visible: %s", body)
		f.must(times == 1 || !s.exact, "%s visible %d times", body, times) // Apache can ask about what was decided while its check ran
	}
	return nil
}
