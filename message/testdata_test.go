package message_test

import (
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rocketd/rocketd/message"
)

// rows reads a table of testdata.
func rows(t testing.TB, name string, fields int) [][]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var out [][]string
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		row := strings.Split(line, "\t")
		if len(row) != fields {
			t.Fatalf("%s:%d: %d fields, want %d", name, i+1, len(row), fields)
		}
		out = append(out, row)
	}
	return out
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func number(t testing.TB, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// golden is one row of records.tsv.
type golden struct {
	name    string
	message message.Message
	place   message.Placement
	record  []byte
	id      string
}

func goldenRecords(t testing.TB) []golden {
	t.Helper()
	var out []golden
	for _, r := range rows(t, "records.tsv", 20) {
		i32 := func(s string) int32 { return int32(number(t, s)) }
		host := func(addr, port string) netip.AddrPort {
			return netip.AddrPortFrom(netip.MustParseAddr(addr), uint16(number(t, port)))
		}
		out = append(out, golden{
			name: r[0],
			message: message.Message{
				Topic: string(unhex(t, r[1])), Properties: unhex(t, r[2]), Body: unhex(t, r[3]),
				QueueID: i32(r[4]), Flag: i32(r[5]), SysFlag: i32(r[6]), BornHost: host(r[7], r[8]), StoreHost: host(r[9], r[10]),
				ReconsumeTimes: i32(r[11]), PreparedTransactionOffset: number(t, r[12]), BornTimestamp: number(t, r[15]), PropertyCRC: r[17] == "true",
			},
			place:  message.Placement{QueueOffset: number(t, r[13]), PhysicalOffset: number(t, r[14]), StoreTimestamp: number(t, r[16])},
			record: unhex(t, r[18]),
			id:     r[19],
		})
	}
	return out
}
