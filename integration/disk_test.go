//go:build linux

package integration

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rocketd/rocketd/integration/peer"
	"github.com/rocketd/rocketd/message"
	"github.com/rocketd/rocketd/remoting"
)

// smallDisk mounts a file system in memory of that size.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("needs root, to mount a tmpfs of %s: %v", size, err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fillUp writes a file until nothing more fits, or it has most bytes, and returns its name.
func fillUp(t *testing.T, dir, name string, most int) string {
	t.Helper()
	name = filepath.Join(dir, name)
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for size := 1 << 20; size >= 4096; size /= 2 {
		block := make([]byte, size)
		for err = nil; err == nil; {
			if _, err = f.Write(block); err == nil {
				most -= size
			}
			if most <= 0 {
				return name
			}
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
	return name
}

// ledger sends and remembers what was acknowledged. Make one with newLedger.
type ledger struct {
	w      *wire
	acked  []string // bodies, in the order of the queue
	timers int
	commit int64
}

func newLedger(t *testing.T, broker string) *ledger {
	t.Helper()
	w := dialWire(t, broker)
	for _, topic := range []string{"T", "later"} { // and the group, which the first heartbeat or pull makes
		w.ask(remoting.JSON, remoting.UpdateAndCreateTopic, nil, "topic", topic, "defaultTopic", "TBW102", "readQueueNums", "1", "writeQueueNums", "1",
			"perm", "6", "topicFilterType", "SINGLE_TAG", "topicSysFlag", "0", "order", "false")
	}
	w.ask(remoting.JSON, remoting.PullMessage, nil, pullOf...)
	return &ledger{w: w}
}

func (l *ledger) body(n int) []byte {
	return []byte(fmt.Sprintf("%08d", n) + strings.Repeat(string(rune('a'+n%26)), 20_000+n*371%100_000))
}

// send sends one message and gives back the code and remark of its answer.
func (l *ledger) send() (int32, string) {
	body := l.body(len(l.acked))
	got := l.w.ask(remoting.JSON, remoting.SendMessage, body, sendOf...)
	if got.Code == 0 {
		l.acked = append(l.acked, string(body))
	}
	return got.Code, got.Remark
}

// timer sends a timer message that is due in an hour.
func (l *ledger) timer() (int32, string) {
	got := l.w.ask(remoting.JSON, remoting.SendMessage, make([]byte, 2000), with(sendOf, "topic", "later", "properties", "TIMER_DELAY_SEC\x013600\x02")...)
	if got.Code == 0 {
		l.timers++
	}
	return got.Code, got.Remark
}

// commitNext commits the next offset; that must always work.
func (l *ledger) commitNext(t *testing.T) {
	t.Helper()
	l.commit++
	if got := l.w.ask(remoting.JSON, remoting.UpdateConsumerOffset, nil, with(commitOf, "commitOffset", strconv.FormatInt(l.commit, 10))...); got.Code != 0 {
		t.Fatalf("commit offset: %d %s", got.Code, got.Remark)
	}
}

// check reads everything back.
func (l *ledger) check(t *testing.T) {
	t.Helper()
	offset := 0
	for {
		got := l.w.ask(remoting.JSON, remoting.PullMessage, nil, with(pullOf, "queueOffset", strconv.Itoa(offset))...)
		if got.Code == remoting.PullNotFound || got.Code == remoting.PullOffsetMoved {
			break
		}
		if got.Code != 0 {
			t.Fatalf("pull at %d: %d %s", offset, got.Code, got.Remark)
		}
		for body := got.Body; len(body) > 0; offset++ {
			var r message.Record
			n, err := message.DecodeRecord(body, &r, true)
			if err != nil {
				t.Fatalf("record %d: %v", offset, err)
			}
			if offset >= len(l.acked) || string(r.Body) != l.acked[offset] {
				t.Fatalf("record %d is %.20q..., not what was acknowledged", offset, r.Body)
			}
			body = body[n:]
		}
	}
	if offset != len(l.acked) {
		t.Fatalf("%d messages are there, %d were acknowledged", offset, len(l.acked))
	}
	got := l.w.ask(remoting.JSON, remoting.QueryConsumerOffset, nil, "consumerGroup", "G", "topic", "T", "queueId", "0")
	if v, _ := got.ExtValue("offset"); v != strconv.FormatInt(l.commit, 10) {
		t.Fatalf("the committed offset is %q, want %d: %d %s", v, l.commit, got.Code, got.Remark)
	}
}

// TestFullDisk fills a small disk to the brim, with sends, timers and offset commits going on, and frees it again.
func TestFullDisk(t *testing.T) {
	for name, settings := range map[string][]string{
		"kept free":   nil, // the default: writing stops while something is still free
		"brim":        {"diskMinFreeBytes=1"},
		"sync":        {"diskMinFreeBytes=1", "flushDiskType=SYNC_FLUSH"},
		"small files": {"diskMinFreeBytes=1", "mappedFileSizeCommitLog=4194304", "mappedFileSizeConsumeQueue=60000"},
	} {
		t.Run(name, func(t *testing.T) {
			disk := smallDisk(t, "200m")
			half := fillUp(t, disk, "half", 100<<20)
			data := filepath.Join(disk, "data")
			c := peer.StartRocketd(t, data, settings...)
			l := newLedger(t, c.Broker)
			for full := false; !full; {
				code, remark := l.send()
				if code == 0 && len(l.acked)%3 == 0 {
					code, remark = l.timer()
				}
				if full = code != 0; full {
					checkFull(t, code, remark, data)
				}
				l.commitNext(t)
			}
			t.Logf("full after %d messages and %d timers", len(l.acked), l.timers)
			rest := fillUp(t, disk, "rest", 200<<20)
			for begun := time.Now(); time.Since(begun) < 1500*time.Millisecond; time.Sleep(50 * time.Millisecond) {
				for _, send := range []func() (int32, string){l.send, l.timer} {
					if code, remark := send(); code != 0 {
						checkFull(t, code, remark, data)
					}
				}
				l.commitNext(t)
			}
			l.check(t)
			if err := errors.Join(os.Remove(rest), os.Remove(half)); err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			await(t, 10*time.Second, "writing goes on", func() bool {
				code, _ := l.send()
				return code == 0
			})
			t.Logf("writing goes on after %v", time.Since(begun).Round(time.Millisecond))
			for range 50 {
				if code, remark := l.send(); code != 0 {
					t.Fatalf("send after the disk was freed: %d %s", code, remark)
				}
			}
			l.commitNext(t)
			l.check(t)
			reopen(t, c, l, data, settings...)
		})
	}
}

// checkFull checks the answer to a send on a full disk.
func checkFull(t *testing.T, code int32, remark, data string) {
	t.Helper()
	if code != remoting.ServiceNotAvailable || !strings.Contains(remark, data) || !strings.Contains(remark, "bytes free") || !strings.Contains(remark, "diskMinFreeBytes") {
		t.Fatalf("a send on a full disk: code %d %q, want 14 naming path %s, free bytes and diskMinFreeBytes", code, remark, data)
	}
}

// reopen stops the broker, checks the store, starts it again and compares what is there.
func reopen(t *testing.T, c *peer.Cluster, l *ledger, data string, settings ...string) {
	t.Helper()
	c.Stop(t)
	if code := c.ExitCode(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, c.Log())
	}
	if out, err := exec.Command(peer.Rocketd(t), append([]string{"store", "check", data}, peer.Sets(settings)...)...).CombinedOutput(); err != nil {
		t.Errorf("store check: %v\n%s", err, out)
	}
	c = peer.StartRocketd(t, data, settings...)
	l.w = dialWire(t, c.Broker)
	l.check(t)
	got := l.w.ask(remoting.JSON, remoting.GetMaxOffset, nil, "topic", "rmq_sys_wheel_timer", "queueId", "0")
	if v, _ := got.ExtValue("offset"); v != strconv.Itoa(l.timers) {
		t.Errorf("%s timers are stored, %d were acknowledged", v, l.timers)
	}
}

// TestNoFileDescriptors takes the file descriptors away from a running broker and gives them back.
func TestNoFileDescriptors(t *testing.T) {
	data := t.TempDir()
	c := peer.StartRocketd(t, data, "mappedFileSizeCommitLog=1048576")
	l := newLedger(t, c.Broker)
	for range 20 {
		if code, remark := l.send(); code != 0 {
			t.Fatal(code, remark)
		}
	}
	limit := func(n int) {
		t.Helper()
		if out, err := exec.Command("prlimit", "--pid", strconv.Itoa(c.BrokerPID()), fmt.Sprintf("--nofile=%d:%d", n, 4096)).CombinedOutput(); err != nil {
			t.Skipf("needs prlimit of util-linux: %v %s", err, out)
		}
	}
	limit(5) // what is open stays open, nothing new can be opened
	refused := 0
	for i := range 200 { // new log files and new queues: there is no room for either
		if code, remark := l.send(); code != 0 {
			refused++
			if !strings.Contains(remark, "too many open files") {
				t.Fatalf("send: %d %s", code, remark)
			}
		}
		l.w.ask(remoting.JSON, remoting.SendMessage, []byte("x"), with(sendOf, "topic", fmt.Sprintf("fd%d", i))...)
		l.commitNext(t)
	}
	t.Logf("%d of 200 sends were refused", refused)
	// What cannot be read now is not passed over.
	got := l.w.ask(remoting.JSON, remoting.PullMessage, nil, pullOf...)
	if got.Code != 0 && (got.Code != remoting.SystemError || !strings.Contains(got.Remark, "too many open files")) {
		t.Fatalf("pull: %d %s", got.Code, got.Remark)
	}
	open(t, c.Broker, 20)
	limit(4096)
	await(t, 10*time.Second, "writing goes on", func() bool {
		code, _ := l.send()
		return code == 0
	})
	l.check(t)
	reopen(t, c, l, data, "mappedFileSizeCommitLog=1048576")
}

// TestLogFileThatIsCutShort cuts a file of the log short under a running broker, which has it mapped: what is gone is answered with an error
// that names the file, also to one that reads its answers slowly, and everything else goes on.
func TestLogFileThatIsCutShort(t *testing.T) {
	data := t.TempDir()
	settings := []string{"mappedFileSizeCommitLog=1048576"}
	c := peer.StartRocketd(t, data, settings...)
	l := newLedger(t, c.Broker)
	for range 100 { // some files
		if code, remark := l.send(); code != 0 {
			t.Fatal(code, remark)
		}
	}
	l.check(t) // maps all of it
	slow := dialWire(t, c.Broker)
	for range 40 { // more than a socket takes
		slow.write(remoting.AppendFrame(nil, slow.request(remoting.JSON, remoting.PullMessage, nil, pullOf...)))
	}
	if _, err := slow.read(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(data, "commitlog", "0*"))
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	content, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(files[0], 4096); err != nil {
		t.Fatal(err)
	}
	answers := 1
	for ; answers < 40; answers++ {
		if _, err := slow.read(); err != nil {
			break // the connection ends in the middle of an answer
		}
	}
	t.Logf("the slow reader got %d answers", answers)
	got := l.w.ask(remoting.JSON, remoting.PullMessage, nil, pullOf...)
	if got.Code != remoting.SystemError || !strings.Contains(got.Remark, files[0]+" at ") {
		t.Errorf("pull: %d %q, want SYSTEM_ERROR that names %s", got.Code, got.Remark, files[0])
	}
	if got = l.w.ask(remoting.JSON, remoting.ViewMessageByID, nil, "offset", "0"); got.Code != remoting.SystemError || !strings.Contains(got.Remark, files[0]) {
		t.Errorf("view: %d %q", got.Code, got.Remark)
	}
	if code, remark := l.send(); code != 0 {
		t.Errorf("send: %d %q", code, remark)
	}
	l.commitNext(t)
	if got = l.w.ask(remoting.JSON, remoting.PullMessage, nil, with(pullOf, "queueOffset", strconv.Itoa(len(l.acked)-2))...); got.Code != 0 {
		t.Errorf("pull of what lies in another file: %d %q", got.Code, got.Remark)
	}
	if log := c.Log(); !strings.Contains(log, "commit log cannot be read") || !strings.Contains(log, files[0]) {
		t.Errorf("the log does not name the file:\n%s", log)
	}
	if err := os.WriteFile(files[0], content, 0o600); err != nil {
		t.Fatal(err)
	}
	l.check(t)
	reopen(t, c, l, data, settings...)
}

// TestNoPermission takes the permission to make files away from a broker that does not run as root, and gives it back.
func TestNoPermission(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to run a broker as somebody else")
	}
	const nobody = 65534
	disk := smallDisk(t, "200m")
	data := filepath.Join(disk, "data")
	logs := filepath.Join(data, "commitlog")
	if err := errors.Join(os.MkdirAll(logs, 0o755), os.Chown(data, nobody, nobody), os.Chown(logs, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(disk, 0o755), os.Chmod(filepath.Dir(disk), 0o755)); err != nil { // tests' folders are closed to others
		t.Fatal(err)
	}
	binary := filepath.Join(disk, "rocketd")
	if out, err := exec.Command("cp", peer.Rocketd(t), binary).CombinedOutput(); err != nil {
		t.Skipf("needs cp: %v %s", err, out)
	}
	start := func() *attempt {
		cmd := exec.Command(binary, "--data", data, "--host", "127.0.0.1", "--namesrv-port", "0", "--broker-port", "0", "--http-port", "-1", "--set", "mappedFileSizeCommitLog=1048576")
		cmd.Dir = data
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		return tryCommand(t, cmd)
	}
	a := start()
	if a.broker == "" {
		t.Fatalf("does not start: %s", a.stderr.String())
	}
	l := newLedger(t, a.broker)
	for range 5 {
		if code, remark := l.send(); code != 0 {
			t.Fatal(code, remark)
		}
	}
	if err := os.Chmod(logs, 0o500); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for range 200 { // more than the file that is there, and the one made in advance, hold
		code, remark := l.send()
		if code == 0 {
			continue
		}
		if refused++; !strings.Contains(remark, "permission denied") || !strings.Contains(remark, logs) {
			t.Fatalf("send: code %d %q", code, remark)
		}
		l.commitNext(t)
	}
	if refused == 0 {
		t.Error("no send was refused")
	}
	l.check(t)
	if err := os.Chmod(logs, 0o755); err != nil {
		t.Fatal(err)
	}
	await(t, 10*time.Second, "writing goes on", func() bool {
		code, _ := l.send()
		return code == 0
	})
	l.check(t)
	if code := a.stop(t); code != 0 {
		t.Errorf("exit code %d: %s", code, a.stderr.String())
	}
	// Nothing may be written from the start on.
	if err := errors.Join(os.Chown(data, 0, 0), os.Chmod(data, 0o755)); err != nil {
		t.Fatal(err)
	}
	if a = start(); a.broker != "" || a.cmd.ProcessState.ExitCode() == 0 || !strings.Contains(a.stderr.String(), data+"/abort may not be written") {
		t.Errorf("start without permission: broker %q: %s", a.broker, a.stderr.String())
	}
}

// loopDisk makes an ext4 file system in a file and mounts it. It gives back where, and the name of its device.
func loopDisk(t *testing.T, size int64) (dir, image, device string) {
	t.Helper()
	dir, image = t.TempDir(), filepath.Join(t.TempDir(), "image")
	f, err := os.Create(image)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", image).CombinedOutput(); err != nil {
		t.Skipf("needs mkfs.ext4: %v %s", err, out)
	}
	mountLoop(t, image, dir)
	t.Cleanup(func() { _ = exec.Command("umount", "--lazy", dir).Run() }) // done already where all went well
	out, err := exec.Command("losetup", "--noheadings", "--output", "NAME", "--associated", image).Output()
	if err != nil || len(out) == 0 {
		t.Fatalf("losetup: %v %q", err, out)
	}
	return dir, image, filepath.Base(strings.TrimSpace(string(out)))
}

func mountLoop(t *testing.T, image, dir string) {
	t.Helper()
	if out, err := exec.Command("mount", "-o", "loop,errors=remount-ro", image, dir).CombinedOutput(); err != nil {
		t.Skipf("needs root and loop devices, to mount a file system: %v %s", err, out)
	}
}

// TestDiskThatTurnsReadOnly: the system makes a disk read-only under a running broker, as it does after an error of the disk. Sends are refused,
// everything that was acknowledged is read, and it is all there when the disk has been repaired.
func TestDiskThatTurnsReadOnly(t *testing.T) {
	disk, image, device := loopDisk(t, 64<<20)
	trigger := "/sys/fs/ext4/" + device + "/trigger_fs_error"
	if _, err := os.Stat(trigger); err != nil {
		t.Skipf("this system's ext4 cannot be told to find an error: %v", err)
	}
	data := filepath.Join(disk, "data")
	settings := []string{"flushDiskType=SYNC_FLUSH", "mappedFileSizeCommitLog=4194304", "mappedFileSizeConsumeQueue=60000"}
	c := peer.StartRocketd(t, data, settings...)
	l := newLedger(t, c.Broker)
	for range 20 {
		if code, remark := l.send(); code != 0 {
			t.Fatal(code, remark)
		}
	}
	if err := os.WriteFile(trigger, []byte("1"), 0o200); err != nil {
		t.Skipf("cannot make a file system read-only: %v", err)
	}
	for range 3 {
		for _, send := range []func() (int32, string){l.send, l.timer} {
			code, remark := send()
			if code == 0 || !strings.Contains(remark, "read-only file system") || !strings.Contains(remark, data) {
				t.Fatalf("a send on a read-only disk: code %d %q, want one that names %s and the reason", code, remark, data)
			}
		}
		l.check(t)
	}
	c.Stop(t)
	if code := c.ExitCode(); code == 0 {
		t.Error("exit code 0, although what it had to write at the end is not written")
	}
	if out, err := exec.Command("umount", disk).CombinedOutput(); err != nil {
		t.Fatalf("umount: %v %s", err, out)
	}
	_ = exec.Command("e2fsck", "-p", "-f", image).Run() // 1: repaired
	mountLoop(t, image, disk)
	c = peer.StartRocketd(t, data, settings...)
	l.w = dialWire(t, c.Broker)
	l.check(t)
	reopen(t, c, l, data, settings...)
}

// TestReadOnlyDisk starts a broker where nothing can be written: it ends by itself and says why.
func TestReadOnlyDisk(t *testing.T) {
	disk := smallDisk(t, "64m")
	data := filepath.Join(disk, "data")
	c := peer.StartRocketd(t, data)
	l := newLedger(t, c.Broker)
	if code, remark := l.send(); code != 0 {
		t.Fatal(code, remark)
	}
	c.Stop(t)
	if err := syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("cannot make a file system read-only: %v", err)
	}
	a := tryStart(t, data)
	if a.broker != "" || a.cmd.ProcessState.ExitCode() <= 0 || !strings.Contains(a.stderr.String(), data) || !strings.Contains(a.stderr.String(), "read-only") {
		t.Fatalf("start on a read-only disk: broker %q after %v: %s", a.broker, a.took, a.stderr.String())
	}
	if out, err := exec.Command(peer.Rocketd(t), "store", "check", data).CombinedOutput(); err != nil {
		t.Errorf("store check of a read-only disk: %v\n%s", err, out)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, ""); err != nil {
		t.Fatal(err)
	}
	a = tryStart(t, data)
	if a.broker == "" {
		t.Fatalf("start on a disk that can be written again: %s", a.stderr.String())
	}
	l.w = dialWire(t, a.broker)
	l.check(t)
	if code := a.stop(t); code != 0 {
		t.Errorf("exit code %d: %s", code, a.stderr.String())
	}
}
