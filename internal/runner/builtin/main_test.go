package builtin

import (
	"os"
	"testing"

	"ramet/internal/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main() // commands of gates are started by this binary
	os.Exit(m.Run())
}
