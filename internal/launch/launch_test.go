package launch

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/launch/sandbox"
	"ramet/internal/testkit"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

// hostile is a project that brings programs along, and a home outside of it.
func hostile(t *testing.T, files map[string]string) string {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", "")
	project := t.TempDir()
	for name, text := range files {
		file := filepath.Join(project, name)
		testkit.OK(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o700)))
	}
	return project
}

func TestTheUsersProgramsObeyNothingOfTheProject(t *testing.T) {
	testkit.Need(t, "python3")
	project := hostile(t, map[string]string{
		"json/__init__.py": "", "json/tool.py": "open('" + "PWNED" + "', 'w')", "node_modules/.bin/helper": "#!/bin/sh\ntouch \"$RAMET_PROJECT/PWNED\"\n"})
	env := []string{"HOME=" + os.Getenv("HOME"), "PATH=node_modules/.bin:" + filepath.Join(project, "node_modules", ".bin") + ":" + os.Getenv("PATH")}
	for _, purpose := range []Purpose{Notification, Credential, Clipboard, Editor, Probe} {
		if c, err := (Program{Purpose: purpose, Command: sandbox.Command{Args: []string{"true"}, Dir: project}}).prepare(); err != nil || isWithin(project, c.Dir) {
			t.Errorf("%s starts in %s: %v", purpose, c.Dir, err)
		}
		testkit.Attack(t, "programs", "files of the project for "+string(purpose))
	}
	for _, purpose := range []Purpose{UserServer, UserHook} {
		cmd := testkit.Must(Command(t.Context(), Program{Purpose: purpose, Command: sandbox.Command{Dir: project, Env: env,
			Args: []string{"sh", "-c", `pwd; echo "$RAMET_PROJECT"; echo '{}' | python3 -m json.tool; helper`}}}))(t)
		out, _ := cmd.Output() // helper is not found
		if lines := strings.Split(string(out), "\n"); lines[1] != project || lines[0] == project || lines[2] != "{}" {
			t.Errorf("%s: %q", purpose, out)
		}
		found, _ := filepath.Glob(filepath.Join(project, "*PWNED"))
		if left, _ := os.ReadDir(cmd.Dir); len(found) > 0 || len(left) > 0 {
			t.Fatalf("%s executed a file of the project: %v %v", purpose, found, left)
		}
		if info, err := os.Stat(cmd.Dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s starts in %v, %v", purpose, info, err)
		}
		testkit.Attack(t, "programs", "json/tool.py and node_modules/.bin for "+string(purpose))
	}
}

// A PATH with folders of the project, as some users have it, finds no program there.
func TestDriversAndGitAreNotLookedUpInTheProject(t *testing.T) {
	const trap = "#!/bin/sh\necho PWNED\n"
	project := hostile(t, map[string]string{"bin/git": trap, "bin/rg": trap, "bin/agent": trap, "bin/node": trap})
	tools := t.TempDir()
	for _, name := range []string{"git", "rg", "agent", "node"} {
		script := "#!/bin/sh\nexec node\n"
		if name == "node" {
			script = "#!/bin/sh\necho fine\n"
		}
		testkit.OK(t, os.WriteFile(filepath.Join(tools, name), []byte(script), 0o700))
	}
	accepted := func() error { return nil }
	for purpose, name := range map[Purpose]string{Driver: "agent", Git: "git", Reader: "rg", ProjectServer: "node", ProjectHook: "node"} {
		env := []string{"PATH=bin:./bin::" + filepath.Join(project, "bin") + ":" + tools}
		cmd := testkit.Must(Command(t.Context(), Program{Purpose: purpose, Check: accepted, Command: sandbox.Command{Dir: project, Env: env, Args: []string{name}}}))(t)
		if out, err := cmd.CombinedOutput(); string(out) != "fine\n" || cmd.Dir != project {
			t.Errorf("%s in %s: %q %v", purpose, cmd.Dir, out, err)
		}
		var said strings.Builder
		process := testkit.Must(Start(t.Context(), Program{Purpose: purpose, Check: accepted, Command: sandbox.Command{Dir: project, Env: env, Args: []string{name}, Output: &said}}))(t)
		if _, err := process.Wait(); err != nil || said.String() != "fine\n" {
			t.Errorf("%s: %q %v", purpose, said.String(), err)
		}
		testkit.Attack(t, "programs", "PATH with folders of the project for "+string(purpose))
	}
}

// Where the home is in the project, the user's own tools stay on PATH, and the empty folder is outside.
func TestAProjectThatHoldsTheHome(t *testing.T) {
	project := hostile(t, nil)
	t.Setenv("HOME", filepath.Join(project, "home"))
	bin := filepath.Join(project, "home", "bin")
	env := outsideOf(project, []string{"PATH=" + bin + ":" + filepath.Join(project, "bin") + "::."})
	if !slices.Contains(env, "PATH="+bin) {
		t.Errorf("%q", env)
	}
	if dir, err := NeutralFolder(project); err != nil || isWithin(project, dir) {
		t.Errorf("%s %v", dir, err)
	}
	if env := outsideOf("/", []string{"PATH=/usr/bin:/bin"}); !slices.Contains(env, "PATH=/usr/bin:/bin") {
		t.Errorf("a project at the root: %q", env)
	}
}

func TestNothingStartsUnchecked(t *testing.T) {
	refused := errors.New("refused")
	cmd := sandbox.Command{Args: []string{"true"}, Dir: t.TempDir()}
	for _, purpose := range []Purpose{Driver, ProjectServer, ProjectHook} {
		if _, err := Start(t.Context(), Program{Purpose: purpose, Command: cmd}); !fault.Is(err, fault.Failed) {
			t.Errorf("%s: %v", purpose, err)
		}
		if _, err := Start(t.Context(), Program{Purpose: purpose, Command: cmd, Check: func() error { return refused }}); !errors.Is(err, refused) {
			t.Errorf("%s: %v", purpose, err)
		}
		testkit.Attack(t, "programs", "unchecked: "+string(purpose))
	}
	if _, err := Command(t.Context(), Program{Purpose: "something new", Command: cmd}); !fault.Is(err, fault.Failed) {
		t.Errorf("a purpose without a rule: %v", err)
	}
}

// What a driver obeys, the sandbox's guard looks after too: no confined command leaves such a file.
func TestTheGuardKnowsWhatDriversObey(t *testing.T) {
	for _, r := range Rows() {
		if len(r.Obeys) == 0 || r.Tried == "" {
			t.Errorf("%s: the row is not whole", r.Program)
		}
		for _, name := range r.Obeys {
			if !r.Neutral && !sandbox.ActsByName(strings.TrimSuffix(name, "/")+map[bool]string{true: "/x"}[strings.HasSuffix(name, "/")]) {
				t.Errorf("%s obeys %s, and the guard does not know it", r.Program, name)
			}
		}
	}
}

func TestRowsAreFoundByVersion(t *testing.T) {
	const pack = "@agentclientprotocol/claude-agent-acp"
	for _, c := range []struct {
		program, pack, version string
		off                    bool
	}{
		{"claude", pack, "0.49.0", true}, {"claude", pack, "0.52.3", true}, {"claude", pack, "0.48.9", false}, {"claude", pack, "1.0.0", false},
		{"claude", pack, "0.50.0-beta", false}, {"claude", pack, "", false}, {"claude", "evil", "0.49.0", false}, {"codex", "@agentclientprotocol/codex-acp", "2.6.0", false},
	} {
		if row := RowOf(c.program, c.pack, c.version); row.Off != c.off || row.Program != c.program || len(row.Obeys) == 0 {
			t.Errorf("%+v: %+v", c, row)
		}
	}
	if row := RowOf("unheard-of", "", ""); !slices.Equal(row.Obeys, ObeyedNames()) {
		t.Errorf("%+v", row)
	}
}

func TestFilesOfACommandLine(t *testing.T) {
	project := hostile(t, map[string]string{"server.py": "", "pkg/__init__.py": "", "pkg/serve.py": "", "package.json": "{}", "node_modules/.bin/tool": "", "dist/index.js": "", "pyproject.toml": "", "run.sh": "", "notes/a": "", "sub/Makefile": "", "sub/run.sh": ""})
	for line, want := range map[string]string{
		"python3 server.py":    "server.py",
		"python3 -m pkg.serve": "pkg/__init__.py pkg/serve.py",
		"npx -y tool":          "node_modules/.bin/tool package.json",
		"node dist":            "dist/index.js",
		"node ${CLAUDE_PROJECT_DIR}/dist/index.js":    "dist/index.js",
		"node " + project + "/dist/index.js --x":      "dist/index.js",
		"node dist/index":                             "dist/index.js",
		"node file://" + project + "/dist/index.js":   "dist/index.js",
		"make -C sub serve":                           "sub/Makefile",
		"uv run --directory=sub run.sh":               "pyproject.toml run.sh sub/run.sh",
		"uv run --with=x serve":                       "pyproject.toml",
		"tool --config=notes/a":                       "node_modules/.bin/tool notes/a",
		"npx server-filesystem notes ../other /etc/x": "package.json",
	} {
		got := ProjectFiles(project, strings.Fields(line))
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	if got := ProjectFiles(project, []string{"sh", "-c", "cd sub && exec './run.sh' now"}); !slices.Contains(got, "sub/run.sh") {
		t.Errorf("%q", got)
	}
	spaced := filepath.Join(project, "a project")
	testkit.OK(t, errors.Join(os.Mkdir(spaced, 0o700), os.WriteFile(filepath.Join(spaced, "run.sh"), nil, 0o700)))
	for _, line := range []string{`exec "` + spaced + `/run.sh"`, `exec "$RAMET_PROJECT/run.sh"`} {
		if got := ProjectFiles(spaced, []string{"sh", "-c", line}); !slices.Equal(got, []string{"run.sh"}) {
			t.Errorf("%s: %q", line, got)
		}
	}
}

// A link of the project to a program is accepted with the program, which is what starts.
func TestALinkToAProgramIsResolved(t *testing.T) {
	project := hostile(t, map[string]string{"node_modules/x/cli.js": "", "node_modules/.bin/y": "", "evil.js": ""})
	link := filepath.Join(project, "node_modules", ".bin", "x")
	testkit.OK(t, os.Symlink("../x/cli.js", link))
	real := testkit.Must(filepath.EvalSymlinks(link))(t)
	line := []string{"node_modules/.bin/x", "--serve"}
	if got := ProjectFiles(project, line); !slices.Contains(got, "node_modules/.bin/x") || !slices.Contains(got, "node_modules/x/cli.js") {
		t.Errorf("%q", got)
	}
	env := []string{"PATH=" + filepath.Dir(link) + ":/usr/bin:/bin"}
	for _, name := range []string{line[0], "./" + line[0], link, "x"} {
		if path, got := ResolveProgram(project, env, []string{name, "--serve"}); path != real || !slices.Equal(got, []string{real, "--serve"}) {
			t.Errorf("%s: %q %q", name, path, got)
		}
	}
	for _, name := range []string{"sh", "missing", "/bin/sh"} {
		if path, got := ResolveProgram(project, env, []string{name}); path != "" || !slices.Equal(got, []string{name}) {
			t.Errorf("%s: %q %q", name, path, got)
		}
	}
}

// A link of a virtual environment leads to an interpreter elsewhere, which starts under the name of the
// link. It counts among the files of the project, also if PATH or the first line of a script names it.
func TestALinkToAProgramElsewhere(t *testing.T) {
	project := sandbox.RealPath(hostile(t, map[string]string{".venv/bin/tool": ""}))
	other := sandbox.RealPath(t.TempDir())
	link, interpreter := filepath.Join(project, ".venv", "bin", "python"), filepath.Join(other, "python")
	testkit.OK(t, errors.Join(os.WriteFile(interpreter, []byte("#!/bin/sh\n"), 0o700), os.Symlink(interpreter, link), os.WriteFile(filepath.Join(project, ".venv/bin/tool"), []byte("#!"+link+" -E\n"), 0o700)))
	t.Setenv("PATH", filepath.Dir(link)+":/usr/bin:/bin")
	for _, name := range []string{".venv/bin/python", link, "python"} {
		if path, line := ResolveProgram(project, os.Environ(), []string{name, "x"}); path != interpreter || !slices.Equal(line, []string{link, "x"}) {
			t.Errorf("%s: %q %q", name, path, line)
		}
		if got := ProjectFiles(project, []string{name, "x"}); !slices.Equal(got, []string{".venv/bin/python"}) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := ProjectFiles(project, []string{"tool"}); !slices.Equal(got, []string{".venv/bin/tool", ".venv/bin/python"}) {
		t.Errorf("%q", got)
	}
	t.Setenv("HOME", project) // then these are the user's own
	if path, line := ResolveProgram(project, os.Environ(), []string{"python"}); path != "" || line[0] != "python" {
		t.Errorf("%q %q", path, line)
	}
}

func permit(t *testing.T, names ...string) {
	t.Helper()
	was := permitted.Load()
	t.Cleanup(func() { permitted.Store(was) })
	testkit.OK(t, PermitVariables(names))
}

func TestOnlyWhatIsKnownOrNamedIsHandedOn(t *testing.T) {
	env := []string{
		"PATH=/bin", "AWS_SECRET_ACCESS_KEY=x", "LC_ALL=C", "LC_=", "NPM_TOKEN=x", "DATABASE_URL=postgres://u:p@h/d", "PGPASSWORD=x", "SSH_AUTH_SOCK=/run/a",
		"GITHUB_TOKEN=x", "ANTHROPIC_API_KEY=x", "RAMET_DB=x", "=C:=C:\\", "noequals", "GOFLAGS=-mod=mod", "HTTPS_PROXY=http://u:p@proxy:1", "http_proxy=http://proxy:1/a@b",
		"GOPROXY=https://a.example|https://token@b.example", "PATHS=x", "PAT=x", "VAULT_ADDR=https://u@v", "VAULT_TOKEN=x", "path=x",
	}
	check := func(got []string, want string) {
		t.Helper()
		if strings.Join(got, " ") != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	const plain = "PATH=/bin LC_ALL=C LC_= GOFLAGS=-mod=mod http_proxy=http://proxy:1/a@b"
	check(EnvironmentFor(env), plain)
	check(ReachingVariables(env), "PATH=/bin LC_ALL=C LC_= SSH_AUTH_SOCK=/run/a GOFLAGS=-mod=mod http_proxy=http://proxy:1/a@b")
	permit(t, "VAULT_*", "HTTPS_PROXY")
	check(EnvironmentFor(env), plain[:len("PATH=/bin LC_ALL=C LC_= GOFLAGS=-mod=mod")]+" HTTPS_PROXY=http://u:p@proxy:1 http_proxy=http://proxy:1/a@b VAULT_ADDR=https://u@v VAULT_TOKEN=x")
}

// No word that stands for a secret is in the tables.
func TestTheTablesNameNoSecret(t *testing.T) {
	for _, name := range slices.Concat(work, reach) {
		for _, word := range []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "KEY", "CREDENTIAL", "AUTH"} {
			known := name == "SSH_AUTH_SOCK" || name == "XAUTHORITY" || name == "PASSWORD_STORE_DIR" || strings.HasPrefix(name, "GIT_AUTHOR")
			if strings.Contains(strings.ToUpper(name), word) && !known {
				t.Errorf("%s sounds like a secret", name)
			}
		}
	}
}

func TestNamesAreChecked(t *testing.T) {
	for _, bad := range []string{"", "*", "A=b", "A B", "1A", "A**", "A\n", "ä"} {
		if err := PermitVariables([]string{"GOOD", bad}); !fault.Is(err, fault.InvalidConfig) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if permitted.Load() != nil {
		t.Error("a refused list was taken")
	}
}
