package integration

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rocketd/rocketd/integration/peer"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
)

// wire is a bare connection: what goes over it is up to the test.
type wire struct {
	t    testing.TB
	conn net.Conn
	last int32 // opaque of the last request
}

func dialWire(t testing.TB, addr string) *wire {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &wire{t: t, conn: conn}
}

func (w *wire) write(b []byte) {
	w.t.Helper()
	_ = w.conn.SetWriteDeadline(time.Now().Add(20 * time.Second))
	if _, err := w.conn.Write(b); err != nil {
		w.t.Fatalf("write: %v", err)
	}
}

// read is the next frame.
func (w *wire) read() (*remoting.Command, error) {
	_ = w.conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	frame := make([]byte, 4)
	if _, err := io.ReadFull(w.conn, frame); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(frame)
	if size > 32<<20 {
		return nil, fmt.Errorf("a frame of %d bytes", size)
	}
	frame = slices.Grow(frame, int(size))[:4+size]
	if _, err := io.ReadFull(w.conn, frame[4:]); err != nil {
		return nil, err
	}
	cmd := new(remoting.Command)
	return cmd, remoting.DecodeFrame(frame, cmd)
}

// ask sends a request made of pairs of field names and values and reads its answer, which must be the next one.
func (w *wire) ask(form remoting.SerializeType, code int32, body []byte, fields ...string) *remoting.Command {
	w.t.Helper()
	cmd := w.request(form, code, body, fields...)
	w.write(remoting.AppendFrame(nil, cmd))
	got, err := w.read()
	for err == nil && !got.IsResponse() { // the server asks too
		got, err = w.read()
	}
	if err != nil {
		w.t.Fatalf("code %d %q: no answer: %v", code, fields, err)
	}
	if got.Opaque != cmd.Opaque || !got.IsResponse() || got.Serialize != form {
		w.t.Fatalf("code %d %q: the answer has opaque %d (want %d), flag %d, form %d (want %d)", code, fields, got.Opaque, cmd.Opaque, got.Flag, got.Serialize, form)
	}
	return got
}

func (w *wire) request(form remoting.SerializeType, code int32, body []byte, fields ...string) *remoting.Command {
	w.last++
	cmd := remoting.NewRequest(code, nil)
	cmd.Serialize, cmd.Opaque, cmd.Body = form, w.last, body
	for i := 0; i+1 < len(fields); i += 2 {
		cmd.AddExt(fields[i], fields[i+1])
	}
	return cmd
}

// with is fields with some replaced, or taken out where the value is "\x00".
func with(fields []string, changes ...string) []string {
	out := slices.Clone(fields)
	for i := 0; i < len(changes); i += 2 {
		at := -1
		for j := 0; j < len(out); j += 2 {
			if out[j] == changes[i] {
				at = j
			}
		}
		switch {
		case changes[i+1] == "\x00" && at >= 0:
			out = slices.Delete(out, at, at+2)
		case at >= 0:
			out[at+1] = changes[i+1]
		default:
			out = append(out, changes[i], changes[i+1])
		}
	}
	return out
}

var (
	sendOf = []string{
		"producerGroup", "P", "topic", "T", "defaultTopic", "TBW102", "defaultTopicQueueNums", "4", "queueId", "0", "sysFlag", "0",
		"bornTimestamp", "1700000000000", "flag", "0", "properties", "", "reconsumeTimes", "0", "unitMode", "false", "batch", "false",
	}
	pullOf = []string{
		"consumerGroup", "G", "topic", "T", "queueId", "0", "queueOffset", "0", "maxMsgNums", "32", "sysFlag", "4", "commitOffset", "0",
		"suspendTimeoutMillis", "0", "subscription", "*", "subVersion", "0", "expressionType", "TAG",
	}
	commitOf = []string{"consumerGroup", "G", "topic", "T", "queueId", "0", "commitOffset", "1"}
)

// residentKB is the resident memory of a process in KiB, and its highest so far.
func residentKB(t testing.TB, pid int) (now, most int) {
	t.Helper()
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		t.Skip("memory is looked up in /proc, which this system does not have")
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
		switch name {
		case "VmRSS":
			now = n
		case "VmHWM":
			most = n
		}
	}
	return now, most
}

// bystander is an honest client that sends and pulls all the time and notes how long it takes.
type bystander struct {
	stop   chan struct{}
	done   sync.WaitGroup
	mu     sync.Mutex
	took   []time.Duration // guarded by mu
	failed []string        // guarded by mu
}

func startBystander(broker string) *bystander {
	b := &bystander{stop: make(chan struct{})}
	b.done.Go(func() {
		client := remoting.NewClient(remoting.ClientOptions{})
		defer client.Close()
		for n := int64(0); ; n++ {
			select {
			case <-b.stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
			begun := time.Now()
			err := b.round(client, broker, n)
			b.mu.Lock()
			b.took = append(b.took, time.Since(begun))
			if err != nil {
				b.failed = append(b.failed, err.Error())
			}
			b.mu.Unlock()
		}
	})
	return b
}

// round sends one message and pulls it.
func (b *bystander) round(client *remoting.Client, broker string, n int64) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := remoting.NewRequest(remoting.SendMessage, &remoting.SendMessageRequestHeader{
		ProducerGroup: "P", Topic: "bystander", DefaultTopic: "TBW102", DefaultTopicQueueNums: 1, BornTimestamp: time.Now().UnixMilli(),
	})
	want := fmt.Sprintf("bystander %d", n)
	cmd.Body = []byte(want)
	resp, err := client.Invoke(ctx, broker, cmd)
	if err != nil || resp.Code != remoting.Success {
		return errors.Join(err, fmt.Errorf("send %d: %+v", n, resp))
	}
	var sent remoting.SendMessageResponseHeader
	if err := resp.Decode(&sent); err != nil {
		return err
	}
	resp, err = client.Invoke(ctx, broker, remoting.NewRequest(remoting.PullMessage, &remoting.PullMessageRequestHeader{
		ConsumerGroup: "bystander", Topic: "bystander", QueueOffset: sent.QueueOffset, MaxMsgNums: 1, SysFlag: 4, Subscription: "*",
	}))
	if err != nil || resp.Code != remoting.Success {
		return errors.Join(err, fmt.Errorf("pull %d: %+v", n, resp))
	}
	var r message.Record
	if _, err := message.DecodeRecord(resp.Body, &r, true); err != nil || string(r.Body) != want {
		return fmt.Errorf("pull %d: got %q, %w", n, r.Body, err)
	}
	return nil
}

// end stops the bystander and tells how it went. slowest bounds the time of 99 of 100 rounds.
func (b *bystander) end(t testing.TB, slowest time.Duration) {
	t.Helper()
	close(b.stop)
	b.done.Wait()
	if len(b.took) == 0 {
		t.Fatal("the bystander did nothing")
	}
	slices.Sort(b.took)
	at := func(share float64) time.Duration {
		return b.took[int(float64(len(b.took)-1)*share)].Round(10 * time.Microsecond)
	}
	t.Logf("bystander: %d sends and pulls, half within %v, 99 %% within %v, slowest %v", len(b.took), at(0.5), at(0.99), at(1))
	if len(b.failed) > 0 {
		t.Errorf("%d of %d failed, the first: %s", len(b.failed), len(b.took), b.failed[0])
	}
	if at(0.99) > slowest {
		t.Errorf("99 %% took up to %v, want at most %v", at(0.99), slowest)
	}
}

// allCodes are the request codes the reference has or may have.
func allCodes() []int32 {
	var codes []int32
	for code := int32(1); code <= 400; code++ {
		codes = append(codes, code)
	}
	for code := int32(900); code < 1000; code++ {
		codes = append(codes, code)
	}
	for code := int32(200_000); code <= 200_120; code++ {
		codes = append(codes, code)
	}
	return codes
}

// TestEveryCodeEmpty sends every code with an empty header to both ports, in both header forms, as request and as one-way
// (scenario R-54).
func TestEveryCodeEmpty(t *testing.T) {
	c := peer.StartRocketd(t, t.TempDir())
	for port, addr := range map[string]string{"namesrv": c.Namesrv, "broker": c.Broker} {
		for form, name := range map[remoting.SerializeType]string{remoting.JSON: "json", remoting.RocketMQ: "binary"} {
			t.Run(port+" "+name, func(t *testing.T) {
				w := dialWire(t, addr)
				unknown := 0
				for _, code := range allCodes() {
					got := w.ask(form, code, nil)
					if got.Code != 0 && got.Remark == "" {
						t.Errorf("code %d: answered %d without a remark", code, got.Code)
					}
					if strings.Contains(got.Remark, "panic") {
						t.Errorf("code %d: %s", code, got.Remark)
					}
					if got.Code == remoting.RequestCodeNotSupported {
						unknown++
					}
				}
				if unknown == 0 {
					t.Error("no code was unknown")
				}
				var all []byte
				for _, code := range allCodes() {
					cmd := w.request(form, code, nil)
					cmd.Flag = 2
					all = remoting.AppendFrame(all, cmd)
				}
				w.write(all)
				// ask fails when any other answer comes before its own; the second one gives late answers their time.
				w.ask(form, 9999, nil)
				time.Sleep(300 * time.Millisecond)
				w.ask(form, 9999, nil)
			})
		}
	}
	if text := c.Log(); strings.Contains(text, "panic") {
		t.Errorf("the log tells of a panic:\n%s", text)
	}
}

// TestBrokenFrames sends what is no frame. Nothing but a broken stream costs the connection, and nothing costs others.
func TestBrokenFrames(t *testing.T) {
	c := peer.StartRocketd(t, t.TempDir())
	good := remoting.AppendFrame(nil, remoting.NewRequest(remoting.GetBrokerClusterInfo, nil))
	header := func(form byte, size int, header string) []byte {
		b := binary.BigEndian.AppendUint32(nil, uint32(4+len(header)))
		b = append(b, form, byte(size>>16), byte(size>>8), byte(size))
		return append(b, header...)
	}
	rows := map[string][]byte{
		"length zero":                        {0, 0, 0, 0},
		"length three":                       {0, 0, 0, 3, 0, 0, 0},
		"length negative":                    {0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0},
		"length 16 MiB and one":              {1, 0, 0, 1, 0, 0, 0, 0},
		"length 1 GiB":                       {0x40, 0, 0, 0, 0, 0, 0, 0},
		"header longer than the frame":       header(0, 1000, "{}"),
		"header length 16 MiB":               header(0, 0xffffff, "{}"),
		"header of an unknown form":          header(7, 2, "{}"),
		"header empty":                       header(0, 0, ""),
		"binary header empty":                header(1, 0, ""),
		"header no JSON":                     header(0, 5, "hello"),
		"header cut JSON":                    header(0, 9, `{"code":1`),
		"header JSON list":                   header(0, 2, "[]"),
		"header JSON with text behind":       header(0, 5, "{} {}"),
		"header deep":                        header(0, 200_000, strings.Repeat(`{"a":`, 40_000)),
		"code is text":                       header(0, 14, `{"code":"abc"}`),
		"code is huge":                       header(0, 31, `{"code":99999999999999999999999`),
		"binary header cut":                  header(1, 10, "\x00\x0a\x00\x00\x00\x00\x00\x01\x00\x00"),
		"binary remark longer than header":   header(1, 21, "\x00\x0a\x00\x01\xff\x00\x00\x00\x01\x00\x00\x00\x00\x7f\xff\xff\xff\x00\x00\x00\x00"),
		"binary remark of negative length":   header(1, 21, "\x00\x0a\x00\x01\xff\x00\x00\x00\x01\x00\x00\x00\x00\xff\xff\xff\xff\x00\x00\x00\x00"),
		"binary fields longer than header":   header(1, 21, "\x00\x0a\x00\x01\xff\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x7f\xff\xff\xff"),
		"binary field key longer than rest":  header(1, 25, "\x00\x0a\x00\x01\xff\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x7f\xff\x61\x62"),
		"plain HTTP":                         []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"HTTP/2 preface":                     []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
		"TLS hello":                          {0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3},
		"a good frame and then garbage":      append(bytes.Clone(good), 0xde, 0xad, 0xbe, 0xef),
		"half a frame and then the end":      good[:len(good)/2],
		"PROXY header without end":           []byte("PROXY TCP4 " + strings.Repeat("9", 200)),
		"PROXY version 2 of absurd length":   []byte("\r\n\r\n\x00\r\nQUIT\n\x21\x11\xff\xff"),
		"answer to no request":               remoting.AppendFrame(nil, remoting.NewResponse(0)),
		"opaque, flag, version at the edges": header(0, 78, `{"code":105,"flag":-2147483648,"opaque":-2147483648,"version":2147483647}     `),
	}
	for port, addr := range map[string]string{"namesrv": c.Namesrv, "broker": c.Broker} {
		for name, data := range rows {
			t.Run(port+" "+name, func(t *testing.T) {
				other := dialWire(t, addr)
				w := dialWire(t, addr)
				w.write(data)
				if err := w.conn.(*net.TCPConn).CloseWrite(); err != nil { // dialled as tcp
					t.Logf("close: %v", err)
				}
				_ = w.conn.SetReadDeadline(time.Now().Add(10 * time.Second))
				if _, err := io.Copy(io.Discard, w.conn); errors.Is(err, os.ErrDeadlineExceeded) {
					t.Error("the connection is open after its client closed it")
				}
				other.ask(remoting.JSON, remoting.GetBrokerClusterInfo, nil)
			})
		}
	}
	if text := c.Log(); strings.Contains(text, "panic") {
		t.Errorf("the log tells of a panic:\n%s", text)
	}
}

// TestBadFields sends requests with one field wrong. Each is answered with the reference's code and a remark that names
// the field or the value, and the connection lives on.
func TestBadFields(t *testing.T) {
	c := peer.StartRocketd(t, t.TempDir())
	w := dialWire(t, c.Broker)
	if got := w.ask(remoting.JSON, remoting.SendMessage, []byte("x"), sendOf...); got.Code != 0 {
		t.Fatalf("a good send: %d %s", got.Code, got.Remark)
	}
	const huge = "99999999999999999999"
	rows := []struct {
		name   string
		code   int32
		fields []string
		want   []int32  // codes, any of
		remark []string // parts of the remark
	}{
		{"send without topic", 10, with(sendOf, "topic", "\x00"), []int32{1}, []string{"topic"}},
		{"send without queueId", 10, with(sendOf, "queueId", "\x00"), []int32{1}, []string{"queueId"}},
		{"send queueId text", 10, with(sendOf, "queueId", "one"), []int32{1}, []string{"queueId", "one"}},
		{"send queueId huge", 10, with(sendOf, "queueId", huge), []int32{1}, []string{"queueId", huge}},
		{"send queueId beyond 32 bits", 10, with(sendOf, "queueId", "2147483648"), []int32{1}, []string{"queueId"}},
		{"send queueId beyond the topic's", 10, with(sendOf, "queueId", "2147483647"), []int32{29}, []string{"2147483647"}},
		{"send bornTimestamp huge", 10, with(sendOf, "bornTimestamp", huge), []int32{1}, []string{"bornTimestamp"}},
		{"send topic illegal", 10, with(sendOf, "topic", "a b$c"), []int32{29}, []string{"topic"}},
		{"send topic path", 10, with(sendOf, "topic", "../../etc"), []int32{29}, []string{"topic"}},
		{"send topic empty", 10, with(sendOf, "topic", ""), []int32{1, 29}, []string{"topic"}},
		{"send topic too long", 10, with(sendOf, "topic", strings.Repeat("t", 128)), []int32{29}, []string{"127"}},
		{"send system topic", 10, with(sendOf, "topic", "SCHEDULE_TOPIC_XXXX"), []int32{1, 13, 16, 17}, []string{"SCHEDULE_TOPIC_XXXX"}},
		{"send delay level text", 10, with(sendOf, "properties", "DELAY\x01soon\x02"), []int32{1, 13}, []string{"soon"}},
		{"send timer text", 10, with(sendOf, "properties", "TIMER_DELIVER_MS\x01soon\x02"), []int32{1, 13}, []string{"soon"}},
		{"send timer beyond", 10, with(sendOf, "properties", "TIMER_DELAY_SEC\x01999999999999\x02"), []int32{1, 13}, nil},
		{"pull without group", 11, with(pullOf, "consumerGroup", "\x00"), []int32{1}, []string{"consumerGroup"}},
		{"pull queueOffset text", 11, with(pullOf, "queueOffset", "x"), []int32{1}, []string{"queueOffset"}},
		{"pull queueOffset huge", 11, with(pullOf, "queueOffset", huge), []int32{1}, []string{"queueOffset"}},
		{"pull queueId negative", 11, with(pullOf, "queueId", "-1"), []int32{29}, []string{"-1"}},
		{"pull queueId beyond", 11, with(pullOf, "queueId", "4"), []int32{29}, []string{"4"}},
		{"pull topic unknown", 11, with(pullOf, "topic", "unknown"), []int32{17}, []string{"unknown"}},
		{"pull topic path", 11, with(pullOf, "topic", "../x"), []int32{1, 17}, []string{"../x"}},
		{"pull expression broken", 11, with(pullOf, "expressionType", "SQL92", "subscription", "a >"), []int32{1, 23}, nil},
		{"pull expression unknown", 11, with(pullOf, "expressionType", "XPATH", "subscription", "//a"), []int32{1, 23}, []string{"XPATH"}},
		{"pull offset negative", 11, with(pullOf, "queueOffset", "-5"), []int32{20, 21}, nil},
		{"pull offset beyond", 11, with(pullOf, "queueOffset", "9223372036854775807"), []int32{20, 21}, nil},
		{"pull nothing at once", 11, with(pullOf, "maxMsgNums", "-1"), []int32{0, 1, 19, 20}, nil},
		{"commit offset negative", 15, with(commitOf, "commitOffset", "-1"), []int32{29}, []string{"-1"}},
		{"commit offset text", 15, with(commitOf, "commitOffset", "x"), []int32{1}, []string{"commitOffset"}},
		{"commit queueId negative", 15, with(commitOf, "queueId", "-1"), []int32{29}, []string{"-1"}},
		{"max offset without topic", 30, []string{"queueId", "0"}, []int32{1}, []string{"topic"}},
		{"search by time text", 29, []string{"topic", "T", "queueId", "0", "timestamp", "now"}, []int32{1}, []string{"timestamp", "now"}},
		{"view message negative", 33, []string{"offset", "-1"}, []int32{1}, nil},
		{"view message beyond", 33, []string{"offset", "9223372036854775807"}, []int32{1}, nil},
		{"query message text", 12, []string{"topic", "T", "key", "k", "maxNum", "x", "beginTimestamp", "0", "endTimestamp", "1"}, []int32{1}, []string{"maxNum"}},
		{"query message absurd", 12, []string{"topic", "T", "key", "k", "maxNum", "-2147483648", "beginTimestamp", "-1", "endTimestamp", "-9223372036854775808"}, []int32{1, 22}, nil},
		{"create topic illegal", 17, []string{"topic", "a b", "defaultTopic", "TBW102", "readQueueNums", "1", "writeQueueNums", "1", "perm", "6", "topicFilterType", "SINGLE_TAG", "topicSysFlag", "0", "order", "false"}, []int32{29}, []string{"topic"}},
		{"create topic huge", 17, []string{"topic", "H", "defaultTopic", "TBW102", "readQueueNums", "2147483647", "writeQueueNums", "2147483647", "perm", "6", "topicFilterType", "SINGLE_TAG", "topicSysFlag", "0", "order", "false"}, []int32{29}, nil},
		{"create topic negative", 17, []string{"topic", "H2", "defaultTopic", "TBW102", "readQueueNums", "-1", "writeQueueNums", "-1", "perm", "6", "topicFilterType", "SINGLE_TAG", "topicSysFlag", "0", "order", "false"}, []int32{29}, nil},
		{"send back of nothing", 36, []string{"offset", "999999", "group", "G", "delayLevel", "3"}, []int32{1, 26}, nil},
		{"end transaction of nothing", 37, []string{"producerGroup", "P", "tranStateTableOffset", "7", "commitLogOffset", "999999", "commitOrRollback", "8", "msgId", "x"}, []int32{1}, nil},
		{"end transaction of any record", 37, []string{"producerGroup", "P", "tranStateTableOffset", "0", "commitLogOffset", "0", "commitOrRollback", "8", "msgId", "x"}, []int32{1}, nil},
	}
	for _, form := range []remoting.SerializeType{remoting.JSON, remoting.RocketMQ} {
		for _, row := range rows {
			got := w.ask(form, row.code, []byte("x"), row.fields...)
			if !slices.Contains(row.want, got.Code) {
				t.Errorf("%s: code %d %q, want one of %d", row.name, got.Code, got.Remark, row.want)
			}
			for _, part := range row.remark {
				if !strings.Contains(got.Remark, part) {
					t.Errorf("%s: code %d, remark %q does not name %q", row.name, got.Code, got.Remark, part)
				}
			}
		}
	}
	// Of a doubled field the last one counts, as in a Java map.
	if got := w.ask(remoting.RocketMQ, 10, []byte("x"), append([]string{"queueId", "77"}, sendOf...)...); got.Code != 0 {
		t.Errorf("doubled field: %d %s", got.Code, got.Remark)
	}
	if text := c.Log(); strings.Contains(text, "panic") {
		t.Errorf("the log tells of a panic:\n%s", text)
	}
}

// TestSizesAtTheLimit sends bodies, properties and names of the largest size, and one byte more.
func TestSizesAtTheLimit(t *testing.T) {
	c := peer.StartRocketd(t, t.TempDir())
	w := dialWire(t, c.Broker)
	const maxBody = 4 << 20
	properties := func(size int) string { return "k\x01" + strings.Repeat("v", size-3) + "\x02" }
	rows := []struct {
		name   string
		body   int
		fields []string
		want   int32
		remark string
	}{
		{"body at the limit", maxBody, sendOf, 0, ""},
		{"body over the limit", maxBody + 1, sendOf, 13, strconv.Itoa(maxBody)},
		{"body near a frame's limit", 15 << 20, sendOf, 13, strconv.Itoa(maxBody)},
		{"properties small", 10, with(sendOf, "properties", properties(30_000)), 0, ""},
		{"properties over the limit", 10, with(sendOf, "properties", properties(32_768)), 13, "32767"},
		{"properties far over", 10, with(sendOf, "properties", properties(1<<20)), 13, "32767"},
		{"body empty", 0, sendOf, 13, "body"},
		{"topic of 127", 1, with(sendOf, "topic", strings.Repeat("t", 127)), 0, ""},
		{"group of 255", 1, with(sendOf, "producerGroup", strings.Repeat("g", 255)), 0, ""},
		{"group of 60,000", 1, with(sendOf, "producerGroup", strings.Repeat("g", 60_000)), 0, ""},
	}
	for _, row := range rows {
		got := w.ask(remoting.JSON, remoting.SendMessage, make([]byte, row.body), row.fields...)
		if got.Code != row.want || !strings.Contains(got.Remark, row.remark) {
			t.Errorf("%s: code %d %q, want %d naming %q", row.name, got.Code, got.Remark, row.want, row.remark)
		}
	}
}

// TestBatchCutAnywhere sends a batch cut at each of its bytes: whole messages, or a refusal of all of it.
func TestBatchCutAnywhere(t *testing.T) {
	c := peer.StartRocketd(t, t.TempDir())
	w := dialWire(t, c.Broker)
	var batch []byte
	ends := map[int]int{}
	for i := range 4 {
		body, props := fmt.Sprintf("body %d", i), fmt.Sprintf("KEYS\x01k%d\x02", i)
		batch = binary.BigEndian.AppendUint32(batch, uint32(22+len(body)+len(props)))
		batch = append(batch, make([]byte, 12)...)
		batch = binary.BigEndian.AppendUint32(batch, uint32(len(body)))
		batch = append(batch, body...)
		batch = binary.BigEndian.AppendUint16(batch, uint16(len(props)))
		batch = append(batch, props...)
		ends[len(batch)] = i + 1
	}
	stored := 0
	fields := with(sendOf, "topic", "B", "batch", "true")
	for cut := 1; cut <= len(batch); cut++ {
		got := w.ask(remoting.JSON, remoting.SendBatchMessage, batch[:cut], v2(fields)...)
		switch {
		case got.Code == 0 && ends[cut] > 0:
			stored += ends[cut]
		case got.Code == 0:
			t.Errorf("a batch cut at %d of %d is stored", cut, len(batch))
		case ends[cut] > 0:
			t.Errorf("a batch of %d whole messages: %d %s", ends[cut], got.Code, got.Remark)
		case got.Remark == "":
			t.Errorf("cut at %d: code %d without a remark", cut, got.Code)
		}
	}
	for at := range batch { // each byte changed: refused, or stored as something, but nothing breaks
		bad := bytes.Clone(batch)
		bad[at] ^= 0xff
		if got := w.ask(remoting.JSON, remoting.SendBatchMessage, bad, v2(with(fields, "topic", "C"))...); got.Code != 0 && got.Remark == "" {
			t.Errorf("byte %d changed: code %d without a remark", at, got.Code)
		}
	}
	got := w.ask(remoting.JSON, remoting.GetMaxOffset, nil, "topic", "B", "queueId", "0")
	if n, _ := got.ExtValue("offset"); n != strconv.Itoa(stored) {
		t.Errorf("%s messages are stored, %d were acknowledged", n, stored)
	}
}

// v2 gives fields of a send the short names of SEND_MESSAGE_V2.
func v2(fields []string) []string {
	short := map[string]string{
		"producerGroup": "a", "topic": "b", "defaultTopic": "c", "defaultTopicQueueNums": "d", "queueId": "e", "sysFlag": "f",
		"bornTimestamp": "g", "flag": "h", "properties": "i", "reconsumeTimes": "j", "unitMode": "k", "batch": "m",
	}
	out := slices.Clone(fields)
	for i := 0; i < len(out); i += 2 {
		out[i] = short[out[i]]
	}
	return out
}
