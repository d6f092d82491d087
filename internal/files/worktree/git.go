package worktree

import (
	"context"

	"ramet/internal/files/git"
)

// run runs git in a folder and returns what it prints. The user's own configuration
// counts: whose commits they are, and how files are kept.
func run(ctx context.Context, dir string, args ...string) (string, error) {
	return git.Command{Dir: dir, User: true}.Run(ctx, args...)
}
