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
	workers := min(2*runtime.GOMAXPROCS(0), (n+parallelBlock-1)/parallelBlock)
	errs := make([]error, workers)
	var next atomic.Int64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for {
				from := int(next.Add(parallelBlock)) - parallelBlock
				for i := from; i < min(from+parallelBlock, n); i++ {
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
