package broker

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rocketd/rocketd/remoting"
)

func TestNameServerThatComesBackIsRegisteredWithWithinTwoSeconds(t *testing.T) {
	registering(t, nil, func(t *testing.T, b *registrationBench) {
		one, two := b.far["one:1"], b.far["two:1"]
		one.set(func(n *fakeNameServer) { n.down = true })
		begun := time.Now()
		b.begin(t)
		if waited := time.Since(begun); waited > time.Second {
			t.Errorf("start waited %v for a name server that refuses connections", waited)
		}
		wantTopics(t, "two", two, map[string]string{"A": "4 p6", "B": "4 p6"})

		time.Sleep(7*time.Minute + 300*time.Millisecond)
		one.set(func(n *fakeNameServer) { n.down = false })
		time.Sleep(2 * time.Second)
		wantTopics(t, "one, come back", one, map[string]string{"A": "4 p6", "B": "4 p6"})

		time.Sleep(time.Minute)
		one.set(func(n *fakeNameServer) { n.forgetLocked() })
		time.Sleep(2 * time.Second)
		wantTopics(t, "one, restarted unseen", one, map[string]string{"A": "4 p6", "B": "4 p6"})
	})
}

func TestChangesMeetANameServerThatHasRestarted(t *testing.T) {
	for _, changed := range []int{1, 2} {
		t.Run(fmt.Sprint(changed), func(t *testing.T) {
			registering(t, []string{"forceRegister", "false"}, func(t *testing.T, b *registrationBench) {
				b.begin(t)
				one := b.far["one:1"]
				one.set(func(n *fakeNameServer) { n.forgetLocked() })
				want := map[string]string{"A": "4 p6", "B": "4 p6"}
				for i := range changed {
					name := fmt.Sprintf("N%d", i)
					b.register(b.topics.set(name, 1))
					want[name] = "1 p6"
				}
				b.settle(t.Context())
				time.Sleep(time.Second)
				wantTopics(t, "one", one, want)
			})
		})
	}
}

func TestAllTopicsAreRegisteredEveryPeriod(t *testing.T) {
	for _, c := range []struct {
		settings []string
		want     int // full registrations in an hour, the first included
	}{
		{nil, 121},
		{[]string{"registerNameServerPeriod", "1000"}, 361},
		{[]string{"registerNameServerPeriod", "1000000"}, 61},
		{[]string{"forceRegister", "false"}, 1},
	} {
		t.Run(strings.Join(c.settings, "="), func(t *testing.T) {
			registering(t, c.settings, func(t *testing.T, b *registrationBench) {
				b.begin(t)
				one := b.far["one:1"]
				time.Sleep(time.Hour + time.Second)
				log := one.asked()
				// A full one is due at the first question after the period, so up to a second is lost each time.
				if got := len(log); got > c.want || got < c.want*9/10 {
					t.Errorf("%d registrations in an hour, want about %d", got, c.want)
				}
				if !slices.Contains(log, "register [A B] as of 2") {
					t.Errorf("registrations are %v", log[:1])
				}
			})
		})
	}
}

func TestChangeOfTheVersionAloneIsNoticed(t *testing.T) {
	registering(t, []string{"forceRegister", "false"}, func(t *testing.T, b *registrationBench) {
		b.begin(t)
		b.far["one:1"].asked()
		b.topics.mu.Lock()
		b.topics.version.NextVersion(99, 0)
		b.topics.mu.Unlock()
		time.Sleep(2 * time.Second)
		wantAsked(t, "one", b.far["one:1"], "register [A B] as of 3")
	})
}

func TestNameServerWithoutQueryDataVersion(t *testing.T) {
	registering(t, nil, func(t *testing.T, b *registrationBench) {
		one := b.far["one:1"]
		one.set(func(n *fakeNameServer) { n.old = true })
		b.begin(t)
		time.Sleep(5 * time.Second)
		one.asked()
		b.register(b.topics.set("C", 1))
		b.settle(t.Context())
		wantAsked(t, "one", one, "register [C] as of 3")
		time.Sleep(time.Minute)
		wantTopics(t, "one", one, map[string]string{"A": "4 p6", "B": "4 p6", "C": "1 p6"})
	})
}

func TestNameServerThatNeverAnswersHoldsUpNobody(t *testing.T) {
	registering(t, nil, func(t *testing.T, b *registrationBench) {
		b.far["one:1"].set(func(n *fakeNameServer) { n.hang = true })
		begun := time.Now()
		b.begin(t)
		if waited := time.Since(begun); waited != firstRoundWait {
			t.Errorf("start waited %v, want %v", waited, firstRoundWait)
		}
		b.register(b.topics.set("C", 1))
		time.Sleep(time.Millisecond)
		for name, n := range map[string]*fakeNameServer{"local": b.local, "two": b.far["two:1"]} {
			wantTopics(t, name, n, map[string]string{"A": "4 p6", "B": "4 p6", "C": "1 p6"})
		}
		begun = time.Now()
		b.close(t.Context())
		if waited := time.Since(begun); waited > unregisterTimeout {
			t.Errorf("close waited %v", waited)
		}
	})
}

func TestRegistrationInPieces(t *testing.T) {
	registering(t, []string{"enableSplitRegistration", "true", "splitRegistrationSize", "3"}, func(t *testing.T, b *registrationBench) {
		for i := range 6 {
			b.topics.set(fmt.Sprintf("T%d", i), 1)
		}
		b.begin(t)
		one := b.far["one:1"]
		log := one.asked()
		if len(log) != 3 {
			t.Fatalf("pieces: %q", log)
		}
		for i, version := range []int{6, 7, 8} { // the last piece has the true version
			if !strings.HasSuffix(log[i], fmt.Sprintf("as of %d", version)) {
				t.Errorf("piece %d: %s", i, log[i])
			}
		}
		// A change of every topic is taken in each piece.
		for i := range 6 {
			b.topics.set(fmt.Sprintf("T%d", i), 2)
		}
		time.Sleep(2 * time.Second)
		want := map[string]string{"A": "4 p6", "B": "4 p6"}
		for i := range 6 {
			want[fmt.Sprintf("T%d", i)] = "2 p6"
		}
		wantTopics(t, "one", one, want)
	})
}

func TestCompressedRegistrationSaysSo(t *testing.T) {
	registering(t, []string{"compressedRegister", "true"}, func(t *testing.T, b *registrationBench) {
		b.begin(t)
		one := b.far["one:1"]
		wantTopics(t, "one", one, map[string]string{"A": "4 p6", "B": "4 p6"})
		if !one.header.Compressed || !one.header.BodyCRC32.Set {
			t.Errorf("header %+v", one.header)
		}
	})
}

func TestHeartbeatsOfABrokerWhoseSlavesMayAct(t *testing.T) {
	for _, c := range []struct {
		compatible string
		want       int // heartbeats in 10 s
	}{{"false", 20}, {"true", 0}} {
		settings := []string{
			"enableSlaveActingMaster", "true", "compatibleWithOldNameSrv", c.compatible, "brokerHeartbeatInterval", "500",
			"brokerNotActiveTimeoutMillis", "7000",
		}
		registering(t, settings, func(t *testing.T, b *registrationBench) {
			b.begin(t)
			one := b.far["one:1"]
			if got := one.header.HeartbeatTimeoutMillis; got != remoting.Some(int64(7000)) || !one.header.EnableActingMaster.Value {
				t.Errorf("header %+v", one.header)
			}
			one.asked()
			time.Sleep(10*time.Second + time.Millisecond)
			heartbeats := 0
			for _, what := range one.asked() {
				if what == "heartbeat" {
					heartbeats++
				}
			}
			if heartbeats != c.want {
				t.Errorf("compatibleWithOldNameSrv=%s: %d heartbeats in 10 s, want %d", c.compatible, heartbeats, c.want)
			}
		})
	}
}
