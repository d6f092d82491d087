package files

import (
	"os"
	"slices"
	"testing"

	"ramet/internal/testkit"
)

// What a folder that an agent moved brought along is the agent's doing, and comes back; but not
// what somebody changed in it before, nor a folder that somebody else moved.
func TestMovedFoldersComeBack(t *testing.T) {
	b := newBenchPast(t)
	b.put("mine/a", "a")
	b.put("mine/deep/er/b", "b")
	b.put("mine/edited", "c")
	b.put("theirs/d", "d")
	before := b.take()
	b.apart()
	b.put("mine/edited", "by a person")
	b.apart()
	b.acts(ada, func() {
		testkit.OK(t, os.Rename(b.path("mine"), b.path("moved")))
	})
	b.take()
	b.apart()
	testkit.OK(t, os.Rename(b.path("theirs"), b.path("gone")))
	b.take()
	done, _ := b.restore(Restore{Agent: ada, To: stateOf(before), Commands: true})
	slices.Sort(done.Changed)
	if want := []string{"mine/a", "mine/deep/er/b", "mine/edited", "moved/a", "moved/deep", "moved/deep/er", "moved/deep/er/b"}; !slices.Equal(done.Changed, want) {
		t.Errorf("changed %q, kept %+v", done.Changed, done.Kept)
	}
	for _, k := range done.Kept {
		if !slices.Contains([]string{"gone", "gone/d", "theirs", "theirs/d", "moved", "moved/edited"}, k.Path) || k.Why != Foreign && k.Path != "moved" {
			t.Errorf("kept %+v", k)
		}
	}
	for name, want := range map[string]string{"mine/a": "a", "mine/deep/er/b": "b", "mine/edited": "c", "moved/edited": "by a person", "gone/d": "d"} {
		if got, err := os.ReadFile(b.path(name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := os.Lstat(b.path("moved/deep")); !os.IsNotExist(err) {
		t.Error("moved/deep is still there")
	}
}
