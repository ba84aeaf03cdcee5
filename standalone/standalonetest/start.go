// Package standalonetest starts a name server and a broker in the process of a test.
package standalonetest

import (
	"context"
	"testing"
	"time"

	"github.com/rocketd/rocketd/conf"
	"github.com/rocketd/rocketd/standalone"
)

// Start starts what o says, with files of its own, free ports and the broker name broker-a. sets are KEY=VALUE that come on top. It ends
// with the test. o.Config is not read.
func Start(t testing.TB, o standalone.Options, sets ...string) *standalone.Standalone {
	t.Helper()
	c, err := conf.Load(conf.Input{
		Role:    o.Role,
		Sets:    append([]string{"dataDir=" + t.TempDir(), "broker.listenPort=0", "namesrv.listenPort=0", "httpPort=0", "brokerName=broker-a"}, sets...),
		Machine: conf.Machine{Hostname: "tester", CPUs: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	o.Config = c
	s, err := standalone.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return s
}
