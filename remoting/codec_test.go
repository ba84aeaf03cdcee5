package remoting

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// Frames made by the reference's Java encoder.
const (
	routeJSONFrame = "0000007d 00000079 7b22636f6465223a3130352c226578744669656c6473223a7b22746f706963223a2254227d2c22666c6167223a302c226c616e6775616765223a224a415641222c226f7061717565223a372c2273657269616c697a655479706543757272656e74525043223a224a534f4e222c2276657273696f6e223a307d"
	routeBinFrame  = "00000027 01000021 0069 00 0000 00000007 00000000 00000000 0000000c 0005 746f706963 00000001 54 0102"
	replyBinFrame  = "0000001b 01000017 0011 00 0000 00000007 00000001 00000002 6e6f 00000000"
	sendV2Header   = `{"code":310,"extFields":{"a":"P","b":"T","c":"TBW102","d":"4","e":"0","f":"0","g":"1700000000000","h":"0","i":"TAGS\u0001A\u0002","j":"0","k":"false","m":"false","n":"broker-a"},"flag":0,"language":"JAVA","opaque":8,"serializeTypeCurrentRPC":"JSON","version":479}`
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func jsonFrame(header string, body ...string) []byte {
	n := len(header)
	f := []byte{0, 0, 0, 0, 0, byte(n >> 16), byte(n >> 8), byte(n)}
	f = append(append(f, header...), strings.Join(body, "")...)
	f[0], f[1], f[2], f[3] = byte((len(f)-4)>>24), byte((len(f)-4)>>16), byte((len(f)-4)>>8), byte(len(f)-4)
	return f
}

func mustDecode(t testing.TB, frame []byte) *Command {
	t.Helper()
	c := new(Command)
	if err := DecodeFrame(frame, c); err != nil {
		t.Fatalf("DecodeFrame(%x): %v", frame, err)
	}
	return c
}

func TestWorkedExamples(t *testing.T) {
	t.Run("JSON request", func(t *testing.T) {
		frame := unhex(t, routeJSONFrame)
		c := mustDecode(t, frame)
		if c.Code != 105 || c.Opaque != 7 || c.Flag != 0 || c.Version != 0 || c.Language != Java || c.Body != nil {
			t.Errorf("got %+v", c)
		}
		if got := []ExtField{{"topic", "T"}}; !reflect.DeepEqual(c.Ext, got) {
			t.Errorf("ext = %v", c.Ext)
		}
		if got := AppendFrame(nil, c); !bytes.Equal(got, frame) {
			t.Errorf("re-encoded\n got %q\nwant %q", got, frame)
		}
	})
	t.Run("ROCKETMQ request with body", func(t *testing.T) {
		frame := unhex(t, routeBinFrame)
		c := mustDecode(t, frame)
		if c.Code != 105 || c.Opaque != 7 || !bytes.Equal(c.Body, []byte{1, 2}) || c.Serialize != RocketMQ {
			t.Errorf("got %+v", c)
		}
		if v, ok := c.ExtValue("topic"); v != "T" || !ok {
			t.Errorf("topic = %q, %v", v, ok)
		}
		if got := AppendFrame(nil, c); !bytes.Equal(got, frame) {
			t.Errorf("re-encoded\n got %x\nwant %x", got, frame)
		}
	})
	t.Run("ROCKETMQ response", func(t *testing.T) {
		frame := unhex(t, replyBinFrame)
		c := mustDecode(t, frame)
		if c.Code != 17 || c.Remark != "no" || !c.IsResponse() || c.IsOneway() {
			t.Errorf("got %+v", c)
		}
		if got := AppendFrame(nil, c); !bytes.Equal(got, frame) {
			t.Errorf("re-encoded\n got %x\nwant %x", got, frame)
		}
	})
	t.Run("SEND_MESSAGE_V2", func(t *testing.T) {
		frame := jsonFrame(sendV2Header, "hello")
		c := mustDecode(t, frame)
		var h SendMessageRequestHeader
		if err := c.DecodeSend(&h); err != nil {
			t.Fatal(err)
		}
		want := SendMessageRequestHeader{
			ProducerGroup: "P", Topic: "T", DefaultTopic: "TBW102", DefaultTopicQueueNums: 4, BornTimestamp: 1700000000000,
			Properties: "TAGS\x01A\x02", ReconsumeTimes: Some[int32](0), UnitMode: Some(false), Batch: Some(false),
			BrokerName: "broker-a",
		}
		if h != want {
			t.Errorf("got  %+v\nwant %+v", h, want)
		}
		again := NewRequest(310, h.V2())
		again.Version, again.Opaque, again.Body = 479, 8, []byte("hello")
		if got := AppendFrame(nil, again); !bytes.Equal(got, frame) {
			t.Errorf("encoded\n got %s\nwant %s", got, frame)
		}
	})
}

func TestBodyPartsAreOneBody(t *testing.T) {
	c := NewRequest(10, nil)
	c.Body, c.BodyParts = []byte("ab"), [][]byte{[]byte("cd"), nil, []byte("e")}
	if got := mustDecode(t, AppendFrame(nil, c)); string(got.Body) != "abcde" {
		t.Errorf("body = %q", got.Body)
	}
}

func TestJSONHeaderTolerance(t *testing.T) {
	ext := func(kv ...string) (e []ExtField) {
		for i := 0; i < len(kv); i += 2 {
			e = append(e, ExtField{kv[i], kv[i+1]})
		}
		return e
	}
	tests := []struct {
		name, header string
		want         Command
	}{
		{"blanks and line ends", " {\r\n\t\"code\" : 1 , \"opaque\":2 } \n", Command{Code: 1, Opaque: 2}},
		{"empty object", `{}`, Command{}},
		{"language by ordinal", `{"language":9}`, Command{Language: Go}},
		{"language by quoted ordinal", `{"language":"1"}`, Command{Language: CPP}},
		{"unknown language", `{"language":"COBOL"}`, Command{Language: Other}},
		{"language out of the table", `{"language":127}`, Command{Language: Other}},
		{"null language", `{"language":null}`, Command{Language: Other}},
		{"quoted numbers", `{"code":"310","flag":"3","version":"-1"}`, Command{Code: 310, Flag: 3, Version: -1}},
		{"null members", `{"code":null,"remark":null,"extFields":null,"opaque":5}`, Command{Opaque: 5}},
		{"unknown members", `{"x":{"a":[1,{"b":"]}\""}]},"y":[[],[]],"z":-1.5e+3,"code":7,"w":true}`, Command{Code: 7}},
		{
			"scalar ext values", `{"extFields":{"a":1,"b":true,"c":null,"d":-2.5,"e":"s"}}`,
			Command{Ext: ext("a", "1", "b", "true", "d", "-2.5", "e", "s")},
		},
		{"nested ext values stay text", `{"extFields":{"a":{"b":["}"]},"c":[1, 2]}}`, Command{Ext: ext("a", `{"b":["}"]}`, "c", "[1, 2]")}},
		{"doubled ext key: last wins", `{"extFields":{"a":"1","b":"2","a":"3"}}`, Command{Ext: ext("a", "3", "b", "2")}},
		{"empty ext", `{"extFields":{},"code":2}`, Command{Code: 2}},
		{"escapes", `{"remark":"\"\\\/\b\f\n\r\t\u00e9\u4E2d\ud83d\ude00\u0001"}`, Command{Remark: "\"\\/\b\f\n\r\té中😀\x01"}},
		{"half a surrogate pair is what Java writes", `{"remark":"a\ud83dz\ude00\ud83d\u0041"}`, Command{Remark: "a?z??A"}},
		{"raw control characters", "{\"remark\":\"a\x01\nb\"}", Command{Remark: "a\x01\nb"}},
		{"raw bytes that are no UTF-8 stay", "{\"extFields\":{\"p\":\"\xff\xfe\"}}", Command{Ext: ext("p", "\xff\xfe")}},
		{"escaped key", `{"c\u006fde":4,"extFields":{"\u0061":"x"}}`, Command{Code: 4, Ext: ext("a", "x")}},
		{"largest and smallest", `{"code":2147483647,"opaque":-2147483648}`, Command{Code: 2147483647, Opaque: -2147483648}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := mustDecode(t, jsonFrame(tt.header))
			if !sameCommand(got, &tt.want) {
				t.Errorf("%s\n got %+v\nwant %+v", tt.header, got, tt.want)
			}
		})
	}
}

// sameCommand compares what a frame carries.
func sameCommand(a, b *Command) bool {
	if len(a.Ext) != len(b.Ext) {
		return false
	}
	for i := range a.Ext {
		if a.Ext[i] != b.Ext[i] {
			return false
		}
	}
	return a.Code == b.Code && a.Language == b.Language && a.Version == b.Version && a.Opaque == b.Opaque &&
		a.Flag == b.Flag && a.Remark == b.Remark && bytes.Equal(a.Body, b.Body)
}

func TestBadFrames(t *testing.T) {
	bin := func(s string) []byte { return unhex(t, s) }
	tests := []struct {
		name  string
		frame []byte
		says  string
	}{
		{"empty", nil, "shorter"},
		{"prefix cut", bin("0000000400"), "shorter"},
		{"length too small", bin("00000003 00000000"), "length field"},
		{"length too large", bin("00000005 00000000"), "length field"},
		{"header over frame", bin("00000006 00000003 7b7d"), "header of 3 bytes"},
		{"serialize type 2", bin("00000006 02000002 7b7d"), "serialize type 2"},
		{"no header", bin("00000004 00000000"), "no JSON object"},
		{"array", jsonFrame(`[]`), "no JSON object"},
		{"text behind", jsonFrame(`{}x`), "behind"},
		{"cut in key", jsonFrame(`{"co`), "not closed"},
		{"cut behind key", jsonFrame(`{"code"`), "colon"},
		{"cut in value", jsonFrame(`{"code":`), "cut off"},
		{"cut in escape", jsonFrame(`{"remark":"\`), "cut off"},
		{"cut in unicode", jsonFrame(`{"remark":"\u12"}`), "hex"},
		{"unknown escape", jsonFrame(`{"remark":"\q"}`), "escape"},
		{"no comma", jsonFrame(`{"code":1 "flag":2}`), "comma"},
		{"bare word", jsonFrame(`{"code":yes}`), "no JSON value"},
		{"code is text", jsonFrame(`{"code":"x"}`), `code is "x"`},
		{"code too large", jsonFrame(`{"code":2147483648}`), "2147483648"},
		{"fraction", jsonFrame(`{"flag":1.5}`), "flag"},
		{"ext is text", jsonFrame(`{"extFields":"x"}`), "extFields"},
		{"open object", jsonFrame(`{"x":{"y":[}`), "not closed"},
		{"open string in object", jsonFrame(`{"x":["\"]}`), "not closed"},
		{"binary too short", bin("00000018 01000014 0069000000000000070000000000000000000000"), "fixed 21"},
		{"remark over header", bin("00000019 01000015 0069000000000000070000000000000001 00000000"), "remark of 1"},
		{"negative remark", bin("00000019 01000015 00690000000000000700000000 ffffffff 00000000"), "remark of -1"},
		{"ext over header", bin("00000019 01000015 00690000000000000700000000 00000000 00000001"), "ext fields of 1"},
		{"bytes behind ext", bin("0000001a 01000016 00690000000000000700000000 00000000 00000000 00"), "ext fields of 0"},
		{"key length cut", bin("0000001a 01000016 00690000000000000700000000 00000000 00000001 00"), "key length"},
		{"key over ext", bin("0000001c 01000018 00690000000000000700000000 00000000 00000003 0001 61"), "key of 1"},
		{"negative key", bin("0000001f 0100001b 00690000000000000700000000 00000000 00000006 ffff 00000000"), "key of -1"},
		{"value over ext", bin("0000001f 0100001b 00690000000000000700000000 00000000 00000006 0000 00000001"), "value of 1"},
		{"negative value", bin("0000001f 0100001b 00690000000000000700000000 00000000 00000006 0000 80000000"), "value of -2147483648"},
		{"too many fields", jsonFrame(`{"extFields":{` + manyFields(maxExtFields+1) + `}}`), "1024"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := DecodeFrame(tt.frame, new(Command))
			if !errors.Is(err, ErrFrame) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error = %v, want one with %q", err, tt.says)
			}
		})
	}
}

func manyFields(n int) string {
	var sb strings.Builder
	for i := range n {
		if i > 0 {
			sb.WriteByte(',')
		}
		sb.WriteString(`"k` + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + strings.Repeat("0", i/26) + `":"v"`)
	}
	return sb.String()
}

func TestRequestCodesCutTo16BitsComeBack(t *testing.T) {
	// What the reference's encoder leaves of the codes (low 16 bits), beside the code meant.
	for cut, code := range map[int32]int32{
		3442: 200050, 3443: 200051, 3444: 200052, 3445: 200053, 3446: 200054, 3447: 200055, 3448: 200056, 3543: 200151,
		3462: 200070, 3471: 200079, 10: 10, 310: 310, 3449: 3449, 3461: 3461, 3472: 3472, -1000: -1000,
	} {
		c := &Command{Code: code, Serialize: RocketMQ}
		frame := AppendFrame(nil, c)
		if got := int32(int16(uint16(frame[8])<<8 | uint16(frame[9]))); got != cut {
			t.Errorf("code %d goes out as %d, want %d", code, got, cut)
		}
		if got := mustDecode(t, frame).Code; got != code {
			t.Errorf("request code %d comes back as %d", code, got)
		}
		c.Flag = flagResponse
		if got := mustDecode(t, AppendFrame(nil, c)).Code; got != cut {
			t.Errorf("response code %d comes back as %d, want %d", code, got, cut)
		}
	}
}

func TestJSONStringsForOtherReaders(t *testing.T) {
	for _, s := range []string{"", "plain", "q\"b\\s/", "\x00\x01\x02\x1f\x7f", "\b\f\n\r\t", "é中😀\u2028\u2029", "<&>"} {
		var back string
		if err := json.Unmarshal(appendJSONString(nil, s), &back); err != nil || back != s {
			t.Errorf("%q reads back as %q, %v", s, back, err)
		}
	}
	if got := string(appendJSONString(nil, "a\xffb\xc3")); got != "\"a\uFFFDb\uFFFD\"" {
		t.Errorf("invalid UTF-8 = %q", got)
	}
}

func TestDecodeReusesScratch(t *testing.T) {
	frame := jsonFrame(sendV2Header, strings.Repeat("x", 1024))
	c := new(Command)
	var h SendMessageRequestHeader
	allocs := testing.AllocsPerRun(100, func() {
		if err := DecodeFrame(frame, c); err != nil {
			t.Fatal(err)
		}
		if err := c.DecodeSend(&h); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations a frame, want 0", allocs)
	}
	resp := NewResponse(0)
	rh := &SendMessageResponseHeader{MsgID: "7F000001000078BF000000000000002A", QueueID: 1, QueueOffset: 2}
	resp.Header = rh
	buf := make([]byte, 0, 4096)
	for _, form := range []SerializeType{JSON, RocketMQ} {
		resp.Serialize = form
		if allocs := testing.AllocsPerRun(100, func() { buf = AppendFrame(buf[:0], resp) }); allocs != 0 {
			t.Errorf("form %d: %v allocations an encoded frame, want 0", form, allocs)
		}
	}
}
