package message_test

import (
	"errors"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/message"
)

func TestOffsetMessageID(t *testing.T) {
	for _, row := range rows(t, "ids.tsv", 4) {
		host := netip.AddrPortFrom(netip.MustParseAddr(row[0]), uint16(number(t, row[1])))
		offset, id := number(t, row[2]), row[3]
		if got := message.OffsetMessageID(host, offset); got != id {
			t.Errorf("%v, %d: got %s, want %s", host, offset, got, id)
		}
		want := netip.AddrPortFrom(host.Addr().Unmap(), host.Port())
		for _, s := range []string{id, strings.ToLower(id)} {
			if h, o, err := message.ParseOffsetMessageID(s); h != want || o != offset || err != nil {
				t.Errorf("%s: got %v, %d, %v, want %v, %d", s, h, o, err, want, offset)
			}
		}
	}
}

func TestScopedAddressesLoseTheirZone(t *testing.T) {
	host := netip.MustParseAddrPort("[fe80::1%eth0]:10911")
	h, _, err := message.ParseOffsetMessageID(message.OffsetMessageID(host, 1))
	if err != nil || h != netip.MustParseAddrPort("[fe80::1]:10911") {
		t.Errorf("got %v, %v", h, err)
	}
}

func TestParseOffsetMessageIDRefuses(t *testing.T) {
	for name, s := range map[string]string{
		"empty": "", "31 digits": strings.Repeat("0", 31), "33 digits": strings.Repeat("0", 33), "55 digits": strings.Repeat("0", 55),
		"not hexadecimal": strings.Repeat("G", 32), "port over 65535": "7F000001" + "00010000" + strings.Repeat("0", 16), "very long": strings.Repeat("A", 1<<20),
	} {
		if _, _, err := message.ParseOffsetMessageID(s); !errors.Is(err, message.ErrID) || len(err.Error()) > 2000 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUniqueKeys(t *testing.T) {
	now := time.Date(2024, 2, 29, 12, 0, 0, 123e6, time.Local)
	for addr, pattern := range map[string]string{
		"10.1.2.3": "^0A010203[0-9A-F]{4}DEADBEEF[0-9A-F]{12}$", "fd00::1": "^FD0000000000000000000000000001[0-9A-F]{6}DEADBEEF[0-9A-F]{12}$", "": "^00000000[0-9A-F]{4}DEADBEEF[0-9A-F]{12}$",
	} {
		a, _ := netip.ParseAddr(addr)
		keys := message.NewUniqueKeys(a, 0xDEADBEEF)
		seen := map[string]bool{}
		for range 1000 {
			key := keys.New(now.UnixMilli())
			if seen[key] {
				t.Fatalf("%s came twice", key)
			}
			seen[key] = true
			if addr == "fd00::1" {
				pattern = "^FD000000000000000000000000000001[0-9A-F]{4}DEADBEEF[0-9A-F]{12}$"
			}
			if !regexp.MustCompile(pattern).MatchString(key) {
				t.Fatalf("%s does not match %s", key, pattern)
			}
			made, err := message.UniqueKeyTime(key, now.Add(time.Second))
			if err != nil || !made.Equal(now) {
				t.Fatalf("%s was made at %v, %v, want %v", key, made, err, now)
			}
		}
	}
}

func TestUniqueKeyTimeGoesBackAMonth(t *testing.T) {
	// Made by the reference's createUniqID on the 30th of November 2026, 19:51:04.417 UTC.
	const key = "FD000000000000000000000000000002312D30946E09999AE1E10000"
	made := time.UnixMilli(1796068264417).UTC()
	if got, err := message.UniqueKeyTime(key, made.Add(time.Hour)); err != nil || !got.Equal(made) {
		t.Errorf("in the same month: %v, %v, want %v", got, err, made)
	}
	// What the reference's getNearlyTimeFromID says at the very millisecond.
	if got, err := message.UniqueKeyTime(key, made); err != nil || got.UnixMilli() != 1793389864417 {
		t.Errorf("at once: %d, %v", got.UnixMilli(), err)
	}
	for _, bad := range []string{"", "00", strings.Repeat("x", 32)} {
		if _, err := message.UniqueKeyTime(bad, made); !errors.Is(err, message.ErrID) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzParseOffsetMessageID(f *testing.F) {
	for _, row := range rows(f, "ids.tsv", 4) {
		f.Add(row[3])
	}
	f.Fuzz(func(t *testing.T, s string) {
		host, offset, err := message.ParseOffsetMessageID(s)
		if err != nil || host.Addr().Is4In6() {
			return
		}
		if again := message.OffsetMessageID(host, offset); again != strings.ToUpper(s) {
			t.Fatalf("%s became %s", s, again)
		}
	})
}

func BenchmarkAppendOffsetMessageID(b *testing.B) {
	host, buf := netip.MustParseAddrPort("127.0.0.1:10911"), make([]byte, 0, 64)
	b.ReportAllocs()
	for b.Loop() {
		message.AppendOffsetMessageID(buf, host, 123456789)
	}
}

func BenchmarkUniqueKeys(b *testing.B) {
	keys, buf := message.NewUniqueKeys(netip.MustParseAddr("127.0.0.1"), 1), make([]byte, 0, 64)
	b.ReportAllocs()
	for b.Loop() {
		keys.Append(buf, 1700000000000)
	}
}
