package timer

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

// unhex decodes hex digits with blanks.
func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The first unit of the timer log in testdata/apache-5.5.0-timers-closed.tar.gz.
const apacheUnit = "00000034 ffffffffffffffff 00000001 000001a22e7c74b0 000003e8 00000000000000dd 00000116 04c93101 0000000000000000"

func TestUnitOfApache(t *testing.T) {
	b := unhex(t, apacheUnit)
	u, ok := parseUnit(b, 0)
	want := unit{prev: -1, magic: 1, written: 0x1a22e7c74b0, out: 0x1a22e7c74b0 + 1000, offset: 0xdd, size: 0x116, hash: message.JavaHash("SwapT")}
	if !ok || u != want {
		t.Errorf("got %+v, %v, want %+v", u, ok, want)
	}
	var again [unitSize]byte
	u.put(again[:])
	if !bytes.Equal(again[:], b) {
		t.Errorf("written again: %x", again)
	}
}

func TestOwnUnitsLookLikeApachesAndNoticeDamage(t *testing.T) {
	u, ok := parseUnit(unhex(t, apacheUnit), 0)
	if !ok {
		t.Fatal("no unit")
	}
	u.mark = markLive
	var b [unitSize]byte
	u.put(b[:])
	if want := unhex(t, apacheUnit); !bytes.Equal(b[:reservedPosition], want[:reservedPosition]) {
		t.Errorf("what Apache reads is %x, want %x", b[:reservedPosition], want[:reservedPosition])
	}
	for bit := range unitSize * 8 {
		damaged := b
		damaged[bit/8] ^= 1 << (bit % 8)
		if _, ok := parseUnit(damaged[:], 0); ok {
			t.Errorf("bit %d flipped is not noticed", bit)
		}
	}
}

func TestEndOfAFileLooksLikeApaches(t *testing.T) {
	// TimerLog.append: int remaining, long 0, int BLANK_MAGIC_CODE.
	var b [blankSize]byte
	putBlank(b[:], 40)
	if want := unhex(t, "00000028 0000000000000000 cbd43194"); !bytes.Equal(b[:], want) {
		t.Errorf("got %x, want %x", b, want)
	}
}

func TestSlotOfApache(t *testing.T) {
	// Slot: delayed time / precision, first pos, last pos, num, magic.
	b := unhex(t, "0000000066e3a5c1 0000000000000034 0000000000000068 00000002 00000000")
	s := decodeSlot(b)
	if s != (slot{key: 0x66e3a5c1, first: 0x34, last: 0x68, num: 2}) {
		t.Errorf("got %+v", s)
	}
	var again [slotSize]byte
	encodeSlot(again[:], s)
	if !bytes.Equal(again[:], b) {
		t.Errorf("written again: %x", again)
	}
}

// config/timercheck in testdata/apache-5.5.0-timers-closed.tar.gz.
const apacheCheckpoint = "000001a22e7cb330 00000000000012e4 000000000000005d 000000000000005d 0000000000000000 000001a22e7cb4c0 000000000000000f"

func TestCheckpointOfApache(t *testing.T) {
	file := make([]byte, checkpointFile)
	copy(file, unhex(t, apacheCheckpoint))
	c := parseCheckpoint(file)
	want := header{readMs: 0x1a22e7cb330, logPos: 0x12e4, queueOffset: 93, masterOffset: 93, timestamp: 0x1a22e7cb4c0, counter: 15}
	if c.own || c.header != want {
		t.Errorf("got %+v", c)
	}
	if got := c.append(nil); !bytes.Equal(got, unhex(t, apacheCheckpoint)) {
		t.Errorf("written again: %x", got)
	}
}

func TestOwnCheckpointSurvivesATornWriteAndYieldsToApaches(t *testing.T) {
	fs := vfs.NewMem()
	w, err := openCheckpoint(fs, "store/config/timercheck")
	if err != nil {
		t.Fatal(err)
	}
	c := checkpoint{header: header{readMs: 5, queueOffset: 6, masterOffset: 6, counter: 1}, clean: true, logEnd: 7, oldest: 8, lateFrom: 9, precision: 1000, slots: 10}
	c.progress = progress{mark: mark{11, 12}, barriers: []barrier{{1, mark{30, 2}, 70}, {3, mark{20, 4}, 80}}}
	if err := w.write(&c); err != nil {
		t.Fatal(err)
	}
	second := c
	second.readMs, second.counter, second.clean = 50, 2, false
	if err := w.write(&second); err != nil {
		t.Fatal(err)
	}
	after, err := vfs.ReadFile(fs, "store/config/timercheck", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if got := parseCheckpoint(after); !got.own || got.readMs != 50 || got.clean || len(got.progress.barriers) != 2 || got.progress.barriers[1] != (barrier{3, mark{20, 4}, 80}) ||
		got.lateFrom != 9 || got.slots != 10 {
		t.Errorf("got %+v", got)
	}
	// The third write is torn at each byte, of its block or of the header.
	third := second
	third.readMs, third.counter = 500, 3
	if err := w.write(&third); err != nil {
		t.Fatal(err)
	}
	whole, err := vfs.ReadFile(fs, "store/config/timercheck", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for n := range blockSize + headerSize {
		torn := bytes.Clone(after)
		at := blockPosition + int(third.seq%blocks)*blockStride
		copy(torn[at:], whole[at:][:min(n, blockSize)])
		copy(torn, whole[:max(0, n-blockSize)])
		if got := parseCheckpoint(torn); !got.own || got.readMs != 50 && got.readMs != 500 {
			t.Errorf("torn after %d bytes: %+v", n, got)
		}
	}
	// Apache writes the header and nothing else.
	copy(whole, unhex(t, apacheCheckpoint))
	if got := parseCheckpoint(whole); got.own || got.readMs != 0x1a22e7cb330 {
		t.Errorf("after Apache: %+v", got)
	}
	if err := w.f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestRecallHandleOfApache(t *testing.T) {
	// Made by RecallMessageHandle.HandleV1.buildHandle of 5.5.0.
	for text, want := range map[string]RecallHandle{
		"djEgVG9waWNUZXN0IGJyb2tlci1hIDE3MDAwMDAwMDAwMDEgN0YwMDAwMDEwMDAwMkE5RjAwMDAwMDAwMDAwMDAwNjQ=": {
			"TopicTest", "broker-a", 1700000000001, "7F00000100002A9F0000000000000064",
		},
		"djEgVOS4rX4gYiAxIEs_Pg==": {"T中~", "b", 1, "K?>"},
	} {
		if got := want.String(); got != text {
			t.Errorf("%+v: got %s, want %s", want, got, text)
		}
		if got, err := ParseRecallHandle(text); err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", text, got, err, want)
		}
	}
	// What decodeHandle of 5.5.0 says of odd ones.
	if got, err := ParseRecallHandle("djEgVG9waWNUZXN0IGJyb2tlci1hIDEgSw"); err != nil || got.UniqueKey != "K" {
		t.Errorf("without padding: %+v, %v", got, err)
	}
	if got, err := ParseRecallHandle("djEgYSBiIHggSw=="); err != nil || got.DeliverMs != -1 {
		t.Errorf("time x: %+v, %v", got, err)
	}
	for _, text := range []string{"", "!!!", "djIgYSBiIDEgSw==", "djEgYSBiIDEg"} {
		if _, err := ParseRecallHandle(text); err == nil || err.Error() != "recall handle is invalid" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestRecallHandleText(t *testing.T) {
	for _, unique := range []string{"K", strings.Repeat("K", 500)} {
		h := RecallHandle{"T", "broker-a", 1700000005000, unique}
		got := string(h.Append([]byte("before ")))
		want := "before " + base64.URLEncoding.EncodeToString([]byte("v1 T broker-a 1700000005000 "+unique))
		if got != want || h.String() != want[len("before "):] {
			t.Errorf("got %s and %s, want %s", got, h.String(), want)
		}
		if back, err := ParseRecallHandle(h.String()); err != nil || back != h {
			t.Errorf("read back: %+v, %v", back, err)
		}
	}
}

func TestRecallTakesAMessageBack(t *testing.T) {
	for _, appendTopic := range []bool{false, true} {
		b := newBench(t)
		b.at("a", 5000*1e6)
		handle := RecallHandle{"T", "broker-a", begin + 5000, "Ka"}
		cancel := RecallMessage(handle, RecallOptions{ProducerGroup: "G", NowMs: begin, AppendTopic: appendTopic})
		if out, err := b.tm.Transform(&cancel); out == 0 || err != nil {
			t.Fatal(out, err)
		}
		if err := b.log.Send(cancel); err != nil {
			t.Fatal(err)
		}
		b.pass(10*1e9, 1e9)
		b.want()
	}
}

func FuzzParseUnit(f *testing.F) {
	b, err := hex.DecodeString(strings.ReplaceAll(apacheUnit, " ", ""))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b, int64(0))
	f.Fuzz(func(t *testing.T, b []byte, pos int64) {
		if len(b) < unitSize {
			return
		}
		u, ok := parseUnit(b[:unitSize], pos)
		if !ok {
			return
		}
		var again [unitSize]byte
		u.put(again[:])
		if !bytes.Equal(again[:], b[:unitSize]) {
			t.Errorf("%x is written again as %x", b[:unitSize], again)
		}
	})
}

func FuzzParseCheckpoint(f *testing.F) {
	c := checkpoint{header: header{readMs: 5}, logEnd: 7}
	var b [checkpointFile]byte
	copy(b[:], c.append(nil))
	c.encode(b[blockPosition : blockPosition+blockSize])
	f.Add(b[:])
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < headerSize {
			return
		}
		if c := parseCheckpoint(b); len(c.progress.barriers) > maxBarriers {
			t.Errorf("%d barriers", len(c.progress.barriers))
		}
	})
}

func FuzzParseRecallHandle(f *testing.F) {
	f.Add("djEgVOS4rX4gYiAxIEs_Pg==")
	f.Fuzz(func(t *testing.T, s string) {
		h, err := ParseRecallHandle(s)
		if err != nil || h.DeliverMs < 0 {
			return
		}
		if again, err := ParseRecallHandle(h.String()); err != nil || again != h {
			t.Errorf("%q: %+v became %+v, %v", s, h, again, err)
		}
	})
}

// FuzzTimerFiles opens directories whose files hold anything.
func FuzzTimerFiles(f *testing.F) {
	f.Add([]byte("timercheck"), []byte("wheel"), []byte("log"), []byte("{}"))
	f.Add([]byte(strings.Repeat("0", headerSize)), []byte("0"), []byte("0"), []byte("0")) // a read time of the future
	f.Fuzz(func(t *testing.T, check, wheel, log, metrics []byte) {
		b := newBench(t)
		b.at("a", 3e9)
		b.settle()
		b.flush()
		for name, data := range map[string][]byte{
			"config/timercheck": check, "timerwheel": wheel, "config/timermetrics": metrics,
			"timerlog/00000000000000000000": log[:min(len(log), int(b.conf.MappedFileSizeTimerLog))],
		} {
			if len(data) > 0 {
				b.write(name, data)
			}
		}
		b.kill()
		b.pass(4e9, 5e8)
		if n := len(b.bodies()); n < 1 {
			t.Errorf("the timer is lost")
		}
	})
}

func TestTimerFilesOfOtherPeopleAreLeftAlone(t *testing.T) {
	b := newBench(t)
	b.at("a", 3e9)
	b.settle()
	b.write("timerlog/notes.txt", []byte("hello"))
	b.kill()
	b.pass(4e9, 5e8)
	b.want("a")
	if got := string(b.read("timerlog/notes.txt")); got != "hello" {
		t.Errorf("notes.txt holds %q", got)
	}
	if _, err := b.fs.Stat(filepath.Join("store", "timerwheel")); os.IsNotExist(err) {
		t.Error("no wheel")
	}
}
