package broker

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rocketd/rocketd/filter"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting/body"
)

// subscription is one subscription of a group to a topic, ready to decide about messages. It is immutable and implements
// store.Filter as the reference's ExpressionMessageFilter decides.
type subscription struct {
	data  body.SubscriptionData
	tag   bool    // tags, not SQL
	all   bool    // every message matches
	codes []int32 // of the tags, sorted
	sql   *filter.Expression
	err   error // the expression cannot be read: nothing matches
}

// isTagType tells whether an expression type means tags (ExpressionType#isTagType).
func isTagType(expressionType string) bool {
	return expressionType == "" || expressionType == string(filter.TAG)
}

// newSubscription prepares the subscription of a heartbeat.
func newSubscription(data body.SubscriptionData) *subscription {
	s := &subscription{data: data, tag: isTagType(data.ExpressionType)}
	switch {
	case data.ClassFilterMode:
		s.all = true
	case s.tag && (data.SubString == "" || data.SubString == filter.AllTags):
		s.all = true
	case s.tag:
		s.codes = slices.Clone(data.CodeSet)
		// Some clients hash a tag that is not ASCII otherwise than the broker: the tags themselves are right.
		for _, tag := range data.TagsSet {
			s.codes = append(s.codes, message.JavaHash(tag))
		}
		slices.Sort(s.codes)
		s.codes = slices.Compact(s.codes)
	default:
		s.sql, s.err = compileSQL(data.ExpressionType, data.SubString)
	}
	return s
}

// parseSubscription prepares the subscription that stands in the header of a pull (FilterAPI#build).
func parseSubscription(topic, expression, expressionType string, version int64) (*subscription, error) {
	data := body.SubscriptionData{
		Topic: strings.Clone(topic), SubString: strings.Clone(expression), ExpressionType: strings.Clone(expressionType), SubVersion: version,
	}
	if isTagType(expressionType) {
		data.ExpressionType = string(filter.TAG)
		if expression == "" {
			data.SubString = filter.AllTags
		}
		tags, err := filter.Compile(filter.TAG, data.SubString)
		if err != nil {
			return nil, fmt.Errorf("subString split error: %w", err)
		}
		data.TagsSet = tags.Tags()
	}
	s := newSubscription(data)
	if s.err != nil {
		return nil, s.err
	}
	s.data.CodeSet = s.codes
	return s, nil
}

// compileSQL prepares an expression that is not one of tags.
func compileSQL(expressionType, expression string) (*filter.Expression, error) {
	kind, err := filter.ParseKind(expressionType)
	if err != nil {
		return nil, err
	}
	if expression == "" {
		return nil, errors.New("Expression can't be null! " + expressionType)
	}
	return filter.Compile(kind, expression)
}

// equal tells whether data describes this subscription.
func (s *subscription) equal(data *body.SubscriptionData) bool {
	return s.data.Topic == data.Topic && s.data.SubString == data.SubString && s.data.ExpressionType == data.ExpressionType &&
		s.data.SubVersion == data.SubVersion && s.data.ClassFilterMode == data.ClassFilterMode &&
		slices.Equal(s.data.CodeSet, data.CodeSet) && slices.Equal(s.data.TagsSet, data.TagsSet)
}

// MatchTagsCode decides by the tags code of a queue entry (ExpressionMessageFilter#isMatchedByConsumeQueue).
func (s *subscription) MatchTagsCode(code int64) bool {
	if s.all || !s.tag {
		return s.err == nil
	}
	_, found := slices.BinarySearch(s.codes, int32(code))
	return found
}

// MatchRecord decides by the properties of a stored record (ExpressionMessageFilter#isMatchedByCommitLog).
func (s *subscription) MatchRecord(record []byte) bool {
	if s.all || s.tag {
		return true
	}
	if s.sql == nil {
		return false
	}
	var r message.Record
	if _, err := message.DecodeRecord(record, &r, false); err != nil {
		return false
	}
	return s.sql.MatchProperties(r.Properties)
}

// matchesAll tells whether no message needs a look.
func (s *subscription) matchesAll() bool { return s.all && s.err == nil }

// retryFilter is a subscription to a retry topic when filterSupportRetry is on: a message is judged by what the group
// subscribes to the topic that it came from (the reference's ExpressionForRetryMessageFilter).
type retryFilter struct {
	*subscription
	group     string
	consumers *consumerTable
}

// MatchRecord lets a message pass unless the group filters its original topic by SQL and it does not match.
func (f *retryFilter) MatchRecord(record []byte) bool {
	if f.data.ClassFilterMode {
		return true
	}
	var r message.Record
	if _, err := message.DecodeRecord(record, &r, false); err != nil {
		return false
	}
	origin, _ := r.Properties.Get(message.KeyRetryTopic)
	s, _ := f.consumers.lookup(f.group, origin)
	if s == nil || s.sql == nil {
		return true
	}
	return s.sql.MatchProperties(r.Properties)
}

// declarationOf is a member's subscriptions in a form to be compared: sorted lines of topic and expression.
func declarationOf(list []body.SubscriptionData) declaration {
	d := make(declaration, 0, len(list))
	for i := range list {
		d = append(d, list[i].Topic+" "+list[i].SubString)
	}
	slices.Sort(d)
	return d
}

// String prints the first lines of a declaration.
func (d declaration) String() string {
	const most = 20
	if len(d) > most {
		return strings.Join(d[:most], "; ") + fmt.Sprintf("; and %d more", len(d)-most)
	}
	return strings.Join(d, "; ")
}
