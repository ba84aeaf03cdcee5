package integration

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rocketd/rocketd/integration/peer"
	"github.com/rocketd/rocketd/remoting"
)

// TestTakeOverApache49 opens directories that Apache's broker 4.9 left, after a stop and after a kill: everything acknowledged is
// there, what was pending is delivered, undecided transactions are asked about.
func TestTakeOverApache49(t *testing.T) {
	// What 4.9 delivered in the 10 s before a kill comes again: it writes delay offsets so often.
	for name, killed := range map[string][]int64{"closed": nil, "killed": {1_796_083_545_000}} {
		t.Run(name, func(t *testing.T) {
			m := newSwapModel(t)
			m.killed = killed
			m.settings = []string{"messageDelayLevel=1s 3s 8s 60s", "transactionTimeOut=1000", "transactionCheckInterval=1000", "fileReservedTime=876000"}
			committed := m.unpack(t, filepath.Join("testdata", "apache-4.9.7-"+name+".tar.gz"))
			m.storeCheck(t)
			c := peer.StartRocketd(t, m.dir, m.settings...)
			m.addr = c.Broker
			for i := range m.clients {
				w := crashWorker{m: m, client: m.clients[i]}
				w.heartbeat(t.Context())
			}
			r := &crashReader{m: m, t: t, copies: map[string][]int64{}}
			await(t, 2*time.Minute, "everything", func() bool {
				r.read()
				return len(r.missing(never)) == 0
			})
			r.checkKeys()
			r.report(1)
			for q, want := range committed {
				m.checkCommitted(t, q, want)
			}
			c.Stop(t)
			if code := c.ExitCode(); code != 0 {
				t.Errorf("exit code %d: %s", code, c.Log())
			}
			m.storeCheck(t)
		})
	}
}

// TestBackToApache49 gives Apache's broker 4.9 its directory back after rocketd has run on it and was sent messages, batches, delays and
// transactions: everything is there, what was pending is delivered when it is due, offsets and keys lead where they did. Its topics and groups may have
// what only 5.x knows.
func TestBackToApache49(t *testing.T) {
	peer.NeedJava(t)
	m := newSwapModel(t)
	m.timerSpan = 0 // 4.9 has no timers
	m.settings = append(m.settings, "fileReservedTime=876000")
	m.unpack(t, filepath.Join("testdata", "apache-4.9.7-closed.tar.gz"))
	r := &crashReader{m: m, t: t, copies: map[string][]int64{}}
	c := peer.StartRocketd(t, m.dir, m.settings...)
	m.addr = c.Broker
	m.makeSwapTopic(t)
	m.swapLoad(t, 1)
	c.Stop(t)
	m.storeCheck(t)
	namesrv := peer.StartRocketdNamesrv(t, t.TempDir())
	c = peer.StartApache49Broker(t, m.dir, namesrv.Namesrv, m.settings...)
	m.addr = c.Broker
	// It reads operations of one transaction each, and asks again about those that were written several in one, as 5.x does: commits come twice.
	m.twice = append(m.twice, [2]int64{0, never})
	for i := range m.clients {
		w := crashWorker{m: m, client: m.clients[i]}
		w.heartbeat(t.Context())
	}
	for q := range m.offsets {
		m.checkCommitted(t, q, m.offsets[q].tried)
	}
	await(t, 2*time.Minute, "everything", func() bool {
		r.read()
		return len(r.missing(never)) == 0
	})
	r.checkKeys()
	r.report(1)
	c.Stop(t)
	m.storeCheck(t)
}

func (m *crashModel) checkCommitted(t *testing.T, queue int, want int64) {
	t.Helper()
	if want == 0 {
		return
	}
	resp, err := m.clients[0].Invoke(t.Context(), m.addr, remoting.NewRequest(remoting.QueryConsumerOffset, &remoting.QueryConsumerOffsetRequestHeader{
		ConsumerGroup: "G", Topic: "crash", QueueID: int32(queue),
	}))
	var got remoting.QueryConsumerOffsetResponseHeader
	if err != nil || resp.Code != remoting.Success || resp.Decode(&got) != nil || got.Offset != want {
		t.Errorf("offset of queue %d: %d, %v, want %d", queue, got.Offset, err, want)
	}
}

// unpack writes a golden directory and reads its model (testdata/README.md). It returns the committed offsets.
func (m *crashModel) unpack(t *testing.T, name string) (committed []int64) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return committed
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if h.Name == "model.json" {
			committed = m.readModel(t, content)
			continue
		}
		size, err := strconv.ParseInt(h.PAXRecords["ROCKETD.size"], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if err := writeSparse(filepath.Join(m.dir, filepath.FromSlash(h.Name)), content, size); err != nil {
			t.Fatal(err)
		}
	}
}

// writeSparse writes a file without its pages of zeros.
func writeSparse(path string, content []byte, size int64) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	err = f.Truncate(size)
	zeros := make([]byte, 4096)
	for at := 0; err == nil && at < len(content); at += len(zeros) {
		if page := content[at:min(at+len(zeros), len(content))]; string(page) != string(zeros[:len(page)]) {
			_, err = f.WriteAt(page, int64(at))
		}
	}
	return errors.Join(err, f.Close())
}

func (m *crashModel) readModel(t *testing.T, content []byte) (committed []int64) {
	t.Helper()
	var golden struct {
		Sent map[string]struct {
			Kind           string
			Pad            int
			Due            int64
			Acked, Decided bool
		}
		Committed []int64
	}
	if err := json.Unmarshal(content, &golden); err != nil {
		t.Fatal(fmt.Errorf("model.json: %w", err))
	}
	for id, s := range golden.Sent {
		m.sent[id] = &sentMessage{kind: s.Kind, pad: s.Pad, due: s.Due, acked: s.Acked, decided: s.Decided}
	}
	return golden.Committed
}
