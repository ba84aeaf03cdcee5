package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rocketd/rocketd/integration/peer"
)

// TestJUnitExtension runs the tests of the Java module that starts rocketd test: what the Java client does under each fault.
func TestJUnitExtension(t *testing.T) {
	peer.NeedJava(t)
	cmd := exec.Command("mvn", "-q", "-B", "-pl", "junit", "test")
	cmd.Dir = filepath.Join(peer.Root(), "integration", "java")
	cmd.Env = append(os.Environ(), "ROCKETD_BINARY="+peer.Rocketd(t))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("mvn test: %v\n%s", err, out)
	}
}
