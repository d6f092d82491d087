package testkit

import (
	"os"
	"os/exec"
	"testing"
)

// RootOnly skips t unless it is run by root: it acts as other users.
func RootOnly(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can act as another user")
	}
}

// AskedFor returns the value of a variable that a target of the Makefile sets, and skips t without it.
func AskedFor(t testing.TB, variable, target string) string {
	t.Helper()
	value := os.Getenv(variable)
	if value == "" {
		t.Skip("runs in " + target)
	}
	return value
}

// Need fails t if a command is missing that ./test installs.
func Need(t testing.TB, command string) string {
	t.Helper()
	path, err := exec.LookPath(command)
	if err != nil {
		t.Fatalf("%s is missing: ./test installs it", command)
	}
	return path
}
