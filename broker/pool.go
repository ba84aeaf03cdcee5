package broker

import "sync"

// pool is a fixed number of workers behind a bounded queue, for work that an event loop began and may not finish. Safe for
// concurrent use.
type pool struct {
	tasks chan func()

	mu     sync.RWMutex // held for reading while a task is queued
	closed bool         // guarded by mu
	done   sync.WaitGroup
}

// newPool starts workers; close ends them.
func newPool(workers, queue int) *pool {
	p := &pool{tasks: make(chan func(), queue)}
	for range workers {
		p.done.Go(func() {
			for task := range p.tasks {
				task()
			}
		})
	}
	return p
}

// try queues a task; false when the queue is full or the pool is closed.
func (p *pool) try(task func()) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed {
		return false
	}
	select {
	case p.tasks <- task:
		return true
	default:
		return false
	}
}

// close lets the workers finish what is queued and waits for them. Closing twice is safe.
func (p *pool) close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.tasks)
	}
	p.mu.Unlock()
	p.done.Wait()
}
