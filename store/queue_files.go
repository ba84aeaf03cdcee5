package store

import (
	"container/list"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/rocketd/rocketd/internal/vfs"
)

// maxOpenQueueFiles bounds the consume-queue files that are open at a time.
const maxOpenQueueFiles = 512

// queueFiles opens the files of all consume queues of one kind and keeps the most recently used ones open.
type queueFiles struct {
	fs   vfs.FS
	dir  string // consumequeue
	size int64
	unit int64 // bytes of an entry

	mu     sync.Mutex
	open   map[queueFileKey]*queueFile // guarded by mu
	lru    *list.List                  // of *queueFile, most recently used first; guarded by mu
	closed bool                        // guarded by mu

	pages sync.Pool // of *[pageSize]byte
}

type queueFileKey struct {
	q    *ConsumeQueue
	base int64 // first byte of the file within the queue
}

// queueFile is one open file, in use by those who got it and did not put it back.
type queueFile struct {
	vfs.File
	key   queueFileKey
	users int           // guarded by queueFiles.mu
	gone  bool          // no longer in the cache: closed by its last user; guarded by queueFiles.mu
	place *list.Element // guarded by queueFiles.mu
}

func newQueueFiles(fsys vfs.FS, dir string, size, unit int64) *queueFiles {
	return &queueFiles{fs: fsys, dir: filepath.Clean(dir), size: size, unit: unit, open: make(map[queueFileKey]*queueFile), lru: list.New()}
}

// page is a buffer of pageSize to be put back.
func (c *queueFiles) page() *[pageSize]byte {
	if b, ok := c.pages.Get().(*[pageSize]byte); ok {
		return b
	}
	return new([pageSize]byte)
}

func (c *queueFiles) queueDir(q *ConsumeQueue) string {
	return filepath.Join(c.dir, q.topic, strconv.Itoa(int(q.id)))
}

func (c *queueFiles) path(q *ConsumeQueue, base int64) string {
	b := make([]byte, 0, len(c.dir)+len(q.topic)+offsetDigits+14)
	return string(appendQueuePath(append(append(b, c.dir...), filepath.Separator), q, base))
}

// appendQueuePath is the path below the queues' directory.
func appendQueuePath(b []byte, q *ConsumeQueue, base int64) []byte {
	b = append(append(b, q.topic...), filepath.Separator)
	b = append(strconv.AppendInt(b, int64(q.id), 10), filepath.Separator)
	return appendOffsetName(b, base)
}

// base is the first byte of the file that holds entry n of a queue.
func (c *queueFiles) base(n int64) int64 {
	at := n * c.unit
	return at - at%c.size
}

// get returns the file of q that begins at base, made at its full length if create. It must be put back.
func (c *queueFiles) get(q *ConsumeQueue, base int64, create bool) (*queueFile, error) {
	key := queueFileKey{q, base}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, ErrClosed
	}
	if f := c.open[key]; f != nil {
		f.users++
		c.lru.MoveToFront(f.place)
		c.mu.Unlock()
		return f, nil
	}
	c.mu.Unlock()

	f, err := c.openFile(q, base, create)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errors.Join(ErrClosed, f.Close())
	}
	if other := c.open[key]; other != nil {
		if err := f.Close(); err != nil {
			return nil, err
		}
		other.users++
		return other, nil
	}
	qf := &queueFile{File: f, key: key, users: 1}
	qf.place = c.lru.PushFront(qf)
	c.open[key] = qf
	if err := c.evictLocked(); err != nil {
		qf.users--
		return nil, err
	}
	return qf, nil
}

// opened is get for a file that is open already, nil when it is not.
func (c *queueFiles) opened(q *ConsumeQueue, base int64) *queueFile {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.open[queueFileKey{q, base}]
	if f != nil {
		f.users++
		c.lru.MoveToFront(f.place)
	}
	return f
}

func (c *queueFiles) openFile(q *ConsumeQueue, base int64, create bool) (vfs.File, error) {
	path := c.path(q, base)
	if !create {
		return c.fs.OpenFile(path, osUpdate, filePerm)
	}
	f, err := c.fs.OpenFile(path, osUpdate|osCreate, filePerm)
	if errors.Is(err, fs.ErrNotExist) {
		if err := c.fs.MkdirAll(filepath.Dir(path), dirPerm); err != nil {
			return nil, err
		}
		f, err = c.fs.OpenFile(path, osUpdate|osCreate, filePerm)
	}
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	if err == nil && size != c.size {
		err = f.Truncate(c.size)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create %s: %w", path, err), f.Close())
	}
	return f, nil
}

// put gives a file back.
func (c *queueFiles) put(f *queueFile) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.users--
	if f.gone && f.users == 0 {
		return f.Close()
	}
	return nil
}

// evictLocked closes the least recently used files nobody uses until the bound holds.
func (c *queueFiles) evictLocked() error {
	var err error
	for e := c.lru.Back(); e != nil && c.lru.Len() > maxOpenQueueFiles; {
		f, _ := e.Value.(*queueFile) // the list holds nothing else
		e = e.Prev()
		if f.users == 0 {
			err = errors.Join(err, c.forgetLocked(f))
		}
	}
	return err
}

func (c *queueFiles) forgetLocked(f *queueFile) error {
	delete(c.open, f.key)
	c.lru.Remove(f.place)
	f.gone = true
	if f.users == 0 {
		return f.Close()
	}
	return nil
}

// forget closes the file of q that begins at base, or all of q when base is negative, once nobody uses it.
func (c *queueFiles) forget(q *ConsumeQueue, base int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	for key, f := range c.open {
		if key.q == q && (base < 0 || key.base == base) {
			err = errors.Join(err, c.forgetLocked(f))
		}
	}
	return err
}

// closeAll closes every file that nobody uses, and opens none any more.
func (c *queueFiles) closeAll() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	var err error
	for _, f := range c.open {
		err = errors.Join(err, c.forgetLocked(f))
	}
	return err
}
