package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rocketd/rocketd/internal/clock"
	"github.com/rocketd/rocketd/internal/vfs"
	"github.com/rocketd/rocketd/message"
)

// Rhythm and bounds of the indexer.
const (
	// indexPause gathers what arrives before it is indexed.
	indexPause = 20 * time.Millisecond
	// indexFlushInterval is how long keys are only in memory; after a crash they are read from the log again.
	indexFlushInterval = time.Second
	// indexFlushBytes: with so many entries in memory they are written at once.
	indexFlushBytes = 1 << 20
	// indexStepRecords is how many records are indexed with the lock held.
	indexStepRecords = 512
	// finishSteps bounds what is still indexed when the store closes.
	finishSteps = 64
	// indexRetry is how long the indexer waits after an error.
	indexRetry = 5 * time.Second
)

// index builds and reads the key index. It follows the log by itself: whatever happens to its files, they can be built again.
type index struct {
	fs       vfs.FS
	dir      string
	shape    indexShape
	log      *logFiles
	clock    clock.Clock
	logger   *logrus.Entry
	settings func() *settings
	// visible is how far the log may be indexed.
	visible func() int64
	// storeTime reads the store time of a record.
	storeTime func(physicalOffset int64) (ms int64, ok bool)

	position atomic.Int64 // everything below is indexed
	idle     atomic.Bool  // parked, nothing to index
	wake     chan struct{}
	hurry    chan struct{} // much waits

	feed indexFeed

	mu      sync.Mutex
	fed     fed           // taken from feed; guarded by mu
	files   []*indexFile  // by age; guarded by mu
	scanner *scanner      // guarded by mu
	keys    []indexKey    // scratch; guarded by mu
	latest  int64         // store times up to here are plausible, ms; guarded by mu
	skip    int           // keys of the record at position that are in the file already; guarded by mu
	loaded  bool          // files are known; guarded by mu
	clean   bool          // for loading: the files were closed properly
	known   indexPosition // for loading: how far they had come then, zero: not known
	trusted int64         // for loading: the log below is what it was when they were written
	stopped bool          // guarded by mu
}

func newIndex(fsys vfs.FS, root string, shape indexShape, log *logFiles, c clock.Clock, logger *logrus.Entry) *index {
	return &index{fs: fsys, dir: indexDir(root), shape: shape, log: log, clock: c, logger: logger, wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1)}
}

func (x *index) enabled() bool { return x.settings().conf.MessageIndexEnable }

// wakeUp tells the indexer that the log has grown.
func (x *index) wakeUp() {
	if x.idle.CompareAndSwap(true, false) {
		x.wake <- struct{}{} // there is room: only one can have seen idle
	}
}

// hurryUp lets the indexer end its pause.
func (x *index) hurryUp() {
	select {
	case x.hurry <- struct{}{}:
	default: // it has been told
	}
}

// run follows the log until stop is closed.
func (x *index) run(stop <-chan struct{}) {
	timer := x.clock.NewTimer(time.Hour)
	defer timer.Stop()
	wait := func(d time.Duration) bool {
		timer.Reset(d)
		select {
		case <-timer.C():
			return true
		case <-x.hurry:
			return true
		case <-stop:
			return false
		}
	}
	dirty := false
	var lastFlush int64
	for {
		moved, err := x.catchUp(stop)
		dirty = dirty || moved
		if now := x.clock.NowMs(); err == nil && dirty && now-lastFlush >= indexFlushInterval.Milliseconds() {
			if err = x.flush(); err == nil {
				dirty, lastFlush = false, now
			}
		}
		pause := indexPause
		switch {
		case err != nil:
			x.logger.WithError(err).Warn("key index cannot go on, trying again")
			pause = indexRetry
		case !dirty:
			x.trimFeed()
			x.idle.Store(true)
			if x.behind() && x.idle.CompareAndSwap(true, false) {
				continue
			}
			select {
			case <-x.wake:
			case <-stop:
				return
			}
		}
		if !wait(pause) {
			return
		}
	}
}

// catchUp indexes what is visible; moved tells that there was something.
func (x *index) catchUp(stop <-chan struct{}) (moved bool, err error) {
	for x.behind() {
		more, err := x.step()
		if err != nil {
			return moved, err
		}
		moved = true
		select {
		case <-stop:
			return moved, nil
		default:
		}
		if !more {
			break
		}
	}
	return moved, nil
}

// behind tells whether there is something to index.
func (x *index) behind() bool { return x.enabled() && x.position.Load() < x.visible() }

// step indexes some records; more tells that there are more.
func (x *index) step() (more bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.stepLocked()
}

func (x *index) stepLocked() (more bool, err error) {
	if err := x.loadLocked(); err != nil {
		return false, err
	}
	if last := x.lastLocked(); last != nil && len(last.fresh) >= indexFlushBytes {
		if err := last.flush(); err != nil {
			return false, err
		}
	}
	more, done, readTo, err := x.stepFedLocked()
	if done {
		return more, err
	}
	if x.scanner == nil {
		x.scanner = &scanner{files: x.log, pos: x.position.Load()}
	}
	s := x.scanner
	s.end = readTo
	s.known = s.end
	fedNext := readTo < x.visible()
	if first := x.log.first(); s.pos < first {
		s.pos = first // the log was shortened meanwhile
	}
	for range indexStepRecords {
		if s.pos >= s.end {
			x.position.Store(max(x.position.Load(), s.pos))
			return fedNext, nil
		}
		found, err := s.next()
		if err != nil {
			return false, errors.Join(err, x.resetScannerLocked())
		}
		if found.kind == scanRecord {
			if err := x.addLocked(&found.r); err != nil {
				return false, errors.Join(err, x.resetScannerLocked())
			}
		}
		if found.kind == scanEnd {
			s.pos = s.end
		}
		x.position.Store(s.pos)
	}
	return fedNext || s.pos < s.end, nil
}

// resetScannerLocked makes the next step read on from the position.
func (x *index) resetScannerLocked() error {
	err := x.scanner.close()
	x.scanner = nil
	return err
}

func (x *index) lastLocked() *indexFile {
	if n := len(x.files); n > 0 {
		return x.files[n-1]
	}
	return nil
}

// addLocked adds a record's keys.
func (x *index) addLocked(r *message.Record) error {
	x.keys = appendIndexKeys(x.keys[:0], r)
	return x.addKeysLocked()
}

// addKeysLocked adds the keys of the record at the position.
func (x *index) addKeysLocked() error {
	for i, k := range x.keys {
		if i < x.skip {
			continue
		}
		last, err := x.writableLocked()
		if err == nil {
			if !x.plausible(k.storeMs) {
				k.storeMs = max(last.header.endMs, 1) // it would keep queries away from the whole file
			}
			err = last.put(k)
		}
		if err != nil {
			x.skip = i
			return err
		}
	}
	x.skip = 0
	return nil
}

// plausible tells whether a store time is not damaged. What was soon enough once stays so: the clock is asked once a day, not for each key.
func (x *index) plausible(ms int64) bool {
	if ms > x.latest {
		x.latest = x.clock.NowMs() + maxAheadMs
	}
	return ms > 0 && ms <= x.latest
}

// writableLocked returns the last file, or a new one when it is full.
func (x *index) writableLocked() (*indexFile, error) {
	last := x.lastLocked()
	if last != nil && !last.full() {
		return last, nil
	}
	var before *indexHeader
	ms := x.clock.NowMs()
	name := indexName(ms)
	if last != nil {
		if err := last.sync(); err != nil {
			return nil, err
		}
		last.dropPages()
		before = &last.header
		for name <= filepath.Base(last.path) {
			ms++
			if name = indexName(ms); ms > x.clock.NowMs()+time.Hour.Milliseconds() {
				return nil, fmt.Errorf("%w: %s is named for a time that is more than an hour ahead", ErrLayout, last.path)
			}
		}
	}
	if err := makeDir(x.fs, x.dir); err != nil {
		return nil, err
	}
	file, err := createIndexFile(x.fs, filepath.Join(x.dir, name), x.shape, before)
	if err != nil {
		return nil, err
	}
	x.files = append(x.files, file)
	return file, nil
}

// appendIndexKeys appends the keys of a record: its unique key, the parts of KEYS, its tag (IndexService.buildIndex).
func appendIndexKeys(dst []indexKey, r *message.Record) []indexKey {
	if r.TransactionType() == message.TransactionRollback {
		return dst
	}
	return appendKeys(dst, newKeyHash(r.Topic), r.Properties, r.PhysicalOffset, r.StoreTimestamp)
}

// appendKeys appends the keys that properties hold of a record of a topic.
func appendKeys(dst []indexKey, topic keyHash, properties message.Properties, physical, storeMs int64) []indexKey {
	var unique, keys, tags string
	properties.Range(func(name, value string) bool {
		switch name {
		case message.KeyUniqueKey:
			unique = value
		case message.KeyKeys:
			keys = value
		case message.KeyTags:
			tags = value
		}
		return true
	})
	if unique != "" {
		dst = append(dst, indexKey{topic.key(unique), physical, storeMs, false})
	}
	for keys != "" {
		var key string
		key, keys, _ = strings.Cut(keys, message.KeySeparator)
		if key != "" {
			dst = append(dst, indexKey{topic.key(key), physical, storeMs, false})
		}
	}
	if tags != "" {
		dst = append(dst, indexKey{topic.tag(tags), physical, storeMs, true})
	}
	return dst
}

// keyHash is the Java hash of "topic#", to be continued.
type keyHash struct{ h int32 }

func newKeyHash(topic string) keyHash { return keyHash{continueHash(message.JavaHash(topic), "#")} }

// key hashes "topic#key".
func (k keyHash) key(key string) uint32 { return positive(continueHash(k.h, key)) }

// tag hashes "topic#T#tag".
func (k keyHash) tag(tag string) uint32 {
	return positive(continueHash(continueHash(k.h, message.IndexTagType+"#"), tag))
}

// continueHash is the Java hash of a text whose hash so far is h followed by s.
func continueHash(h int32, s string) int32 {
	folded, rest := h, s
	// Four units at a time, which do not wait for one another.
	for ; len(rest) >= 4; rest = rest[4:] {
		a, b, c, d := rest[0], rest[1], rest[2], rest[3]
		if a|b|c|d >= 0x80 {
			return continueWideHash(h, s)
		}
		folded = folded*(31*31*31*31) + int32(a)*(31*31*31) + int32(b)*(31*31) + int32(c)*31 + int32(d)
	}
	for i := range len(rest) {
		if rest[i] >= 0x80 {
			return continueWideHash(h, s)
		}
		folded = folded*31 + int32(rest[i])
	}
	return folded
}

// continueWideHash is continueHash for any text: folding n units into h is h * 31^n + hash(s), and 31^n is what one unit of value 1 before s adds.
func continueWideHash(h int32, s string) int32 {
	hash := message.JavaHash(s)
	return h*(message.JavaHash("\x01"+s)-hash) + hash
}

// positive is IndexFile.indexKeyHashMethod.
func positive(h int32) uint32 {
	if h < 0 {
		h = -h
	}
	if h < 0 {
		h = 0
	}
	return uint32(h)
}

// flush writes what is only in memory.
func (x *index) flush() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if last := x.lastLocked(); last != nil {
		return last.flush()
	}
	return nil
}

// indexPosition is how far the index has come. The zero value says that this is not known.
type indexPosition struct {
	offset int64 // of the log: everything below is indexed
	file   int64 // name of the last file as a number, 0: there is none
	next   int64 // number of its next entry
}

// sync makes everything indexed durable and returns its position and the store time of its last key. Files that cannot be trusted are
// loaded first, which cuts them: the checkpoint that follows vouches for them.
func (x *index) sync() (p indexPosition, endMs int64, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.loaded {
		if x.clean && x.known != (indexPosition{}) {
			return x.known, 0, nil // they are as the last Close left them
		}
		if err := x.loadLocked(); err != nil {
			return indexPosition{}, 0, err
		}
	}
	last := x.lastLocked()
	if last == nil {
		return indexPosition{offset: x.position.Load()}, 0, nil
	}
	if err := last.sync(); err != nil {
		return indexPosition{}, last.header.endMs, err
	}
	return last.position(x.position.Load()), last.header.endMs, nil
}

// finish indexes what is left when the store closes, unless that is much: then the next start goes on.
func (x *index) finish() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	for range finishSteps {
		if !x.behind() {
			return nil
		}
		if more, err := x.stepLocked(); err != nil || !more {
			return err
		}
	}
	return nil
}

// stop ends indexing and closes the files.
func (x *index) stop() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.stopped {
		return nil
	}
	x.stopped = true
	var err error
	if x.scanner != nil {
		err = x.scanner.close()
	}
	for _, f := range x.files {
		err = errors.Join(err, f.f.Close())
	}
	return err
}

// removeBelow deletes files whose keys all lie below the beginning of the log, but not the last one (IndexService.deleteExpiredFile).
func (x *index) removeBelow(minPhysical int64) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	var err error
	for len(x.files) > 1 && x.files[0].header.endPhysical < minPhysical {
		err = errors.Join(err, x.files[0].remove(x.fs))
		x.files = slices.Delete(x.files, 0, 1)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}

// trimFeed gives back what the feed needs under load.
func (x *index) trimFeed() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.feed.trim(&x.fed)
}

// trim gives the slot table's memory back. Everything must have been flushed for a while.
func (x *index) trim() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if last := x.lastLocked(); last != nil && len(last.fresh) == 0 && len(last.dirty) == 0 {
		last.dropPages()
	}
}
