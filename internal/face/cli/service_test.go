package cli

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// systemd finds nothing wrong with the unit, whatever the paths contain.
func TestSystemdAcceptsTheUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, home := range []string{"", "/home/ada/.local/share/ramet", `/home/a "b" 100%/$HOME`} {
		unit := filepath.Join(t.TempDir(), "ramet.service")
		if err := os.WriteFile(unit, SystemdUnit(exe, home), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(analyze, "--user", "verify", unit)
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "ramet.service") {
			t.Errorf("%s: %v\n%s", home, err, out)
		}
	}
}

func TestThePropertyListIsWellFormed(t *testing.T) {
	var found []string
	for d := xml.NewDecoder(strings.NewReader(string(launchdPlist("/opt/a & b/ramet", "/Users/<ada>")))); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := token.(xml.CharData); ok && strings.TrimSpace(string(text)) != "" {
			found = append(found, string(text))
		}
	}
	if got := strings.Join(found, " "); !strings.Contains(got, "/opt/a & b/ramet server run --home /Users/<ada> EnvironmentVariables") {
		t.Error(got)
	}
}
