package app

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/kernel"
	"ramet/internal/launch/sandbox"
	"ramet/internal/operation/session"
	"ramet/internal/testkit"
	"ramet/internal/tools/mcp"
)

// Folders that programs may write are reached over no link that a confined command made.
func TestNoLinkInTheProjectOpensAnotherFolder(t *testing.T) {
	top := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	project, outside := filepath.Join(top, "project"), filepath.Join(top, "outside")
	tree := filepath.Join(top, "home", "worktrees", "w", "child")
	for _, dir := range []string{project + "/build", project + "/sub", outside, tree} {
		testkit.OK(t, os.MkdirAll(dir, 0o755))
	}
	ws := &session.Workspace{}
	ws.Home, ws.Place = filepath.Join(top, "home"), config.WorkspaceLocation{Project: project, DB: filepath.Join(top, "ramet.db")}
	m := serverMaker{ws: ws}
	named := func(root string) mcp.Server {
		return m.projects(mcp.Named{Name: "s", Command: "sh", Roots: []string{root}})
	}
	for _, root := range []string{"build", project + "/build", "missing"} {
		if s := named(root); s.Why != "" || len(s.Box.Write) != 2 {
			t.Errorf("%s: %q %q", root, s.Why, s.Box.Write)
		}
	}
	for _, root := range []string{outside, "../outside", "~/x"} {
		if s := named(root); !strings.Contains(s.Why, "in the project only") || len(s.Box.Write) != 1 {
			t.Errorf("%s: %q %q", root, s.Why, s.Box.Write)
		}
		testkit.Attack(t, "folders", "roots of a server: "+strings.ReplaceAll(root, top, ""))
	}
	before := named("build")
	for _, link := range []string{project + "/build", project + "/sub", tree} {
		testkit.OK(t, os.Remove(link))
		testkit.OK(t, os.Symlink(outside, link))
	}
	for _, s := range []mcp.Server{named("build"), named("build/out"), named(project + "/build"), m.users(config.Server{Name: "u", Command: "sh", Roots: []string{"build"}})} {
		if !strings.Contains(s.Why, "build is a symbolic link") || len(s.Box.Write) != 1 {
			t.Errorf("%q %q", s.Why, s.Box.Write)
		}
		testkit.Attack(t, "folders", "roots of server "+s.Name+" replaced by a link")
	}
	// A server that was made before, and is started again.
	before.Box.Write = before.Box.Write[1:]
	if _, err := sandbox.Start(t.Context(), sandbox.Command{Args: []string{"/bin/true"}, Dir: "/", Confine: before.Box}); !fault.Is(err, fault.Denied) {
		t.Error(err)
	}
	terms := &kernel.Terms{Cwd: project + "/sub"}
	r := request{Workspace: ws, termsOf: func(context.Context, id.Agent) *kernel.Terms { return terms }}
	if root, err := r.root(agent.Agent{}); !fault.Is(err, fault.Denied) {
		t.Errorf("--cwd: %s %v", root, err)
	}
	terms.Cwd = ""
	for _, cwd := range []string{project + "/sub", tree} {
		if root, err := r.root(agent.Agent{Cwd: cwd}); !fault.Is(err, fault.Denied) {
			t.Errorf("agent in %s: %s %v", cwd, root, err)
		}
		testkit.Attack(t, "folders", "the folder of an agent replaced by a link: "+filepath.Base(cwd))
	}
	if root, err := r.root(agent.Agent{Cwd: project + "/away"}); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "is not on this machine") {
		t.Errorf("agent in a folder of another host: %s %v", root, err)
	}
}

// A project's server leaves nothing where a server of the user's, or of another project, would find
// and run it, whatever it is called.
func TestAProjectsServerHasACacheOfItsOwn(t *testing.T) {
	top := t.TempDir()
	seen := map[string]bool{}
	for _, project := range []string{"one", "two"} {
		ws := &session.Workspace{}
		ws.Home, ws.Place = filepath.Join(top, "home"), config.WorkspaceLocation{Project: filepath.Join(top, project), DB: filepath.Join(top, "ramet.db")}
		m := serverMaker{ws: ws}
		s := m.projects(mcp.Named{Name: "s", Command: "sh"})
		users := m.users(config.Server{Name: "s", Command: "sh"})
		for _, name := range []string{"XDG_CACHE_HOME", "npm_config_cache", "UV_CACHE_DIR", "PIP_CACHE_DIR"} {
			folder, others := valueOf(s.Env, name), valueOf(users.Env, name)
			if folder == "" || others == "" || seen[folder] || isBelow(folder, users.Box.Write[0]) || isBelow(others, s.Box.Write[0]) {
				t.Errorf("%s of %s is %q, and %q for the user's", name, project, folder, others)
			}
			seen[folder] = true
		}
		if len(s.Box.Write) != 1 || len(users.Box.Write) != 1 {
			t.Errorf("they write %q and %q", s.Box.Write, users.Box.Write)
		}
	}
}

func valueOf(env []string, name string) string {
	for _, pair := range env {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}
