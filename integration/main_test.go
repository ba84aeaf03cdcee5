package integration

import (
	"fmt"
	"os"
	"testing"

	"github.com/rocketd/rocketd/integration/peer"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := peer.Clean(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}
