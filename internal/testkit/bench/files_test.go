package bench

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/id"
	states "ramet/internal/files"
)

// committed is a repository of so many committed files, a hundred in a folder.
func committed(b *testing.B, n int) string {
	b.Helper()
	root := must[string](b)(os.MkdirTemp(workshop, "project-*"))
	b.Cleanup(func() { os.RemoveAll(root) })
	for i := range n {
		dir := filepath.Join(root, fmt.Sprintf("d%02d", i/10_000), fmt.Sprintf("e%02d", i/100%100))
		if i%100 == 0 {
			check(b, os.MkdirAll(dir, 0o755))
		}
		check(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%02d.go", i%100)), source(i), 0o644))
	}
	gitIn(b, root, nil, "init", "-q")
	gitIn(b, root, nil, "add", "-A")
	gitIn(b, root, nil, "commit", "-qm", "x")
	return root
}

// source is a file as programs are: words that repeat, and some that do not.
func source(i int) []byte {
	var s strings.Builder
	fmt.Fprintf(&s, "package p%d\n\n// F%d says %s.\n", i, i, rand.Text())
	for j := range 20 {
		fmt.Fprintf(&s, "func f%d_%d(a, b int) (int, error) {\n\tif a > b {\n\t\treturn 0, errors.New(%q)\n\t}\n\treturn a + %d, nil\n}\n\n", i, j, rand.Text()[:10], i*j)
	}
	return []byte(s.String())
}

func gitIn(b *testing.B, root string, env []string, args ...string) {
	b.Helper()
	c := exec.Command("git", append([]string{"-C", root, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "gc.auto=0"}, args...)...)
	c.Env = append(append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"), env...)
	if out, err := c.CombinedOutput(); err != nil {
		b.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// States of files: what the first look at a folder takes, and every later one, beside git
// doing the same on an index of its own.
func BenchmarkStatesOfFiles(b *testing.B) {
	const changed = 50
	for _, size := range []struct {
		files int
		most  time.Duration
	}{{10_000, 50*time.Millisecond + changed*time.Millisecond}, {100_000, 400 * time.Millisecond}} {
		b.Run(fmt.Sprint(size.files), func(b *testing.B) {
			root := committed(b, scaled(size.files))
			dir := filepath.Join(filepath.Dir(fresh(b)), "files")
			p := states.OpenPast(states.PastOptions{Dir: dir})
			f := must[*states.PastFolder](b)(p.Folder(root))
			begun := time.Now()
			must[states.Taken](b)(f.Take(b.Context(), nil))
			first := time.Since(begun)
			stored := p.Disk()
			name := fmt.Sprintf("states of %d files: ", size.files)
			if size.files == 100_000 {
				atMost(b, name+"first look", "s", first.Seconds(), 10)
				atMost(b, name+"kept of clean files", "MB", float64(stored)/1e6, 30)
			} else {
				shown(b, name+"first look", "s", first.Seconds())
			}
			f.Save()
			index := filepath.Join(dir, "scratch-index")
			gitIn(b, root, []string{"GIT_INDEX_FILE=" + index}, "read-tree", "HEAD")
			gitIn(b, root, []string{"GIT_INDEX_FILE=" + index}, "add", "-A")
			var idle, ours, add, stash times
			var bytes, kept int64
			end := p.Begin(id.Agent("ada"), root)
			defer end()
			for b.Loop() {
				idle.of(func() { must[states.Taken](b)(f.Take(b.Context(), nil)) })
				for i := range min(changed, scaled(size.files)) {
					text := append(source(i), rand.Text()...)
					bytes += int64(len(text))
					check(b, os.WriteFile(filepath.Join(root, "d00", fmt.Sprintf("e%02d", i%max(1, scaled(size.files)/100)), fmt.Sprintf("f%02d.go", i%100)), text, 0o644))
				}
				before := p.Disk()
				ours.of(func() { must[states.Taken](b)(f.Take(b.Context(), nil)) })
				kept += p.Disk() - before
				add.of(func() { gitIn(b, root, []string{"GIT_INDEX_FILE=" + index}, "add", "-A") })
				stash.of(func() { gitIn(b, root, nil, "stash", "create") })
			}
			atMost(b, name+fmt.Sprintf("%d changed", changed), "ms", ours.at(0.5)/1e6, float64(size.most.Milliseconds()))
			shown(b, name+"nothing changed", "ms", idle.at(0.5)/1e6)
			shown(b, name+"/ git add -A on a scratch index", "", ours.at(0.5)/add.at(0.5))
			shown(b, name+"/ git stash create", "", ours.at(0.5)/stash.at(0.5))
			atMost(b, name+"kept / bytes changed", "", float64(kept)/float64(bytes), 0.6)
			forked(b, p, f, root, name)
		})
	}
}

// forked measures what a fork with files costs beside its checkout: it brings what is dirty, not
// what is there.
func forked(b *testing.B, p *states.Past, f *states.PastFolder, root, name string) {
	b.Helper()
	dirty, clean := filepath.Join(filepath.Dir(root), filepath.Base(root)+"-dirty"), filepath.Join(filepath.Dir(root), filepath.Base(root)+"-clean")
	var add, bring, none times
	have := map[string]states.Committed{}
	listed := must[[]byte](b)(exec.Command("git", "-C", root, "ls-tree", "-r", "-z", "HEAD").Output())
	for line := range strings.SplitSeq(strings.TrimSuffix(string(listed), "\x00"), "\x00") {
		head, path, _ := strings.Cut(line, "\t")
		have[path] = states.Committed{Oid: strings.Fields(head)[2]}
	}
	take := func() states.PastState {
		now := must[states.Taken](b)(f.Take(b.Context(), nil))
		return states.PastState{Root: now.Root, Step: now.Step}
	}
	now := take()
	before := p.Disk()
	add.of(func() { gitIn(b, root, nil, "worktree", "add", "-q", "--detach", dirty) })
	var brought int
	bring.of(func() {
		brought = len(must[states.RestoreDone](b)(p.Bring(b.Context(), root, dirty, now, have)).Changed)
	})
	stored := p.Disk() - before
	gitIn(b, root, nil, "checkout", "-q", "--", ".")
	now = take()
	gitIn(b, root, nil, "worktree", "add", "-q", "--detach", clean)
	none.of(func() { must[states.RestoreDone](b)(p.Bring(b.Context(), root, clean, now, have)) })
	if brought == 0 || brought > 60 {
		b.Errorf("%d files were brought", brought)
	}
	shown(b, name+"a fork: bringing what is dirty / its checkout", "", bring.at(0.5)/add.at(0.5))
	shown(b, name+"a fork: bringing nothing / its checkout", "", none.at(0.5)/add.at(0.5))
	shown(b, name+"a fork: kept for it", "bytes", float64(stored))
	for _, dir := range []string{dirty, clean} {
		check(b, os.RemoveAll(dir))
	}
}
