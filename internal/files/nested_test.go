package files

import (
	"os"
	"slices"
	"testing"

	"ramet/internal/testkit"
)

// What changed in another repository below the folder is listed, and never touched.
func TestChangesInNestedRepositoriesAreListed(t *testing.T) {
	b := newBenchPast(t)
	b.put("mine", "old")
	b.put("nested/.git/HEAD", "ref: refs/heads/main\n")
	b.put("nested/n.txt", "old")
	b.put("nested/d/same", "same")
	b.put("nested/deeper/.git", "gitdir: elsewhere\n") // as in a submodule
	b.put("nested/deeper/x", "old")
	before := b.take()
	if again := b.take(); again.Root != before.Root {
		t.Error("the state is another although nothing changed")
	}
	b.apart()
	b.acts(ada, func() {
		b.put("mine", "ada")
		b.put("nested/n.txt", "new") // of the same size
		b.put("nested/d/more", "new")
		b.put("nested/deeper/x", "new")
		b.put("nested/.git/HEAD", "ref: refs/heads/other\n")
		b.put("cloned/.git/HEAD", "ref: refs/heads/main\n")
		b.put("cloned/c", "c")
	})
	after := b.take()
	want := []string{"cloned", "nested/d/more", "nested/deeper/x", "nested/n.txt"}
	for _, r := range []Restore{{Agent: ada, To: stateOf(before), Force: true}, {Agent: ada, To: stateOf(after), Force: true}} {
		done, _ := b.restore(r)
		var kept []string
		for _, k := range done.Kept {
			kept = append(kept, k.Path)
			if k.Why != Nested {
				t.Errorf("%+v", k)
			}
		}
		if !slices.Equal(done.Changed, []string{"mine"}) || r.To.Root == before.Root && !slices.Equal(kept, want) {
			t.Errorf("changed %q, kept %q", done.Changed, kept)
		}
		for _, name := range []string{"nested/n.txt", "nested/d/more", "nested/deeper/x", "cloned/c"} {
			if _, err := os.Stat(b.path(name)); err != nil {
				t.Error(err)
			}
		}
	}
	// Such files can be named, but a listing has the repository only.
	if n, err := Find(b.past.store, before.Root, "nested/n.txt"); err != nil || n == nil {
		t.Errorf("%v, %v", n, err)
	}
	testkit.OK(t, List(b.past.store, before.Root, func(p string, n Node) error {
		if p != "mine" && (p != "nested" || n.Kind != Repo) {
			t.Errorf("%s %c", p, n.Kind)
		}
		return nil
	}))
	// States stay whole when others are dropped.
	testkit.Must(b.past.GC(t.Context(), []Named{{Root: before.Root, Pinned: true}}, PastLimits{}, false))(t)
	testkit.Must(Diff(b.past.store, before.Root, after.Root))(t)
}
