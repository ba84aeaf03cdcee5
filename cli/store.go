package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/store"
)

func newStore(p *Process) *cobra.Command {
	c := &cobra.Command{
		Use:   "store",
		Short: "Check, show or rebuild the files of a store, ours or Apache's",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newStoreCheck(p), newStoreDump(p), newStoreRebuild(p))
	return c
}

// storeFlags are those of all store commands.
type storeFlags struct {
	files, sets []string
	json        bool
}

func (f *storeFlags) register(c *cobra.Command) {
	c.Flags().StringArrayVarP(&f.files, "config", "c", nil, "the broker's configuration file, when sizes or paths of its files differ from the defaults")
	c.Flags().StringArrayVar(&f.sets, "set", nil, "any configuration key, KEY=VALUE; may be repeated")
	c.Flags().BoolVar(&f.json, "json", false, "print JSON")
}

// load reads the configuration that the store in dir was written with.
func (f *storeFlags) load(p *Process, dir string) (*conf.Config, error) {
	c, err := conf.Load(conf.Input{
		Role: conf.RoleBroker, Files: f.files, Env: p.Env, Sets: f.sets, Machine: machine(p.Env),
		Flags: []conf.Setting{{Flag: "DIR", Key: "rocketd.dataDir", Value: dir}, {Flag: "DIR", Key: "broker.storePathRootDir", Value: dir}},
	})
	if err != nil {
		return nil, explain(err, conf.Default())
	}
	if _, err := (vfs.OS{}).Stat(dir); err != nil {
		return nil, &failure{code: ExitUsage, sentence: fmt.Sprintf("%s: there is no such directory", dir), err: err}
	}
	return c, nil
}

func newStoreCheck(p *Process) *cobra.Command {
	var f storeFlags
	c := &cobra.Command{
		Use:   "check DIR",
		Short: "Read every record, queue and index entry and tell what is wrong; exit code 1 when something is damaged",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			loaded, err := f.load(p, args[0])
			if err != nil {
				return err
			}
			report, err := store.Check(store.CheckOptions{Dir: args[0], FS: vfs.OS{}, Config: &loaded.Store})
			if err != nil {
				return explain(err, loaded)
			}
			if err := f.print(p.Stdout, report, report.WriteText); err != nil {
				return err
			}
			if report.Damaged() {
				return &failure{code: ExitFailure, sentence: fmt.Sprintf("%s is damaged in %d places", args[0], report.Damages)}
			}
			return nil
		},
	}
	f.register(c)
	return c
}

func newStoreRebuild(p *Process) *cobra.Command {
	var f storeFlags
	c := &cobra.Command{
		Use:   "rebuild DIR",
		Short: "Make consume queues and key index of a stopped broker again from its commit log",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			loaded, err := f.load(p, args[0])
			if err != nil {
				return err
			}
			report, err := store.Rebuild(store.Options{
				Dir: args[0], FS: vfs.OS{}, Clock: clock.System{}, Log: newLog(p, loaded), Config: &loaded.Store,
			})
			if err != nil {
				return explain(err, loaded)
			}
			return f.print(p.Stdout, report, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "read %d records up to offset %d, rebuilt %d consume queues, found %d problems\n",
					report.Records, report.LogEnd, report.RebuiltQueues, len(report.Problems))
				for _, problem := range report.Problems {
					if err == nil {
						_, err = fmt.Fprintln(w, problem)
					}
				}
				return err
			})
		},
	}
	f.register(c)
	return c
}

// print writes a result as JSON or by text.
func (f *storeFlags) print(w io.Writer, result any, text func(io.Writer) error) error {
	var err error
	if f.json {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		err = enc.Encode(result)
	} else {
		err = text(w)
	}
	if err != nil {
		return &failure{code: ExitFailure, sentence: "cannot print: " + err.Error(), err: err}
	}
	return nil
}
