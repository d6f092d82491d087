package config

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ramet/internal/fault"
)

var acting = []string{".ramet/config.toml", "AGENTS.md", ".ramet/hooks/start"}

// folder is a home and a project with one acting file.
func folder(t *testing.T) (home, dir string) {
	t.Helper()
	home, dir = filepath.Join(t.TempDir(), "home"), t.TempDir()
	write(t, filepath.Join(dir, "AGENTS.md"), "Be kind.\n")
	return home, dir
}

func expectTrust(t *testing.T, what, home, dir string, want bool) {
	t.Helper()
	if got, err := Trusted(home, dir, acting); err != nil || got != want {
		t.Errorf("%s: trusted %v, %v", what, got, err)
	}
}

func TestTrustIsGivenAndTaken(t *testing.T) {
	home, dir := folder(t)
	expectTrust(t, "at first", home, dir, false)
	for range 2 {
		if err := SetTrusted(t.Context(), home, dir, acting); err != nil {
			t.Fatal(err)
		}
	}
	expectTrust(t, "given", home, dir, true)
	if info, err := os.Stat(filepath.Join(home, "trust.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("store %v, %v", info, err)
	}
	for range 2 {
		if err := Revoke(t.Context(), home, dir); err != nil {
			t.Fatal(err)
		}
	}
	expectTrust(t, "taken", home, dir, false)
}

func TestEveryChangeEndsTheTrust(t *testing.T) {
	for name, change := range map[string]func(dir string) error{
		"changed": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte("Be evil.\n"), 0o600)
		},
		"emptied": func(dir string) error { return os.Truncate(filepath.Join(dir, "AGENTS.md"), 0) },
		"removed": func(dir string) error { return os.Remove(filepath.Join(dir, "AGENTS.md")) },
		"added": func(dir string) error {
			return os.Mkdir(filepath.Join(dir, ".ramet"), 0o700)
		},
	} {
		home, dir := folder(t)
		if err := SetTrusted(t.Context(), home, dir, acting); err != nil {
			t.Fatal(err)
		}
		if err := change(dir); err != nil {
			t.Fatal(err)
		}
		if name == "added" {
			expectTrust(t, "an empty folder", home, dir, true)
			write(t, filepath.Join(dir, ".ramet", "config.toml"), "")
		}
		expectTrust(t, name, home, dir, false)
	}
}

func TestOtherFilesDoNotMatter(t *testing.T) {
	home, dir := folder(t)
	if err := SetTrusted(t.Context(), home, dir, acting); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "main.go"), "package main\n")
	expectTrust(t, "other file", home, dir, true)
	again := append([]string{"./AGENTS.md", "missing"}, acting...)
	if ok, err := Trusted(home, dir, again); err != nil || !ok {
		t.Errorf("the same list, longer: %v, %v", ok, err)
	}
}

func TestTrustBelongsToTheRealFolder(t *testing.T) {
	home, dir := folder(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if err := SetTrusted(t.Context(), home, link, acting); err != nil {
		t.Fatal(err)
	}
	expectTrust(t, "by its real name", home, dir, true)

	_, other := folder(t)
	expectTrust(t, "a copy elsewhere", home, other, false)
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	expectTrust(t, "the link, turned", home, link, false)

	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := Trusted(home, dir, acting); !fault.Is(err, fault.NotFound) {
		t.Errorf("gone: %v", err)
	}
	if err := Revoke(t.Context(), home, dir); err != nil {
		t.Error(err)
	}
}

// Moving bytes from a name to a content, or from one file to another, must not
// give the same fingerprint; and the bytes hashed must never change.
func TestTheFingerprint(t *testing.T) {
	dir := t.TempDir()
	print := func(files ...string) string {
		t.Helper()
		sum, err := Fingerprint(dir, files)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	none := print()
	if none != goldenNone || print("a", "b") != none {
		t.Errorf("no files: %s", none)
	}
	write(t, filepath.Join(dir, "a"), "x")
	write(t, filepath.Join(dir, "sub", "b"), "")
	if got := print("sub/b", "a"); got != goldenTwo {
		t.Errorf("two files: %s", got)
	}
	seen := map[string]bool{}
	for _, files := range [][2]string{{"a", "bc"}, {"ab", "c"}, {"abc", ""}} {
		dir = t.TempDir()
		write(t, filepath.Join(dir, files[0]), files[1])
		seen[print(files[0])] = true
	}
	if len(seen) != 3 {
		t.Error("name and content run together")
	}
}

// Computed by another program: the first is SHA-256("ramet trust 1\n").
const (
	goldenNone = "765f6796d30a639d95bec267a34895a10870ca748bd2173937089ced7a6b4f0b"
	goldenTwo  = "bb58909d81225510368855d1ce5636648779eba546c754002e9c9f65266b330b"
)

func TestOddActingFilesAreNotTrusted(t *testing.T) {
	home, dir := folder(t)
	for _, f := range []string{"../x", "/etc/passwd", ""} {
		if _, err := Fingerprint(dir, []string{f}); !fault.Is(err, fault.InvalidConfig) {
			t.Errorf("%q: %v", f, err)
		}
	}
	if err := SetTrusted(t.Context(), home, dir, acting); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "AGENTS.md")
	for name, make := range map[string]func() error{
		"pipe":   func() error { return syscall.Mkfifo(path, 0o600) },
		"folder": func() error { return os.Mkdir(path, 0o700) },
	} {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := make(); err != nil {
			t.Fatal(err)
		}
		if ok, err := Trusted(home, dir, acting); ok || !fault.Is(err, fault.Untrusted) {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
}

func TestADoubtfulStoreIsRefused(t *testing.T) {
	home, dir := folder(t)
	path := filepath.Join(home, "trust.json")
	for name, text := range map[string]string{"empty": "", "cut": `{"version":1,`, "newer": `{"version":2}`, "other": `[]`} {
		write(t, path, text)
		if ok, err := Trusted(home, dir, acting); ok || !fault.Is(err, fault.InvalidConfig) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
		if err := SetTrusted(t.Context(), home, dir, acting); !fault.Is(err, fault.InvalidConfig) {
			t.Errorf("%s: %v", name, err)
		}
		if got, _ := os.ReadFile(path); string(got) != text {
			t.Errorf("%s: overwritten with %q", name, got)
		}
	}
	write(t, path, `{"version":1}`)
	expectTrust(t, "no folders", home, dir, false)
	if err := os.Chmod(path, 0o620); err != nil {
		t.Fatal(err)
	}
	if ok, err := Trusted(home, dir, acting); ok || !fault.Is(err, fault.InvalidConfig) || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("writable by others: %v, %v", ok, err)
	}
}

func TestTrustersDoNotLoseEachOthersFolders(t *testing.T) {
	home, _ := folder(t)
	var dirs []string
	for range 6 {
		_, dir := folder(t)
		dirs = append(dirs, dir)
	}
	var all sync.WaitGroup
	for _, dir := range dirs {
		all.Go(func() {
			if err := SetTrusted(t.Context(), home, dir, acting); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, dir := range dirs {
		expectTrust(t, dir, home, dir, true)
	}
}
