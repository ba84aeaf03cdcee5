package filter

import (
	"slices"
	"strings"

	"github.com/rocketd/rocketd/message"
)

// AllTags is the TAG expression that matches everything.
const AllTags = "*"

const tagSeparator = "||"

// tagSet is a compiled TAG expression.
type tagSet struct {
	all   bool
	tags  []string // in the order given, no duplicates
	codes []int32  // sorted
}

// compileTags follows FilterAPI.buildSubscriptionData: only "*" itself means all, not " * "; tags are trimmed; of empty ones none
// remains, so " " matches nothing; separators alone are an error.
func (e *Expression) compileTags() error {
	if e.source == "" || e.source == AllTags {
		e.tags.all = true
		return nil
	}
	parts := strings.Split(e.source, tagSeparator)
	for len(parts) > 0 && parts[len(parts)-1] == "" { // as Java's split
		parts = parts[:len(parts)-1]
	}
	if len(parts) == 0 {
		return &SyntaxError{Line: 1, Column: 1, Reason: "only separators, no tag"}
	}
	known := make(map[string]struct{}, len(parts)) // a client may name thousands
	for _, tag := range parts {
		tag = strings.TrimFunc(tag, func(r rune) bool { return r <= ' ' })
		if _, twice := known[tag]; tag == "" || twice {
			continue
		}
		known[tag] = struct{}{}
		e.tags.tags = append(e.tags.tags, tag)
		e.tags.codes = append(e.tags.codes, message.JavaHash(tag))
	}
	slices.Sort(e.tags.codes)
	e.tags.codes = slices.Compact(e.tags.codes)
	return nil
}

func (s *tagSet) match(code int32) bool {
	if s.all {
		return true
	}
	_, ok := slices.BinarySearch(s.codes, code)
	return ok
}

// Tags lists the tags of a TAG expression (tagsSet of SubscriptionData), none if it matches all.
func (e *Expression) Tags() []string { return slices.Clone(e.tags.tags) }

// Codes lists the hashes of Tags, sorted (codeSet of SubscriptionData).
func (e *Expression) Codes() []int32 { return slices.Clone(e.tags.codes) }
