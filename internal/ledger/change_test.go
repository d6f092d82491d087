package ledger

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"ramet/internal/testkit"
)

// The pointer is where it would be if each change had been made alone.
func TestThePointerAfterChangesThatWereMadeTogether(t *testing.T) {
	spawn := func(id string) *pendingChange {
		return &pendingChange{do: func(s *Sheet) (string, error) {
			e, err := s.Spawn(Start{ID: id, Description: "x"}, time.Unix(1, 0))
			return e.ID, err
		}}
	}
	end := func(id string) *pendingChange {
		return &pendingChange{do: func(s *Sheet) (string, error) {
			_, err := s.Move(id, Completed, "", time.Unix(2, 0))
			return "", err
		}}
	}
	for name, steps := range map[string][]*pendingChange{
		"begins and ends":        {spawn("a"), end("a")},
		"another ends":           {spawn("a"), end("stays")},
		"the last that begins":   {spawn("a"), spawn("b"), end("a")},
		"all end":                {spawn("a"), end("a"), end("stays")},
		"it ends, one begins":    {end("stays"), spawn("a")},
		"what is refused, too":   {spawn("a"), spawn("a"), end("nobody")},
		"nothing but what fails": {end("nobody"), spawn("stays")},
	} {
		together, alone := FolderAt(t.TempDir(), FolderOptions{}), FolderAt(t.TempDir(), FolderOptions{})
		begin(t, together, "stays")
		begin(t, alone, "stays")
		testkit.Must(together.applyAll(t.Context(), steps))(t)
		for _, s := range steps {
			testkit.Must(alone.applyAll(t.Context(), []*pendingChange{s}))(t)
		}
		one := testkit.Must(together.Read(t.Context()))(t)
		two := testkit.Must(alone.Read(t.Context()))(t)
		if one.Named != two.Named || one.Len() != two.Len() {
			t.Errorf("%s: together %q of %d, one after the other %q of %d", name, one.Named, one.Len(), two.Named, two.Len())
		}
	}
}

// A new pointer is a new file: a hard link to the old one keeps its content.
func TestThePointerIsReplaced(t *testing.T) {
	f := place(t)
	path := filepath.Join(f.dir, PointerName)
	begin(t, f, "first")
	begin(t, f, "longer-one")
	if got := readLedger(t, f, PointerName); got != "longer-one" {
		t.Errorf("%q", got)
	}
	testkit.OK(t, os.Link(path, filepath.Join(f.dir, "theirs")))
	begin(t, f, "another-id")
	if got, theirs := readLedger(t, f, PointerName), readLedger(t, f, "theirs"); got != "another-id" || theirs != "longer-one" {
		t.Errorf("%q, and what has another name too: %q", got, theirs)
	}
}
