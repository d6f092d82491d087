package files

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"ramet/internal/testkit"
)

// What a folder still has is brought from there, also where its content was not kept; what it
// has no more comes from the states.
func TestWhatIsBroughtIsThere(t *testing.T) {
	b := newBenchPast(t)
	b.past.o.Secret = func(content []byte) bool { return bytes.Contains(content, []byte("unkept")) }
	b.past.folders = map[string]*PastFolder{}
	b.f = testkit.Must(b.past.Folder(b.root))(t)
	b.put("kept", "one\n")
	b.put("sub/changed", "two\n")
	b.put("unkept", "unkept\n")
	b.put("unkept and gone", "unkept, too\n")
	b.put("unkept and other", "unkept, three\n")
	testkit.OK(t, os.Chmod(b.path("unkept"), 0o400))
	state := b.take()
	b.put("sub/changed", "2\n")
	b.put("unkept and other", "unkept, four.\n")
	testkit.OK(t, os.Remove(b.path("unkept and gone")))
	to := t.TempDir()
	done := testkit.Must(b.past.Bring(t.Context(), b.root, to, stateOf(state), map[string]Committed{}))(t)
	for name, want := range map[string]string{"kept": "one\n", "sub/changed": "two\n", "unkept": "unkept\n"} {
		if got, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if info, err := os.Stat(filepath.Join(to, "unkept")); err != nil || info.Mode().Perm() != 0o400 {
		t.Errorf("%v, %v", info, err)
	}
	want := map[string]string{"unkept and gone": Unkept, "unkept and other": Unkept}
	for _, k := range done.Kept {
		if want[k.Path] != k.Why {
			t.Errorf("left: %+v", k)
		}
		delete(want, k.Path)
	}
	if len(want) > 0 {
		t.Errorf("not left: %v", want)
	}
	if all, _ := os.ReadDir(to); len(all) != 3 {
		t.Errorf("there is %v", all)
	}
}
