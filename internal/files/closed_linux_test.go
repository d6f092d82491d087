package files

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"ramet/internal/testkit"
)

// What was below another repository, or a folder that could not be read, nobody knows: nothing
// there is removed because a state does not tell of it.
func TestWhatNoStateTellsOfIsNotRemoved(t *testing.T) {
	b := newBenchPast(t)
	b.put("nest/.git/HEAD", "ref: refs/heads/main\n")
	b.put("nest/mine", "precious\n")
	b.put("nest/deep/other", "precious, too\n")
	state := b.take()
	b.apart()
	b.acts(ada, func() {
		testkit.OK(t, os.RemoveAll(b.path("nest/.git")))
		b.put("nest/mine", "precious and changed\n")
	})
	for _, force := range []bool{false, true} {
		done, _ := b.restore(Restore{Agent: ada, To: stateOf(state), Force: force})
		if len(done.Changed) > 0 || !slices.Contains(done.Kept, RestoreLeft{Path: "nest/mine", Why: Unseen}) {
			t.Errorf("force %v: changed %v, kept %v", force, done.Changed, done.Kept)
		}
		for _, name := range []string{"nest/mine", "nest/deep/other"} {
			if _, err := os.Stat(b.path(name)); err != nil {
				t.Error(err)
			}
		}
	}
}

// What was ignored was perhaps there: an agent that takes a rule away and changes such a file in one
// call does not have it removed by an undo. What no rule of then left out goes.
func TestWhatWasIgnoredIsNotRemoved(t *testing.T) {
	b := newBenchPast(t)
	b.put(".gitignore", ".env\nbuild/\n!kept.log\n")
	b.put("sub/.gitignore", "*.log\n")
	b.put(".env", "precious\n")
	b.put("build/deep/x", "precious\n")
	b.put("sub/a.log", "precious\n")
	state := b.take()
	b.apart()
	b.acts(ada, func() {
		b.put(".gitignore", "")
		b.put(".env", "changed\n")
		b.put("build/deep/x", "changed\n")
		b.put("sub/a.log", "changed\n")
		b.put("sub/new.txt", "new\n")
		b.put("new/.gitignore", "*.txt\n!new.txt\n")
		b.put("new/new.txt", "new\n")
		testkit.OK(t, os.Remove(b.path("sub/.gitignore")))
	})
	for _, force := range []bool{false, true} {
		done, _ := b.restore(Restore{Agent: ada, To: stateOf(state), Force: force, Commands: true})
		for _, name := range []string{".env", "build/deep/x", "sub/a.log"} {
			if _, err := os.Stat(b.path(name)); err != nil {
				t.Errorf("force %v: %v; kept %v", force, err, done.Kept)
			}
		}
		if force {
			break
		}
		if kept := (RestoreLeft{Path: ".env", Why: Unseen}); !slices.Contains(done.Kept, kept) {
			t.Errorf("kept %v", done.Kept)
		}
		for _, name := range []string{"sub/new.txt", "new"} {
			if _, err := os.Stat(b.path(name)); err == nil {
				t.Errorf("%s is left; kept %v", name, done.Kept)
			}
		}
	}
	if after := b.take(); after.Root != state.Root {
		t.Error("another state")
	}
}

// A fork has what was committed where its parent's folder is a repository of its own now, or
// cannot be read.
func TestAForkKeepsWhatNoStateTellsOf(t *testing.T) {
	b := newBenchPast(t)
	b.put("nest/.git/HEAD", "ref: refs/heads/main\n")
	state := b.take()
	batch := b.past.store.Begin("") // a walk of root can read everything
	defer batch.Drop()
	top := testkit.Must(b.past.store.Folder(state.Root))(t)
	state.Root = testkit.Must(batch.AddFolder(append(top, Node{Name: "shut", Kind: Dir}), top))(t)
	testkit.Must(batch.Commit())(t)
	to, have := t.TempDir(), map[string]Committed{}
	for _, name := range []string{"nest/mine", "shut/f", "gone/too"} {
		testkit.OK(t, os.MkdirAll(filepath.Join(to, filepath.Dir(name)), 0o700))
		testkit.OK(t, os.WriteFile(filepath.Join(to, name), []byte("committed\n"), 0o600))
		have[name] = Committed{Oid: "1"}
	}
	done := testkit.Must(b.past.Bring(t.Context(), b.root, to, stateOf(state), have))(t)
	if want := []RestoreLeft{{Path: "shut", Why: Unknown}}; !slices.Equal(done.Kept, want) {
		t.Errorf("left: %v", done.Kept)
	}
	for name, want := range map[string]bool{"nest/mine": true, "shut/f": true, "gone/too": false} {
		if _, err := os.Stat(filepath.Join(to, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A folder that an agent shut behind it is undone with what is in it.
func TestAFolderThatWasShutIsRestored(t *testing.T) {
	b := newBenchPast(t)
	b.put("was/old", "old\n")
	state := b.take()
	b.apart()
	b.acts(ada, func() {
		b.put("was/old", "new\n")
		b.put("was/more", "more\n")
		b.put("made/in/it", "x\n")
		for _, dir := range []string{"was", "made/in", "made"} {
			testkit.OK(t, os.Chmod(b.path(dir), 0o555))
		}
	})
	shut := b.take()
	unprivileged(t, func() {
		done, after := b.restore(Restore{Agent: ada, To: stateOf(state), Commands: true})
		if len(done.Kept) > 0 || after.Root != state.Root {
			t.Errorf("kept %v", done.Kept)
		}
		done, after = b.restore(Restore{Agent: ada, To: stateOf(shut), Commands: true})
		if len(done.Kept) > 0 || after.Root != shut.Root {
			t.Errorf("and back: kept %v", done.Kept)
		}
		// What is kept in it keeps it, as it was.
		os.Chmod(b.path("made"), 0o755)
		b.put("made/foreign", "mine\n")
		os.Chmod(b.path("made"), 0o555)
		done, _ = b.restore(Restore{Agent: ada, To: stateOf(state), Commands: true})
		if info, err := os.Stat(b.path("made")); err != nil || info.Mode().Perm() != 0o555 {
			t.Errorf("%v, %v; kept %v", info, err, done.Kept)
		}
	})
	os.Chmod(b.path("made"), 0o755)
}

// unprivileged does something with the rights that modes give, also where the test is root.
func unprivileged(t *testing.T, do func()) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var all [2]unix.CapUserData
	testkit.OK(t, unix.Capget(&head, &all[0]))
	less := all
	less[0].Effective &^= 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH
	testkit.OK(t, unix.Capset(&head, &less[0]))
	defer unix.Capset(&head, &all[0])
	do()
}
