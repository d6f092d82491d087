package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"ramet/internal/face/tui/markdown"
	"ramet/internal/testkit"
)

const sources = "../../../web"

// patience bounds the whole walk through the browser.
const patience = 25 * time.Minute

// TestThePageInABrowser walks through all views in Chromium, in make soak at two sizes: see web/test/walk.mjs.
// RAMET_WEB_SHOTS names a folder for screenshots, which are taken only then, RAMET_WEB_ONLY an expression for the
// names of the tests to run, RAMET_WEB_LATE how late answers may come (see delayed).
func TestThePageInABrowser(t *testing.T) {
	readSources(t)
	testkit.InstallNPM(t, sources)
	node, chromium := testkit.FindNode(t), testkit.Need(t, "chromium")
	plan, err := json.Marshal(map[string]any{
		"ordinary": []string{newFake(t, ordinary), newFake(t, ordinary), newFake(t, ordinary)}, "big": newFake(t, big), "empty": newFake(t, empty), "closed": newFake(t, closed),
		"chromium": chromium, "shots": os.Getenv("RAMET_WEB_SHOTS"), "short": !testkit.SoakOn(), "profile": t.TempDir(), "samples": samples(t), "only": os.Getenv("RAMET_WEB_ONLY"),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	walk := exec.CommandContext(ctx, node, "test/walk.mjs")
	walk.Dir = sources
	walk.Env = append(os.Environ(), "RAMET_WEB_PLAN="+string(plan))
	out, err := walk.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatalf("%s: %v", walk, err)
	}
}

func TestThePageInABrowserSoak(t *testing.T) {
	testkit.SoakOnly(t)
	TestThePageInABrowser(t)
}

// samples are the texts on which the terminal's Markdown is tested, each with what the terminal
// makes of it, without the marks and the addresses that the page shows otherwise.
func samples(t *testing.T) (out []map[string]string) {
	files, err := filepath.Glob("../tui/markdown/testdata/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal("no samples", err)
	}
	unsaid := regexp.MustCompile(`(?m)\(https?://[^\s)]*\)|^[│ ]*\d+\. |^[│ •◦]*╶.*$|\[x\]`)
	for _, file := range files {
		text := testkit.Must(os.ReadFile(file))(t)
		var said strings.Builder
		for _, line := range markdown.Render(string(text), 4000, markdown.Theme{}) {
			said.WriteString(line + "\n")
		}
		out = append(out, map[string]string{"name": strings.TrimSuffix(filepath.Base(file), ".md"), "text": string(text), "terminal": unsaid.ReplaceAllString(said.String(), " ")})
	}
	return out
}

// TestDistIsSmall keeps the whole page small enough for a slow line.
func TestDistIsSmall(t *testing.T) {
	var size int
	err := fs.WalkDir(Files(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		body, err := fs.ReadFile(Files(), name)
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		w.Write(body)
		w.Close()
		size += packed.Len()
		return err
	})
	if err != nil || size > 400_000 {
		t.Errorf("the page takes %d bytes, packed; %v", size, err)
	}
}

// TestDistIsWhatTheSourcesBuild builds the page again, twice, and compares. It needs
// npm, which a build of ramet does not: it runs where RAMET_WEB_REBUILD=1 asks for it.
func TestDistIsWhatTheSourcesBuild(t *testing.T) {
	readSources(t)
	if os.Getenv("RAMET_WEB_REBUILD") != "1" {
		t.Log("not asked for: RAMET_WEB_REBUILD=1 does")
		return
	}
	testkit.InstallNPM(t, sources)
	for range 2 {
		made := filepath.Join(t.TempDir(), "dist")
		build := exec.CommandContext(t.Context(), "npx", "vite", "build", "--outDir", made, "--emptyOutDir", "--logLevel", "error")
		build.Dir = sources
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", build, err, out)
		}
		compare(t, os.DirFS(made), Files())
	}
	check := exec.CommandContext(t.Context(), "npx", "tsc", "--noEmit")
	check.Dir = sources
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", check, err, out)
	}
}

func compare(t *testing.T, made, kept fs.FS) {
	t.Helper()
	contents := func(f fs.FS) map[string][]byte {
		out := map[string][]byte{}
		err := fs.WalkDir(f, ".", func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			out[name], err = fs.ReadFile(f, name)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	a, b := contents(made), contents(kept)
	for name, body := range a {
		if !bytes.Equal(body, b[name]) {
			t.Errorf("internal/face/web/dist/%s is not what web/ builds: make web", name)
		}
		delete(b, name)
	}
	for name := range b {
		t.Errorf("internal/face/web/dist/%s is not built from web/ any more: make web", name)
	}
}

// readSources opens what the commands read, so that go test sees it: a cached result
// is never older than the page.
func readSources(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(sources, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && e.Name() == "node_modules" {
			return filepath.SkipDir
		}
		if err != nil || e.IsDir() {
			return err
		}
		_, err = os.ReadFile(name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestThePageAtFullSize measures the page in Chromium with 1,000 agents, 200 runs and a conversation
// of 10,000 messages, and prints figures: see web/test/bench.mjs. It runs where RAMET_WEB_BENCH=1 asks
// for it (make bench); nothing fails because of time. RAMET_WEB_ONLY names the part that is wanted.
func TestThePageAtFullSize(t *testing.T) {
	if os.Getenv("RAMET_WEB_BENCH") != "1" {
		t.Log("not asked for: RAMET_WEB_BENCH=1 does")
		return
	}
	testkit.InstallNPM(t, sources)
	plan := testkit.Must(json.Marshal(map[string]any{"base": newFake(t, full), "chromium": testkit.Need(t, "chromium"), "only": os.Getenv("RAMET_WEB_ONLY")}))(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	bench := exec.CommandContext(ctx, testkit.FindNode(t), "test/bench.mjs")
	bench.Dir, bench.Env = sources, append(os.Environ(), "RAMET_WEB_PLAN="+string(plan))
	bench.Stdout, bench.Stderr = os.Stdout, os.Stderr
	if err := bench.Run(); err != nil {
		t.Fatalf("%s: %v", bench, err)
	}
}

// fillFull is what the page promises its figures for.
func (f *fake) fillFull() {
	f.fillBig(1000)
	for i := range 5000 {
		f.say(uuid(0), "user", fmt.Sprintf("question %d of many", i))
		f.say(uuid(0), "assistant", fmt.Sprintf("Answer %d.\n\n%s", i, speech))
	}
	for i := range 200 {
		id := fmt.Sprintf("run-%03d", i)
		f.logs[id] = nil
		f.standing[id] = []string{"done", "running", "failed", "stopped"}[i%4]
	}
	for i, a := range f.agents[1:] { // some of them died, some work
		switch i % 10 {
		case 0:
			a["status"], a["end_reason"], a["ended_at"], a["state"] = "dead", "killed", stamp(time.Second), map[string]any{"word": "killed"}
		case 1, 2:
			a["state"] = map[string]any{"word": "working", "detail": "thinks"}
		}
	}
}
