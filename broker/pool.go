package broker

import "sync"

// pool is a fixed number of workers behind a bounded queue, for work that an event loop began and may not finish. Its queue
// takes memory only while something waits. Safe for concurrent use.
type pool struct {
	limit int
	done  sync.WaitGroup

	mu     sync.Mutex
	wake   sync.Cond // of mu: a task has come, or the pool is closed
	tasks  []func()  // from next on; guarded by mu
	next   int       // guarded by mu
	closed bool      // guarded by mu
}

// newPool starts workers; close ends them. limit bounds the tasks that wait.
func newPool(workers, limit int) *pool {
	p := &pool{limit: limit}
	p.wake.L = &p.mu
	for range workers {
		p.done.Go(p.work)
	}
	return p
}

func (p *pool) work() {
	for {
		task := p.take()
		if task == nil {
			return
		}
		task()
	}
}

// take waits for a task; nil when the pool is closed and nothing waits.
func (p *pool) take() func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.next == len(p.tasks) {
		if p.closed {
			return nil
		}
		p.wake.Wait()
	}
	task := p.tasks[p.next]
	p.tasks[p.next] = nil
	if p.next++; p.next == len(p.tasks) {
		p.tasks, p.next = p.tasks[:0], 0
		const keep = 1024
		if cap(p.tasks) > keep {
			p.tasks = nil
		}
	}
	return task
}

// try queues a task; false when the queue is full or the pool is closed.
func (p *pool) try(task func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.tasks)-p.next >= p.limit {
		return false
	}
	if p.next > 0 && len(p.tasks) == cap(p.tasks) { // make room at the front rather than grow
		n := copy(p.tasks, p.tasks[p.next:])
		clear(p.tasks[n:])
		p.tasks, p.next = p.tasks[:n], 0
	}
	p.tasks = append(p.tasks, task)
	p.wake.Signal()
	return true
}

// close lets the workers finish what waits and waits for them. Closing twice is safe.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.wake.Broadcast()
	p.mu.Unlock()
	p.done.Wait()
}
