package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rocketd/rocketd/integration/peer"
)

// accepted are differences on purpose, by exchange and part (code, remark, ext, body). Each stands in DIFFERENCES.md.
var accepted = map[string]string{
	"send batch flag with garbage/code": "a batch that cannot be read is an illegal message (13), not a system error",
	"pull bad sql/code":                 "Apache delivers everything to a subscription it could not parse",
	"pop too many/ext":                  "Apache fills the header of a refused pop with zeros",
	"pop unknown topic/ext":             "Apache fills the header of a refused pop with zeros",
}

// TestDifferential sends the same raw requests to Apache and to rocketd, one after the other on fresh brokers, and compares code, remark,
// header fields and body, after times, addresses and ids are made equal. Every difference is named.
func TestDifferential(t *testing.T) {
	peer.NeedJava(t)
	apache := newSide(t, peer.StartApache(t, t.TempDir(), append(slices.Clone(settings), "enablePropertyFilter=true")...))
	rocketd := newSide(t, peer.StartRocketd(t, t.TempDir(), settings...))
	for _, e := range exchanges {
		t.Run(e.name, func(t *testing.T) {
			want, got := apache.ask(t, e), rocketd.ask(t, e)
			differ(t, e, "code", fmt.Sprint(want.Code), fmt.Sprint(got.Code))
			if e.loose != "" {
				return
			}
			wantRemark, gotRemark := remarkMeaning(apache.normal(want.Remark)), remarkMeaning(rocketd.normal(got.Remark))
			if wantRemark == "" || !strings.HasPrefix(gotRemark, wantRemark) { // ours may say more
				differ(t, e, "remark", wantRemark, gotRemark)
			}
			differ(t, e, "ext", apache.extText(want), rocketd.extText(got))
			differ(t, e, "body", apache.bodyText(want), rocketd.bodyText(got))
		})
	}
}

func differ(t *testing.T, e exchange, part, want, got string) {
	t.Helper()
	difference := unlike(part, want, got)
	if difference == "" {
		return
	}
	if why, ok := accepted[e.name+"/"+part]; ok {
		t.Logf("%s: Apache %.300q, rocketd %.300q: %s", part, want, got, why)
		return
	}
	t.Error(difference)
}
