package integration

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rocketd/rocketd/integration/peer"
	"github.com/rocketd/rocketd/remoting"
)

// program is one of Apache's published example classes, with what its output must hold.
type program struct {
	class string
	args  []string
	// want is counted in the output until count hits are there.
	want  string
	count int
	// stays keeps a consumer running until the story ends.
	stays bool
	// commits names a group that has to commit offsets of TopicTest, for a program that prints nothing.
	commits string
	// started is awaited before the next program starts, when the program stays.
	started string
}

const received = `MessageExt \[`

type exampleStory struct {
	name     string
	programs []program
	// topics are made before the programs start: a consumer that starts before its topic exists learns of it 30 s later.
	topics []string
}

var exampleStories = []exampleStory{
	{"quickstart", []program{
		{class: "quickstart.Producer", want: "SEND_OK", count: 1000},
		{class: "quickstart.Consumer", want: received, count: 1000, stays: true},
	}, nil},
	{"simple", []program{
		{class: "simple.Producer", want: "SEND_OK", count: 128},
		{class: "simple.OnewayProducer"},
		{class: "simple.PushConsumer", want: received, count: 228, stays: true},
		{class: "simple.PullConsumer", commits: "please_rename_unique_group_name_5", stays: true},
		{class: "simple.LitePullConsumerSubscribe", want: received, count: 228, stays: true},
	}, nil},
	{"simple async", []program{{class: "simple.AsyncProducer", want: `\d +OK `, count: 100}}, nil},
	{"lite pull assign", []program{
		{class: "simple.Producer", want: "SEND_OK", count: 128},
		{class: "simple.LitePullConsumerAssign", want: received, count: 30, stays: true},
	}, nil},
	{"lite pull assign with expression", []program{
		{class: "simple.Producer", want: "SEND_OK", count: 128},
		{class: "simple.LitePullConsumerAssignWithSubExpression", want: received, count: 1, stays: true},
	}, []string{"TopicTest1"}},
	{"batch", []program{
		{class: "batch.SimpleBatchProducer", want: "SEND_OK", count: 1, stays: true},
		{class: "batch.SplitBatchProducer", want: "SEND_OK", count: 2, stays: true},
	}, nil},
	{"tag filter", []program{
		{class: "filter.TagFilterConsumer", want: received, count: 40, stays: true, started: "Consumer Started"},
		{class: "filter.TagFilterProducer", want: "SEND_OK", count: 60},
	}, []string{"TagFilterTest"}},
	{"sql filter", []program{
		{class: "filter.SqlFilterConsumer", want: received, count: 3, stays: true, started: "Consumer Started"},
		{class: "filter.SqlFilterProducer", want: "SEND_OK", count: 10},
	}, []string{"SqlFilterTest"}},
	{"order", []program{
		{class: "ordermessage.Producer", want: "SEND_OK", count: 100},
		{class: "quickstart.Producer", want: "SEND_OK", count: 1000},
		{class: "ordermessage.Consumer", want: received, count: 100, stays: true},
	}, nil},
	{"broadcast", []program{
		{class: "broadcast.PushConsumer", want: received, count: 100, stays: true, started: "Consumer Started"},
		{class: "quickstart.Producer", want: "SEND_OK", count: 1000},
	}, []string{"TopicTest"}},
	{"schedule", []program{
		{class: "schedule.ScheduledMessageConsumer", want: `Receive message\[msgId`, count: 100, stays: true},
		{class: "schedule.ScheduledMessageProducer"},
	}, []string{"TestTopic"}},
	{"timer", []program{
		{class: "schedule.TimerMessageConsumer", want: `Receive message\[msgId`, count: 10, stays: true},
		{class: "schedule.TimerMessageProducer", want: "SEND_OK", count: 10},
	}, []string{"TimerTopic"}},
	{"transaction", []program{{class: "transaction.TransactionProducer", want: "SEND_OK", count: 10, stays: true}}, nil},
	{"request reply", []program{
		{class: "rpc.ResponseConsumer", want: "reply to", count: 1, stays: true, started: "Consumer Started"},
		{class: "rpc.RequestProducer", want: "replyMessage: Message", count: 1},
	}, []string{"RequestTopic"}},
}

// TestApacheExamples runs Apache's published example programs, unmodified, against rocketd. Some have the name server's
// address 127.0.0.1:9876 built in, so it runs on the default ports.
func TestApacheExamples(t *testing.T) {
	peer.NeedJava(t)
	for _, address := range []string{"127.0.0.1:9876", "127.0.0.1:10911"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			if os.Getenv("CI") != "" {
				t.Fatalf("the example programs need the default ports: %v", err)
			}
			t.Skipf("the example programs need the default ports: %v", err)
		}
		_ = l.Close()
	}
	for _, story := range exampleStories {
		t.Run(story.name, func(t *testing.T) {
			// The programs give up a send after 3 s, which a cold JVM on a busy machine can take alone: a story has two tries.
			if err := tell(t, story); err != nil {
				t.Logf("second try, since: %v", err)
				if err := tell(t, story); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// tell runs one story on a fresh broker.
func tell(t *testing.T, story exampleStory) error {
	t.Helper()
	c := peer.StartRocketdAt(t, t.TempDir(), "9876", "10911")
	defer c.Stop(t)
	for _, topic := range story.topics {
		ask(t, c.Broker, remoting.NewRequest(remoting.UpdateAndCreateTopic, &remoting.CreateTopicRequestHeader{
			Topic: topic, DefaultTopic: "TBW102", ReadQueueNums: 4, WriteQueueNums: 4, Perm: 6, TopicFilterType: "SINGLE_TAG",
		}))
	}
	var running []*runningProgram
	for _, p := range story.programs {
		r := startProgram(t, p)
		defer r.kill()
		running = append(running, r)
		var err error
		if !p.stays {
			err = r.end()
		} else if p.started != "" {
			err = r.await(p.started, 1)
		}
		if err != nil {
			return err
		}
	}
	for _, r := range running {
		if r.want != "" {
			if err := r.await(r.want, r.count); err != nil {
				return err
			}
		}
		if r.commits != "" {
			await(t, 90*time.Second, "offsets of "+r.commits, func() bool { return committed(t, c.Broker, r.commits) > 0 })
		}
	}
	return nil
}

// ask sends a request that must be answered with success.
func ask(t *testing.T, broker string, cmd *remoting.Command) *remoting.Command {
	t.Helper()
	client := remoting.NewClient(remoting.ClientOptions{})
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	resp, err := client.Invoke(ctx, broker, cmd)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Code != remoting.Success && resp.Code != remoting.QueryNotFound {
		t.Fatalf("request %d: code %d %s", cmd.Code, resp.Code, resp.Remark)
	}
	return resp
}

// committed sums the offsets that a group has committed on TopicTest.
func committed(t *testing.T, broker, group string) int64 {
	t.Helper()
	var sum int64
	for q := range int32(4) {
		resp := ask(t, broker, remoting.NewRequest(remoting.QueryConsumerOffset, &remoting.QueryConsumerOffsetRequestHeader{
			ConsumerGroup: group, Topic: "TopicTest", QueueID: q, SetZeroIfNotFound: remoting.Some(false),
		}))
		var h remoting.QueryConsumerOffsetResponseHeader
		if resp.Code == remoting.Success && resp.Decode(&h) == nil {
			sum += h.Offset
		}
	}
	return sum
}

type runningProgram struct {
	program
	cmd  *exec.Cmd
	done chan struct{}
	mu   sync.Mutex
	out  bytes.Buffer // guarded by mu
}

func (r *runningProgram) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.Write(b)
}

func (r *runningProgram) output() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.String()
}

func startProgram(t *testing.T, p program) *runningProgram {
	t.Helper()
	home := t.TempDir()
	r := &runningProgram{program: p, done: make(chan struct{})}
	r.cmd = peer.Java(home, []string{"-Xmx256m", "-Drocketmq.namesrv.addr=127.0.0.1:9876", "-Drocketmq.client.logRoot=" + filepath.Join(home, "log")},
		"org.apache.rocketmq.example."+p.class, p.args...)
	r.cmd.Stdout, r.cmd.Stderr = r, r
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = r.cmd.Wait()
		close(r.done)
	}()
	t.Cleanup(r.kill)
	return r
}

func (r *runningProgram) kill() {
	_ = r.cmd.Process.Signal(syscall.SIGKILL)
	<-r.done
}

func (r *runningProgram) await(pattern string, count int) error {
	re := regexp.MustCompile(pattern)
	deadline := time.Now().Add(90 * time.Second)
	for {
		n := len(re.FindAllString(r.output(), -1))
		if n >= count {
			return nil
		}
		if time.Now().After(deadline) {
			out := r.output()
			return fmt.Errorf("%s: %d of %d times %q\n%s", r.class, n, count, pattern, out[max(0, len(out)-1500):])
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (r *runningProgram) end() error {
	select {
	case <-r.done:
		return nil
	case <-time.After(90 * time.Second):
		out := r.output()
		return fmt.Errorf("%s does not end\n%s", r.class, out[max(0, len(out)-1500):])
	}
}
