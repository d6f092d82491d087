package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

// What the configuration of a repository, or the user's own, names among the files of the workspace is obeyed like a file
// of git: it is read-only where it exists, and does not come into being where it doesn't.
func TestWhatAConfigurationNamesElsewhereIsGuarded(t *testing.T) {
	const monitor = `printf '[core]\n\tfsmonitor = touch "%s"\n' "$RAN" > `
	for _, c := range []struct{ name, config, users, there, script string }{
		{"an included file that exists", "[include]\n\tpath = ../shared.cfg\n", "", "shared.cfg", monitor + "shared.cfg"},
		{"an included file that is missing", "[include]\n\tpath = ../shared.cfg\n", "", "", monitor + "shared.cfg"},
		{"an included file under a condition", "[includeIf \"gitdir:**\"]\n\tpath = ../conf/shared.cfg\n", "", "", "mkdir conf; " + monitor + "conf/shared.cfg"},
		{"an included file by its whole path", "[include]\n\tpath = ROOT/shared.cfg\n", "", "", monitor + "shared.cfg"},
		{"hooks in a folder that is missing", "[core]\n\thooksPath = my-hooks\n", "", "", `mkdir my-hooks; printf '#!/bin/sh\ntouch "%s"' "$RAN" > my-hooks/post-index-change; chmod 755 my-hooks/*`},
		{"hooks that the user's settings name", "[core]\n\tbare = false\n", "[core]\n\thooksPath = my-hooks\n", "", `mkdir my-hooks; printf '#!/bin/sh\ntouch "%s"' "$RAN" > my-hooks/post-index-change; chmod 755 my-hooks/*`},
		{"hooks of a worktree", "[core]\n\thooksPath = my-hooks # ours\n", "", "", `mkdir my-hooks; printf '#!/bin/sh\ntouch "%s"' "$RAN" > my-hooks/post-index-change; chmod 755 my-hooks/*`},
	} {
		for _, over := range []*Overlay{nil, {Begun: func(string) {}, Before: func(string, []string) {}, After: func(string, []OverlayChange) {}}} {
			r := newRoom(t)
			t.Setenv("HOME", r.outside)
			t.Setenv("XDG_CONFIG_HOME", r.outside)
			user := func(script string) {
				cmd := exec.Command("sh", "-c", script)
				cmd.Dir = r.root
				cmd.CombinedOutput()
			}
			testkit.OK(t, os.RemoveAll(r.root+"/.git"))
			testkit.OK(t, os.WriteFile(r.outside+"/.gitconfig", []byte(c.users), 0o600))
			user("git init -q .; git -c core.hooksPath=/dev/null add file")
			config := r.root + "/.git/config"
			if strings.HasSuffix(c.name, "worktree") {
				user("mv .git ../outside/main; mkdir -p ../outside/main/worktrees/w; cd ../outside/main/worktrees/w; echo ../.. > commondir; cp ../../HEAD ../../index .; echo ../root/.git > gitdir; echo gitdir: $PWD > ../../../../root/.git")
				config = r.outside + "/main/config"
			}
			testkit.OK(t, os.WriteFile(config, []byte(strings.ReplaceAll(c.config, "ROOT", r.root)), 0o600))
			if c.there != "" {
				testkit.OK(t, os.WriteFile(filepath.Join(r.root, c.there), nil, 0o600))
			}
			cmd := sh(r.root, c.script, "RAN="+r.outside+"/ran")
			if cmd.Confine = r.guarded(); over != nil {
				over.Dir = r.home + "/overlay"
				cmd.Confine.Overlay = over
			}
			got, out := run(t, cmd)
			user("git status; touch file; git status; git add file; git update-index --refresh")
			if _, err := os.Lstat(r.outside + "/ran"); err == nil {
				t.Errorf("%s, overlay %t: it ran: %+v %s", c.name, over != nil, got, out)
			}
			if (got.ExitCode == 0) != (c.there == "") || (c.there == "") != strings.Contains(got.Notes, " was moved to ") {
				t.Errorf("%s, overlay %t: %+v %s", c.name, over != nil, got, out)
			}
			testkit.Attack(t, "used", fmt.Sprintf("a command makes %s, overlay %t", c.name, over != nil))
		}
	}
}
