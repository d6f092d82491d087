package app_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/core/config"
	"ramet/internal/testkit"
)

// What a home holds today that lets one act as the user is read neither by confined commands nor by file tools, where the
// workspace is the home, too; programs whose files are hidden do their usual work.
func TestLoginsAndProfilesAreHidden(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "npm")
	base := t.TempDir()
	home := filepath.Join(base, "home")
	put := func(path, text string) {
		testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}
	var named []string
	for _, place := range strings.Fields(`.kube/config .docker/config.json .npmrc .pypirc .cargo/credentials.toml .cargo/credentials .config/gcloud/credentials.db .azure/msal_token_cache.json
		.git-credentials .claude/.credentials.json .codex/auth.json .password-store/bank.gpg .local/share/keyrings/login.keyring .local/share/kwalletd/kdewallet.kwl .config/Bitwarden/data.json
		.config/op/config .mozilla/firefox/a.default/logins.json .config/google-chrome/Default/Cookies .config/chromium/Default/Cookies .config/BraveSoftware/x/Cookies .config/microsoft-edge/Default/Cookies
		.var/app/org.mozilla.firefox/.mozilla/x .var/app/com.google.Chrome/config/x snap/firefox/common/x snap/chromium/common/x .ssh/id .aws/credentials`) {
		put(filepath.Join(home, place), "//registry.example.com/:_authToken=SECRET-"+place+"\n")
		named = append(named, place)
	}
	// A file that is kept elsewhere, with a link to it.
	put(filepath.Join(home, "dotfiles", "pgpass"), "SECRET-linked\n")
	testkit.OK(t, os.Symlink(filepath.Join("dotfiles", "pgpass"), filepath.Join(home, ".pgpass")))
	put(filepath.Join(home, "project", "package.json"), `{"name": "a", "version": "1.0.0", "scripts": {"hello": "echo it-ran"}}`)

	var script strings.Builder
	fmt.Fprintln(&script, wants("", "grep -rs SECRET- ~ | sort; cat ~/.npmrc; cd "+filepath.Join(home, "project")+" && npm run --silent hello && npm install --offline --no-audit --no-fund --silent && echo installed"))
	for _, place := range append(named, ".pgpass") {
		fmt.Fprintf(&script, `{"when": "", "steps": [{"call": "read", "args": {"path": %q}}]}`+"\n", place)
	}
	fmt.Fprintln(&script, `{"when": "", "steps": [{"call": "grep", "args": {"pattern": "SECRET-"}}]}`)
	fmt.Fprintln(&script, `{"when": "", "steps": [{"text": "done"}]}`)
	put(filepath.Join(base, "script"), script.String())

	s := newStage(t, binary(t))
	s.dir, s.db = home, filepath.Join(base, "db", "ramet.db")
	testkit.OK(t, os.Mkdir(filepath.Dir(s.db), 0o700))
	in := func(args ...string) *exec.Cmd {
		cmd := s.command(args...)
		cmd.Env = append(cmd.Env, "HOME="+home, "RAMET_PERMISSION=sandbox", "XDG_CONFIG_HOME="+filepath.Join(base, "config"))
		return cmd
	}
	if got := outcomeOf(in("exec", "--model", "script/"+filepath.Join(base, "script"), "go")); got.code != 0 {
		t.Fatalf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	log := outcomeOf(in("log", "0")).stdout
	for _, want := range []string{"it-ran", "installed"} {
		if !strings.Contains(log, want) {
			t.Errorf("npm did not do its work (%s):\n%.3000s", want, log)
		}
	}
	for _, place := range append(named, "linked") {
		if strings.Contains(log, "SECRET-"+place) {
			t.Errorf("it was read: %s", place)
		}
		testkit.Attack(t, "hidden", "grep ~ and read "+place)
	}
	if t.Failed() {
		t.Logf("%.6000s", log)
	}
	// Each place of the default is a path that a home can have.
	for _, place := range config.Items(strings.TrimSpace(outcomeOf(in("config", "get", "hide")).stdout)) {
		if !strings.HasPrefix(place, "~/") {
			t.Errorf("%q is hidden", place)
		}
	}
}
