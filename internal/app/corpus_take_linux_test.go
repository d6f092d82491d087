package app_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// take brings the files of a project into a folder, unless they are there.
func (p project) take(t *testing.T, dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	part := dir + ".part"
	if err := errors.Join(os.RemoveAll(part), os.MkdirAll(part, 0o755)); err != nil {
		return err
	}
	err := map[string]func(*testing.T, string) error{"npm": p.fromNPM, "go": p.fromGo, "debian": p.fromDebian}[p.from](t, part)
	if err == nil {
		// What is a repository there is none here.
		err = errors.Join(os.RemoveAll(filepath.Join(part, ".git")), os.Rename(part, dir))
	}
	os.RemoveAll(part)
	return err
}

func shell(t *testing.T, dir, line string, args ...string) (string, error) {
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{"-c", line, "sh"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %.300s", err, out)
	}
	return string(out), nil
}

func (p project) fromNPM(t *testing.T, dir string) error {
	_, err := shell(t, dir, `set -e; f=$(npm pack --silent "$1"); tar xzf "$f" --strip-components=1; rm -f "$f"`, p.name)
	return err
}

func (p project) fromGo(t *testing.T, dir string) error {
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", p.name+"@latest")
	cmd.Dir = dir // outside of any module
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	var got struct{ Dir string }
	if err := json.Unmarshal(out, &got); err != nil || got.Dir == "" {
		return fmt.Errorf("go mod download says %.200s", out)
	}
	_, err = shell(t, dir, `cp -r "$1"/. . && chmod -R u+w .`, got.Dir)
	return err
}

// suites are tried in turn: a mirror may have lost some of its files.
var suites = []string{"sid", "trixie", "bookworm", "bullseye"}

func (p project) fromDebian(t *testing.T, dir string) error {
	lists := filepath.Join(filepath.Dir(dir), "apt")
	if err := os.MkdirAll(filepath.Join(lists, "lists", "partial"), 0o755); err != nil {
		return err
	}
	var sources strings.Builder
	for _, s := range suites {
		fmt.Fprintf(&sources, "deb-src http://deb.debian.org/debian %s main\n", s)
	}
	list := filepath.Join(lists, "sources.list")
	if _, err := os.Stat(list); err != nil {
		if err := os.WriteFile(list, []byte(sources.String()), 0o644); err != nil {
			return err
		}
		if _, err := shell(t, lists, apt(lists)+` -qq update`); err != nil {
			os.Remove(list)
			return err
		}
	}
	for _, s := range suites {
		shell(t, dir, apt(lists)+` -qq source --download-only "$1/$2"`, p.name, s) // whatever of it is there
		if _, err := shell(t, dir, `set -e; f=$(ls *.orig.tar.* | grep -v asc | head -1); mkdir ../unpack.$$; tar xf "$f" -C ../unpack.$$ --strip-components=1; rm -rf ./*; cp -a ../unpack.$$/. .; rm -rf ../unpack.$$`); err == nil {
			return nil
		}
	}
	return fmt.Errorf("no suite has the source of %s", p.name)
}

// apt is apt-get with lists of its own.
func apt(dir string) string {
	o := ""
	for _, one := range []string{"Dir::Etc::sourcelist=" + dir + "/sources.list", "Dir::Etc::sourceparts=-", "Dir::State=" + dir, "Dir::State::lists=" + dir + "/lists",
		"Dir::Cache=" + dir + "/cache", "APT::Sandbox::User=root", "Dir::Etc::trustedparts=/usr/share/keyrings"} {
		o += " -o '" + one + "'"
	}
	return "apt-get" + o
}
