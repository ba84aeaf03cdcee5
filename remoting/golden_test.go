package remoting

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

type goldenFrame struct {
	name    string
	frame   []byte
	request bool  // else a response
	code    int32 // of the request, also for responses
}

func goldenFrames(t testing.TB) []goldenFrame {
	t.Helper()
	files, err := filepath.Glob("testdata/golden/*.bin")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden frames: %v", err)
	}
	frames := make([]goldenFrame, 0, len(files))
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(f), ".bin")
		words := strings.Split(name, "_")
		code, err := strconv.ParseInt(words[len(words)-1], 10, 32)
		if err != nil || len(words) < 5 {
			t.Fatalf("%s: the name does not tell the code", name)
		}
		frames = append(frames, goldenFrame{name, b, words[2] == "request", int32(code)})
	}
	return frames
}

// Every captured frame decodes, and re-encodes to the same command: to the same bytes in the ROCKETMQ form, to the same
// JSON value in the JSON form.
func TestGoldenFramesReencode(t *testing.T) {
	for _, g := range goldenFrames(t) {
		t.Run(g.name, func(t *testing.T) {
			c := mustDecode(t, g.frame)
			if c.IsResponse() == g.request {
				t.Fatalf("flag %d", c.Flag)
			}
			if g.request && c.Code != g.code {
				t.Errorf("code %d, the file says %d", c.Code, g.code)
			}
			again := AppendFrame(nil, c)
			if !sameCommand(mustDecode(t, again), c) {
				t.Errorf("re-encoded differs:\n%q\n%q", again, g.frame)
			}
			if c.Serialize == RocketMQ {
				if !bytes.Equal(again, g.frame) {
					t.Errorf("bytes differ:\n got %x\nwant %x", again, g.frame)
				}
				return
			}
			got, want := headerValue(t, again), headerValue(t, g.frame)
			want["serializeTypeCurrentRPC"] = "JSON" // client-go leaves it out
			maps.DeleteFunc(want, func(_ string, v any) bool {
				empty, ok := v.(map[string]any)
				return v == nil || v == "" || ok && len(empty) == 0 // left out by us
			})
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("header\n got %v\nwant %v", got, want)
			}
		})
	}
}

func headerValue(t *testing.T, frame []byte) map[string]any {
	t.Helper()
	n := int(frame[5])<<16 | int(frame[6])<<8 | int(frame[7])
	var v map[string]any
	d := json.NewDecoder(bytes.NewReader(frame[8 : 8+n]))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

type headerPair struct{ request, response func() Header }

func of[H any, P interface {
	*H
	Header
}]() func() Header {
	return func() Header { return P(new(H)) }
}

func sendV2() Header { return new(sendMessageRequestHeaderV2) }

// goldenHeaders are the field lists of the codes that were captured.
func goldenHeaders() map[int32]headerPair {
	return map[int32]headerPair{
		SendMessage:                {of[SendMessageRequestHeader](), of[SendMessageResponseHeader]()},
		SendMessageV2:              {sendV2, of[SendMessageResponseHeader]()},
		SendBatchMessage:           {sendV2, of[SendMessageResponseHeader]()},
		SendReplyMessage:           {of[SendMessageRequestHeader](), of[SendMessageResponseHeader]()},
		SendReplyMessageV2:         {sendV2, of[SendMessageResponseHeader]()},
		PullMessage:                {of[PullMessageRequestHeader](), of[PullMessageResponseHeader]()},
		QueryMessage:               {of[QueryMessageRequestHeader](), of[QueryMessageResponseHeader]()},
		QueryConsumerOffset:        {of[QueryConsumerOffsetRequestHeader](), of[QueryConsumerOffsetResponseHeader]()},
		UpdateConsumerOffset:       {of[UpdateConsumerOffsetRequestHeader](), nil},
		SearchOffsetByTimestamp:    {of[SearchOffsetRequestHeader](), of[SearchOffsetResponseHeader]()},
		GetMaxOffset:               {of[GetMaxOffsetRequestHeader](), of[GetMaxOffsetResponseHeader]()},
		GetMinOffset:               {of[GetMinOffsetRequestHeader](), of[GetMinOffsetResponseHeader]()},
		GetEarliestMsgStoretime:    {of[GetEarliestMsgStoretimeRequestHeader](), of[GetEarliestMsgStoretimeResponseHeader]()},
		ViewMessageByID:            {of[ViewMessageRequestHeader](), nil},
		UnregisterClient:           {of[UnregisterClientRequestHeader](), nil},
		ConsumerSendMsgBack:        {of[ConsumerSendMsgBackRequestHeader](), nil},
		EndTransaction:             {of[EndTransactionRequestHeader](), nil},
		GetConsumerListByGroup:     {of[GetConsumerListByGroupRequestHeader](), nil},
		CheckTransactionState:      {of[CheckTransactionStateRequestHeader](), nil},
		NotifyConsumerIDsChanged:   {of[NotifyConsumerIDsChangedRequestHeader](), nil},
		GetRouteinfoByTopic:        {of[GetRouteInfoRequestHeader](), nil},
		PushReplyMessageToClient:   {of[ReplyMessageRequestHeader](), nil},
		PopMessage:                 {of[PopMessageRequestHeader](), of[PopMessageResponseHeader]()},
		AckMessage:                 {of[AckMessageRequestHeader](), nil},
		ChangeMessageInvisibletime: {of[ChangeInvisibleTimeRequestHeader](), of[ChangeInvisibleTimeResponseHeader]()},
		UpdateAndCreateTopic:       {of[CreateTopicRequestHeader](), nil},
		GetConsumerRunningInfo:     {of[GetConsumerRunningInfoRequestHeader](), nil},
		ResetConsumerClientOffset:  {of[ResetOffsetRequestHeader](), nil},
		RecallMessage:              {of[RecallMessageRequestHeader](), of[RecallMessageResponseHeader]()},
	}
}

// freeKeys are ext fields that are not of a header class.
var freeKeys = map[string]bool{
	"ns": true, "nsd": true, "bname": true, "oway": true, "lo": true, "n": true, "MSG_REGION": true, "TRACE_ON": true,
	"_UNIQUE_KEY_QUERY": true, "IS_SUPPORT_HEART_BEAT_V2": true, "IS_SUB_CHANGE": true, "ReqT": true,
}

// Field lists take what real clients and brokers send, and give it back whole.
func TestGoldenFramesDecodeAsHeaders(t *testing.T) {
	lists := goldenHeaders()
	for _, g := range goldenFrames(t) {
		create := lists[g.code].request
		if !g.request {
			create = lists[g.code].response
		}
		c := mustDecode(t, g.frame)
		if create == nil || !g.request && c.Code != Success {
			continue
		}
		t.Run(g.name, func(t *testing.T) {
			h := create()
			if err := c.Decode(h); err != nil {
				t.Fatal(err)
			}
			again := &Command{Header: h, Serialize: c.Serialize}
			got := mustDecode(t, AppendFrame(nil, again))
			for _, e := range c.Ext {
				if v, _ := got.ExtValue(e.Key); v != e.Value && !freeKeys[e.Key] {
					t.Errorf("%T: %s is %q, captured %q", h, e.Key, v, e.Value)
				}
			}
		})
	}
}
