package cli

import (
	"fmt"
	"os"
	"path/filepath"
)

// devSettings are what --dev changes, beside the directory. Files, variables and flags are stronger.
const devSettings = `# rocketd --dev
dataDir: %q
# A message in a topic of another type is refused, which in production only Apache's proxy does.
checkMessageType: true
httpPprof: true
broker:
  # Undecided transactions are asked for after seconds instead of a minute.
  transactionTimeOut: 3000
  transactionCheckInterval: 3000
  recallMessageEnable: true
  traceTopicEnable: true
  fileReservedTime: 1
`

// develop makes a temporary directory with the settings of --dev as the weakest file. clean removes it.
func (f *flags) develop() (clean func() error, err error) {
	if !f.dev {
		return func() error { return nil }, nil
	}
	dir, err := os.MkdirTemp("", "rocketd-dev-")
	if err != nil {
		return nil, &failure{code: ExitNotWritable, sentence: "--dev needs a temporary directory: " + err.Error(), err: err}
	}
	clean = func() error { return os.RemoveAll(dir) }
	file := filepath.Join(dir, "dev.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, devSettings, filepath.Join(dir, "data")), 0o600); err != nil {
		return nil, &failure{code: ExitNotWritable, sentence: "--dev needs a temporary directory: " + err.Error(), err: err}
	}
	f.files = append([]string{file}, f.files...)
	return clean, nil
}
