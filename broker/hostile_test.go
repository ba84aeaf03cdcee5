package broker

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/rocketd/rocketd/remoting"
)

// TestFramesOfManyConnectionsDoNotMix: messages of checked content come in random pieces over many connections at once; each
// is stored as it was sent.
func TestFramesOfManyConnectionsDoNotMix(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	const connections, messages = 40, 40
	var wg sync.WaitGroup
	for n := range connections {
		c := b.dial()
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(n), 1))
			var data []byte
			var waiting []chan *answer
			for i := range messages {
				payload := bytes.Repeat([]byte{byte(n), byte(i)}, 1+random.IntN(4000))
				text := fmt.Appendf(nil, "%d/%d/%d/", n, i, crc32.ChecksumIEEE(payload))
				cmd := c.request(remoting.SendMessage, sendFields("T", 0, "UNIQ_KEY\x01"+itoa(n)+"/"+itoa(i)+"\x02"), append(text, payload...))
				ch := make(chan *answer, 1)
				c.mu.Lock()
				c.waiting[cmd.Opaque] = ch
				c.mu.Unlock()
				waiting = append(waiting, ch)
				data = remoting.AppendFrame(data, cmd)
			}
			for len(data) > 0 {
				size := min(len(data), 1+random.IntN(3000))
				c.write(data[:size])
				data = data[size:]
			}
			for i, ch := range waiting {
				select {
				case a := <-ch:
					if want := itoa(n) + "/" + itoa(i); a.code != 0 || a.ext["transactionId"] != want {
						t.Errorf("%s: code %d, transaction id %q", want, a.code, a.ext["transactionId"])
					}
				case <-c.done:
					t.Errorf("connection %d closed", n)
					return
				}
			}
		})
	}
	wg.Wait()
	if n := b.count("T", 0); n != connections*messages {
		t.Fatalf("%d messages are stored, want %d", n, connections*messages)
	}
	for i := range int64(connections * messages) {
		r := b.stored("T", 0, i)
		var n, m int
		var sum uint32
		if _, err := fmt.Sscanf(string(r.Body[:min(len(r.Body), 40)]), "%d/%d/%d/", &n, &m, &sum); err != nil {
			t.Fatalf("message %d: %q", i, r.Body[:40])
		}
		payload := r.Body[bytes.Index(r.Body, fmt.Append(nil, sum))+len(fmt.Append(nil, sum))+1:]
		if crc32.ChecksumIEEE(payload) != sum || property(&r, "UNIQ_KEY") != fmt.Sprintf("%d/%d", n, m) {
			t.Fatalf("message %d of connection %d was changed", m, n)
		}
	}
}

// TestHostileClientsAreNoTrouble: while others send garbage, half frames, or pull and never read, sends and pulls go on.
func TestHostileClientsAreNoTrouble(t *testing.T) {
	b := newTestBroker(t)
	b.create("T", 1)
	good := b.dial()
	good.want(0, remoting.SendMessage, sendFields("T", 0, ""), make([]byte, 100<<10))
	random := rand.New(rand.NewPCG(7, 7))
	pull := func(n int) []byte {
		var data []byte
		for i := range n {
			cmd := remoting.NewRequest(remoting.PullMessage, nil)
			cmd.Opaque = int32(i)
			f := pullFields("G", "T", 0, 0)
			for i := 0; i < len(f); i += 2 {
				cmd.AddExt(f[i], f[i+1])
			}
			data = remoting.AppendFrame(data, cmd)
		}
		return data
	}
	for i := range 120 {
		conn := b.dialRaw()
		var data []byte
		switch i % 6 {
		case 0:
			data = make([]byte, 64)
			for j := range data {
				data[j] = byte(random.Uint32())
			}
		case 1:
			data = []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
		case 2:
			data = pull(300)
		case 3:
			data = pull(1)[:20]
		case 4:
			data = []byte{0, 255, 255, 255, 0, 0, 0, 10}
		case 5:
			frame := pull(1)
			frame[9] = '!' // a header that is no JSON
			data = frame
		}
		if _, err := conn.Write(data); err != nil {
			t.Logf("connection %d: %v", i, err)
		}
	}
	for range 200 {
		good.want(0, remoting.SendMessage, sendFields("T", 0, ""), []byte("x"))
		good.want(0, remoting.PullMessage, pullFields("G", "T", 0, 1), nil)
	}
}

// TestEveryCodeIsAnswered: scenario R-54: known codes with nothing in them, and unknown ones, over one connection.
func TestEveryCodeIsAnswered(t *testing.T) {
	for _, form := range []remoting.SerializeType{remoting.JSON, remoting.RocketMQ} {
		b := newTestBroker(t)
		c := b.dial()
		c.form = form
		known := map[int32]bool{}
		for _, route := range b.routes() {
			known[route.Code] = true
		}
		codes := make([]int32, 0, 500)
		for code := range int32(420) {
			codes = append(codes, code)
		}
		for code := int32(200_050); code < 200_080; code++ {
			codes = append(codes, code)
		}
		for _, code := range codes {
			a := c.call(code, nil, nil)
			if !known[code] && (a.code != 3 || a.remark != " request type "+itoa(code)+" not supported") && form == remoting.JSON {
				t.Errorf("code %d: got %d, %q", code, a.code, a.remark)
			}
			if a.code != 0 && a.remark == "" {
				t.Errorf("code %d: answered %d without a word", code, a.code)
			}
		}
		for _, code := range codes {
			c.oneway(code, nil, nil)
		}
	}
}
