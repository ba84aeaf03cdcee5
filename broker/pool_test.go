package broker

import (
	"sync/atomic"
	"testing"
)

func TestPoolRunsEachTaskOnce(t *testing.T) {
	p := newPool(4, 1000)
	var ran atomic.Int64
	accepted := 0
	for range 5000 {
		if p.try(func() { ran.Add(1) }) {
			accepted++
		}
	}
	p.close()
	p.close()
	if int(ran.Load()) != accepted || accepted < 1000 {
		t.Errorf("%d ran, %d accepted", ran.Load(), accepted)
	}
	if p.try(func() {}) {
		t.Error("a closed pool takes a task")
	}
}

func TestPoolIsBounded(t *testing.T) {
	p := newPool(1, 3)
	running, hold := make(chan struct{}), make(chan struct{})
	p.try(func() { close(running); <-hold })
	<-running
	for i := range 5 {
		if got := p.try(func() {}); got != (i < 3) {
			t.Errorf("task %d: %t", i, got)
		}
	}
	close(hold)
	p.close()
}
