package store

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
)

// parallelBlock is how many items a worker takes at a time.
const parallelBlock = 32

// parallel calls fn for 0 to n-1, several at a time, and joins the first error of each worker. Errors do not stop it.
func parallel(n int, fn func(i int) error) error {
	return parallelBy(2*runtime.GOMAXPROCS(0), parallelBlock, n, fn)
}

// parallelBy is parallel with at most so many workers, each of which takes a block of items at a time.
func parallelBy(workers, block, n int, fn func(i int) error) error {
	workers = min(workers, (n+block-1)/block)
	errs := make([]error, workers)
	var next atomic.Int64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for {
				from := int(next.Add(int64(block))) - block
				for i := from; i < min(from+block, n); i++ {
					if err := fn(i); err != nil && errs[w] == nil {
						errs[w] = err
					}
				}
				if from >= n {
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
