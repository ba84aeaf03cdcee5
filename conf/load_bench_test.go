package conf

import "testing"

// The ready line must come within 50 ms of the start: reading the configuration may take only a sliver of that.
func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	in := Input{Env: []string{"NAMESRV_ADDR=a:1", "ROCKETD_DATA_DIR=/x"}, Sets: []string{"brokerName=x"}, Machine: laptop}
	for b.Loop() {
		if _, err := Load(in); err != nil {
			b.Fatal(err)
		}
	}
}

// A run-time update copies the whole configuration.
func BenchmarkWith(b *testing.B) {
	b.ReportAllocs()
	c := Default()
	for b.Loop() {
		if _, err := c.With("maxMessageSize", "1000"); err != nil {
			b.Fatal(err)
		}
	}
}
