package hookprogram

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/core/trust"
	"ramet/internal/testkit"
	"ramet/internal/turn/hook"
)

func newProject(t *testing.T, files ...string) string {
	t.Helper()
	project := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	for _, name := range files {
		writeFile(t, filepath.Join(project, name), "accepted")
	}
	return project
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	testkit.OK(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o700)))
}

// The files that a hook runs count; what it reads, and what runners of packages obey, does not.
func TestFilesOfAHook(t *testing.T) {
	project := newProject(t, "tools/check.sh", "policy/__init__.py", "policy/check.py", "README.md", "package.json", "node_modules/.bin/tsx", "dist/index.js", "sub/run.sh", "python")
	for command, want := range map[string]string{
		"tools/check.sh README.md":                                "tools/check.sh",
		`sh -e "$CLAUDE_PROJECT_DIR"/tools/check.sh`:              "tools/check.sh",
		`"${CLAUDE_PROJECT_DIR:-.}/tools/check.sh" || exit 2`:     "tools/check.sh",
		"sh " + project + "/tools/check.sh":                       "tools/check.sh",
		"jq . | X=1 python3 -m policy.check README.md":            "policy/__init__.py policy/check.py",
		"python3 -mpolicy.check":                                  "policy/__init__.py policy/check.py",
		"./python -m json.tool README.md":                         "python",
		"python -c 1; npm run lint && prettier --check README.md": "",
		"$CLAUDE_PROJECT_DIR/node_modules/.bin/tsx dist/index":    "node_modules/.bin/tsx dist/index.js",
		"node dist":            "dist/index.js",
		"cd sub && ./run.sh x": "sub/run.sh",
	} {
		if got := strings.Join(Named(project, command), " "); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

// A hook runs the files of the folder where the agent works: these must be the accepted ones too.
func TestAHookInAnotherFolder(t *testing.T) {
	const command = "sh tools/check.sh"
	project := newProject(t, hook.SettingsFiles[0], "tools/check.sh", "sub/tools/check.sh")
	writeFile(t, filepath.Join(project, hook.SettingsFiles[0]), `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"`+command+`"}]}]}}`)
	gate := trust.Gate{Home: t.TempDir(), Project: project, Sources: []trust.Source{Source()}}
	review, err := gate.Review()
	if err == nil {
		err = gate.Accept(t.Context(), review)
	}
	testkit.OK(t, err)
	copied, changed := newProject(t, "tools/check.sh"), newProject(t)
	writeFile(t, filepath.Join(changed, "tools/check.sh"), "exit 0")
	for dir, accepted := range map[string]bool{project: true, copied: true, changed: false, t.TempDir(): true, filepath.Join(project, "sub"): false} {
		if err := Unaccepted(gate, dir, command); accepted && err != nil || !accepted && !fault.Is(err, fault.Untrusted) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	testkit.OK(t, os.Remove(filepath.Join(project, "tools/check.sh")))
	if err := Unaccepted(gate, project, command); !fault.Is(err, fault.Untrusted) {
		t.Errorf("it is gone: %v", err)
	}
	for _, how := range []string{"changed", "in a subfolder", "gone"} {
		testkit.Attack(t, "programs", "the file of a hook is "+how)
	}
}
