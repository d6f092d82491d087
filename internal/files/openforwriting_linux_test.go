package files

import (
	"os"
	"testing"

	"ramet/internal/testkit"
)

// openFilesAreKnown says whether files that are open for writing are recognized on this system.
const openFilesAreKnown = true

// What a process goes on to write into a file that a restore took away is in the trash.
func TestAFileThatIsOpenGoesOnInTheTrash(t *testing.T) {
	b := newSmallBench(t)
	before := b.take()
	b.apart()
	b.acts(ada, func() { b.put("kept", "kept"); b.put("unkept", "secret") })
	after := b.take()
	open := map[string]*os.File{}
	for _, name := range []string{"kept", "unkept"} {
		f := testkit.Must(os.OpenFile(b.path(name), os.O_WRONLY|os.O_APPEND, 0))(t)
		defer f.Close()
		open[name] = f
	}
	b.restore(Restore{Agent: ada, To: stateOf(before), Commands: true})
	for _, f := range open {
		testkit.Must(f.WriteString(" and more"))(t)
	}
	if got := b.inTrash(); !got["kept and more"] || !got["secret and more"] {
		t.Errorf("in the trash: %v", got)
	}
	// An undo brings back what was, and not what was written since.
	done, _ := b.restore(Restore{Agent: ada, To: stateOf(after), Commands: true})
	if len(done.Kept) != 1 || done.Kept[0] != (RestoreLeft{Path: "unkept", Why: Unkept}) {
		t.Errorf("kept: %+v", done.Kept)
	}
	if got := b.inFolder(); !got["kept"] || len(got) != 1 {
		t.Errorf("in the folder: %v", got)
	}
	if got := b.inTrash(); !got["kept and more"] || !got["secret and more"] {
		t.Errorf("in the trash: %v", got)
	}
}
