package broker

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
)

// benchBroker is a broker on the machine's file system, and one of its connections.
func benchBroker(b *testing.B) (*testBroker, *remoting.Conn) {
	b.Helper()
	conns := make(chan *remoting.Conn, 1)
	dir := b.TempDir()
	x := newTestBroker(b, func(o *Options) {
		o.FS = vfs.OS{}
		o.Clock = clock.System{}
		o.Config.Store.StorePathRootDir = dir
		o.Config.Store.MappedFileSizeCommitLog = 1 << 30
		o.Intercept = func(c *remoting.Conn, _ *remoting.Command) (*remoting.Command, error, bool) {
			select {
			case conns <- c:
			default:
			}
			return nil, nil, false
		}
	})
	c := x.dial()
	c.want(0, remoting.GetMaxOffset, fields{"topic", "none", "queueId", "0"}, nil)
	return x, <-conns
}

func sendRequest(code int32, f fields, data []byte) *remoting.Command {
	frame := remoting.AppendFrame(nil, requestOf(code, f, data))
	cmd := &remoting.Command{}
	if err := remoting.DecodeFrame(frame, cmd); err != nil {
		panic(err)
	}
	return cmd
}

func requestOf(code int32, f fields, data []byte) *remoting.Command {
	cmd := remoting.NewRequest(code, nil)
	cmd.Body = data
	for i := 0; i < len(f); i += 2 {
		cmd.AddExt(f[i], f[i+1])
	}
	return cmd
}

// BenchmarkSend is the way of a SEND_MESSAGE_V2 from its decoded frame to the end of its turn, without the writing of its answer.
func BenchmarkSend(b *testing.B) {
	for _, row := range []struct {
		name string
		turn int // sends in one turn
		size int
	}{{"one", 1, 128}, {"turn of 16", 16, 128}, {"one of 4 KiB", 1, 4096}} {
		b.Run(row.name, func(b *testing.B) {
			x, conn := benchBroker(b)
			req := sendRequest(remoting.SendMessageV2, v2Fields("T", 0, "UNIQ_KEY\x017F0000010001AAAA00000000000000AB\x02WAIT\x01true\x02TAGS\x01A\x02", false), make([]byte, row.size))
			req.Flag |= 2 // one-way: nobody is there to read answers
			x.create("T", 4)
			s := &sender{}
			b.ReportAllocs()
			b.SetBytes(int64(row.size))
			for i := 0; b.Loop(); i++ {
				p, err := x.stageSend(conn, req, s, false)
				if err != nil {
					b.Fatal(err)
				}
				p.oneway = true
				s.pending = append(s.pending, p)
				if i%row.turn == row.turn-1 {
					x.finishSends(s, true)
				}
			}
		})
	}
}

// BenchmarkPull is the way of a PULL_MESSAGE from its decoded frame to its answer, without the writing of it.
func BenchmarkPull(b *testing.B) {
	for _, row := range []struct {
		name, count, subscription string
	}{{"32 messages", "32", "*"}, {"1 message", "1", "*"}, {"32 by tag", "32", "A || B"}, {"nothing there", "32", "C"}} {
		b.Run(row.name, func(b *testing.B) {
			x, conn := benchBroker(b)
			x.create("T", 4)
			for range 100 {
				m := message.Message{Topic: "T", Body: make([]byte, 128), BornHost: x.identity.storeHost, StoreHost: x.identity.storeHost, Properties: message.Properties("TAGS\x01A\x02")}
				if _, err := x.store.Put(&m); err != nil {
					b.Fatal(err)
				}
			}
			req := sendRequest(remoting.PullMessage, pullFields("G", "T", 0, 10).with("maxMsgNums", row.count).with("subscription", row.subscription), nil)
			x.groups.getOrCreate("G")
			b.ReportAllocs()
			for b.Loop() {
				p := x.newPull()
				if err := req.Decode(&p.header); err != nil {
					b.Fatal(err)
				}
				p.conn, p.code, p.first, p.begunMs = conn, req.Code, true, x.clock.NowMs()
				if x.runPull(p, true) != pullDone {
					b.Fatal("not answered at once")
				}
				p.result.Release()
				x.freePull(p)
			}
		})
	}
}

// BenchmarkSendLoopback sends over one connection with many requests in flight and counts the answers.
func BenchmarkSendLoopback(b *testing.B) {
	for _, inFlight := range []int{1, 64} {
		b.Run(itoa(inFlight)+" in flight", func(b *testing.B) {
			x, _ := benchBroker(b)
			x.create("T", 4)
			conn := x.dialRaw()
			req := requestOf(remoting.SendMessageV2, v2Fields("T", 0, "UNIQ_KEY\x017F0000010001AAAA00000000000000AB\x02WAIT\x01true\x02TAGS\x01A\x02", false), make([]byte, 128))
			req.Serialize = remoting.RocketMQ
			turn := bytes.Repeat(remoting.AppendFrame(nil, req), inFlight)
			answers := bufio.NewReaderSize(conn, 1<<16)
			b.ReportAllocs()
			b.ResetTimer()
			for left := b.N; left > 0; left -= inFlight {
				if _, err := conn.Write(turn); err != nil {
					b.Fatal(err)
				}
				for range inFlight {
					head, err := answers.Peek(4)
					if err != nil {
						b.Fatal(err)
					}
					if _, err := answers.Discard(4 + int(binary.BigEndian.Uint32(head))); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
