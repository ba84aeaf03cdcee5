package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersion(p *Process) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if _, err := fmt.Fprintln(p.Stdout, versionLine(p.Version)); err != nil {
				return &failure{code: ExitFailure, sentence: err.Error(), err: err}
			}
			return nil
		},
	}
}

func versionLine(version string) string {
	commit := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				commit = " " + s.Value[:12]
			}
		}
	}
	return fmt.Sprintf("rocketd %s%s (serves as Apache RocketMQ 5.5.0; %s %s/%s)", version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
