package cli

import (
	"github.com/spf13/cobra"

	"github.com/rocketd/rocketd/conf"
)

func newConfig(p *Process) *cobra.Command {
	var f flags
	var changed bool
	c := &cobra.Command{
		Use:   "config [broker|namesrv]",
		Short: "Print the effective configuration as YAML",
		Long: `Prints every key with its effective value as YAML that -c reads back, and checks it. A comment tells where a value
came from; without one it is the default.`,
		Example: `  rocketd config --changed -c broker.conf        what a file changes
  rocketd config > rocketd.yaml                  a file with everything to start from`,
		RunE: func(_ *cobra.Command, args []string) error {
			role, err := roleOf(args)
			if err != nil {
				return err
			}
			loaded, err := f.load(p, role)
			if err != nil {
				return err
			}
			text, err := loaded.YAML(changed)
			if err != nil {
				return &failure{code: ExitFailure, sentence: err.Error(), err: err}
			}
			if _, err := p.Stdout.Write(text); err != nil {
				return &failure{code: ExitFailure, sentence: err.Error(), err: err}
			}
			return nil
		},
	}
	f.register(c, conf.RoleAll)
	c.AddCommand(newConfigGet(p), newConfigSet(p))
	c.Flags().BoolVar(&changed, "changed", false, "only what differs from the defaults")
	return c
}
