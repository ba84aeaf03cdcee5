// Package modeltest makes tests with rapid the same in each run, unless a run is to look for what others have not found.
package modeltest

import (
	"flag"
	"os"
	"strconv"
)

const (
	// Environment is the variable that asks for other random numbers in each run: set to 1 by "make model".
	Environment = "ROCKETD_MODEL"
	// seed is the first one of a run, checks how many there are.
	seed   = 20_261_130
	checks = 300
)

// Fix sets rapid's flags, for a TestMain before it runs the tests. A flag of the command line counts before it, and so does Environment.
func Fix() { FixTo(checks) }

// FixTo is Fix with another number of runs, for models of which a run takes longer.
func FixTo(checks int) {
	flag.Parse()
	given := make(map[string]bool)
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	set := func(name, value string) {
		if given[name] || flag.Lookup(name) == nil {
			return
		}
		if err := flag.Set(name, value); err != nil {
			panic("modeltest: " + err.Error()) // the flags of rapid are other ones now
		}
	}
	set("rapid.nofailfile", "true")
	if os.Getenv(Environment) == "" { //nolint:forbidigo // a TestMain is the main of tests
		set("rapid.seed", strconv.Itoa(seed))
		set("rapid.checks", strconv.Itoa(checks))
	}
}
