package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"sort"
	"strings"
)

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 3, "rounds of each row on each broker; medians are printed")
	flag.Float64Var(&o.scale, "scale", 1, "factor on the number of messages of each row")
	flag.StringVar(&o.only, "only", "", "rows whose name holds this text")
	flag.BoolVar(&o.apache, "apache", true, "measure Apache's broker too (needs a JDK and Maven)")
	bare := flag.String("bare", "", "internal: serve as the bare server on this address; \"append:FILE\" in front also writes")
	flag.Parse()
	if *bare != "" {
		serveBare(*bare)
		return
	}
	h := newHost()
	defer h.close()
	var rows []row
	for _, r := range allRows(o.scale) {
		if o.only == "" || strings.Contains(r.name, o.only) {
			rows = append(rows, r)
		}
	}
	results := map[string]map[string][]figures{}
	for round := range o.rounds {
		for _, s := range sides(o) {
			for _, r := range rows {
				f, err := measure(h, s, r)
				if errors.Is(err, errSkipped) {
					continue
				}
				if err != nil {
					fmt.Fprintf(os.Stderr, "round %d, %s, %s: %v\n", round, s.name, r.name, err)
					continue
				}
				if results[r.name] == nil {
					results[r.name] = map[string][]figures{}
				}
				results[r.name][s.name] = append(results[r.name][s.name], f)
				fmt.Fprintf(os.Stderr, "round %d, %s, %s: %s\n", round, s.name, r.name, f)
			}
		}
	}
	printTable(os.Stdout, rows, sides(o), results)
}

type options struct {
	rounds int
	scale  float64
	only   string
	apache bool
}

func median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	sort.Float64s(all)
	return all[len(all)/2]
}
