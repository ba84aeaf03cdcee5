package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rocketd/rocketd/admin"
)

// newRemote makes a command whose sub-commands ask running servers.
func newRemote(p *Process, c *cobra.Command, below func(r *remote) []*cobra.Command) *cobra.Command {
	r := &remote{p: p}
	r.register(c)
	c.AddCommand(below(r)...)
	return c
}

// look asks a question and shows the answer: as JSON when that was asked for, else into a table.
func look[T any](r *remote, question func(ctx context.Context, a *admin.Admin) (T, error), into func(t *table, answer T)) error {
	return r.ask(func(ctx context.Context, a *admin.Admin) error {
		answer, err := question(ctx, a)
		if err != nil {
			return err
		}
		return r.show(answer, func(t *table) { into(t, answer) })
	})
}

// done says that a change was made, unless it failed.
func (r *remote) done(err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	return r.said(format, args...)
}

// putCommand is a command that creates a topic or group, or changes one.
func putCommand(what string, create bool, complete cobra.CompletionFunc) *cobra.Command {
	c := &cobra.Command{Args: cobra.ExactArgs(1)}
	if create {
		c.Use, c.Short = "create "+strings.ToUpper(what), "Create a "+what+" on all brokers"
		return c
	}
	c.Use, c.Short, c.ValidArgsFunction = "update "+strings.ToUpper(what), "Change a "+what+"; what is not named stays", complete
	return c
}

// deletion is how something is deleted: loss says in a few words what goes with it.
type deletion struct {
	what, short string
	complete    cobra.CompletionFunc
	loss        func(ctx context.Context, a *admin.Admin, name string) (string, error)
	do          func(ctx context.Context, a *admin.Admin, name string) error
}

// deleteCommand deletes what is named, with --yes; without, it says what would be lost.
func deleteCommand(r *remote, d deletion) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "delete " + strings.ToUpper(d.what), Short: d.short, Args: cobra.ExactArgs(1), ValidArgsFunction: d.complete,
		RunE: func(_ *cobra.Command, args []string) error {
			return r.ask(func(ctx context.Context, a *admin.Admin) error {
				if yes {
					return r.done(d.do(ctx, a, args[0]), "%s %s deleted", d.what, args[0])
				}
				loss, err := d.loss(ctx, a, args[0])
				if err != nil {
					return err
				}
				return &failure{code: ExitUsage, sentence: fmt.Sprintf("%s %s has %s, and deleting it cannot be undone: add --yes", d.what, args[0], loss)}
			})
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "do it")
	return c
}
