package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rocketd/rocketd/integration/measure"
)

type options struct {
	dir    string
	binary string
	large  int // GB of the large recovery
	queues int
	each   time.Duration
	keep   bool
}

func main() {
	var o options
	var only, fill string
	flag.StringVar(&o.dir, "dir", os.TempDir(), "where the stores lie")
	flag.StringVar(&o.binary, "rocketd", "bin/rocketd", "the binary that is started and killed")
	flag.IntVar(&o.large, "large", 10, "GB of the large recovery; 0 leaves it out")
	flag.IntVar(&o.queues, "queues", 50_000, "queues of the store with many queues")
	flag.DurationVar(&o.each, "each", 500*time.Millisecond, "time of each row of the append, dispatch and pull tables")
	flag.BoolVar(&o.keep, "keep", false, "leave the stores where they are")
	flag.StringVar(&only, "only", "", "parts to measure, of "+strings.Join(partNames(), ", ")+"; all when empty")
	flag.StringVar(&fill, "fill", "", "internal: fill DIR,GB and die")
	flag.Parse()
	var err error
	if fill != "" {
		err = fillAndDie(fill)
	} else {
		err = o.run(only)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// part is one table.
type part struct {
	name    string
	measure func(o *options, dir string) (*table, error)
}

func parts() []part {
	return []part{
		{"limits", (*options).limits},
		{"append", (*options).appends},
		{"read", (*options).reads},
		{"recovery", (*options).recoveries},
		{"queues", (*options).manyQueues},
	}
}

func partNames() []string {
	var names []string
	for _, p := range parts() {
		names = append(names, p.name)
	}
	return names
}

func (o *options) run(only string) error {
	binary, err := filepath.Abs(o.binary)
	if err != nil {
		return err
	}
	if _, err := os.Stat(binary); err != nil {
		return fmt.Errorf("build it first (make build): %w", err)
	}
	o.binary = binary
	for _, p := range parts() {
		if only != "" && !slices.Contains(strings.Split(only, ","), p.name) {
			continue
		}
		dir, err := os.MkdirTemp(o.dir, "rocketd-benchstore")
		if err != nil {
			return err
		}
		t, err := p.measure(o, dir)
		if t != nil {
			t.print(os.Stdout)
		}
		if o.keep {
			fmt.Fprintln(os.Stderr, "kept", dir)
		} else {
			err = errors.Join(err, os.RemoveAll(dir))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// table is a table with a title.
type table struct {
	title string
	measure.Table
}

func newTable(title string, head ...string) *table { return &table{title, measure.Table{Head: head}} }

func (t *table) add(cells ...string) {
	fmt.Fprintln(os.Stderr, strings.Join(cells, "  ")) // what is going on
	t.Add(cells...)
}

func (t *table) print(w io.Writer) {
	fmt.Fprintf(w, "\n### %s\n\n", t.title)
	t.Print(w)
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

func us(d time.Duration) string { return fmt.Sprintf("%.2f µs", float64(d.Nanoseconds())/1000) }

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

// mbs is bytes in a time as MB/s.
func mbs(bytes int64, d time.Duration) string {
	return fmt.Sprintf("%.0f MB/s", float64(bytes)/1e6/d.Seconds())
}
