package timer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/rocketd/rocketd/internal/vfs"
)

// Layout of config/timercheck. The reference reads and writes the first 56 bytes of a file of 4096. Ours are two blocks behind, of which each
// write replaces the older one before it replaces the header: whatever a crash tears, one of them is whole.
const (
	checkpointFile = 4096
	headerSize     = 56
	blockPosition  = 1024
	blockStride    = 1024
	blocks         = 2
	blockMagic     = 0x524B44544D523032 // "RKDTMR02"
	blockFixed     = 8 + headerSize + 10*8
	barrierSize    = 4 * 8
	blockSize      = blockFixed + maxBarriers*barrierSize + 4
)

// header is the reference's part of the checkpoint (TimerCheckpoint).
type header struct {
	readMs       int64 // lastReadTimeMs: all timers whose out is less are delivered
	logPos       int64 // lastTimerLogFlushPos: the wheel file holds all units before
	queueOffset  int64 // lastTimerQueueOffset: of the next entry of the system topic to enqueue
	masterOffset int64 // masterTimerQueueOffset
	stateVersion int64
	timestamp    int64
	counter      int64
}

// checkpoint is all of timercheck.
type checkpoint struct {
	header
	// own tells that what follows is valid: the reference has not written the file since.
	own       bool
	seq       int64 // number of the write
	clean     bool  // the room was closed properly
	suspect   bool  // a slot may hold two units of one message
	again     bool  // there may be units out of the order of the system topic
	progress  progress
	logEnd    int64 // where the timer log ended
	oldest    int64 // units before are done
	lateFrom  int64 // messages of the system topic before this queue offset were in time for their place, or are done
	precision int64 // of the wheel, ms
	slots     int64 // of the wheel

	putEnd int64 // where the commit log ended behind the last message put; not written
}

const (
	flagClean   = 1
	flagSuspect = 2
	flagAgain   = 4
)

func (h *header) append(b []byte) []byte {
	be := binary.BigEndian
	for _, v := range [...]int64{h.readMs, h.logPos, h.queueOffset, h.masterOffset, h.stateVersion, h.timestamp, h.counter} {
		b = be.AppendUint64(b, uint64(v))
	}
	return b
}

func parseHeader(b []byte) header {
	at := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[8*i:])) }
	return header{at(0), at(1), at(2), at(3), at(4), at(5), at(6)}
}

// encode fills b, which has blockSize bytes.
func (c *checkpoint) encode(b []byte) {
	be := binary.BigEndian
	clear(b)
	out := be.AppendUint64(b[:0], blockMagic)
	out = c.append(out)
	flags := int64(0)
	if c.clean {
		flags |= flagClean
	}
	if c.suspect {
		flags |= flagSuspect
	}
	if c.again {
		flags |= flagAgain
	}
	for _, v := range [...]int64{
		c.seq, flags, c.progress.mark.out, c.progress.mark.pos, c.logEnd, c.oldest, c.lateFrom, c.precision, c.slots,
		int64(len(c.progress.barriers)),
	} {
		out = be.AppendUint64(out, uint64(v))
	}
	for _, r := range c.progress.barriers {
		out = be.AppendUint64(out, uint64(r.pos))
		out = be.AppendUint64(out, uint64(r.mark.out))
		out = be.AppendUint64(out, uint64(r.mark.pos))
		out = be.AppendUint64(out, uint64(r.queue))
	}
	be.PutUint32(b[blockSize-4:], crc32.Checksum(b[:blockSize-4], castagnoli))
}

// parseBlock reads what encode wrote.
func parseBlock(b []byte) (c checkpoint, ok bool) {
	be := binary.BigEndian
	if len(b) < blockSize || be.Uint64(b) != blockMagic || be.Uint32(b[blockSize-4:]) != crc32.Checksum(b[:blockSize-4], castagnoli) {
		return c, false
	}
	at := func(i int) int64 { return int64(be.Uint64(b[8+headerSize+8*i:])) }
	n := at(9)
	if n < 0 || n > maxBarriers {
		return c, false
	}
	c.header = parseHeader(b[8:])
	c.own = true
	c.seq = at(0)
	c.clean, c.suspect, c.again = at(1)&flagClean != 0, at(1)&flagSuspect != 0, at(1)&flagAgain != 0
	c.progress.mark = mark{at(2), at(3)}
	c.logEnd, c.oldest, c.lateFrom, c.precision, c.slots = at(4), at(5), at(6), at(7), at(8)
	for i := range int(n) {
		c.progress.barriers = append(c.progress.barriers, barrier{at(10 + 4*i), mark{at(11 + 4*i), at(12 + 4*i)}, at(13 + 4*i)})
	}
	return c, true
}

// parseCheckpoint reads what was written here or by the reference. b has at least headerSize bytes.
func parseCheckpoint(b []byte) checkpoint {
	h := parseHeader(b)
	var newest checkpoint
	var known []header
	for i := range blocks {
		at := blockPosition + i*blockStride
		if len(b) < at {
			break
		}
		if c, ok := parseBlock(b[at:]); ok {
			known = append(known, c.header)
			if !newest.own || c.seq > newest.seq {
				newest = c
			}
		}
	}
	if !newest.own || !h.madeOf(known) {
		return checkpoint{header: h}
	}
	return newest
}

// madeOf tells whether h is one of headers, or begins as one and ends as another, as a torn write leaves it: else the reference has
// written it since.
func (h *header) madeOf(headers []header) bool {
	own := h.append(nil)
	for i := range headers {
		begins := 0
		for a := headers[i].append(nil); begins < headerSize && own[begins] == a[begins]; {
			begins++
		}
		for j := range headers {
			if b := headers[j].append(nil); bytes.Equal(own[begins:], b[begins:]) {
				return true
			}
		}
	}
	return false
}

// checkpointWriter is the open file.
type checkpointWriter struct {
	f   vfs.File
	buf [blockSize]byte
}

// loadCheckpoint reads the file; found is false when there is none or it is too short to be one.
func loadCheckpoint(fsys vfs.FS, path string) (c checkpoint, found bool, err error) {
	f, err := fsys.OpenFile(path, openRead, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return c, false, nil
	}
	if err != nil {
		return c, false, fmt.Errorf("open timer checkpoint: %w", err)
	}
	var b [checkpointFile]byte
	n, err := f.ReadAt(b[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return c, false, fmt.Errorf("read timer checkpoint: %w", errors.Join(err, f.Close()))
	}
	if err := f.Close(); err != nil {
		return c, false, fmt.Errorf("read timer checkpoint: %w", err)
	}
	if n < headerSize {
		return c, false, nil
	}
	c = parseCheckpoint(b[:n])
	if c.readMs < 0 || c.logPos < 0 || c.queueOffset < 0 || c.masterOffset < 0 {
		return checkpoint{}, false, nil
	}
	return c, true, nil
}

func openCheckpoint(fsys vfs.FS, path string) (*checkpointWriter, error) {
	if err := fsys.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("create timer checkpoint: %w", err)
	}
	f, err := fsys.OpenFile(path, openOrMake, 0o644)
	if err != nil {
		return nil, fmt.Errorf("create timer checkpoint: %w", err)
	}
	if size, err := f.Size(); err != nil || size != checkpointFile {
		dir := filepath.Dir(path)
		err = errors.Join(err, f.Truncate(checkpointFile), fsys.SyncDir(dir), fsys.SyncDir(filepath.Dir(dir)))
		if err != nil {
			return nil, fmt.Errorf("create timer checkpoint: %w", errors.Join(err, f.Close()))
		}
	}
	return &checkpointWriter{f: f}, nil
}

func (w *checkpointWriter) write(c *checkpoint) error {
	c.seq++
	c.encode(w.buf[:])
	at := blockPosition + c.seq%blocks*blockStride
	if _, err := w.f.WriteAt(w.buf[:], at); err != nil {
		return fmt.Errorf("write timer checkpoint: %w", err)
	}
	if _, err := w.f.WriteAt(w.buf[8:8+headerSize], 0); err != nil {
		return fmt.Errorf("write timer checkpoint: %w", err)
	}
	return nil
}

func (w *checkpointWriter) sync() error {
	if err := w.f.Sync(); err != nil {
		return fmt.Errorf("sync timer checkpoint: %w", err)
	}
	return nil
}
