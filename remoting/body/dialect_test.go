package body

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

// What fastjson 1.2.83 and fastjson2 2.0.59 made of these texts was seen by running them on the reference's class.
func TestTopicConfigInFastjsonsDialect(t *testing.T) {
	config := func(change func(c *TopicConfig)) TopicConfig {
		c := *NewTopicConfig("")
		change(&c)
		return c
	}
	for name, c := range map[string]struct {
		text string
		want TopicConfig
	}{
		"numbers, booleans and enums in quotes or any case": {
			`{"readQueueNums":"4","order":"true","perm":6.0,"topicFilterType":"single_tag"}`,
			config(func(c *TopicConfig) { c.ReadQueueNums, c.Order = 4, true }),
		},
		"empty string is no number, 1 is true, true is 1, enum ordinal": {
			`{"readQueueNums":"","order":1,"perm":true,"topicFilterType":1}`,
			config(func(c *TopicConfig) { c.Order, c.Perm, c.TopicFilterType = true, 1, MultiTag }),
		},
		"null keeps numbers and clears enums": {
			`{"readQueueNums":null,"order":null,"topicFilterType":null,"attributes":null}`,
			config(func(c *TopicConfig) { c.TopicFilterType = "" }),
		},
		"fraction is cut, unknown enum constant is null": {
			`{"readQueueNums":4.7,"topicFilterType":"FOO"}`,
			config(func(c *TopicConfig) { c.ReadQueueNums, c.TopicFilterType = 4, "" }),
		},
		"member names in any case":    {`{"Perm":2}`, config(func(c *TopicConfig) { c.Perm = 2 })},
		"exponent":                    {`{"readQueueNums":1e1}`, config(func(c *TopicConfig) { c.ReadQueueNums = 10 })},
		"type letter":                 {`{"topicSysFlag":5L}`, config(func(c *TopicConfig) { c.TopicSysFlag = 5 })},
		"number for a string":         {`{"topicName":7}`, config(func(c *TopicConfig) { c.TopicName = "7" })},
		"object for a string":         {`{"topicName":{"a":1}}`, config(func(c *TopicConfig) { c.TopicName = `{"a":1}` })},
		"single quotes":               {`{'topicName':'a"b'}`, config(func(c *TopicConfig) { c.TopicName = `a"b` })},
		"unquoted names":              {`{topicName:"a",perm:2}`, config(func(c *TopicConfig) { c.TopicName, c.Perm = "a", 2 })},
		"commas too many":             {`{,"perm":2,,"order":true,}`, config(func(c *TopicConfig) { c.Perm, c.Order = 2, true })},
		"comments":                    {"/*x*/{//y\n\"perm\"/**/:/**/2}//z", config(func(c *TopicConfig) { c.Perm = 2 })},
		"blanks":                      {" \t\r\n{ \"perm\" : 2 } \n", config(func(c *TopicConfig) { c.Perm = 2 })},
		"escapes":                     {`{"topicName":"\u0041\x42\t\/\ud83d\ude00\'"}`, config(func(c *TopicConfig) { c.TopicName = "AB\t/😀'" })},
		"reference to another object": {`{"attributes":{"$ref":"$.x"},"perm":2}`, config(func(c *TopicConfig) { c.Perm, c.Attributes = 2, map[string]string{"$ref": "$.x"} })},
		"later member wins":           {`{"perm":2,"perm":4}`, config(func(c *TopicConfig) { c.Perm = 4 })},
		"values of a string map":      {`{"attributes":{"a":1,"b":null,c:true}}`, config(func(c *TopicConfig) { c.Attributes = map[string]string{"a": "1", "c": "true"} })},
	} {
		if got := *decoded[TopicConfig](t, c.text); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %s\n got %+v\nwant %+v", name, c.text, got, c.want)
		}
	}
}

func TestWhatIsNoBodyGetsAnErrorWithItsPlace(t *testing.T) {
	for text, want := range map[string]string{
		`{"readQueueNums":99999999999}`: `member "readQueueNums": expected a 32-bit integer, got "99999999999"`,
		`{"readQueueNums":"abc"}`:       `expected a 32-bit integer, got "abc"`,
		`{"order":"maybe"}`:             `member "order": expected true or false`,
		`{"attributes":7}`:              `expected '{', got "7"`,
		`{"attributes":[]}`:             `expected '{'`,
		`[]`:                            `expected '{'`,
		`{"perm":2} x`:                  `unexpected 'x' behind the value`,
		`{"perm":2`:                     `ends before '}'`,
		`{"perm"`:                       `expected ':'`,
		`{"perm":`:                      `expected a value`,
		`{"perm":}`:                     `expected a value`,
		`{"perm":2 "order":true}`:       `expected ','`,
		`{"topicName":"a`:               `string without end`,
		`{"topicName":"\u12`:            `escape without end`,
		`{"topicName":"\uzzzz"}`:        `bad escape "zzzz"`,
		`/`:                             `unexpected '/'`,
		`/*`:                            `unexpected '/'`,
		`{"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`: "nested deeper than 64",
		`{"x":[` + strings.Repeat("0,", 1<<20) + `0]}`:                      "more than 1048576 elements",
	} {
		_, err := Decode[TopicConfig]([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: got error %v, want one with %s", text, err, want)
		}
	}
	if _, err := Decode[TopicRouteData]([]byte(`{"brokerDatas":[{"brokerAddrs":{"x":"a"}}]}`)); err == nil ||
		!strings.Contains(err.Error(), `expected an integer key, got "x"`) {
		t.Errorf("got %v", err)
	}
	if _, err := Decode[ResetOffset]([]byte(`{"offsetTable":{"x":1}}`)); err == nil {
		t.Error("a queue key that is no object is read")
	}
}

func TestDecodedBodyDoesNotPointIntoTheInput(t *testing.T) {
	text := []byte(javaHeartbeat)
	v, err := Decode[HeartbeatData](text)
	if err != nil {
		t.Fatal(err)
	}
	before := string(Encode(v))
	for i := range text {
		text[i] = 'x'
	}
	if after := string(Encode(v)); after != before {
		t.Errorf("before %s\nafter %s", before, after)
	}
}

func FuzzDecode(f *testing.F) {
	for _, text := range classTexts(f) {
		f.Add([]byte(text.text))
	}
	f.Add([]byte("/*x*/{'a':{{x:1}:[1,,2,]},\"b\":5L,c:\"\\ud83d\\ude00\"}"))
	time.Local = time.UTC
	f.Fuzz(func(t *testing.T, text []byte) {
		for class, reencode := range classes {
			once, err := reencode(text)
			if err != nil {
				continue
			}
			twice, err := reencode(once)
			if err != nil {
				t.Fatalf("%s: %q is written as %q and then not read: %v", class, text, once, err)
			}
			if !bytes.Equal(once, twice) {
				t.Fatalf("%s: %q is written as %q, read and written again %q", class, text, once, twice)
			}
		}
		if v, err := Decode[HeartbeatData](text); err == nil && !json.Valid(Encode(v)) {
			t.Fatalf("%q is written as %q, which is no JSON", text, Encode(v))
		}
	})
}

func FuzzDecodeRegisterBroker(f *testing.F) {
	f.Add([]byte(`{"topicConfigSerializeWrapper":{"topicConfigTable":{"T":{}}}}`), int32(513))
	f.Add(EncodeRegisterBrokerCompressed(&RegisterBrokerBody{Topics: TopicConfigAndMappingTable{
		Topics: map[string]*TopicConfig{"T": NewTopicConfig("T")},
	}}), int32(513))
	f.Fuzz(func(t *testing.T, data []byte, version int32) {
		b, err := DecodeRegisterBroker(data, version)
		if err == nil && b == nil {
			t.Fatal("neither body nor error")
		}
	})
}

func FuzzDecodeInflated(f *testing.F) {
	f.Add([]byte{0, 0, 0, 2, '{', '}', 0, 0, 0, 0, 0, 0, 0, 2, '[', ']', 0, 0, 0, 0}, int32(513))
	f.Fuzz(func(t *testing.T, plain []byte, version int32) {
		b, err := decodeInflated(&parts{plain}, version)
		if err == nil && b == nil {
			t.Fatal("neither body nor error")
		}
	})
}
