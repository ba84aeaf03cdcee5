package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rocketd/rocketd/admin"
)

// topicsAnswer has the form of the console's API.
type topicsAnswer struct {
	Total  int           `json:"total"`
	Topics []admin.Topic `json:"topics"`
}

func newTopic(p *Process) *cobra.Command {
	return newRemote(p, &cobra.Command{
		Use:   "topic",
		Short: "List, show, create, change and delete topics",
		Example: `  rocketd topic list
  rocketd topic create orders --queues 8 --type FIFO
  rocketd topic show orders --json`,
	}, func(r *remote) []*cobra.Command {
		return []*cobra.Command{topicList(r), topicShow(r), topicRoute(r), topicPut(r, true), topicPut(r, false), topicDelete(r)}
	})
}

func topicList(r *remote) *cobra.Command {
	var kind string
	var quick bool
	c := &cobra.Command{
		Use: "list [TEXT]", Short: "List topics whose names contain TEXT, with their messages", Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if !slices.Contains([]string{"", "all", "normal", "retry", "dead", "system"}, kind) {
				return &failure{code: ExitUsage, sentence: fmt.Sprintf("--kind %q is none of all, normal, retry, dead, system", kind)}
			}
			return look(r, func(ctx context.Context, a *admin.Admin) (topicsAnswer, error) {
				list, err := a.Topics(ctx, admin.TopicQuery{Kind: strings.TrimPrefix(kind, "all"), Contains: strings.Join(args, ""), Count: !quick}, r.progress("topics"))
				return topicsAnswer{len(list), list}, err
			}, printTopics)
		},
	}
	c.Flags().StringVar(&kind, "kind", "normal", "normal, retry, dead, system or all")
	c.Flags().BoolVar(&quick, "quick", false, "do not count messages, which asks for each topic")
	return c
}

func printTopics(t *table, answer topicsAnswer) {
	t.row("TOPIC", "KIND", "TYPE", "QUEUES", "PERM", "MESSAGES", "BROKERS")
	for i := range answer.Topics {
		v := &answer.Topics[i]
		t.row(v.Name, v.Kind, dash(v.Type), queuesText(v.Read, v.Write), permission(v.Perm), count(v.Messages), strings.Join(v.Brokers, ","))
	}
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func count(n int64) string {
	if n < 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

func queuesText(read, write int32) string {
	if read == write {
		return fmt.Sprint(read)
	}
	return fmt.Sprintf("%dr %dw", read, write)
}

func topicShow(r *remote) *cobra.Command {
	return &cobra.Command{
		Use: "show TOPIC", Short: "Show a topic: its queues, and how far groups are in it", Args: cobra.ExactArgs(1), ValidArgsFunction: r.completeTopics,
		RunE: func(_ *cobra.Command, args []string) error {
			return look(r, func(ctx context.Context, a *admin.Admin) (*admin.TopicDetail, error) { return a.Topic(ctx, args[0]) }, printTopic)
		},
	}
}

func printTopic(t *table, v *admin.TopicDetail) {
	t.row("topic", v.Name)
	t.row("kind", v.Kind)
	t.row("type", dash(v.Type))
	t.row("queues", queuesText(v.Read, v.Write))
	t.row("permission", permission(v.Perm))
	t.row("ordered", yesNo(v.Order))
	t.row("messages", fmt.Sprintf("%d (%d ever)", v.Messages, v.Max))
	for _, name := range slices.Sorted(maps.Keys(v.Attributes)) {
		t.row(name, v.Attributes[name])
	}
	t.line("")
	t.row("BROKER", "QUEUE", "MIN", "MAX", "MESSAGES", "OLDEST", "NEWEST")
	for _, q := range v.Queues {
		t.row(q.Broker, q.ID, q.Min, q.Max, q.Max-q.Min, stampOf(q.OldestMs), stampOf(q.NewestMs))
	}
	if len(v.Groups) == 0 {
		return
	}
	t.line("")
	t.row("GROUP", "ONLINE", "LAG", "IN FLIGHT", "BEHIND")
	for _, g := range v.Groups {
		t.row(g.Group, yesNo(g.Online), g.Lag, g.InFlight, age(g.LagMs))
	}
}

type routeAnswer struct {
	Topic  string             `json:"topic"`
	Queues []admin.RouteQueue `json:"queues"`
}

func topicRoute(r *remote) *cobra.Command {
	return &cobra.Command{
		Use: "route TOPIC", Short: "Show what clients are told: brokers, addresses and queues", Args: cobra.ExactArgs(1), ValidArgsFunction: r.completeTopics,
		RunE: func(_ *cobra.Command, args []string) error {
			return look(r, func(ctx context.Context, a *admin.Admin) (routeAnswer, error) {
				list, err := a.Route(ctx, args[0])
				return routeAnswer{args[0], list}, err
			}, printRoute)
		},
	}
}

func printRoute(t *table, answer routeAnswer) {
	t.row("BROKER", "CLUSTER", "READ", "WRITE", "PERM", "ADDRESSES")
	for _, q := range answer.Queues {
		t.row(q.Broker, q.Cluster, q.Read, q.Write, permission(q.Perm), addresses(q.Addrs))
	}
}

// addresses prints a broker's addresses, the master's first.
func addresses(addrs map[int64]string) string {
	var list []string
	for _, id := range slices.Sorted(maps.Keys(addrs)) {
		if id == 0 {
			list = append(list, addrs[id])
		} else {
			list = append(list, fmt.Sprintf("%s (slave %d)", addrs[id], id))
		}
	}
	return strings.Join(list, ", ")
}

func topicPut(r *remote, create bool) *cobra.Command {
	var queues, read, write int32
	var perm, kind string
	var order bool
	var attributes, remove []string
	c := putCommand("topic", create, r.completeTopics)
	if create {
		c.Example = "  rocketd topic create orders --queues 8 --type FIFO"
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		change := admin.TopicChange{
			Name: args[0], Read: given(c, "queues", &queues), Write: given(c, "queues", &queues), Order: given(c, "order", &order), Attributes: map[string]string{}, Remove: remove,
		}
		if v := given(c, "read-queues", &read); v != nil {
			change.Read = v
		}
		if v := given(c, "write-queues", &write); v != nil {
			change.Write = v
		}
		if perm != "" {
			bits, err := parsePermission(perm)
			if err != nil {
				return err
			}
			change.Perm = &bits
		}
		if kind != "" {
			change.Attributes["message.type"] = strings.ToUpper(kind)
		}
		if err := pairs(attributes, change.Attributes); err != nil {
			return err
		}
		return r.ask(func(ctx context.Context, a *admin.Admin) error {
			if create {
				return r.done(a.CreateTopic(ctx, change), "topic %s created", args[0])
			}
			return r.done(a.UpdateTopic(ctx, change), "topic %s changed", args[0])
		})
	}
	set := c.Flags()
	set.SortFlags = false
	set.Int32Var(&queues, "queues", 8, "queues to read and write")
	set.Int32Var(&read, "read-queues", 8, "queues to read, when they differ")
	set.Int32Var(&write, "write-queues", 8, "queues to write, when they differ")
	set.StringVar(&perm, "perm", "", "r, w or rw")
	set.BoolVar(&order, "order", false, "an ordered topic")
	set.StringVar(&kind, "type", "", "message.type: NORMAL, FIFO, DELAY, TRANSACTION or MIXED")
	set.StringArrayVar(&attributes, "attribute", nil, "NAME=VALUE; may be repeated")
	if !create {
		set.StringArrayVar(&remove, "remove-attribute", nil, "NAME; may be repeated")
	}
	return c
}

// pairs reads NAME=VALUE texts into a map.
func pairs(texts []string, into map[string]string) error {
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return &failure{code: ExitUsage, sentence: fmt.Sprintf("%q is not NAME=VALUE", text)}
		}
		into[name] = value
	}
	return nil
}

func topicDelete(r *remote) *cobra.Command {
	return deleteCommand(r, deletion{
		what: "topic", short: "Delete a topic with its messages and offsets", complete: r.completeTopics,
		loss: func(ctx context.Context, a *admin.Admin, name string) (string, error) {
			v, err := a.Topic(ctx, name)
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("%d messages and %d groups", v.Messages, len(v.Groups)), nil
		},
		do: func(ctx context.Context, a *admin.Admin, name string) error { return a.DeleteTopic(ctx, name) },
	})
}
