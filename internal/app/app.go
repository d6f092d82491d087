// Package app puts ramet together: it alone knows which stores and edges
// there are.
package app

import (
	"context"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/term"

	"ramet/internal/cli"
	"ramet/internal/demo"
	"ramet/internal/store/postgres"
	"ramet/internal/store/sqlite"
	"ramet/internal/workspace"
)

// version is what this source is, or will be once it is released.
const version = "0.1.0-dev"

// Stdio is where a process reads and writes.
type Stdio struct {
	In       io.Reader
	Out, Err io.Writer
}

// Main carries out one command line and returns the exit code.
func Main(ctx context.Context, args []string, env func(string) string, stdio Stdio) int {
	dir, err := os.Getwd()
	if err != nil {
		dir = "." // the folder is gone; what needs it will say so
	}
	return cli.Run(ctx, args, cli.Env{
		Stdin: stdio.In, Stdout: stdio.Out, Stderr: stdio.Err,
		Getenv: env, Dir: dir, Now: time.Now,
		Terminal: isTerminal(stdio.Out), ErrTerminal: isTerminal(stdio.Err),
		Version: about(), Open: open, Demo: demo.Run,
	})
}

func open(ctx context.Context, p workspace.Place) (cli.Workspace, error) {
	if postgres.IsURL(p.DB) {
		return postgres.Open(ctx, p.DB, postgres.Options{Cwd: p.Project, Export: sqlite.Export})
	}
	return sqlite.Open(ctx, p.DB, sqlite.Options{Cwd: p.Project})
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func about() cli.Version {
	v := cli.Version{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Revision = s.Value
			}
		}
	}
	return v
}
