package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/seal"
	"ramet/internal/face/cli"
)

// small is a program with the variables of ramet's, so that what is tested is all but the
// size: two files and no module of others.
var small = map[string]string{
	"go.mod":                 "module ramet\n\ngo 1.26\n",
	"cmd/ramet/main.go":      "package main\n\nimport \"ramet/internal/app\"\n\nfunc main() { println(app.Say()) }\n",
	"internal/app/about.go":  "package app\n\nvar version, commit, date, modified string\n\nfunc Say() string { return version + \" \" + commit + \" \" + date + \" \" + modified }\n",
	"LICENSE":                "free\n",
	"README.md":              "# small\n",
	"CHANGELOG.md":           "# changes\n",
	"not-in-the-release.txt": "no\n",
	dist + "/LICENSES.txt":   "The page holds these libraries:\n\n  some-lib 4.5.6 (MIT)\n  @of/other 7.8.9 ((MPL-2.0 OR Apache-2.0))\n\n====\nsome-lib 4.5.6\n\ntext\n",
}

// released makes a release of the small program in a new folder.
func released(t *testing.T, keyFile string) string {
	t.Helper()
	source := t.TempDir()
	for name, text := range small {
		path := filepath.Join(source, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	r := &Release{Source: source, Out: filepath.Join(t.TempDir(), "out"), Version: "1.2.3-rc.1", KeyFile: keyFile,
		Home: "https://example.com/ramet", Platforms: []string{"linux/amd64", "darwin/arm64", "windows/amd64"},
		Stamp: Stamp{Commit: "abc", Date: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}}
	if err := r.Make(); err != nil {
		t.Fatal(err)
	}
	return r.Out
}

func TestARelease(t *testing.T) {
	keyFile := filepath.Join(t.TempDir(), "key")
	key, err := seal.LoadKey(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	out := released(t, keyFile)
	list := read(t, out, sums)

	t.Run("another folder makes the same bytes", func(t *testing.T) {
		if again := read(t, released(t, keyFile), sums); again != list {
			t.Errorf("checksums differ:\n%s\n%s", list, again)
		}
	})
	t.Run("the checksums are those of the files, all of them, and signed", func(t *testing.T) {
		text, err := seal.Open([]byte(read(t, out, sums+".note")), key.Verifier())
		if err != nil || text != list {
			t.Errorf("the note: %v\n%s", err, text)
		}
		lines := strings.Split(strings.TrimSpace(list), "\n")
		entries, err := os.ReadDir(out)
		if err != nil || len(entries) != len(lines)+2 {
			t.Errorf("%d files and %d checksums, %v", len(entries), len(lines), err)
		}
		for _, line := range lines {
			sum, name, _ := strings.Cut(line, "  ")
			if got := fmt.Sprintf("%x", sha256.Sum256([]byte(read(t, out, name)))); got != sum {
				t.Errorf("%s has %s, not %s", name, got, sum)
			}
		}
	})
	t.Run("a changed file is found", func(t *testing.T) { changed(t, out, key.Verifier()) })
	t.Run("the archive", func(t *testing.T) { theArchive(t, out) })
	t.Run("the archive of Windows", func(t *testing.T) { theZip(t, out) })
	t.Run("the image with git", func(t *testing.T) { theImageWithGit(t, out) })
	t.Run("the package of Debian", func(t *testing.T) { theDeb(t, out) })
	t.Run("the package of Alpine", func(t *testing.T) { theApk(t, out) })
	t.Run("the image", func(t *testing.T) { theImage(t, out) })
	t.Run("the list of what is linked", func(t *testing.T) {
		var bill struct {
			BOMFormat  string
			Components []component
		}
		if err := json.Unmarshal([]byte(read(t, out, "ramet-1.2.3-rc.1.cdx.json")), &bill); err != nil {
			t.Fatal(err)
		}
		if bill.BOMFormat != "CycloneDX" || len(bill.Components) != 3 || bill.Components[0].Name != "std" ||
			bill.Components[1].PURL != "pkg:npm/%40of/other@7.8.9" || bill.Components[2].PURL != "pkg:npm/some-lib@4.5.6" {
			t.Errorf("the bill is %+v", bill)
		}
	})
	t.Run("the formula names each archive with its checksum", func(t *testing.T) {
		text := read(t, out, "ramet.rb")
		for line := range strings.SplitSeq(list, "\n") {
			if sum, name, _ := strings.Cut(line, "  "); strings.HasSuffix(name, ".tar.gz") &&
				!(strings.Contains(text, name) && strings.Contains(text, `sha256 "`+sum+`"`)) {
				t.Errorf("no %s in\n%s", name, text)
			}
		}
	})
	t.Run("npm", func(t *testing.T) {
		main := untar(t, out, "ramet-1.2.3-rc.1.tgz")
		if about := main["package/package.json"]; !strings.Contains(about, `"ramet-linux-x64": "1.2.3-rc.1"`) || strings.Contains(about, "install\"") {
			t.Errorf("package.json is %s", about)
		}
		if untar(t, out, "ramet-darwin-arm64-1.2.3-rc.1.tgz")["package/bin/ramet"] == "" {
			t.Error("no program in the package of darwin")
		}
		if win := untar(t, out, "ramet-win32-x64-1.2.3-rc.1.tgz"); win["package/bin/ramet.exe"] == "" || !strings.Contains(win["package/package.json"], `"win32"`) {
			t.Error("no program in the package of Windows")
		}
	})
}

func TestWhatEachModuleWeighs(t *testing.T) {
	source := t.TempDir()
	for name, text := range small {
		path := filepath.Join(source, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	var said strings.Builder
	r := &Release{Source: source}
	if err := r.weigh(&said, "linux/amd64", t.TempDir()); err != nil || !regexp.MustCompile(`(?s)\| .std. \| go\S+ \| [1-9]\d+ \|.*\n0 modules besides`).MatchString(said.String()) {
		t.Errorf("%v\n%s", err, said.String())
	}
	all := []module{{Path: "example.com/a"}, {Path: "example.com/a/b"}, {Path: "example.com/yaml.v3"}, {Path: "std"}}
	for symbol, want := range map[string]string{
		"example.com/a.F": "example.com/a", "example.com/a/b/c.(*T).M": "example.com/a/b", "example.com/ab.F": "std", "fmt.Println": "std",
		"example.com/yaml%2ev3.Load": "example.com/yaml.v3", "ramet/internal/app.Say": "ramet", "type:.eq.example.com/a.T": "example.com/a",
	} {
		if got := r.owner(symbol, all); got != want {
			t.Errorf("%s is of %s, not %s", symbol, got, want)
		}
	}
}

// changed checks a download of two files as a person would.
func changed(t *testing.T, out, verifier string) {
	dir := t.TempDir()
	if _, err := check(out, verifier); err != nil {
		t.Error(err)
	}
	for _, name := range []string{sums + ".note", "ramet.rb"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(read(t, out, name)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := check(dir, verifier); n != 1 || err != nil {
		t.Errorf("%d files, %v", n, err)
	}
	other, err := seal.LoadKey(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := check(dir, other.Verifier()); err == nil {
		t.Error("another's key was good")
	}
	if err := os.WriteFile(filepath.Join(dir, "ramet.rb"), []byte("changed"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := check(dir, verifier); err == nil || !strings.Contains(err.Error(), "ramet.rb is not what was released") {
		t.Errorf("changed: %v", err)
	}
}

func theArchive(t *testing.T, out string) {
	files := untar(t, out, "ramet-1.2.3-rc.1-linux-amd64.tar.gz")
	const top = "ramet-1.2.3-rc.1-linux-amd64/"
	for _, name := range []string{"bin/ramet", "share/man/man1/ramet.1", "share/man/man1/ramet-run-show.1", "share/doc/ramet/LICENSE",
		"share/doc/ramet/licences/std/LICENSE", "share/doc/ramet/licences/page.txt", "share/bash-completion/completions/ramet", "lib/systemd/user/ramet.service"} {
		if files[top+name] == "" {
			t.Errorf("no %s", name)
		}
	}
	for name := range files {
		if strings.Contains(name, "not-in-the-release") {
			t.Errorf("%s got in", name)
		}
	}
	program := filepath.Join(t.TempDir(), "ramet")
	if err := os.WriteFile(program, []byte(files[top+"bin/ramet"]), 0o755); err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command(program).CombinedOutput()
	if want := "1.2.3-rc.1 abc 2026-01-02T03:04:05Z false\n"; err != nil || string(said) != want {
		t.Errorf("it says %q, not %q; %v", said, want, err)
	}
	if strings.Contains(files[top+"bin/ramet"], filepath.Dir(out)) {
		t.Error("the program knows where it was built")
	}
}

func theDeb(t *testing.T, out string) {
	const name = "ramet_1.2.3~rc.1_amd64.deb"
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		read(t, out, name) // at least it is there
		return
	}
	listed, err := exec.Command("dpkg-deb", "--contents", filepath.Join(out, name)).CombinedOutput()
	if err != nil || !regexp.MustCompile(`-rwxr-xr-x root/root .* 2026-01-02 \S+ \./usr/bin/ramet\n`).Match(listed) {
		t.Errorf("%v\n%s", err, listed)
	}
}

// theApk looks at what apk reads first: lines of a name and a value.
func theApk(t *testing.T, out string) {
	made, err := filepath.Glob(filepath.Join(out, "*.apk"))
	if err != nil || len(made) != 1 {
		t.Fatal(made, err)
	}
	about := untar(t, out, filepath.Base(made[0]))[".PKGINFO"]
	if !strings.Contains(about, "pkgname = ramet\npkgver = 1.2.3_rc1\n") {
		t.Errorf("it is %q", about)
	}
	for given, want := range map[string]string{"": "", "rc.12": "rc12", "beta": "beta", "rc.1.2": "rc", "dev": "alpha", "alpha.x": "alpha"} {
		if got := apkSuffix(given); got != want {
			t.Errorf("%q is %q, not %q", given, got, want)
		}
	}
	for line := range strings.Lines(about) {
		if !strings.HasPrefix(line, "#") && !regexp.MustCompile(`^[a-z_]+ = .+\n$`).MatchString(line) {
			t.Errorf("no name and value: %q", line)
		}
	}
}

func theZip(t *testing.T, out string) {
	const name = "ramet-1.2.3-rc.1-windows-amd64"
	z, err := zip.OpenReader(filepath.Join(out, name+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	f, err := z.Open(name + "/bin/ramet.exe")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	head := make([]byte, 2)
	if _, err := io.ReadFull(f, head); err != nil || string(head) != "MZ" {
		t.Errorf("it begins with %q, %v", head, err)
	}
}

// theImageWithGit is made of a package that stands for those of Debian: the one of this release.
func theImageWithGit(t *testing.T, out string) {
	const name = "ramet_1.2.3~rc.1_amd64.deb"
	deb := []byte(read(t, out, name))
	asked := 0
	mirror := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked++; w.Write(deb) }))
	defer mirror.Close()
	r := &Release{Version: "1.2.3", Debian: mirror.URL, Debs: t.TempDir(), Stamp: Stamp{Date: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		Pinned: []pinned{{fmt.Sprintf("%x", sha256.Sum256(deb)), "amd64", "pool/" + name}, {"none", "arm64", "pool/other"}}}
	tree := Tree{{Path: "bin/ramet", Mode: 0o755, Data: []byte("program")}}
	made := [2]string{t.TempDir(), t.TempDir()}
	for _, dir := range made {
		if err := r.images(dir, "linux/amd64", tree); err != nil {
			t.Fatal(err)
		}
	}
	const image = "ramet-1.2.3-linux-amd64-git.oci.tar"
	if asked != 1 || read(t, made[0], image) != read(t, made[1], image) {
		t.Errorf("asked %d times; the images are the same: %t", asked, read(t, made[0], image) == read(t, made[1], image))
	}
	found := false
	for path, data := range untar(t, made[0], image) {
		if strings.HasPrefix(path, "blobs/") && strings.HasPrefix(data, "\x1f\x8b") {
			layer := entries(t, unzip(t, []byte(data)))
			found = found || layer["usr/lib/systemd/user/ramet-worker.service"] != "" && strings.Contains(layer["etc/passwd"], "65532")
		}
	}
	if !found {
		t.Error("the package is in no layer")
	}
	deb = []byte("something else")
	r.Debs = t.TempDir()
	if err := r.images(t.TempDir(), "linux/amd64", tree); err == nil || !strings.Contains(err.Error(), "is not what is pinned") {
		t.Errorf("another package: %v", err)
	}
}

// What is pinned is pinned for every platform that images are made for, and by its sum.
func TestWhatIsPinned(t *testing.T) {
	all, err := debian()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string][]string{}
	for _, p := range all {
		if len(p.Sum) != 64 || !strings.HasPrefix(p.Path, "pool/") || !strings.HasSuffix(p.Path, ".deb") {
			t.Errorf("%+v", p)
		}
		name, _, _ := strings.Cut(filepath.Base(p.Path), "_")
		names[p.Arch] = append(names[p.Arch], name)
	}
	if !slices.Contains(names["amd64"], "git") || !slices.Equal(names["amd64"], names["arm64"]) {
		t.Errorf("%q", names)
	}
}

// theImage follows the layout from its index to the program.
func theImage(t *testing.T, out string) {
	files := untar(t, out, "ramet-1.2.3-rc.1-linux-amd64.oci.tar")
	blob := func(d descriptor) string {
		data := files["blobs/"+strings.ReplaceAll(d.Digest, ":", "/")]
		if got := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(data))); got != d.Digest || len(data) != d.Size {
			t.Fatalf("%s has %d bytes with digest %s", d.Digest, len(data), got)
		}
		return data
	}
	var index struct{ Manifests []descriptor }
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	var config struct {
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		} `json:"rootfs"`
	}
	if err := json.Unmarshal([]byte(files["index.json"]), &index); err != nil || len(index.Manifests) != 1 {
		t.Fatal(err, files["index.json"])
	}
	if err := json.Unmarshal([]byte(blob(index.Manifests[0])), &manifest); err != nil || len(manifest.Layers) != 1 {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(blob(manifest.Config)), &config); err != nil {
		t.Fatal(err)
	}
	plain := unzip(t, []byte(blob(manifest.Layers[0])))
	if got := fmt.Sprintf("sha256:%x", sha256.Sum256(plain)); len(config.RootFS.DiffIDs) != 1 || got != config.RootFS.DiffIDs[0] {
		t.Errorf("the layer is %s, the configuration says %v", got, config.RootFS.DiffIDs)
	}
	if entries(t, plain)["usr/bin/ramet"] == "" {
		t.Error("no program in the layer")
	}
}

func TestWhatIsRefusedLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "there")
	if err := os.Mkdir(there, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*Release{
		"the folder is there": {Source: dir, Out: there},
		"no source":           {Source: filepath.Join(dir, "none"), Out: filepath.Join(dir, "out"), Platforms: []string{"linux/amd64"}},
	} {
		if err := r.Make(); err == nil {
			t.Errorf("%s: it went well", name)
		}
	}
	for _, version := range []string{"v1.2.3", "1.2", "1.2.3+x", "01.2.3"} {
		r := &Release{Source: dir, Version: version, Stamp: Stamp{Commit: "abc"}}
		if err := r.describe("2026-01-02T03:04:05Z"); err == nil {
			t.Errorf("%s is a version", version)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A key that is not there is not made, and a module without a licence is not passed on.
func TestWhatMayNotBePassedOnIsNot(t *testing.T) {
	r := &Release{KeyFile: filepath.Join(t.TempDir(), "key")}
	if err := r.checksums(t.TempDir()); err == nil {
		t.Error("signed without a key")
	}
	if _, err := os.Stat(r.KeyFile); err == nil {
		t.Error("a key was made")
	}
	if _, err := (module{Path: "example.com/x", Dir: t.TempDir()}).licences(); err == nil {
		t.Error("a module without a licence may be passed on")
	}
}

// Every page renders without a warning; groff and mandoc are asked where they are installed.
func TestTheManPagesRender(t *testing.T) {
	tree := manual(cli.Tree(), "1.2.3", time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
	if len(tree) < 50 {
		t.Errorf("only %d pages", len(tree))
	}
	var all bytes.Buffer
	var paths []string
	dir := t.TempDir()
	for _, f := range tree {
		all.Write(f.Data)
		paths = append(paths, filepath.Join(dir, filepath.Base(f.Path)))
		if err := os.WriteFile(paths[len(paths)-1], f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(f.Data) {
			if bytes.ContainsFunc(line, func(r rune) bool { return r > 0x7e }) {
				t.Errorf("%s: no escape for a character of %s", f.Path, line)
			}
		}
	}
	if _, err := exec.LookPath("mandoc"); err == nil {
		if said, err := exec.Command("mandoc", append([]string{"-T", "lint", "-W", "warning"}, paths...)...).CombinedOutput(); err != nil || len(said) > 0 {
			t.Errorf("mandoc: %v\n%s", err, said)
		}
	}
	if _, err := exec.LookPath("groff"); err != nil {
		return
	}
	cmd := exec.Command("groff", "-man", "-Tutf8", "-ww", "-rLL=200n", "-z")
	cmd.Stdin = &all
	if said, err := cmd.CombinedOutput(); err != nil || len(said) > 0 {
		t.Errorf("groff: %v\n%s", err, said)
	}
}

func TestRoffMeansOnlyItself(t *testing.T) {
	for in, want := range map[string]string{
		".TH x": `\&.TH x`, "'quoted": `\(aqquoted`, `a\b`: `a\eb`, "--db": `\-\-db`,
	} {
		if got := roff(in); got != want {
			t.Errorf("%s becomes %s, not %s", in, got, want)
		}
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func untar(t *testing.T, dir, name string) map[string]string {
	t.Helper()
	data := []byte(read(t, dir, name))
	if !strings.HasSuffix(name, ".tar") {
		data = unzip(t, data)
	}
	return entries(t, data)
}

func unzip(t *testing.T, data []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

func entries(t *testing.T, data []byte) map[string]string {
	t.Helper()
	all := map[string]string{}
	for in := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		all[h.Name] = string(text)
	}
}
