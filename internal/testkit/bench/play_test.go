package bench

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ramet/internal/model/catalog"
	"ramet/internal/model/llm"
	"ramet/internal/testkit"
)

// asked is the model that plays; empty: scripted ones do.
var asked = os.Getenv("RAMET_TASKS_MODEL")

func TestTasks(t *testing.T) {
	size := 2_000
	if asked != "" {
		size = 100_000
	}
	var lines []string
	for _, one := range tasks(size) {
		t.Run(strings.ReplaceAll(one.name, " ", "-"), func(t *testing.T) {
			w := settleTasks(t, one)
			testkit.Must(tasksBinary())(t)
			began := time.Now()
			w.work()
			took := time.Since(began)
			bad := one.solved(w)
			steps, tokens, cost := w.spent()
			verdict := "solved"
			if len(bad) > 0 {
				verdict = "NOT solved"
			}
			lines = append(lines, fmt.Sprintf("%-14s %-11s %5d steps %9d tokens  $%8.4f %8.1f s  %s", one.name, verdict, steps, tokens, float64(cost)/1e9, took.Seconds(), one.shows))
			if len(bad) == 0 {
				return
			}
			said := fmt.Sprintf("%s: it is not so that: %s", one.name, strings.Join(bad, "; "))
			if !w.scripted { // a figure about the model, not a fault of ours
				t.Log(said)
				return
			}
			t.Errorf("%s\n%s\n%s", said, strings.Join(w.server.did, "\n"), tail(w.out.String(), 3000))
		})
	}
	t.Log("\n" + strings.Join(lines, "\n"))
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

// settleTasks makes the place for a task.
func settleTasks(t *testing.T, one tasksTask) *world {
	t.Helper()
	home := t.TempDir()
	w := &world{T: t, task: one, home: home, dir: filepath.Join(t.TempDir(), "project"), scripted: asked == ""}
	testkit.OK(t, os.MkdirAll(w.dir, 0o755))
	var behind *url.URL
	vendor := "vllm"
	w.model = "vllm/player"
	w.plain = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8"}
	if asked != "" {
		w.model, w.plain = asked, os.Environ()
		ref := testkit.Must(llm.ParseRef(asked))(t)
		v := testkit.Must(catalog.Find(ref.Vendor))(t)
		base := testkit.Must(v.URL(os.Getenv(v.BaseVariable())))(t)
		behind = testkit.Must(url.Parse(base))(t)
		vendor = v.KeyOwner()
	}
	var at string
	w.server, at = serve(t, one, behind)
	if behind == nil {
		at += "/v1"
	}
	w.base = strings.ToUpper(vendor) + "_BASE_URL=" + at
	w.git("init", "-q", "-b", "main")
	one.make(w)
	w.git("add", ".")
	w.git("commit", "-q", "--allow-empty", "-m", "as it begins")
	return w
}
