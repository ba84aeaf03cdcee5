package conf

import "fmt"

// Origin says where a value came from: a file and line, a variable, a flag. The zero Origin is the default.
type Origin struct {
	Source string // a file's path, environment, flag, machine, update
	Detail string // variable or flag name; empty for files
	Line   int    // of a file, from 1
}

// String is the form used in messages: FILE:LINE, or SOURCE DETAIL.
func (o Origin) String() string {
	switch {
	case o.Source == "":
		return "default"
	case o.Line > 0:
		return fmt.Sprintf("%s:%d", o.Source, o.Line)
	case o.Detail != "":
		return o.Source + " " + o.Detail
	default:
		return o.Source
	}
}

// overFiles tells whether o is a source that files do not override.
func (o Origin) overFiles() bool {
	return o.Source == sourceFlag || o.Source == sourceEnvironment && o.Detail != "NAMESRV_ADDR" && o.Detail != "ROCKETMQ_HOME"
}

// Sources that are not files.
const (
	sourceEnvironment = "environment"
	sourceFlag        = "flag"
	sourceUpdate      = "update"
	sourceMachine     = "machine"
)
