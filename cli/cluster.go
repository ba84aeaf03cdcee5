package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rocketd/rocketd/admin"
	"github.com/rocketd/rocketd/internal/view"
)

func newCluster(p *Process) *cobra.Command {
	r := &remote{p: p}
	c := &cobra.Command{Use: "cluster", Short: "Show clusters and brokers"}
	r.register(c)
	c.AddCommand(clusterList(r), clusterBrokers(r))
	return c
}

func clusterBrokers(r *remote) *cobra.Command {
	return &cobra.Command{
		Use: "brokers", Short: "List the brokers that the name server knows", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return r.ask(func(ctx context.Context, a *admin.Admin) error {
				list, err := a.Brokers(ctx)
				if err != nil {
					return err
				}
				topics, err := a.TopicNames(ctx)
				if err != nil {
					return err
				}
				return r.show(view.BrokersAnswer{Brokers: list, Topics: len(topics)}, func(t *table) {
					t.row("CLUSTER", "BROKER", "ADDRESSES")
					for _, b := range list {
						t.row(b.Cluster, b.Name, addresses(b.Addrs))
					}
				})
			})
		},
	}
}

type statesAnswer struct {
	Brokers []admin.BrokerState `json:"brokers"`
}

func clusterList(r *remote) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the brokers with rates, disk and version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return r.states() },
	}
}

func (r *remote) states() error {
	return r.ask(func(ctx context.Context, a *admin.Admin) error {
		list, err := a.BrokerStates(ctx)
		if err != nil {
			return err
		}
		return r.show(statesAnswer{list}, func(t *table) {
			t.row("CLUSTER", "BROKER", "ADDRESS", "VERSION", "IN/S", "OUT/S", "TIMERS", "DISK", "UP SINCE")
			for i := range list {
				b := &list[i]
				disk := "-"
				if b.DiskRatio >= 0 {
					disk = fmt.Sprintf("%.0f %%", b.DiskRatio*100)
				}
				t.row(dash(b.Cluster), b.Name, b.Address, b.Version, fmt.Sprintf("%.1f", b.PutTps), fmt.Sprintf("%.1f", b.GetTps), count(b.Timers), disk, stampOf(b.BootMs))
			}
		})
	})
}

type statsAnswer struct {
	Stats []admin.Stat `json:"stats"`
}

// newBrokerStats is rocketd broker stats.
func newBrokerStats(p *Process) *cobra.Command {
	r := &remote{p: p}
	var group string
	var all bool
	c := &cobra.Command{
		Use: "stats [TOPIC]", Short: "Show the rates of running brokers, or of a topic (and a group in it)", Args: cobra.MaximumNArgs(1), ValidArgsFunction: r.completeTopics,
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 1:
				return r.topicStats(args[0], group)
			case group != "":
				return &failure{code: ExitUsage, sentence: "--group needs a topic"}
			case all:
				return r.runtime()
			default:
				return r.states()
			}
		},
	}
	r.register(c)
	c.Flags().StringVarP(&group, "group", "g", "", "consumer group")
	c.Flags().BoolVar(&all, "all", false, "everything that the brokers tell")
	return c
}

func (r *remote) topicStats(topic, group string) error {
	return r.ask(func(ctx context.Context, a *admin.Admin) error {
		list, err := a.TopicStats(ctx, topic, group)
		if err != nil {
			return err
		}
		return r.show(statsAnswer{list}, func(t *table) {
			t.row("BROKER", "COUNTER", "KEY", "/S IN A MINUTE", "/S IN AN HOUR", "/S IN A DAY", "SUM OF THE DAY")
			for _, s := range list {
				t.row(s.Broker, s.Name, s.Key, fmt.Sprintf("%.2f", s.Minute), fmt.Sprintf("%.2f", s.Hour), fmt.Sprintf("%.2f", s.Day), s.Today)
			}
		})
	})
}

func (r *remote) runtime() error {
	return r.ask(func(ctx context.Context, a *admin.Admin) error {
		list, err := a.BrokerStates(ctx)
		if err != nil {
			return err
		}
		return r.show(statesAnswer{list}, func(t *table) {
			t.row("BROKER", "NAME", "VALUE")
			for i := range list {
				for _, name := range slices.Sorted(maps.Keys(list[i].Runtime)) {
					t.row(list[i].Name, name, list[i].Runtime[name])
				}
			}
		})
	})
}

type configsAnswer struct {
	Servers []admin.ServerConfig `json:"servers"`
}

func newConfigGet(p *Process) *cobra.Command {
	r := &remote{p: p}
	var ofNamesrv bool
	c := &cobra.Command{
		Use: "get [KEY...]", Short: "Read the configuration of running brokers (or name servers)",
		RunE: func(_ *cobra.Command, args []string) error {
			return r.ask(func(ctx context.Context, a *admin.Admin) error {
				list, err := a.Config(ctx, ofNamesrv)
				if err != nil {
					return err
				}
				for i := range list {
					for _, key := range args {
						if _, ok := list[i].Values[key]; !ok {
							return &admin.NotFound{What: "key", Name: key + " on " + list[i].Server, Hint: "rocketd config get lists all"}
						}
					}
					maps.DeleteFunc(list[i].Values, func(key, _ string) bool { return len(args) > 0 && !slices.Contains(args, key) })
				}
				return r.show(configsAnswer{list}, func(t *table) {
					t.row("SERVER", "KEY", "VALUE")
					for _, s := range list {
						for _, key := range slices.Sorted(maps.Keys(s.Values)) {
							t.row(s.Server, key, s.Values[key])
						}
					}
				})
			})
		},
	}
	r.register(c)
	c.Flags().BoolVar(&ofNamesrv, "name-server", false, "of the name servers")
	return c
}

func newConfigSet(p *Process) *cobra.Command {
	r := &remote{p: p}
	var ofNamesrv bool
	c := &cobra.Command{
		Use: "set KEY=VALUE...", Short: "Change the configuration of running brokers (or name servers)", Args: cobra.MinimumNArgs(1),
		Long: "Changes keys at once and for later starts. Not every key acts before a restart: docs/configuration.md tells.",
		RunE: func(_ *cobra.Command, args []string) error {
			values := map[string]string{}
			if err := pairs(args, values); err != nil {
				return err
			}
			return r.ask(func(ctx context.Context, a *admin.Admin) error {
				if err := a.SetConfig(ctx, ofNamesrv, values); err != nil {
					return err
				}
				return r.said("set %s", strings.Join(args, " "))
			})
		},
	}
	r.register(c)
	c.Flags().BoolVar(&ofNamesrv, "name-server", false, "of the name servers")
	return c
}

func newClient(p *Process) *cobra.Command {
	r := &remote{p: p}
	c := &cobra.Command{Use: "client", Short: "Show who is connected"}
	r.register(c)
	c.AddCommand(&cobra.Command{
		Use: "list [TEXT]", Short: "List clients whose id, group or address contains TEXT, those with problems first", Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return r.ask(func(ctx context.Context, a *admin.Admin) error {
				list, err := a.Clients(ctx, strings.Join(args, ""), r.progress("groups"))
				if err != nil {
					return err
				}
				return r.showClients(list)
			})
		},
	}, &cobra.Command{
		Use: "show ID", Short: "Show one client: its groups, version and subscriptions", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return r.ask(func(ctx context.Context, a *admin.Admin) error {
				list, err := a.Clients(ctx, args[0], r.progress("groups"))
				if err != nil {
					return err
				}
				list = slices.DeleteFunc(list, func(l view.ClientLine) bool { return l.ID != args[0] })
				if len(list) == 0 {
					return &admin.NotFound{What: "client", Name: args[0], Hint: "rocketd client list shows who is connected"}
				}
				return r.showClients(list)
			})
		},
	})
	return c
}

func (r *remote) showClients(list []view.ClientLine) error {
	if list == nil {
		list = []view.ClientLine{}
	}
	return r.show(view.ClientsAnswer{Total: len(list), Clients: list}, func(t *table) {
		t.row("CLIENT", "ROLE", "GROUP", "ADDRESS", "LANGUAGE", "VERSION", "SUBSCRIBES")
		for i := range list {
			c := &list[i]
			t.row(c.ID, c.Role, c.Group, c.Address, c.Language, c.Version, dash(strings.Join(c.Subscriptions, ", ")))
			for _, problem := range c.Problems {
				t.line("  warning: " + problem)
			}
		}
	})
}
