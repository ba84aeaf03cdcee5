package body

import (
	"bytes"
	"compress/zlib"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"
)

// apacheCompressed was written by RegisterBrokerBody.encode(true) of Apache RocketMQ 5.5.0.
const apacheCompressed = "78da2d4ebd0ac230188c930fe1126ece60ad38647392820e4275110969fcaa81b429493a48f1dd4dc5e1e0b83f8e312626183ff68902642910" +
	"934e74a510adef210b81643bca6237406e3e8cb145c6aae625dff21d3f5d8e75a5eafd814fd0906830479637b4b2c0fd9f76139a5e77f4f305cc1842f538e93c38ad" +
	"e55a14b2fc083c6c486fc856bb48023478f34236118d1fe6a6524fe71bed94ca13c90fd664b1fef1a4dd79a491e2fcf00b28303add"

func TestCompressedRegistrationOfTheReference(t *testing.T) {
	data, err := hex.DecodeString(apacheCompressed)
	if err != nil {
		t.Fatal(err)
	}
	want := &RegisterBrokerBody{
		FilterServerList: []string{"f:1"},
		Topics: TopicConfigAndMappingTable{
			DataVersion: DataVersion{StateVersion: 1, Timestamp: 2, Counter: 3},
			Topics: map[string]*TopicConfig{"T": {
				TopicName: "T", ReadQueueNums: 3, WriteQueueNums: 4, Perm: 6, TopicFilterType: MultiTag,
				Attributes: map[string]string{"a": "b"},
			}},
			MappingInfos: map[string]TopicQueueMappingInfo{"T": {
				Topic: "T", Scope: "__global__", TotalQueues: 2, BrokerName: "b", CurrIDMap: map[int32]int32{0: 0, 1: 3},
			}},
		},
	}
	got, err := DecodeRegisterBroker(data, 513)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %s\nwant %s", Encode(got), Encode(want))
	}
	again, err := DecodeRegisterBroker(EncodeRegisterBrokerCompressed(want), 513)
	if err != nil || !reflect.DeepEqual(again, want) {
		t.Errorf("our own form: %v, %+v", err, again)
	}
	old, err := DecodeRegisterBroker(data, 412)
	if err != nil || old.Topics.MappingInfos != nil {
		t.Errorf("a broker before 5.0 has no mappings: %v, %v", err, old)
	}
}

func TestTruncatedCompressedRegistrationGetsAnError(t *testing.T) {
	data, err := hex.DecodeString(apacheCompressed)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n < len(data); n++ {
		if _, err := DecodeRegisterBroker(data[:n], 513); err == nil {
			t.Fatalf("the first %d of %d bytes are read", n, len(data))
		}
	}
}

func TestInflatedRegistrationIsBounded(t *testing.T) {
	var bomb bytes.Buffer
	z := zlib.NewWriter(&bomb)
	if _, err := z.Write(make([]byte, 1001)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int64]string{1000: "more than 1000 bytes", 1001: ""} {
		r, err := zlib.NewReader(bytes.NewReader(bomb.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		data, err := readBounded(r, limit)
		if want == "" && (err != nil || len(data) != 1001) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("limit %d: %d bytes, %v", limit, len(data), err)
		}
	}
}

func TestPartsOfACompressedRegistrationAreChecked(t *testing.T) {
	topic := func(text string) []byte {
		plain := appendPart(nil, []byte("{}"))
		plain = append(plain, 0, 0, 0, 1)
		plain = appendPart(plain, []byte(text))
		plain = appendPart(plain, []byte("[]"))
		return append(plain, 0, 0, 0, 0)
	}
	for name, c := range map[string]struct {
		plain []byte
		want  string
	}{
		"length over what is left": {[]byte{0x7f, 0, 0, 0}, "ends early"},
		"count over what is left":  {append(appendPart(nil, []byte("{}")), 0x7f, 0, 0, 0), "ends early"},
		"topic with too few parts": {topic("T 1 2 3"), "at least 5 fields"},
		"topic with bad number":    {topic("T x 2 3 SINGLE_TAG"), "invalid syntax"},
		"bad data version":         {appendPart(nil, []byte("[1]")), "expected '{'"},
	} {
		if _, err := decodeInflated(&parts{c.plain}, 513); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, c.want)
		}
	}
	b, err := decodeInflated(&parts{topic(`T 1 2 6 SINGLE_TAG {"a b":`)}, 513)
	if err != nil || b.Topics.Topics["T"].Attributes != nil || b.Topics.Topics["T"].WriteQueueNums != 2 {
		t.Errorf("topic with bad attributes: %v, %+v", err, b)
	}
}
