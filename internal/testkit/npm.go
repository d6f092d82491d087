package testkit

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/gofrs/flock"
)

// FindNode is the path of Node.
func FindNode(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("node")
	if err != nil {
		t.Skip("left out: node is missing; ./test installs it where it may, or apt-get install nodejs npm")
	}
	return path
}

// InstallNPM brings the folder's node_modules to what its package-lock.json says. npm keeps a
// copy of the lock there, which is newer than the lock when that is so. Several tests may
// ask at once. It skips the test where the packages cannot be had.
func InstallNPM(t *testing.T, folder string) {
	t.Helper()
	FindNode(t)
	if missing := install(t, folder); missing != "" {
		t.Skip("left out: " + missing)
	}
}

// install returns why the packages cannot be had here, or "" if they are installed.
func install(t *testing.T, folder string) (missing string) {
	t.Helper()
	lock := filepath.Join(folder, "package-lock.json")
	alone := flock.New(lock)
	OK(t, alone.Lock())
	defer alone.Close()
	if current(t, folder, lock) {
		return ""
	}
	npm := exec.CommandContext(t.Context(), "npm", "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	npm.Dir = folder
	out, err := npm.CombinedOutput()
	switch {
	case err == nil:
		return ""
	case errors.Is(err, exec.ErrNotFound):
		return "npm is missing; ./test installs it where it may, or apt-get install npm"
	case offline.Match(out):
		return "the packages cannot be had here:\n" + string(out)
	}
	t.Fatalf("%s: %v\n%s", npm, err, out)
	return ""
}

func current(t *testing.T, folder, lock string) bool {
	t.Helper()
	wanted := Must(os.Stat(lock))(t)
	done, err := os.Stat(filepath.Join(folder, "node_modules", ".package-lock.json"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil && done.ModTime().After(wanted.ModTime())
}

// offline matches npm's messages about an unreachable network or registry.
var offline = regexp.MustCompile(`npm error code (ENOTFOUND|EAI_AGAIN|EAI_FAIL|ECONN[A-Z]+|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|EPROTO|E(?:403|404|407|429|5[0-9][0-9]))\b`)
