package foreign

import (
	"fmt"
	"strings"

	"golang.org/x/mod/semver"

	"ramet/internal/base/fault"
)

// Importer is the version of these readers: it grows when the same bytes give other entries
// than before. Those that were made before are made anew by the reader that made them, so
// that an import is proved, and goes on, as it was begun.
//
//	1  the first
//	2  Codex: what it writes of the world and of its own counting says nothing
//	3  Codex: what was used is an entry
//	4  Codex: what a fork repeats of its original's usage says nothing, and events that nobody
//	   knows are kept, as blocks of messages are everywhere; Claude Code: what it writes of its
//	   requests says nothing
const Importer = 4

// checkReader refuses a version that is not here.
func checkReader(version int) error {
	if version < 1 || version > Importer {
		return fault.New(fault.StorageNewer, "it was imported by version %d of the reader; here are versions 1 to %d", version, Importer).
			WithHint("use the ramet that imported it, or a newer one")
	}
	return nil
}

// known are the newest versions of programs whose sessions were read, as far as a form could
// change in them; what they write themselves has no version. Of pi it has one.
var known = map[string]string{Claude: "v2.1", Codex: "v0.166", Opencode: "v1.18"}

// newer says that a session is of a version that nobody here knows; empty: it is known, or
// nobody can tell.
func newer(program, version string) string {
	number, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(version), "v"), " ")
	if have := semver.MajorMinor("v" + number); have == "" || known[program] == "" || semver.Compare(have, known[program]) <= 0 {
		return ""
	}
	return fmt.Sprintf("%s %.40s is newer than %s, the newest that", program, plain(version), known[program][1:])
}
