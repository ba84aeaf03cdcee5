//go:build race

package brokertest_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain looks for goroutines that are left at the end. The Go client, which leaves some, is not among the tests with the race detector.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m, ignoreLibraries()...) }
