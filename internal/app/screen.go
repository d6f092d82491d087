package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/term"

	"ramet/internal/cli"
	"ramet/internal/tui"
)

// screen is the terminal UI, where there is a terminal on both sides.
func screen(stdio Stdio) func(context.Context, cli.ScreenRequest) error {
	if !isTerminal(stdio.Out) || !readsTerminal(stdio.In) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return func(ctx context.Context, r cli.ScreenRequest) error {
		return tui.Run(ctx, tui.Options{
			Open:    func(ctx context.Context) (tui.Desk, error) { return openDesk(ctx, r) },
			State:   stateFile(r),
			Project: r.Place.Project,
			Cascade: r.Config.Orphans == "cascade",
			Follow:  r.Config.Follow == "yes",
			Now:     time.Now,
			In:      stdio.In, Out: stdio.Out,
			Env: os.Environ(),
		})
	}
}

func readsTerminal(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// stateFile is where the screen keeps drafts and places: beside the database in
// ramet's home, or, for one that lies elsewhere, in a folder of the home.
func stateFile(r cli.ScreenRequest) string {
	if dir := filepath.Dir(r.Place.DB); filepath.Dir(dir) == filepath.Join(r.Home, "workspaces") {
		return filepath.Join(dir, "screen.json")
	}
	sum := sha256.Sum256([]byte(r.Place.DB)) // there may be a password in it
	return filepath.Join(r.Home, "screens", hex.EncodeToString(sum[:8])+".json")
}
