package secrets

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ramet/internal/base/secret"
)

// sources are folders whose texts are read: Go's own, modules that gitleaks is built from,
// and ramet. gitleaks itself and cryptography are left out: they are full of examples of
// keys, as are tests.
func sources(t testing.TB) []string {
	t.Helper()
	folders := []string{filepath.Join(goroot(t), "src", "net"), filepath.Join(goroot(t), "src", "cmd", "go"), filepath.Join("..", "..", "..")}
	out, err := exec.Command("go", "list", "-m", "-f", "{{if not .Main}}{{.Dir}}{{end}}", "github.com/spf13/viper", "github.com/spf13/afero",
		"github.com/Masterminds/sprig/v3", "github.com/mholt/archives", "github.com/charmbracelet/lipgloss", "github.com/spf13/cobra", "github.com/klauspost/compress", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		t.Fatal(err)
	}
	return append(folders, strings.Fields(string(out))...)
}

func goroot(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// readable are the ends of the names of files that people write.
var readable = []string{".go", ".md", ".txt", ".json", ".yaml", ".yml", ".toml", ".sh", ".sum", ".mod", ".html", ".py", ".js", ".ts"}

const (
	most    = 12 << 20 // bytes of texts
	largest = 1 << 18  // bytes of one text
)

// texts of people, not more than most bytes in all; each folder gives its share.
func corpus(t testing.TB) []string {
	t.Helper()
	var all []string
	folders := sources(t)
	for _, folder := range folders {
		left := most / len(folders)
		err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if e.IsDir() && (e.Name() == ".git" || e.Name() == "node_modules" || e.Name() == "bin" || e.Name() == "testdata" || e.Name() == "oracle") {
				return fs.SkipDir
			}
			if !e.Type().IsRegular() || left <= 0 || strings.HasSuffix(path, "_test.go") || !slices.Contains(readable, filepath.Ext(path)) {
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if len(text) <= largest {
				all = append(all, string(text))
				left -= len(text)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func TestFalseAlarms(t *testing.T) {
	texts := corpus(t)
	d, ours := judgeAll(shipped(t)), secret.New(nil)
	var bytes, alarms, theirs int
	for _, text := range texts {
		bytes += len(text)
		clean := ours.All(text)
		here := strings.Count(clean, "[redacted:") - strings.Count(text, "[redacted:")
		alarms += here
		keys := found(d, text)
		slices.Sort(keys)
		for _, key := range slices.Compact(keys) {
			theirs += strings.Count(text, key)
		}
		if os.Getenv("SHOW") != "" && here > 0 {
			show(t, text, clean)
		}
	}
	if bytes < most/4 {
		t.Fatalf("only %d bytes of texts", bytes)
	}
	t.Logf("%d texts, %.1f MB: %d places, gitleaks %d (%.2f)", len(texts), float64(bytes)/1e6, alarms, theirs, float64(alarms)/float64(theirs))
	if alarms >= theirs {
		t.Errorf("%d false alarms, gitleaks gives %d", alarms, theirs)
	}
}

// show prints the lines that were changed, for those who work on the rules.
func show(t *testing.T, text, clean string) {
	t.Helper()
	before, after := strings.Split(text, "\n"), strings.Split(clean, "\n")
	for _, line := range after {
		if !strings.Contains(line, "[redacted:") {
			continue
		}
		at, _, _ := strings.Cut(line, "[redacted:")
		i := slices.IndexFunc(before, func(b string) bool { return b != line && strings.HasPrefix(b, at) })
		if i >= 0 {
			t.Logf("%.200s <- %.200s", strings.TrimSpace(line), strings.TrimSpace(before[i]))
		}
	}
}
