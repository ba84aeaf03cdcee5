package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rocketd/rocketd/admin"
	"github.com/rocketd/rocketd/internal/view"
	"github.com/rocketd/rocketd/message"
)

// timerCommand is what the commands below timer share.
type timerCommand struct {
	*remote
	http  string
	topic string
	read  int
}

func newTimer(p *Process) *cobra.Command {
	t := &timerCommand{remote: &remote{p: p}}
	c := &cobra.Command{
		Use:   "timer",
		Short: "Show pending timers: one by one, by time and by topic",
		Long: `Show pending timers.

With --http they come from the console of a running rocketd, which knows them exactly, by the order of their time, with what is cancelled, rolled and
how late they were delivered. Without it brokers are asked over the remoting protocol, ours or Apache's: they tell how many timers wait for each
topic, and the rest is read from the newest messages of their system topic ` + message.TopicTimer + ` (--read says how many), cancelled ones among them.`,
		Example: `  rocketd timer ls --http 127.0.0.1:10988 --topic orders
  rocketd timer stats --by hour --http 127.0.0.1:10988
  rocketd timer stats --namesrv 10.0.0.1:9876 --json`,
	}
	t.register(c)
	flags := c.PersistentFlags()
	flags.StringVar(&t.http, "http", "", "HOST:PORT of the console of a running rocketd, such as 127.0.0.1:10988")
	flags.StringVarP(&t.topic, "topic", "t", "", "only timers for this topic")
	flags.IntVar(&t.read, "read", 100_000, "without --http: how many messages of the system topic are read at most")
	c.AddCommand(timerList(t), timerStats(t))
	return c
}

// TimerList is the answer of timer ls.
type TimerList struct {
	NowMs  int64               `json:"nowMs"`
	Timers []view.PendingTimer `json:"timers"`
	// More: there are others behind, or that were not read.
	More bool `json:"more"`
}

func timerList(t *timerCommand) *cobra.Command {
	limit := 50
	c := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List pending timers, the next one first", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if limit < 1 || t.read < 1 {
				return &failure{code: ExitUsage, sentence: fmt.Sprintf("--limit is %d and --read is %d, want at least 1", limit, t.read)}
			}
			return t.ask(func(ctx context.Context, a *admin.Admin) error {
				list, err := t.list(ctx, a, limit)
				if err != nil {
					return err
				}
				return t.show(list, func(w *table) { printTimers(w, &list) })
			})
		},
	}
	c.Flags().IntVar(&limit, "limit", limit, "list no more than so many")
	return c
}

func printTimers(w *table, list *TimerList) {
	w.row("DUE", "IN", "TOPIC", "QUEUE", "KEY", "WHAT", "ID")
	for i := range list.Timers {
		v := &list.Timers[i]
		what := "timer"
		switch {
		case v.Cancels != "":
			what = "cancels " + v.Cancels
		case v.Rolls:
			what = "rolls at " + stampOf(v.LeavesMs)
		}
		w.row(stampOf(v.DueMs), age(v.DueMs-list.NowMs), dash(v.Topic), v.Queue, dash(v.UniqueKey), what, dash(v.ID))
	}
	if list.More {
		w.line("There are more.")
	}
}

func (t *timerCommand) list(ctx context.Context, a *admin.Admin, limit int) (TimerList, error) {
	if t.http == "" {
		return t.listBrokers(ctx, a, limit)
	}
	out := TimerList{Timers: []view.PendingTimer{}}
	after := ""
	for {
		q := url.Values{"limit": {strconv.Itoa(min(limit-len(out.Timers), 1000))}}
		if t.topic != "" {
			q.Set("topic", t.topic)
		}
		if after != "" {
			q.Set("after", after)
		}
		var page view.PendingAnswer
		if err := t.get(ctx, "timers/pending", q, &page); err != nil {
			return out, err
		}
		out.NowMs, after = page.NowMs, page.Next
		out.Timers = append(out.Timers, page.Timers...)
		if out.More = after != ""; !out.More || len(out.Timers) >= limit {
			return out, nil
		}
	}
}

func (t *timerCommand) listBrokers(ctx context.Context, a *admin.Admin, limit int) (TimerList, error) {
	out := TimerList{NowMs: a.NowMs(), Timers: []view.PendingTimer{}}
	waiting, err := a.WaitingTimers(ctx, t.read, t.progress("brokers"))
	if err != nil {
		return out, err
	}
	out.More = waiting.Read < waiting.Of
	for i := range waiting.Timers {
		m := &waiting.Timers[i]
		if t.topic != "" && m.RealTopic != t.topic {
			continue
		}
		if len(out.Timers) == limit {
			out.More = true
			break
		}
		queue, _ := strconv.ParseInt(m.Properties[message.KeyRealQueueID], 10, 32) // as the broker wrote it
		out.Timers = append(out.Timers, view.PendingTimer{
			DueMs: m.DueMs, LeavesMs: m.DueMs, EnqueuedMs: m.StoreMs, Topic: m.RealTopic, Queue: int32(queue), UniqueKey: m.UniqueKey, Tags: m.Tags,
			Keys: m.Keys, Cancels: m.Properties[message.KeyTimerDelUniqueKey], Size: m.Size, ID: m.ID,
		})
	}
	return out, nil
}

// get asks the console of a running rocketd.
func (t *timerCommand) get(ctx context.Context, path string, q url.Values, into any) error {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	where := "http://" + strings.TrimPrefix(t.http, "http://") + "/api/v1/" + path
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, where+"?"+q.Encode(), nil)
	if err != nil {
		return &failure{code: ExitUsage, sentence: fmt.Sprintf("--http %s is no HOST:PORT: %v", t.http, err), err: err}
	}
	client := http.Client{Timeout: t.timeout + time.Second}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return &failure{code: ExitUnreachable, sentence: fmt.Sprintf("no answer from the console at %s: %v; httpPort of the broker's configuration says where it is", t.http, err), err: err}
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, 64<<20))
	err = errors.Join(err, resp.Body.Close())
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the console at %s answered %s: %.300s", t.http, resp.Status, data)
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("the answer of the console at %s cannot be read: %w", t.http, err)
	}
	return nil
}
