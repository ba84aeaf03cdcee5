//go:build linux || darwin

package remoting

import (
	"testing"

	"golang.org/x/sys/unix"
)

// cpuMeter reports the processor time of the whole process for each operation, which a busy machine does not distort.
func cpuMeter(b *testing.B) (report func()) {
	b.Helper()
	start := cpuNanos(b)
	return func() { b.ReportMetric(float64(cpuNanos(b)-start)/float64(b.N), "cpu-ns/op") }
}

func cpuNanos(b *testing.B) int64 {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
