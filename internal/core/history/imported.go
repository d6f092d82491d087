package history

import (
	"fmt"
	"strconv"
	"strings"
)

// Imported describes what an import entry tells of a session of another program. What ramet can
// prove begins with it: that the entries behind it, with a Source, are what the file of
// this hash says, and that nothing was changed since.
type Imported struct {
	Program  string `json:"program"`           // claude, codex, opencode, pi
	Version  string `json:"version,omitempty"` // of the program, as the file tells
	Session  string `json:"session"`           // its id there
	Path     string `json:"path"`              // of the file
	SHA256   string `json:"sha256"`            // of its first Bytes bytes, in hex
	Bytes    int64  `json:"bytes"`
	Lines    int64  `json:"lines"`    // or rows
	Taken    int64  `json:"taken"`    // of them, those that are in entries
	Skipped  int64  `json:"skipped"`  // and those that are not; Taken and Skipped are Lines
	Importer int    `json:"importer"` // version of the reader
	Cwd      string `json:"cwd,omitempty"`
	Model    string `json:"model,omitempty"` // vendor/name, that it spoke with last
	Title    string `json:"title,omitempty"`
	Started  string `json:"started,omitempty"`
	Of       string `json:"of,omitempty"`   // the session that it is a part of: a sub-agent's
	Call     string `json:"call,omitempty"` // the call in that session that it worked for
}

// Part reports whether it is no session that its program could take up by its name: what a
// sub-agent of Claude Code did.
func (i Imported) Part() bool { return strings.HasPrefix(i.Session, "agent-") }

// Bytes is a stretch of a source: Size bytes behind the first Offset.
type Bytes struct{ Offset, Size int64 }

// FormatBytes writes stretches as meta keeps them: 0+120 120+31.
func FormatBytes(list []Bytes) string {
	out := make([]string, len(list))
	for i, b := range list {
		out[i] = fmt.Sprintf("%d+%d", b.Offset, b.Size)
	}
	return strings.Join(out, " ")
}

// ParseBytes reads what FormatBytes writes; false: it is not that.
func ParseBytes(s string) ([]Bytes, bool) {
	var out []Bytes
	for _, word := range strings.Fields(s) {
		offset, size, ok := strings.Cut(word, "+")
		from, err := strconv.ParseInt(offset, 10, 64)
		n, wrong := strconv.ParseInt(size, 10, 64)
		if !ok || err != nil || wrong != nil || from < 0 || n < 0 {
			return nil, false
		}
		out = append(out, Bytes{from, n})
	}
	return out, len(out) > 0
}
