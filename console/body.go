package console

import (
	"strings"

	"github.com/rocketd/rocketd/internal/view"
)

// Body is the body of a message, for reading.
type Body = view.Body

func describeBody(raw []byte, sysFlag int32, shown int) Body {
	return view.DescribeBody(raw, sysFlag, shown)
}

func clone(s string) string { return strings.Clone(s) }
