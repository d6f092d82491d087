package history

import (
	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// Kind classifies an entry.
type Kind string

// The kinds. The first five reach the model; of compact, its summary does.
const (
	System     Kind = "system"
	User       Kind = "user"
	Assistant  Kind = "assistant"
	ToolResult Kind = "tool_result"
	Notice     Kind = "notice" // what the kernel says to the agent, in words of its own

	Fork        Kind = "fork"
	Clear       Kind = "clear"
	Mark        Kind = "mark"
	Rewind      Kind = "rewind"
	Compact     Kind = "compact"
	Killed      Kind = "killed"
	Usage       Kind = "usage"
	Interrupted Kind = "interrupted"
	Redact      Kind = "redact"
	Mail        Kind = "mail"
	Command     Kind = "command"
	Note        Kind = "note"
	Files       Kind = "files"
	Import      Kind = "import" // what follows was written by another program
)

// Kinds lists all of them.
func Kinds() []Kind {
	return []Kind{System, User, Assistant, ToolResult, Notice, Fork, Clear, Mark, Rewind, Compact, Killed, Usage,
		Interrupted, Redact, Mail, Command, Note, Files, Import}
}

// Reaches reports whether entries of this kind are messages of the context. It
// is the one place that decides.
func (k Kind) Reaches() bool {
	return k == User || k == Assistant || k == ToolResult || k == System || k == Notice
}

// Shapes reports whether entries of this kind change what other entries mean, so
// that the reducer must see them.
func (k Kind) Shapes() bool {
	return k == Clear || k == Rewind || k == Compact || k == Mark
}

// writable are the kinds that a user may append by hand.
var writable = []string{string(User), string(Assistant), string(System), string(ToolResult), string(Note)}

// ParseWritable reads a kind that may be appended by hand.
func ParseWritable(s string) (Kind, error) {
	for _, k := range writable {
		if k == s {
			return Kind(k), nil
		}
	}
	err := fault.New(fault.InvalidKind, "%.40q is not a kind that can be appended", s)
	return "", err.WithHint("%s", text.NearestHint(s, writable, "use user, assistant, system, tool_result or note"))
}
