package bench

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ramet/internal/core/config"
)

// ms is what a command may use of the processors.
const (
	anyCommand     = 60
	versionCommand = 25
	listCommand    = 50 // of 10,000 agents
)

// shell runs the real binary in a project folder whose workspace is a copy of
// the large one.
type shell struct {
	binary, home, project string
	cpu                   map[string][]float64 // milliseconds of user and system time, by title
	order                 []string
}

// newShell builds the binary; without flags it is the one that is released.
func newShell(b *testing.B, flags ...string) *shell {
	b.Helper()
	dir := must[string](b)(os.MkdirTemp(workshop, "shell-*"))
	s := &shell{binary: filepath.Join(dir, "ramet"), home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project"),
		cpu: map[string][]float64{}}
	check(b, os.MkdirAll(filepath.Join(s.project, ".git"), 0o700))
	args := append(append([]string{"build", "-trimpath", "-buildvcs=false"}, flags...), "-o", s.binary+".linked", "ramet/cmd/ramet")
	build := exec.CommandContext(b.Context(), "go", args...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%s: %v\n%s", build, err, out)
	}
	// What is installed was copied. The linker writes through a map of the file, and the system then maps so much of
	// it at a touch that the same program takes 32 or 43 MB, by chance.
	copyFile(b, s.binary+".linked", s.binary, 0o700)
	check(b, os.Remove(s.binary+".linked"))
	b.Cleanup(func() { s.stopKernel(b) })
	return s
}

// stopKernel ends the background kernel that terminals and servers started.
func (s *shell) stopKernel(b *testing.B) {
	b.Helper()
	stop := exec.Command(s.binary, "server", "stop", "--force")
	stop.Dir, stop.Env = s.project, s.env()
	if out, err := stop.CombinedOutput(); err != nil && !bytes.Contains(out, []byte("NOT_FOUND")) {
		b.Errorf("stop the kernel: %v: %s", err, out)
	}
}

func copyFile(b *testing.B, from, to string, mode os.FileMode) {
	b.Helper()
	source := must[*os.File](b)(os.Open(from))
	defer source.Close()
	copied := must[*os.File](b)(os.OpenFile(to, os.O_WRONLY|os.O_CREATE, mode))
	defer copied.Close()
	must[int64](b)(io.Copy(copied, source))
	check(b, copied.Sync()) // or its writing would disturb what follows
}

// db is where the project's workspace lies.
func (s *shell) db(b *testing.B) string {
	b.Helper()
	project := must[string](b)(config.ProjectFolder(s.project))
	return filepath.Join(s.home, "workspaces", config.WorkspaceName(project), "ramet.db")
}

// load replaces the database of the workspace with a copy of a file. What else the commands before have left
// there for the next stays, as with every workspace that was used before.
func (s *shell) load(b *testing.B, from string) {
	b.Helper()
	path := s.db(b)
	check(b, os.MkdirAll(filepath.Dir(path), 0o700))
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(path + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			b.Fatal(err)
		}
	}
	copyFile(b, from, path, 0o600)
}

func (s *shell) env() []string {
	return []string{"HOME=" + s.home, "RAMET_HOME=" + s.home, "PATH=" + os.Getenv("PATH")}
}

// run runs one command line and keeps its time under a title. It returns what
// was printed; want is the exit code.
func (s *shell) run(b *testing.B, title string, want int, args ...string) string {
	b.Helper()
	c := exec.CommandContext(b.Context(), s.binary, args...)
	c.Dir = s.project
	c.Env = s.env()
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	c.Run()
	if code := c.ProcessState.ExitCode(); code != want {
		b.Fatalf("ramet %s: exit code %d\n%s", strings.Join(args, " "), code, errs.Bytes())
	}
	if _, known := s.cpu[title]; !known {
		s.order = append(s.order, title)
	}
	used := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	s.cpu[title] = append(s.cpu[title], float64(used.Microseconds())/1e3)
	return strings.TrimSpace(out.String())
}

func (s *shell) median(title string) float64 {
	sorted := slices.Sorted(slices.Values(s.cpu[title]))
	return sorted[len(sorted)/2]
}

// commands measures commands of all kinds, with the agent of a million messages as their
// target. Each round is a new copy of the workspace.
func (l large) commands(b *testing.B) {
	settle(b, l.place)
	s := newShell(b)
	for b.Loop() {
		s.load(b, l.place)
		for _, line := range []string{"version", "ps", "ps --json", "checkpoint", "show many", "log many --limit 20", "mail many", "append many hello",
			"fork many --name twin --prompt hello", "fork many --at ID", "rewind many --to ID", "send many hello", "kill lead-1 --cascade"} {
			s.run(b, "ramet "+line, 0, strings.Fields(strings.ReplaceAll(line, "ID", l.last.String()))...)
		}
	}
	for _, title := range s.order {
		limit := map[string]float64{"ramet version": versionCommand, "ramet ps --json": listCommand}[title]
		atMost(b, "`"+title+"`, CPU", "ms", s.median(title), cmp.Or(limit, anyCommand))
	}
}
