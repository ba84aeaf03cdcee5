package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/store"
)

func newStoreDump(p *Process) *cobra.Command {
	var f storeFlags
	var begin, end string
	var width int
	query := store.AllMessages()
	c := &cobra.Command{
		Use:   "dump DIR",
		Short: "Print the messages of a store, one a line, in the order of the log; the broker may run meanwhile",
		Example: `  rocketd store dump ./rocketd-data --topic orders --queue 0 --limit 10
  rocketd store dump ./rocketd-data --key 4711 --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			loaded, err := f.load(p, args[0])
			if err != nil {
				return err
			}
			if f.json && !c.Flags().Changed("body") {
				width = -1
			}
			if query.Begin, err = instant(begin); err != nil {
				return err
			}
			if query.End, err = instant(end); err != nil {
				return err
			}
			out := bufio.NewWriter(p.Stdout)
			damages := 0
			err = store.Dump(store.CheckOptions{Dir: args[0], FS: vfs.OS{}, Config: &loaded.Store}, query,
				func(d store.Dumped) error { return writeDumped(out, d, f.json, width) },
				func(problem store.Problem) {
					damages++
					if _, err := fmt.Fprintln(p.Stderr, problem); err != nil {
						return // the count is told by the exit code all the same
					}
				})
			err = errors.Join(err, out.Flush())
			switch {
			case errors.Is(err, syscall.EPIPE): // whoever reads has had enough
				return nil
			case err != nil:
				return explain(err, loaded)
			case damages > 0:
				return &failure{code: ExitFailure, sentence: fmt.Sprintf("%d places could not be read", damages)}
			}
			return nil
		},
	}
	f.register(c)
	set := c.Flags()
	set.StringVar(&query.Topic, "topic", "", "messages of this topic only")
	set.Int32Var(&query.QueueID, "queue", query.QueueID, "messages of this queue only")
	set.Int64Var(&query.QueueOffset, "from", query.QueueOffset, "queue offset to begin with")
	set.Int64Var(&query.PhysicalOffset, "offset", query.PhysicalOffset, "commit log offset to begin with")
	set.StringVar(&query.Key, "key", "", "messages with this key or unique key only")
	set.StringVar(&begin, "begin", "", "stored at or after this time, 2006-01-02T15:04:05Z or ms since 1970")
	set.StringVar(&end, "end", "", "stored at or before this time")
	set.IntVar(&query.Limit, "limit", query.Limit, "print so many at most")
	set.IntVar(&width, "body", 120, "print so many bytes of a body; -1 all, as --json does unless told")
	return c
}

// instant reads a time, in ms since 1970; empty is no bound.
func instant(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
		return ms, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0, &failure{code: ExitUsage, sentence: fmt.Sprintf("%q is neither a time like 2006-01-02T15:04:05Z nor ms since 1970", text), err: err}
	}
	return t.UnixMilli(), nil
}

// dumpedMessage is the JSON form of one message.
type dumpedMessage struct {
	File           string            `json:"file"`
	FileOffset     int64             `json:"fileOffset"`
	Sealed         bool              `json:"sealed,omitempty"`
	Topic          string            `json:"topic"`
	QueueID        int32             `json:"queueId"`
	QueueOffset    int64             `json:"queueOffset"`
	PhysicalOffset int64             `json:"physicalOffset"`
	Size           int32             `json:"size"`
	BornTime       string            `json:"bornTime"`
	BornHost       string            `json:"bornHost"`
	StoreTime      string            `json:"storeTime"`
	StoreHost      string            `json:"storeHost"`
	Flag           int32             `json:"flag"`
	SysFlag        int32             `json:"sysFlag"`
	ReconsumeTimes int32             `json:"reconsumeTimes"`
	Prepared       int64             `json:"preparedTransactionOffset"`
	Properties     map[string]string `json:"properties"`
	BodySize       int               `json:"bodySize"`
	Text           string            `json:"text,omitempty"` // the body when it is text
	Body           []byte            `json:"body,omitempty"` // else
}

// writeDumped writes a record, an inner batch (queue.type=BatchCQ) as the messages in it.
func writeDumped(w io.Writer, d store.Dumped, asJSON bool, width int) error {
	const inner = message.SysInnerBatch | message.SysNeedUnwrap
	if n, err := message.CountBatch(d.Record.Body); d.Record.SysFlag&inner != inner || n == 0 || err != nil {
		return writeMessage(w, d, asJSON, width)
	}
	m := *d.Record
	for rest := d.Record.Body; len(rest) > 0; m.QueueOffset++ {
		e, next, err := message.CutBatchEntry(rest)
		if err != nil {
			return err
		}
		m.Flag, m.Body, m.Properties, rest = e.Flag, e.Body, e.Properties, next
		one := d
		one.Record = &m
		if err := writeMessage(w, one, asJSON, width); err != nil {
			return err
		}
	}
	return nil
}

func writeMessage(w io.Writer, d store.Dumped, asJSON bool, width int) error {
	r := d.Record
	body := r.Body
	if width >= 0 && len(body) > width {
		body = body[:width]
	}
	if !asJSON {
		unique, _ := r.Properties.Get(message.KeyUniqueKey)
		tags, _ := r.Properties.Get(message.KeyTags)
		keys, _ := r.Properties.Get(message.KeyKeys)
		kind := ""
		if d.Sealed {
			kind = " SEALED"
		}
		_, err := fmt.Fprintf(w, "%d %s %s/%d@%d id=%s tags=%q keys=%q size=%d body=%s%s\n", r.PhysicalOffset, clockTime(r.StoreTimestamp),
			r.Topic, r.QueueID, r.QueueOffset, unique, tags, keys, len(r.Body), shownBody(body), kind)
		return err
	}
	m := dumpedMessage{
		File: d.File, FileOffset: d.Offset, Sealed: d.Sealed, Topic: r.Topic, QueueID: r.QueueID, QueueOffset: r.QueueOffset,
		PhysicalOffset: r.PhysicalOffset, Size: r.Size, BornTime: clockTime(r.BornTimestamp), BornHost: r.BornHost.String(),
		StoreTime: clockTime(r.StoreTimestamp), StoreHost: r.StoreHost.String(), Flag: r.Flag, SysFlag: r.SysFlag,
		ReconsumeTimes: r.ReconsumeTimes, Prepared: r.PreparedTransactionOffset, Properties: map[string]string{}, BodySize: len(r.Body),
	}
	r.Properties.Range(func(key, value string) bool {
		m.Properties[key] = value
		return true
	})
	if isText(body) {
		m.Text = string(body)
	} else {
		m.Body = body
	}
	return json.NewEncoder(w).Encode(m)
}

func clockTime(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// shownBody is a body in one line: text in quotes, other bytes as hexadecimal.
func shownBody(body []byte) string {
	if isText(body) {
		return strconv.Quote(string(body))
	}
	return fmt.Sprintf("0x%x", body)
}

// isText tells whether a body, perhaps cut within a character, is text that can be shown.
func isText(body []byte) bool {
	for cut := 0; cut < utf8.UTFMax && len(body) > 0 && !utf8.Valid(body); cut++ {
		body = body[:len(body)-1]
	}
	return utf8.Valid(body) && !strings.ContainsFunc(string(body), func(r rune) bool {
		return unicode.IsControl(r) && !unicode.IsSpace(r)
	})
}
