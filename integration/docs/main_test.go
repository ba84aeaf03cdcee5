package docs

import (
	"testing"

	"github.com/rocketd/rocketd/integration/peer"
)

func TestMain(m *testing.M) { peer.Main(m) }
