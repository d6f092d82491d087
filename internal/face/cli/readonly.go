package cli

import (
	"fmt"

	"ramet/internal/base/text"
	"ramet/internal/files"
)

// reading are the commands that change nothing: a database that was named and is not
// there is not made for them. What completes arguments does not make one either.
var reading = map[string]bool{"ramet export": true, "ramet mail": true,
	"ramet read": true, "ramet verify": true, "ramet doctor": true,
	"ramet gc": true, "ramet worktree list": true, "ramet models": true,
	"ramet __complete": true, "ramet __completeNoDesc": true}

// persons lists the commands that an agent may not carry out. Others decide it by their arguments.
var persons = []string{"config set", "mcp accept", "mcp add", "mcp call", "mcp login", "mcp logout", "mcp rm", "mcp token", "mcp tools", "serve", "web"}

// TellFinished prints that a restore of files was finished that another process had begun.
func (l *Line) TellFinished(d files.RestoreDone) { l.Note(d.Finished()) }

// TellMade prints that a database was made.
func (l *Line) TellMade(db string) {
	fmt.Fprintf(l.Stderr, "made %s: a new workspace\n", text.Line(db, 400))
}
