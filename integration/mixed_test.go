package integration

import (
	"testing"

	"github.com/rocketd/rocketd/integration/peer"
)

// TestMixedWithApache lets a broker of one kind register with a name server of the other kind, and a real client find its way.
func TestMixedWithApache(t *testing.T) { //nolint:tparallel // not beside everything else
	peer.NeedJava(t)
	for name, start := range map[string]func(t testing.TB) string{
		"rocketd's broker at Apache's name server": func(t testing.TB) string {
			t.Helper()
			namesrv := peer.StartApacheNamesrv(t, t.TempDir()).Namesrv
			peer.StartRocketdBroker(t, t.TempDir(), namesrv, settings...)
			return namesrv
		},
		"Apache's broker at rocketd's name server": func(t testing.TB) string {
			t.Helper()
			namesrv := peer.StartRocketdNamesrv(t, t.TempDir()).Namesrv
			peer.StartApacheBroker(t, t.TempDir(), namesrv, settings...)
			return namesrv
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stories := []string{"send_sync", "push_tags", "query"}
			got := peer.RunScenarios(t, peer.ScenarioRun{Version: "5.5.0", Namesrv: start(t), Prefix: "mixed", Only: stories})
			for _, story := range stories {
				if s, ok := got[story]; !ok || !s.OK {
					t.Errorf("%s: %+v", story, s)
				}
			}
		})
	}
}
