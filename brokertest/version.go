package brokertest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/rocketd/rocketd/remoting"
)

// Version is a release line of Apache RocketMQ.
type Version string

// The release lines that can be emulated.
const (
	V4 Version = "4.9" // as 4.9.8
	V5 Version = "5.x" // as the newest that this package knows
)

// emulation is what an older release does otherwise. A nil one changes nothing. It never changes.
type emulation struct {
	version int32
	unknown map[int32]struct{}
}

var emulations = map[Version]*emulation{V5: nil, V4: {}}

func knownVersions() []string {
	var names []string
	for v := range maps.Keys(emulations) {
		names = append(names, string(v))
	}
	slices.Sort(names)
	return names
}

func (e *emulation) knows(Server, int32) bool { return true }

func (e *emulation) dress(*remoting.Command) {}

func notSupported(code int32) Decision {
	return Fail(remoting.RequestCodeNotSupported, fmt.Sprintf(" request type %d not supported", code))
}
