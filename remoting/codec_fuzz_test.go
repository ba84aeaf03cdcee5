package remoting

import (
	"bytes"
	"testing"
)

// FuzzDecodeFrame: no input panics; what decodes re-encodes to a frame that decodes to the same command.
func FuzzDecodeFrame(f *testing.F) {
	for _, s := range []string{routeJSONFrame, routeBinFrame, replyBinFrame} {
		f.Add(unhex(f, s))
	}
	f.Add(jsonFrame(sendV2Header, "body"))
	f.Add(jsonFrame(`{"remark":"\ud83d\ude00\u0001","extFields":{"a":1,"b":null,"c":[{}]},"x":{}}`))
	for _, g := range goldenFrames(f) {
		f.Add(g.frame)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		before := bytes.Clone(frame)
		c := new(Command)
		if err := DecodeFrame(frame, c); err != nil {
			return
		}
		if !bytes.Equal(before, frame) {
			t.Fatal("decoding changed the frame")
		}
		checkReencode(t, c)
	})
}

// FuzzJSONHeader feeds header text alone, so that the fuzzer need not guess lengths.
func FuzzJSONHeader(f *testing.F) {
	f.Add([]byte(sendV2Header))
	f.Add([]byte(`{"code":105,"extFields":{"topic":"T","x":1.5e3},"flag":0,"language":9,"opaque":7,"version":0} `))
	f.Add([]byte(`{"a":[1,{"b":"\"]"}],"remark":"\u00e9\n"}`))
	f.Fuzz(func(t *testing.T, header []byte) {
		if len(header) > maxHeader {
			return
		}
		c := new(Command)
		if DecodeFrame(jsonFrame(string(header)), c) == nil {
			checkReencode(t, c)
		}
	})
}

// FuzzBinaryHeader is FuzzJSONHeader for the ROCKETMQ form.
func FuzzBinaryHeader(f *testing.F) {
	f.Add(unhex(f, routeBinFrame)[8:41])
	f.Add(unhex(f, replyBinFrame)[8:])
	f.Fuzz(func(t *testing.T, header []byte) {
		if len(header) > maxHeader {
			return
		}
		frame := jsonFrame(string(header))
		frame[4] = byte(RocketMQ)
		c := new(Command)
		if DecodeFrame(frame, c) != nil {
			return
		}
		checkReencode(t, c)
		if again := AppendFrame(nil, c); len(again) <= len(frame) && !bytes.Equal(again, frame) && len(again) == len(frame) &&
			header[2] <= byte(NodeJS) {
			t.Fatalf("same length, other bytes:\n got %x\nfrom %x", again, frame)
		}
	})
}

func checkReencode(t *testing.T, c *Command) {
	t.Helper()
	for _, form := range []SerializeType{c.Serialize, RocketMQ} {
		if form == RocketMQ && (c.Serialize == JSON) && !fitsBinary(c) {
			continue
		}
		kept := c.Serialize
		c.Serialize = form
		again := new(Command)
		frame := AppendFrame(nil, c)
		if err := DecodeFrame(frame, again); err != nil {
			t.Fatalf("re-encoded frame %q: %v", frame, err)
		}
		c.Serialize = kept
		want := c
		if form == JSON {
			want = sanitised(c)
		}
		if !sameCommand(again, want) {
			t.Fatalf("re-encoded in form %d\n got %+v\nwant %+v", form, again, want)
		}
	}
}

// fitsBinary tells whether nothing of the command is cut by the ROCKETMQ form.
func fitsBinary(c *Command) bool {
	if c.Code != int32(int16(c.Code)) && (c.IsResponse() || widenRequestCode(int32(int16(c.Code))) != c.Code) ||
		!c.IsResponse() && widenRequestCode(int32(int16(c.Code))) != c.Code || c.Version != int32(int16(c.Version)) {
		return false
	}
	for _, e := range c.Ext {
		if len(e.Key) > 1<<15-1 {
			return false
		}
	}
	return true
}

// sanitised is the command with bytes that are no UTF-8 replaced, as a JSON header must.
func sanitised(c *Command) *Command {
	s := &Command{Code: c.Code, Language: c.Language, Version: c.Version, Opaque: c.Opaque, Flag: c.Flag, Body: c.Body}
	perByte := func(s string) string { return string([]rune(s)) }
	s.Remark = perByte(c.Remark)
	var seen keySet
	for _, e := range c.Ext {
		_ = s.addDecoded(&seen, perByte(e.Key), perByte(e.Value))
	}
	return s
}
