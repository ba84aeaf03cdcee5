// Package brokertest is a RocketMQ that a test holds in its hand: a name server and a broker in the test's process, on free ports, in
// memory, ready in a few milliseconds, with a clock that the test moves and with faults that it asks for. Any client can use it,
// over the wire, as if it were the real thing; docs/testing.md has examples.
//
//	func TestOrders(t *testing.T) {
//		b := brokertest.Start(t, brokertest.WithTopics("orders"))
//		... a client at b.NamesrvAddr() ...
//		b.Clock.Advance(30 * time.Minute)
//		if err := b.WaitLag(t.Context(), "order-service", 0); err != nil {
//			t.Fatal(err)
//		}
//	}
//
// What stands between the wire and the broker is one watcher for each server (watch.go): every frame passes it, it keeps the journal
// (journal.go), asks the rules that On made (rule.go) and carries out their decisions (decision.go). Waits and looks (wait.go, look.go) go
// into the broker directly and not over the wire, so they neither appear in the journal nor suffer from faults.
//
// The clock is the broker's: delay levels, timers, retries, transaction checks, queue locks, pop invisible times and retention follow
// it. Sockets and clients live in real time.
//
// The package does not import testing: rocketd test serves the same things over HTTP, see package control.
package brokertest
