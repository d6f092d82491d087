// Package forge opens pull requests and comments on them: through the API of GitHub, or of Gitea and Forgejo.
// Where no forge is configured, Local makes files that hold the same: branch, patch, text.
//
// It promises:
//
//   - Opening twice gives one pull request: it is looked up by its branch first, and again
//     after an answer that was lost. Where that fails too: UNKNOWN_OUTCOME.
//   - A comment is made once for a key, by a mark that no reader sees.
//   - What passes is waited for and repeated, a few times and not for long: too many
//     requests, a server that fails or cannot be reached.
//   - The token goes to the host of the API and, through git.Remote, to the host of the
//     repository. It is in no fault and no URL, and no redirect carries it elsewhere.
//   - Answers are read up to a limit, and each request ends after a while.
//
// DENIED: the token is refused. NOT_FOUND: no such repository, for this token. FORGE_REFUSED:
// everything else that the forge does not do, with its own words.
package forge

import (
	"context"

	"ramet/internal/files/git"
)

// PR is a pull request.
type PR struct {
	Number int64
	URL    string // for people
	Open   bool   // neither merged nor closed
	Commit string // the last one of its branch
}

// Request is a pull request to be opened.
type Request struct {
	Head  string // branch with the changes, in the same repository
	Base  string // branch that they are for
	Title string
	Body  string // Markdown
}

// Forge is one repository on a forge.
type Forge interface {
	// Find looks for a pull request from one branch into another: the one that is open,
	// else the latest.
	Find(ctx context.Context, head, base string) (PR, bool, error)
	// Open opens one, or finds the one that is open.
	Open(ctx context.Context, q Request) (PR, error)
	// Comment comments on a pull request, once for a key, and changes the comment that was made
	// for it before.
	Comment(ctx context.Context, pull int64, key, body string) (Comment, error)
	// Sign gives git the right to push to the repository.
	Sign(r git.Remote) git.Remote
}
