package conf

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

var (
	// ErrUnknownKey means that no section has a key of that name.
	ErrUnknownKey = errors.New("unknown key")
	// ErrBlackListed means that the key may not be changed at run time (configBlackList).
	ErrBlackListed = errors.New("key may not be changed at run time")
)

// Problem is one thing wrong with the configuration.
type Problem struct {
	Origin  Origin
	Key     string // empty when the problem is not that of one key
	Message string
}

// String is one line: where, key, what.
func (p Problem) String() string {
	if p.Key == "" {
		return fmt.Sprintf("%s: %s", p.Origin, p.Message)
	}
	return fmt.Sprintf("%s: %s: %s", p.Origin, p.Key, p.Message)
}

// Errors is every problem found in all sources.
type Errors struct {
	Problems []Problem
}

// Error lists the problems, one a line.
func (e *Errors) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

func isRangeError(err error) bool { return errors.Is(err, strconv.ErrRange) }
