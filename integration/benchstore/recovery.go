package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rocketd/rocketd/integration/measure"
	"github.com/rocketd/rocketd/store"
)

// fillAndDie fills a store with messages of 1 KB and kills itself while it goes on writing.
func fillAndDie(spec string) error {
	dir, size, _ := strings.Cut(spec, ",")
	gigabytes, err := strconv.Atoi(size)
	if err != nil {
		return err
	}
	s, err := openStore(dir, nil)
	if err != nil {
		return err
	}
	end := int64(gigabytes) << 30
	if err := fill(s, end-64<<20); err != nil {
		return err
	}
	for s.IndexedOffset() < end-128<<20 {
		time.Sleep(10 * time.Millisecond)
	}
	if err := fill(s, end); err != nil {
		return err
	}
	return die()
}

func fill(s *store.Store, end int64) error {
	m := newMessage("BenchTopic", 0, 1<<10)
	for i := 0; s.MaxPhysicalOffset() < end; i++ {
		m.QueueID = int32(i % 100)
		p, err := s.Stage(m)
		if err == nil && i%32 == 31 {
			err = s.Commit(p.Ticket)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// recoveries measures starts after kills and after clean stops, stops, and what a client sees of a kill.
func (o *options) recoveries(dir string) (*table, error) {
	t := newTable("Starts and stops of the binary, messages of 1 KB in 100 queues", "what", "1 GB", strconv.Itoa(o.large)+" GB")
	sizes := []int{1, o.large}
	var columns [][]string
	for _, gigabytes := range sizes {
		if gigabytes == 0 {
			columns = append(columns, make([]string, len(recoveryRows)))
			continue
		}
		column, err := o.recovery(filepath.Join(dir, strconv.Itoa(gigabytes)), gigabytes)
		if err != nil {
			return t, err
		}
		columns = append(columns, column)
	}
	for i, what := range recoveryRows {
		t.add(what, columns[0][i], columns[1][i])
	}
	return t, nil
}

var recoveryRows = []string{ //nolint:gochecknoglobals // a constant
	"start after SIGKILL under load",
	"stop of an idle broker",
	"start after a clean stop",
	"start after SIGKILL without any checkpoint: the whole log is read",
	"… a GB",
	"the same with nothing in the page cache, a GB",
	"stop under load",
	"longest pause of a Go client over SIGKILL and start",
}

func (o *options) recovery(dir string, gigabytes int) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "-fill", dir+","+strconv.Itoa(gigabytes))
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err == nil {
		return nil, errors.New("the child that fills the store did not die")
	}
	if _, err := os.Stat(filepath.Join(dir, "abort")); err != nil {
		return nil, fmt.Errorf("the store was not left by a kill: %w", err)
	}
	var column []string
	p, err := o.start(dir, [2]int{})
	if err != nil {
		return nil, err
	}
	column = append(column, ms(p.took))
	took, err := p.end(syscall.SIGTERM)
	if err != nil {
		return nil, err
	}
	column = append(column, ms(took))
	if p, err = o.start(dir, [2]int{}); err != nil {
		return nil, err
	}
	column = append(column, ms(p.took))
	for _, cold := range []bool{false, true} {
		if _, err := p.end(syscall.SIGKILL); err != nil {
			return nil, err
		}
		for _, name := range []string{"checkpoint", "queuetable"} {
			if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, err
			}
		}
		if cold {
			measure.DropCache(dir)
		}
		if p, err = o.start(dir, [2]int{}); err != nil {
			return nil, err
		}
		if !cold {
			column = append(column, seconds(p.took))
		}
		column = append(column, seconds(p.took/time.Duration(gigabytes)))
	}
	if _, err := p.end(syscall.SIGTERM); err != nil {
		return nil, err
	}
	stop, outage, err := o.outage(dir)
	return append(column, ms(stop), ms(outage)), err
}
