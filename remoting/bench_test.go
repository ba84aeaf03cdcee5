//go:build linux || darwin

package remoting

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

func benchSendFrame(form SerializeType) []byte {
	cmd := NewRequest(SendMessageV2, (&SendMessageRequestHeader{
		ProducerGroup: "please_rename_unique_group_name", Topic: "BenchmarkTest", DefaultTopic: "TBW102", DefaultTopicQueueNums: 4,
		QueueID: 3, BornTimestamp: 1700000000000, Properties: "KEYS\x0117\x02UNIQ_KEY\x017F000001ABCD18B4AAC20A1B2C3D0000\x02WAIT\x01true\x02TAGS\x01A\x02",
		ReconsumeTimes: Some[int32](0), UnitMode: Some(false), Batch: Some(false), BrokerName: "broker-a",
	}).V2())
	cmd.Serialize, cmd.Opaque, cmd.Body = form, 12345, make([]byte, 1024)
	return AppendFrame(nil, cmd)
}

func BenchmarkDecodeSend(b *testing.B) {
	for name, form := range map[string]SerializeType{"JSON": JSON, "ROCKETMQ": RocketMQ} {
		b.Run(name, func(b *testing.B) {
			frame := benchSendFrame(form)
			cmd := new(Command)
			var h SendMessageRequestHeader
			b.ReportAllocs()
			defer cpuMeter(b)()
			for b.Loop() {
				if err := DecodeFrame(frame, cmd); err != nil {
					b.Fatal(err)
				}
				if err := cmd.DecodeSend(&h); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncodeSendAnswer(b *testing.B) {
	for name, form := range map[string]SerializeType{"JSON": JSON, "ROCKETMQ": RocketMQ} {
		b.Run(name, func(b *testing.B) {
			resp := NewResponse(0)
			resp.Serialize = form
			resp.Header = &SendMessageResponseHeader{MsgID: "7F00000100002A9F0000000000A1B2C3", QueueID: 3, QueueOffset: 123456}
			resp.AddExt("MSG_REGION", "DefaultRegion")
			resp.AddExt("TRACE_ON", "true")
			var buf []byte
			b.ReportAllocs()
			defer cpuMeter(b)()
			for b.Loop() {
				buf = AppendFrame(buf[:0], resp)
			}
		})
	}
}

// benchServer answers SEND frames as a broker's hot path would: header decoded, small answer.
func benchServer(b *testing.B, lane Lane) *testServer {
	b.Helper()
	type scratch struct {
		req  SendMessageRequestHeader
		resp SendMessageResponseHeader
	}
	return startServer(b, ServerOptions{
		StartLoop: func(l *Loop) { l.Data = new(scratch) },
		Lanes:     []LaneOptions{{Name: "bench", Workers: 2, Queue: 10000}},
		Routes: []Route{{SendMessageV2, lane, func(c *Conn, req *Command) (*Command, error) {
			var s *scratch
			var resp *Command
			if lane == OnLoop {
				s = c.Loop().Data.(*scratch)
				resp = c.Loop().Response(Success)
			} else {
				s = new(scratch)
				resp = NewResponse(Success)
			}
			if err := req.DecodeSend(&s.req); err != nil {
				return nil, err
			}
			s.resp = SendMessageResponseHeader{MsgID: "7F00000100002A9F0000000000A1B2C3", QueueID: s.req.QueueID, QueueOffset: 42}
			resp.Header = &s.resp
			return resp, nil
		}}},
	})
}

// skipFrames reads n frames without decoding them.
func skipFrames(r *bufio.Reader, n int) error {
	for range n {
		head, err := r.Peek(4)
		if err != nil {
			return err
		}
		if _, err := r.Discard(4 + int(binary.BigEndian.Uint32(head))); err != nil {
			return err
		}
	}
	return nil
}

func benchLoopback(b *testing.B, lane Lane, conns, depth int) {
	b.Helper()
	s := benchServer(b, lane)
	frame := benchSendFrame(JSON)
	batch := []byte(strings.Repeat(string(frame), depth))
	clients := make([]net.Conn, conns)
	for i := range clients {
		clients[i] = s.dial(b).Conn
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(frame)))
	b.ResetTimer()
	defer cpuMeter(b)()
	var wg sync.WaitGroup
	for _, c := range clients {
		rounds := b.N / (conns * depth)
		if rounds == 0 {
			rounds = 1
		}
		wg.Go(func() {
			r := bufio.NewReaderSize(c, 64<<10)
			for range rounds {
				if _, err := c.Write(batch); err != nil {
					b.Error(err)
					return
				}
				if err := skipFrames(r, depth); err != nil && !errors.Is(err, io.EOF) {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
}

func BenchmarkLoopbackLockStep(b *testing.B)      { benchLoopback(b, OnLoop, 1, 1) }
func BenchmarkLoopbackPipelined(b *testing.B)     { benchLoopback(b, OnLoop, 8, 16) }
func BenchmarkLoopbackLane(b *testing.B)          { benchLoopback(b, 1, 1, 1) }
func BenchmarkLoopbackLanePipelined(b *testing.B) { benchLoopback(b, 1, 8, 16) }

// BenchmarkLargeAnswers is a fast reader of 4 MB bodies: what a full socket costs.
func BenchmarkLargeAnswers(b *testing.B) {
	mapped := make([]byte, 4<<20)
	s := startServer(b, ServerOptions{Routes: []Route{{PullMessage, OnLoop, func(c *Conn, req *Command) (*Command, error) {
		resp := c.Loop().Response(0)
		resp.BodyParts = append(resp.BodyParts, mapped)
		resp.Release = func() {}
		return resp, nil
	}}}})
	c := s.dial(b)
	frame := AppendFrame(nil, request(PullMessage, 1, ""))
	r := bufio.NewReaderSize(c, 256<<10)
	b.ReportAllocs()
	b.SetBytes(int64(len(mapped)))
	defer cpuMeter(b)()
	for b.Loop() {
		c.write(frame)
		if err := skipFrames(r, 1); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLargeRequests is a sender of 4 MB bodies.
func BenchmarkLargeRequests(b *testing.B) {
	s := startServer(b, ServerOptions{Routes: []Route{{SendMessage, OnLoop, func(c *Conn, req *Command) (*Command, error) {
		return c.Loop().Response(0), nil
	}}}})
	c := s.dial(b)
	frame := AppendFrame(nil, request(SendMessage, 1, strings.Repeat("x", 4<<20)))
	r := bufio.NewReaderSize(c, 64<<10)
	b.ReportAllocs()
	b.SetBytes(int64(len(frame)))
	defer cpuMeter(b)()
	for b.Loop() {
		c.write(frame)
		if err := skipFrames(r, 1); err != nil {
			b.Fatal(err)
		}
	}
}
