package driver

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"ramet/internal/core/trust"
	"ramet/internal/testkit"
)

// The program of a driver that a project names is accepted with its bytes, not only the line that names it.
func TestTrustCoversTheProgramOfADriver(t *testing.T) {
	project, home := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(project, name)
		testkit.OK(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o700)))
	}
	write(trust.ConfigurationFile, "[driver.ours]\ncommand = \"sh\"\nargs = [\"tools/agent.sh\", \"--plugin=tools/plugin\"]\n")
	write("tools/agent.sh", "exec agent\n")
	write("tools/plugin", "one\n")
	gate := trust.Gate{Home: home, Project: project, Sources: append(trust.Standard(), PresetSource())}
	review := testkit.Must(gate.Review())(t)
	testkit.OK(t, gate.Accept(t.Context(), review))
	files := []string{"tools/agent.sh", "tools/plugin"}
	if _, first, err := gate.Unaccepted(project, files); err != nil || first != "" {
		t.Fatalf("%q is not accepted: %v", first, err)
	}
	for _, name := range files {
		write(name, "evil\n")
		if _, first, err := gate.Unaccepted(project, files); err != nil || first != name {
			t.Errorf("%s changed, and %q is not accepted: %v", name, first, err)
		}
		review := testkit.Must(gate.Review())(t)
		testkit.OK(t, gate.Accept(t.Context(), review))
	}
}
