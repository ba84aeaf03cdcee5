package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rocketd/rocketd/admin"
	"github.com/rocketd/rocketd/internal/view"
)

// messagesAnswer has the form of the console's API.
type messagesAnswer struct {
	By       string          `json:"by"`
	Messages []admin.Message `json:"messages"`
	// Min and Max are the queue's offsets when an offset was asked for.
	Min int64 `json:"min"`
	Max int64 `json:"max"`
}

func newMessage(p *Process) *cobra.Command {
	r := &remote{p: p}
	c := &cobra.Command{
		Use:   "message",
		Short: "Look for, read, send and resend messages",
		Example: `  rocketd message list orders --count 5              the newest
  rocketd message list orders --since 10m            in order of time
  rocketd message find orders --key 4711
  rocketd message get 7F0000010000...                by id or unique key
  rocketd message resend billing --all               dead letters back to the group`,
	}
	r.register(c)
	c.AddCommand(messageGet(r), messageFind(r), messageList(r), sendCommand(r), messageResend(r))
	return c
}

func messageGet(r *remote) *cobra.Command {
	var topic string
	var raw bool
	c := &cobra.Command{
		Use: "get ID", Short: "Show a message by its id (of either kind)", Args: cobra.ExactArgs(1),
		Long: `Shows one message. ID is the offset message id that a send returns, or the unique key (msgId of the Java client). A unique key is looked
for in --topic, or in every topic.`,
		RunE: func(_ *cobra.Command, args []string) error {
			return r.ask(func(ctx context.Context, a *admin.Admin) error {
				m, err := a.MessageByID(ctx, args[0], topic, r.progress("topics"))
				if err != nil {
					return err
				}
				if raw {
					_, err := r.p.Stdout.Write(m.Raw)
					return err
				}
				return r.show(m, func(t *table) { printMessage(t, m) })
			})
		},
	}
	c.Flags().StringVarP(&topic, "topic", "t", "", "topic to look for a unique key in")
	c.Flags().BoolVar(&raw, "raw", false, "the stored body alone, byte for byte")
	return c
}

func printMessage(t *table, m *admin.Message) {
	t.row("id", m.ID)
	t.row("unique key", dash(m.UniqueKey))
	t.row("topic", m.Topic)
	t.row("queue, offset", fmt.Sprintf("%s/%d, %d", m.Broker, m.QueueID, m.Offset))
	t.row("type", strings.ToLower(m.Type))
	t.row("tags", dash(m.Tags))
	t.row("keys", dash(m.Keys))
	t.row("stored", stampOf(m.StoreMs)+" on "+m.StoreHost)
	t.row("born", stampOf(m.BornMs)+" at "+m.BornHost)
	if m.ReconsumeTimes > 0 {
		t.row("deliveries", m.ReconsumeTimes+1)
	}
	if m.RealTopic != "" {
		t.row("waits for", m.RealTopic)
	}
	if m.DueMs > 0 {
		t.row("due", stampOf(m.DueMs))
	}
	for _, key := range slices.Sorted(maps.Keys(m.Properties)) {
		t.row("  "+key, m.Properties[key])
	}
	kind := m.Body.Format
	if m.Body.Compression != "" {
		kind += ", was " + m.Body.Compression
	}
	t.line(fmt.Sprintf("\nbody, %d bytes, %s\n%s", m.Body.Bytes, kind, m.Body.Text))
}

// times are the flags that bound store times.
type times struct{ since, until string }

func (f *times) register(c *cobra.Command) {
	c.Flags().StringVar(&f.since, "since", "", "stored at or after: a span that has passed (10m), or a time")
	c.Flags().StringVar(&f.until, "until", "", "stored at or before")
}

func (f *times) read() (from, to int64, err error) {
	if from, err = timeMs(f.since); err != nil {
		return 0, 0, err
	}
	to, err = timeMs(f.until)
	return from, to, err
}

func messageFind(r *remote) *cobra.Command {
	var key string
	var n int
	var when times
	c := &cobra.Command{
		Use: "find TOPIC --key KEY", Short: "Find messages of a topic by a key or unique key, the newest first", Args: cobra.ExactArgs(1), ValidArgsFunction: r.completeTopics,
		RunE: func(_ *cobra.Command, args []string) error {
			if key == "" {
				return &failure{code: ExitUsage, sentence: "--key is missing"}
			}
			from, to, err := when.read()
			if err != nil {
				return err
			}
			if to == 0 {
				to = math.MaxInt64
			}
			return r.ask(func(ctx context.Context, a *admin.Admin) error {
				list, err := a.MessagesByKey(ctx, args[0], key, n, from, to)
				if err != nil {
					return err
				}
				if len(list) == 0 {
					return &admin.NotFound{What: "message", Name: "with the key " + key + " in " + args[0]}
				}
				return r.showMessages(messagesAnswer{By: "key", Messages: list})
			})
		},
	}
	c.Flags().StringVarP(&key, "key", "k", "", "key (KEYS) or unique key of the message")
	c.Flags().IntVar(&n, "count", 32, "at most so many")
	when.register(c)
	return c
}

func messageList(r *remote) *cobra.Command {
	var n int
	var queue int32
	var offset int64
	var when times
	c := &cobra.Command{
		Use: "list TOPIC", Short: "List messages: the newest, or those of a time or from an offset on", Args: cobra.ExactArgs(1), ValidArgsFunction: r.completeTopics,
		RunE: func(c *cobra.Command, args []string) error {
			from, to, err := when.read()
			if err != nil {
				return err
			}
			return r.ask(func(ctx context.Context, a *admin.Admin) error {
				rng := admin.MessageRange{Topic: args[0], Queue: queue, Offset: given(c, "offset", &offset), FromMs: from, ToMs: to, Count: n}
				found, err := a.Messages(ctx, rng, r.progress("queues"))
				if err != nil {
					return err
				}
				by := "newest"
				switch {
				case rng.Offset != nil:
					by = "offset"
				case from != 0 || to != 0:
					by = "time"
				}
				return r.showMessages(messagesAnswer{by, found.Messages, found.Min, found.Max})
			})
		},
	}
	c.Flags().IntVar(&n, "count", 32, "at most so many")
	c.Flags().Int32Var(&queue, "queue", -1, "this queue alone")
	c.Flags().Int64Var(&offset, "offset", 0, "from this offset on; needs --queue")
	when.register(c)
	return c
}

func (r *remote) showMessages(answer messagesAnswer) error {
	if answer.Messages == nil {
		answer.Messages = []admin.Message{}
	}
	return r.show(answer, func(t *table) {
		t.row("STORED", "QUEUE", "OFFSET", "TAGS", "KEYS", "ID", "BODY")
		for i := range answer.Messages {
			m := &answer.Messages[i]
			t.row(stampOf(m.StoreMs), fmt.Sprintf("%s/%d", m.Broker, m.QueueID), m.Offset, dash(m.Tags), dash(m.Keys), m.ID, oneLine(m, 60))
		}
	})
}

// oneLine is the beginning of a body, without line ends.
func oneLine(m *admin.Message, most int) string {
	if m.Body.Format == "hex" {
		return fmt.Sprintf("(%d bytes)", m.Body.Bytes)
	}
	text := strings.Join(strings.Fields(m.Body.Text), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

func messageResend(r *remote) *cobra.Command {
	var offsets []int64
	var all bool
	c := &cobra.Command{
		Use: "resend GROUP", Short: "Send dead letters of a group to this group again", Args: cobra.ExactArgs(1), ValidArgsFunction: r.completeGroups,
		Long: `Sends dead letters to the retry topic of their group, so that this group alone gets them; deliveries are counted anew. They stay among the dead
letters until they expire: rocketd message list %DLQ%GROUP shows them with their offsets.`,
		RunE: func(_ *cobra.Command, args []string) error {
			if all == (len(offsets) > 0) {
				return &failure{code: ExitUsage, sentence: "either --all or --offset says which dead letters"}
			}
			return r.ask(func(ctx context.Context, a *admin.Admin) error {
				list, err := a.Resend(ctx, args[0], offsets, r.progress("dead letters"))
				if err != nil {
					return err
				}
				if err := r.show(view.ResendAnswer{Resent: list}, func(t *table) {
					t.row("DEAD LETTER", "SENT TO", "OFFSET", "ERROR")
					for _, m := range list {
						t.row(m.Offset, m.Topic, m.At, dash(m.Error))
					}
				}); err != nil {
					return err
				}
				failed := 0
				for _, m := range list {
					if m.Error != "" {
						failed++
					}
				}
				if failed > 0 {
					return &failure{code: ExitFailure, sentence: fmt.Sprintf("%d of %d dead letters were not sent", failed, len(list))}
				}
				return nil
			})
		},
	}
	c.Flags().Int64SliceVar(&offsets, "offset", nil, "offset of a dead letter; may be repeated")
	c.Flags().BoolVar(&all, "all", false, "all of them")
	return c
}

// line prints a message as one line, or as one line of JSON.
func (r *remote) line(w io.Writer, m *admin.Message, bodyOnly bool) error {
	switch {
	case r.json:
		data, err := json.Marshal(m)
		if err != nil {
			return err
		}
		_, err = w.Write(append(data, '\n'))
		return err
	case bodyOnly:
		_, err := fmt.Fprintln(w, m.Body.Text)
		return err
	default:
		_, err := fmt.Fprintf(w, "%s  %s/%d %d  %s  %s  %s\n", time.UnixMilli(m.StoreMs).Format("15:04:05.000"), m.Broker, m.QueueID, m.Offset, dash(m.Tags), dash(m.Keys), oneLine(m, 2000))
		return err
	}
}
