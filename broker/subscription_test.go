package broker

import (
	"testing"

	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting/body"
)

func TestTagSubscriptions(t *testing.T) {
	// Hash codes from messages.md §5.
	const tagA, hello, chinese = 2598919, 69609650, 20013
	for _, row := range []struct {
		name, expression string
		match, miss      []int64
		err              bool
	}{
		{"all", "*", []int64{0, tagA, hello}, nil, false},
		{"empty is all", "", []int64{0, tagA, hello}, nil, false},
		{"one", "TagA", []int64{tagA}, []int64{0, hello}, false},
		{"two", "TagA || Hello", []int64{tagA, hello}, []int64{0, chinese}, false},
		{"no blanks", "TagA||中", []int64{tagA, chinese}, []int64{hello}, false},
		{"an empty part", "TagA || ", []int64{tagA}, []int64{0}, false},
		{"separators alone", "||", nil, nil, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, err := parseSubscription("T", row.expression, "TAG", 1)
			if (err != nil) != row.err {
				t.Fatalf("got %v", err)
			}
			for _, code := range row.match {
				if !s.MatchTagsCode(code) {
					t.Errorf("%d does not match", code)
				}
			}
			for _, code := range row.miss {
				if s.MatchTagsCode(code) {
					t.Errorf("%d matches", code)
				}
			}
		})
	}
}

// TestHeartbeatTagsNeedNoRightCodes: client-go hashes tags that are not ASCII otherwise than the broker.
func TestHeartbeatTagsNeedNoRightCodes(t *testing.T) {
	s := newSubscription(body.SubscriptionData{Topic: "T", SubString: "中", TagsSet: []string{"中"}, CodeSet: []int32{1}, ExpressionType: "TAG"})
	if !s.MatchTagsCode(message.TagsHash("中")) || !s.MatchTagsCode(1) || s.MatchTagsCode(2) {
		t.Error("wrong codes")
	}
}

// TestRefusedExpressionMatchesNothing: in the reference such a group gets everything.
func TestRefusedExpressionMatchesNothing(t *testing.T) {
	for _, data := range []body.SubscriptionData{
		{Topic: "T", SubString: "a >", ExpressionType: "SQL92"},
		{Topic: "T", SubString: "", ExpressionType: "SQL92"},
		{Topic: "T", SubString: "a > 1", ExpressionType: "REGEX"},
	} {
		s := newSubscription(data)
		if s.err == nil || s.MatchTagsCode(0) || s.MatchRecord(nil) || s.matchesAll() {
			t.Errorf("%+v: err %v, matches %t", data, s.err, s.MatchTagsCode(0))
		}
		if _, err := parseSubscription("T", data.SubString, data.ExpressionType, 1); err == nil {
			t.Errorf("%+v is accepted in a pull", data)
		}
	}
}
