package broker

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rocketd/rocketd/message"
)

// opTag marks op messages that say which half messages are done with (TransactionalMessageUtil.REMOVE_TAG).
const opTag = "d"

// opProperties are those of each op message, as the reference stores them.
const opProperties = message.KeyWait + "\x01true\x02" + message.KeyTags + "\x01" + opTag + "\x02"

const (
	// opLinger is how long decisions are gathered into one op message when nobody waits for it.
	opLinger = 20 * time.Millisecond
	// opRetry is how long to wait after an op message could not be stored.
	opRetry = time.Second
	// maxOpBody bounds the body of an op message.
	maxOpBody = 64 << 10
)

// opSpan is one op message in the op topic: nothing in it matters any more once all half messages up to highest are done
// with.
type opSpan struct {
	offset  int64
	highest int64
}

// opLog writes op messages: the queue offsets of half messages that are done with, in ASCII, each followed by a comma
// (TransactionalMessageServiceImpl#batchSendOpMessage). Decisions that come while one is written share the next one.
// Safe for concurrent use.
type opLog struct {
	b *Broker

	putMu sync.Mutex // held while an op message is stored: spans stay in order. Before mu

	mu      sync.Mutex
	waiting []int64        // offsets not written yet; guarded by mu
	waiters []chan<- error // of those who want to know when waiting is written; guarded by mu
	spans   []opSpan       // written and perhaps still needed, in order; guarded by mu
	begin   int64          // offset in the op topic to start reading from; guarded by mu
	wake    chan struct{}
	stop    chan struct{}
	done    chan struct{}
}

func newOpLog(b *Broker) *opLog {
	return &opLog{b: b, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
}

func (l *opLog) start() { go l.run() }

// close writes what waits and ends the writing.
func (l *opLog) close() error {
	close(l.stop)
	<-l.done
	return l.flush()
}

// add has an offset written soon.
func (l *opLog) add(offset int64) {
	l.mu.Lock()
	l.waiting = append(l.waiting, offset)
	l.mu.Unlock()
	l.signal()
}

// addNow has offsets written, with all that wait, and waits until they are in the log.
func (l *opLog) addNow(offsets ...int64) error {
	written := make(chan error, 1)
	l.mu.Lock()
	l.waiting = append(l.waiting, offsets...)
	l.waiters = append(l.waiters, written)
	l.mu.Unlock()
	l.signal()
	select {
	case err := <-written:
		return err
	case <-l.done:
		return l.flush()
	}
}

func (l *opLog) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *opLog) run() {
	defer close(l.done)
	timer := l.b.clock.NewTimer(time.Hour)
	defer timer.Stop()
	armed := false
	for {
		due := false
		select {
		case <-l.stop:
			return
		case <-l.wake:
		case <-timer.C():
			armed, due = false, true
		}
		if !l.b.serving.Load() {
			timer.Reset(awaitServing)
			continue
		}
		if !due && l.mayLinger() {
			if !armed {
				timer.Reset(opLinger)
				armed = true
			}
			continue
		}
		if err := l.flush(); err != nil {
			if l.b.warnings.allow("op message") {
				l.b.log.WithError(err).Warn("decisions of transactions cannot be stored, trying again")
			}
			timer.Reset(opRetry)
			armed = true
		}
	}
}

// mayLinger tells whether more decisions can be waited for: nobody waits, and there is room in the message
// (transactionOpMsgMaxSize).
func (l *opLog) mayLinger() bool {
	const digits = 8 // of an offset, about
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiters) == 0 && len(l.waiting)*digits < int(l.b.config().Broker.TransactionOpMsgMaxSize)
}

// flush writes all offsets that wait. An error is told to those who wait too; the offsets then wait for the next time.
func (l *opLog) flush() error {
	for {
		offsets, waiters := l.take()
		if len(offsets) == 0 {
			return nil
		}
		err := l.put(offsets)
		for _, w := range waiters {
			w <- err
		}
		if err != nil {
			l.mu.Lock()
			l.waiting = append(offsets, l.waiting...)
			l.mu.Unlock()
			return err
		}
	}
}

// take takes what waits, at most what fits into one message.
func (l *opLog) take() ([]int64, []chan<- error) {
	const longest = 20 // digits and comma
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.waiting), maxOpBody/longest)
	offsets := append([]int64(nil), l.waiting[:n]...)
	l.waiting = append(l.waiting[:0], l.waiting[n:]...)
	if len(l.waiting) > 0 {
		return offsets, nil // those who wait may wait for one of the rest
	}
	waiters := l.waiters
	l.waiters = nil
	return offsets, waiters
}

func (l *opLog) put(offsets []int64) error {
	return l.putWith(offsets, opProperties)
}

// putKeyed writes an op message of one half message that names its unique key, and waits until it is in the log.
func (l *opLog) putKeyed(offset int64, uniqueKey string) error {
	return l.putWith([]int64{offset}, opProperties+message.KeyUniqueKey+"\x01"+uniqueKey+"\x02")
}

func (l *opLog) putWith(offsets []int64, properties string) error {
	l.putMu.Lock()
	defer l.putMu.Unlock()
	content := make([]byte, 0, 12*len(offsets))
	span := opSpan{highest: -1}
	for _, offset := range offsets {
		content = strconv.AppendInt(content, offset, 10)
		content = append(content, ',')
		span.highest = max(span.highest, offset)
	}
	host := l.b.identity.storeHost
	placed, err := l.b.store.Put(&message.Message{
		Topic: message.TopicTransOpHalf, BornTimestamp: l.b.clock.NowMs(), BornHost: host, StoreHost: host,
		Body: content, Properties: message.Properties(properties),
	})
	if err != nil {
		return fmt.Errorf("store op message of %d half messages: %w", len(offsets), err)
	}
	l.b.stats.putInternal(message.TopicTransOpHalf, int(placed.Size))
	span.offset = placed.QueueOffset
	l.mu.Lock()
	l.spans = append(l.spans, span)
	l.mu.Unlock()
	return nil
}

// position is the offset in the op topic from which on op messages matter to half messages at or above lowest.
func (l *opLog) position(lowest int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for n < len(l.spans) && l.spans[n].highest < lowest {
		l.begin = l.spans[n].offset + 1
		n++
	}
	l.spans = append(l.spans[:0], l.spans[n:]...)
	return l.begin
}

// restore notes an op message that was found at the start.
func (l *opLog) restore(offset int64, offsets []int64) {
	span := opSpan{offset: offset, highest: math.MinInt64}
	for _, half := range offsets {
		span.highest = max(span.highest, half)
	}
	l.spans = append(l.spans, span)
}

// parseOp reads the body of an op message.
func parseOp(content string) []int64 {
	var offsets []int64
	for text := range strings.SplitSeq(content, ",") {
		if offset, err := strconv.ParseInt(text, 10, 64); err == nil {
			offsets = append(offsets, offset)
		}
	}
	return offsets
}
