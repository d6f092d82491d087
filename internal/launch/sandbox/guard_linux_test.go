package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

// guarded is a room whose names are looked after.
func (r room) guarded() *Box {
	b := r.box()
	b.Guard, b.Guarded = filepath.Join(r.home, "quarantine"), b.Write
	return b
}

// planted are ways to let the user's next program run something. Each would touch the
// file ran, beside the root.
var planted = []string{
	`git init -q new; git -C new config core.fsmonitor "touch $RAN"`,
	`mkdir -p a/b; cd a/b; git init -q .; git config core.fsmonitor "touch $RAN"`,
	`mkdir -p a/b; cd a/b; git init -q .; printf '#!/bin/sh\ntouch $RAN' > .git/hooks/post-checkout; chmod 700 .git/hooks/post-checkout`,
	`mkdir objects refs; echo 'ref: refs/heads/main' > HEAD; mkdir sub; mv HEAD objects refs sub; printf '[core]\n\tfsmonitor = touch %s\n' $RAN > sub/config`,
	`mkdir -p sub/.ramet; echo 'permission = "sandbox"' > sub/.ramet/config.toml`,
	`echo "touch $RAN" > .envrc`, `mkdir sub; echo "touch $RAN" > sub/.envrc`, `echo '* filter=evil' > .gitattributes`,
	`mkdir .vscode; echo '{"tasks":[]}' > .vscode/tasks.json`, `mkdir -p sub/.vscode; echo '{"tasks":[]}' > sub/.vscode/tasks.json`,
	`echo '{"mcpServers":{}}' > .mcp.json`, `mkdir -p sub/.claude; echo '{}' > sub/.claude/settings.json`, `mkdir -p sub/.agents/agents; echo x > sub/.agents/agents/a.md`, `mkdir -p sub; echo x > sub/.bashrc`,
	`printf 'save-exact=true\nscript-shell=%s\n' ./evil > .npmrc`, `echo 'node-options=--require ./evil.js' > .npmrc`, `echo '//registry.example.com/:_authToken=${TOKEN}' > .npmrc`, `ln -s evil .npmrc`,
	`echo 'yarnPath: ./evil.cjs' > .yarnrc.yml`, `mkdir sub; echo 'yarn-path "./evil.js"' > sub/.yarnrc`, `echo 'module.exports = {}' > .pnpmfile.cjs`, `echo 'build --workspace_status_command=./evil' > .bazelrc`,
	`echo evil/1.0 > .bazelversion`, `printf '[build]\nrustc-wrapper = "./evil"\n' > config.toml; mkdir .cargo; mv config.toml .cargo`, `mkdir -p sub/.cargo; printf '[env]\nLD_PRELOAD = "x"\n' > sub/.cargo/config`,
	`mkdir conf; echo 'build.rustc-wrapper = "./evil"' > conf/config.toml; ln -s conf .cargo`, `mkdir .cargo; printf '[alias]\nfmt = "run --config x"\n' > .cargo/config.toml`,
	`mkdir .hg; printf '[hooks]\nupdate = ./evil\n' > .hg/hgrc`, `mkdir .hg; echo ../other > .hg/sharedpath`, `mkdir .hg; printf '[paths]\ndefault = ssh://-oProxyCommand=x\n' > .hg/hgrc`,
	`printf '[env]\n_.source = "evil.sh"\n' > .mise.toml`, `printf '[tools]\nnode = "path:./evil"\n' > mise.toml`, `echo 'node path:./evil' > .tool-versions`, `mkdir .mvn; echo '<extensions/>' > .mvn/extensions.xml`,
	`echo 'os.system("x")' > .pdbrc`, `mkdir .helix; echo x > .helix/languages.toml`,
	`mkdir -p deep/shut; echo "touch $RAN" > deep/shut/.envrc; chmod 0 deep/shut deep`,
}

func TestNothingThatOthersExecuteIsLeftBehind(t *testing.T) {
	for _, script := range planted {
		r := newRoom(t)
		ran := r.outside + "/ran"
		c := sh(r.root, script, "RAN="+ran, "HOME="+r.outside)
		c.Confine = r.guarded()
		got, out := run(t, c)
		if got.ExitCode != 0 || !strings.Contains(got.Notes, " was moved to "+r.home+"/quarantine/") {
			t.Errorf("%s: %+v %s", script, got, out)
		}
		// What the user does next.
		user := exec.Command("sh", "-c", `for d in . $(find . -name .git -prune -o -type d -print); do (cd "$d" && git status; test -e .envrc && . ./.envrc); done; true`)
		user.Dir = r.root
		user.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
		user.CombinedOutput()
		if _, err := os.Lstat(ran); err == nil {
			t.Errorf("%s: it ran", script)
		}
		testkit.Attack(t, "used", script)
	}
}

// What had such a name before is read-only, wherever it is.
func TestWhatOthersExecuteCannotBeChanged(t *testing.T) {
	r := newRoom(t)
	for name, text := range map[string]string{"sub/deep/.git/config": "[core]\n", "sub/.envrc": "x", ".vscode/tasks.json": "{}", "sub/.mcp.json": "{}", ".agents/agents/a.md": "x", "hooks/pre-commit": "x", ".npmrc": "save-exact=true\n", "sub/.cargo/config.toml": "[build]\n", "sub/.hg/hgrc": "[paths]\n"} {
		at := filepath.Join(r.root, name)
		testkit.OK(t, os.MkdirAll(filepath.Dir(at), 0o755))
		testkit.OK(t, os.WriteFile(at, []byte(text), 0o644))
	}
	testkit.OK(t, os.WriteFile(r.root+"/.git/config", []byte("[core]\n\thooksPath = hooks\n"), 0o644))
	for _, script := range []string{
		"echo x > sub/deep/.git/config", "rm -r sub/deep/.git", "mv sub/deep/.git x", "echo x >> sub/.envrc", "rm sub/.envrc", "mv file sub/.envrc", "ln sub/.envrc x",
		"echo x > .vscode/new", "echo x > .vscode/tasks.json", "echo x > sub/.mcp.json", "echo x > .agents/agents/a.md", "echo x > .agents/new", "echo x > hooks/pre-commit", "echo x > hooks/new", "mv hooks x",
		"echo script-shell=x >> .npmrc", "rm .npmrc", "echo x >> sub/.cargo/config.toml", "echo x >> sub/.hg/hgrc",
	} {
		c := sh(r.root, script)
		c.Confine = r.guarded()
		if got, out := run(t, c); got.ExitCode == 0 || got.Notes != "" {
			t.Errorf("%s: %+v %s", script, got, out)
		}
		testkit.Attack(t, "kept", script)
	}
	// A folder around it may move; what is made at its old place is new.
	c := sh(r.root, "mv sub other; mkdir sub; echo evil > sub/.envrc")
	c.Confine = r.guarded()
	got, out := run(t, c)
	if got.ExitCode != 0 || strings.Count(got.Notes, "\n") != 0 || !strings.HasPrefix(got.Notes, "sub/.envrc was moved to ") {
		t.Errorf("%+v %s", got, out)
	}
	if text, err := os.ReadFile(r.root + "/other/.envrc"); string(text) != "x" {
		t.Error(string(text), err)
	}
}

func TestNewProjectsStay(t *testing.T) {
	for _, script := range []string{
		"git init -q new; cd new; echo x > a; git add a; git -c user.name=x -c user.email=x commit -q -m x; git status",
		"git init -q from; git -C from -c user.name=x -c user.email=x commit -q --allow-empty -m x; git clone -q from new; git -C new log",
		// What cargo new and npm create make, byte for byte where it matters.
		`mkdir -p new/src new/.git/hooks new/.git/info new/.git/objects/pack new/.git/refs/heads; printf '[core]\n\tbare = false\n\trepositoryformatversion = 0\n\tfilemode = true\n\tlogallrefupdates = true\n' > new/.git/config
		 echo 'ref: refs/heads/master' > new/.git/HEAD; echo '#!/bin/sh' > new/.git/hooks/README.sample; echo /target > new/.gitignore; touch new/Cargo.toml`,
		`mkdir -p new/.vscode new/src; echo '{"recommendations":[]}' > new/.vscode/extensions.json; printf '* text=auto eol=lf\n' > new/.gitattributes; echo 'engine-strict=true' > new/.npmrc; echo '{}' > new/package.json`,
		// Settings that run nothing.
		`mkdir -p new/.cargo/registry new/.hg new/.mvn/wrapper; printf '; saved\nsave-exact=true\nregistry=https://registry.npmjs.org/\npublic-hoist-pattern[]=*eslint*\n' > new/.npmrc
		 printf '# yarn\nnodeLinker: node-modules\n' > new/.yarnrc.yml; printf 'common --enable_bzlmod\ntest --test_output=errors\n' > new/.bazelrc; echo 7.4.1 > new/.bazelversion
		 printf '[alias]\nxtask = "run --package xtask --"\n[build]\njobs = 4\n' > new/.cargo/config.toml; echo x > new/.cargo/registry/config.json
		 printf '[paths]\ndefault = https://example.com/repo\n' > new/.hg/hgrc; printf '[tools]\nnode = "20"\n' > new/mise.toml; printf 'nodejs 20.1.0 18.0.0\nruby 3.2.1\n' > new/.tool-versions; touch new/.mvn/wrapper/maven-wrapper.properties`,
		`mkdir new; cd new; echo '{"name":"a","version":"1.0.0"}' > package.json; echo 'save-exact=true' > .npmrc; npm install --silent --offline --no-audit --no-fund; npm ci --silent --offline --no-audit --no-fund; test -e package-lock.json`,
	} {
		r := newRoom(t)
		c := sh(r.root, "set -e; "+script, "HOME="+r.outside)
		c.Confine = r.guarded()
		if got, out := run(t, c); got.ExitCode != 0 || got.Notes != "" {
			t.Errorf("%s: %+v %s", script, got, out)
		}
		if _, err := os.Stat(r.root + "/new"); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(r.home + "/quarantine"); err == nil {
			t.Errorf("%s: a quarantine for nothing", script)
		}
	}
}

// Names are looked after also when ramet is killed: its helper does it.
func TestTheSIGKILLOfRametLeavesNothingBehind(t *testing.T) {
	temp, work, home := t.TempDir(), t.TempDir(), t.TempDir()
	mark := "TREE=" + newMark()
	ramet := exec.Command("/proc/self/exe", "guard", mark, work, home)
	ramet.Env = append(os.Environ(), role+"=ramet", "TMPDIR="+temp)
	out := newScreen()
	ramet.Stdout, ramet.Stderr = out, out
	testkit.OK(t, ramet.Start())
	out.await(t, "ready")
	testkit.Must(os.Stat(work + "/a/b/.envrc"))(t)
	ramet.Process.Kill()
	ramet.Wait()
	eventually(t, "the temporary folder is gone", func() bool { // which is the helper's last deed
		left, err := os.ReadDir(temp)
		return err == nil && len(left) == 0
	})
	for _, name := range []string{"a/b/.envrc", "a/repo/.git"} {
		if _, err := os.Lstat(filepath.Join(work, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
		if found, err := filepath.Glob(filepath.Join(home, "quarantine", "*", "files", name)); err != nil || len(found) != 1 {
			t.Errorf("%s is not in quarantine: %v %v", name, found, err)
		}
		testkit.Attack(t, "killed", name)
	}
}

// A command that runs for long does not keep what others execute until its end.
func TestNamesAreLookedAfterMeanwhile(t *testing.T) {
	r := newRoom(t)
	c := sh(r.root, "mkdir sub; echo x > sub/.envrc; while test -e sub/.envrc; do sleep 0.02; done; echo gone")
	c.Confine = r.guarded()
	got, out := run(t, c)
	if got.ExitCode != 0 || out != "gone\n" || !strings.HasPrefix(got.Notes, "sub/.envrc was moved to ") || strings.Contains(got.Notes, "\n") {
		t.Errorf("%+v %q", got, out)
	}
	testkit.Attack(t, "names", "sub/.envrc while the command runs")
}
