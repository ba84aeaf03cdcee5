package integration

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rocketd/rocketd/integration/peer"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
)

// slowestRound is when an honest client's send and pull stand still while others misbehave. It is hundreds of times what they take.
const slowestRound = 5 * time.Second

// crowd is the number of hostile connections. HOSTILE_CONNECTIONS sets another one.
func crowd(t *testing.T) int {
	t.Helper()
	if s := os.Getenv("HOSTILE_CONNECTIONS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return 1500
}

// open dials n connections.
func open(t *testing.T, addr string, n int) []net.Conn {
	t.Helper()
	conns := make([]net.Conn, 0, n)
	t.Cleanup(func() {
		for _, c := range conns {
			_ = c.Close()
		}
	})
	for range n {
		c, err := net.DialTimeout("tcp", addr, 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	return conns
}

// pulls are n pulls of the biggest answers that topic T has.
func pulls(n int) []byte {
	var data []byte
	for i := range n {
		cmd := remoting.NewRequest(remoting.PullMessage, nil)
		cmd.Opaque = int32(i)
		for j := 0; j < len(pullOf); j += 2 {
			cmd.AddExt(pullOf[j], pullOf[j+1])
		}
		data = remoting.AppendFrame(data, cmd)
	}
	return data
}

// checkMemory compares resident memory before and now.
func checkMemory(t *testing.T, pid, before, allowedMB int) {
	t.Helper()
	now, most := residentKB(t, pid)
	t.Logf("resident: %d MB before, %d MB now, %d MB at most", before>>10, now>>10, most>>10)
	if most-before > allowedMB<<10 {
		t.Errorf("resident memory grew from %d to %d MB, allowed is %d MB more", before>>10, most>>10, allowedMB)
	}
}

// TestReadersThatNeverRead: many connections ask for big answers and take none of them.
func TestReadersThatNeverRead(t *testing.T) {
	c := peer.StartRocketd(t, t.TempDir())
	w := dialWire(t, c.Broker)
	for range 32 {
		if got := w.ask(remoting.JSON, remoting.SendMessage, make([]byte, 8<<10), sendOf...); got.Code != 0 {
			t.Fatal(got.Code, got.Remark)
		}
	}
	before, _ := residentKB(t, c.BrokerPID())
	honest := startBystander(c.Broker)
	data := pulls(100) // about 25 MB of answers for each
	for _, conn := range open(t, c.Broker, crowd(t)) {
		_ = conn.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
		_, _ = conn.Write(data) // it may be closed for what it does
	}
	time.Sleep(2 * time.Second)
	honest.end(t, slowestRound)
	checkMemory(t, c.BrokerPID(), before, 220)
}

// TestTricklingSenders: many connections send a frame a byte at a time, and some announce large frames and never finish
// them.
func TestTricklingSenders(t *testing.T) {
	c := peer.StartRocketd(t, t.TempDir())
	before, _ := residentKB(t, c.BrokerPID())
	honest := startBystander(c.Broker)
	conns := open(t, c.Broker, crowd(t))
	frame := pulls(1)
	for i := range 5 {
		for _, conn := range conns {
			if _, err := conn.Write(frame[i : i+1]); err != nil {
				t.Fatalf("byte %d: %v", i, err)
			}
		}
		time.Sleep(200 * time.Millisecond)
	}
	honest.end(t, slowestRound)
	checkMemory(t, c.BrokerPID(), before, 60)
}

// TestUnfinishedLargeFrames: connections that fill the bound for unfinished frames and stay do not keep honest clients
// from sending large messages.
func TestUnfinishedLargeFrames(t *testing.T) {
	c := peer.StartRocketd(t, t.TempDir())
	before, _ := residentKB(t, c.BrokerPID())
	large := append(binary.BigEndian.AppendUint32(nil, 16<<20-4), make([]byte, 15<<20)...)
	for _, conn := range open(t, c.Broker, 40) { // 600 MB, the bound is 256 MiB
		_ = conn.SetWriteDeadline(time.Now().Add(2 * time.Second))
		_, _ = conn.Write(large) // it may be closed for what it does
	}
	honest := startBystander(c.Broker)
	w := dialWire(t, c.Broker)
	for i := range 20 {
		if got := w.ask(remoting.JSON, remoting.SendMessage, make([]byte, 3<<20), sendOf...); got.Code != 0 {
			t.Fatalf("send %d of 3 MiB: %d %s", i, got.Code, got.Remark)
		}
		if got := w.ask(remoting.JSON, remoting.HeartBeat, []byte(`{"clientID":"c","producerDataSet":[{"groupName":"P"}]}`)); got.Code != 0 {
			t.Fatalf("heartbeat %d: %d %s", i, got.Code, got.Remark)
		}
	}
	honest.end(t, slowestRound)
	checkMemory(t, c.BrokerPID(), before, 420)
}

// TestGarbageFlood: tens of thousands of connections that speak garbage, HTTP or TLS, to both ports.
func TestGarbageFlood(t *testing.T) {
	c := peer.StartRocketd(t, t.TempDir())
	before, _ := residentKB(t, c.BrokerPID())
	honest := startBystander(c.Broker)
	openings := [][]byte{
		[]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3},
		{0, 0, 0, 3, 0, 0, 0},
		{0x40, 0, 0, 0, 0, 0, 0, 0},
		append([]byte{0, 0, 0, 30, 0, 0, 0, 26}, "this is a header of 26 byte"...), bytes.Repeat([]byte{0xff}, 4096),
	}
	var wg sync.WaitGroup
	const workers, each = 8, 1500
	for n := range workers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(n), 3))
			for i := range each {
				conn, err := net.DialTimeout("tcp", []string{c.Broker, c.Namesrv}[i%2], 5*time.Second)
				if err != nil {
					t.Errorf("connection %d: %v", i, err)
					return
				}
				data := openings[random.IntN(len(openings))]
				if random.IntN(3) == 0 {
					data = make([]byte, 1+random.IntN(500))
					for j := range data {
						data[j] = byte(random.Uint32())
					}
				}
				_, _ = conn.Write(data) // it is closed for it
				_ = conn.Close()
			}
		})
	}
	wg.Wait()
	honest.end(t, slowestRound)
	checkMemory(t, c.BrokerPID(), before, 60)
	if n := len(c.Log()); n > 200<<10 {
		t.Errorf("%d connections of garbage made %d bytes of log", workers*each, n)
	}
}

// TestManyFragments: messages of checked content come in random pieces over hundreds of connections at once. Each is
// stored and pulled as it was sent.
func TestManyFragments(t *testing.T) {
	c := peer.StartRocketd(t, t.TempDir())
	const connections, messages = 300, 20
	// The first send to a new topic is answered after later ones: it waits for the topic.
	if got := dialWire(t, c.Broker).ask(remoting.JSON, remoting.SendMessage, []byte("first"), with(sendOf, "queueId", "1")...); got.Code != 0 {
		t.Fatal(got.Code, got.Remark)
	}
	payload := func(n, i int) []byte {
		random := rand.New(rand.NewPCG(uint64(n), uint64(i)))
		b := make([]byte, 1+random.IntN(6000))
		for j := range b {
			b[j] = byte(random.Uint32())
		}
		return b
	}
	var wg sync.WaitGroup
	for n := range connections {
		w := dialWire(t, c.Broker)
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(n), 99))
			var data []byte
			for i := range messages {
				b := payload(n, i)
				head := fmt.Appendf(nil, "%05d/%05d/%010d/", n, i, crc32.ChecksumIEEE(b))
				form := remoting.SerializeType(n % 2)
				data = remoting.AppendFrame(data, w.request(form, remoting.SendMessage, append(head, b...), with(sendOf, "properties", fmt.Sprintf("KEYS\x01%d-%d\x02", n, i))...))
			}
			go func() {
				for len(data) > 0 {
					size := min(len(data), 1+random.IntN(3000))
					if _, err := w.conn.Write(data[:size]); err != nil {
						return
					}
					data = data[size:]
				}
			}()
			for i := range messages {
				got, err := w.read()
				if err != nil || got.Code != 0 || got.Opaque != int32(i+1) {
					t.Errorf("connection %d message %d: %+v %v", n, i, got, err)
					return
				}
			}
		})
	}
	wg.Wait()
	w := dialWire(t, c.Broker)
	seen := map[string]bool{}
	for offset := 0; offset < connections*messages; {
		got := w.ask(remoting.JSON, remoting.PullMessage, nil, with(pullOf, "queueOffset", strconv.Itoa(offset))...)
		if got.Code != 0 {
			t.Fatalf("pull at %d: %d %s", offset, got.Code, got.Remark)
		}
		for body := got.Body; len(body) > 0; offset++ {
			var r message.Record
			size, err := message.DecodeRecord(body, &r, true)
			if err != nil {
				t.Fatal(err)
			}
			body = body[size:]
			var n, i int
			var sum uint32
			if _, err := fmt.Sscanf(string(r.Body[:23]), "%05d/%05d/%010d/", &n, &i, &sum); err != nil {
				t.Fatalf("message %d begins with %q", offset, r.Body[:23])
			}
			keys, _ := r.Properties.Get("KEYS")
			if !bytes.Equal(r.Body[23:], payload(n, i)) || keys != fmt.Sprintf("%d-%d", n, i) || seen[keys] {
				t.Fatalf("message %d of connection %d was changed or is there twice", i, n)
			}
			seen[keys] = true
		}
	}
	if len(seen) != connections*messages {
		t.Errorf("%d messages are stored, %d were acknowledged", len(seen), connections*messages)
	}
}
