package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

func TestWriteFileReplacesTheContentAndSetsTheMode(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for i, perm := range []fs.FileMode{0o644, 0o600, 0o666} {
		want := fmt.Sprint("content ", i)
		testkit.OK(t, WriteFile(path, []byte(want), perm))
		expect(t, path, want)
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != perm {
			t.Errorf("mode %v, want %v (%v)", info.Mode(), perm, err)
		}
	}
	expectNames(t, dir, "file")
}

func TestReadPlainReadsUpToALimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	testkit.OK(t, os.WriteFile(path, []byte("four"), 0o600))
	for most, whole := range map[int64]bool{5: true, 4: true, 3: false} {
		if got, err := ReadPlain(path, most, nil); whole != (err == nil && string(got) == "four") || !whole && !fault.Is(err, fault.InvalidConfig) {
			t.Errorf("at most %d bytes: %q, %v", most, got, err)
		}
	}
}

func TestCreateFileRefusesWhatExists(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	testkit.OK(t, CreateFile(path, []byte("first"), 0o600))
	testkit.OK(t, os.Symlink("nowhere", filepath.Join(dir, "link")))
	for _, name := range []string{"file", "link"} {
		err := CreateFile(filepath.Join(dir, name), []byte("second"), 0o600)
		if !fault.Is(err, fault.Conflict) || !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	expect(t, path, "first")
	expectNames(t, dir, "file", "link")
}

func TestOfRacingCreatorsOneWins(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	var all []*process
	for i := range 6 {
		all = append(all, start(t, "create", path, strconv.Itoa(i)))
	}
	for _, p := range all {
		p.stdin.Close() // off you go
	}
	winner := ""
	for i, p := range all {
		said := p.says()
		if err := p.Wait(); err == nil {
			if winner != "" {
				t.Errorf("%s and %d both won", winner, i)
			}
			winner = strconv.Itoa(i)
		} else if !strings.Contains(said, "file exists") {
			t.Errorf("loser said %q", said)
		}
	}
	expect(t, path, winner)
	expectNames(t, dir, "key")
}

func TestAFailedWriteChangesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	testkit.OK(t, WriteFile(path, []byte("old"), 0o600))
	p := start(t, "toolarge", path)
	if said := p.says(); !strings.Contains(said, path) || !strings.Contains(said, "file too large") {
		t.Errorf("said %q", said)
	}
	expect(t, path, "old")
	expectNames(t, dir, "file")
}

func TestAFailedRenameLeavesNoTemporaryFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "folder")
	testkit.OK(t, os.MkdirAll(filepath.Join(path, "full"), 0o700))
	if err := WriteFile(path, nil, 0o600); !fault.Is(err, fault.StorageIO) {
		t.Errorf("got %v", err)
	}
	expectNames(t, dir, "folder")
}

// A writer is killed at some point of its work, again and again: the file
// always holds one whole page, and never an older one than was acknowledged.
func TestAKilledWriterLeavesAWholeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for round := range 8 {
		p := start(t, "rewrite", path)
		acknowledged := -1
		for range round*3 + 1 {
			n := testkit.Must(strconv.Atoi(p.says()))(t)
			acknowledged = n
		}
		p.Process.Kill()
		for p.lines.Scan() { // acknowledged before the kill, read after it
			if n, err := strconv.Atoi(p.lines.Text()); err == nil {
				acknowledged = n
			}
		}
		p.Wait()
		got := testkit.Must(os.ReadFile(path))(t)
		if !bytes.Equal(got, page(acknowledged)) && !bytes.Equal(got, page(acknowledged+1)) {
			t.Fatalf("round %d: torn or lost after %d: %.20q, %d bytes", round, acknowledged, got, len(got))
		}
	}
}

func TestEachFailureHasItsCodeAndNamesThePath(t *testing.T) {
	full := testkit.Must(os.OpenFile("/dev/full", os.O_WRONLY, 0))(t)
	defer full.Close()
	_, noSpace := full.Write([]byte("x"))
	for _, c := range []struct {
		name string
		err  error
		code fault.Code
	}{
		{"a full device", Failure("write file", "/x/y", noSpace), fault.StorageFull},
		{"a used up quota", Failure("write file", "/x/y", syscall.EDQUOT), fault.StorageFull},
		{"a read-only file system", Failure("write file", "/x/y", syscall.EROFS), fault.StorageReadOnly},
		{"a bad disk", Failure("write file", "/x/y", syscall.EIO), fault.StorageIO},
		{"a folder that is not there", WriteFile("/sys/x/y", nil, 0o600), fault.StorageIO},
		{"a folder not even root may write", WriteFile("/sys/y", nil, 0o600), fault.StorageReadOnly},
		{"the same for a new file", CreateFile("/sys/y", nil, 0o600), fault.StorageReadOnly},
		{"the same for a lock", second(TryLock("/sys/y")), fault.StorageReadOnly},
		{"the same for a folder", MakeFolder("/sys/y", 0o700), fault.StorageReadOnly},
	} {
		if fault.CodeOf(c.err) != c.code || !strings.Contains(c.err.Error(), "/y") {
			t.Errorf("%s: %s %v, want %s", c.name, fault.CodeOf(c.err), c.err, c.code)
		}
	}
	if Failure("write file", "/x", nil) != nil {
		t.Error("no error became a failure")
	}
}

func TestMakeFolderMakesParentsAndKeepsWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "a", "b", "c")
	for range 2 {
		testkit.OK(t, MakeFolder(deep, 0o700))
	}
	if info, err := os.Stat(filepath.Dir(deep)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("parent %v %v", info, err)
	}
	file := filepath.Join(dir, "file")
	testkit.OK(t, WriteFile(file, nil, 0o600))
	if err := MakeFolder(file, 0o700); !fault.Is(err, fault.StorageIO) {
		t.Errorf("a file in the way: %v", err)
	}
	if err := MakeFolder(filepath.Join(file, "x"), 0o700); !fault.Is(err, fault.StorageIO) {
		t.Errorf("a file on the way: %v", err)
	}
}

func TestMakeFoldersMakesAllOrSaysWhichNot(t *testing.T) {
	dir := t.TempDir()
	all := []string{filepath.Join(dir, "a", "b"), filepath.Join(dir, "a", "c", "d"), filepath.Join(dir, "a", "b"), dir}
	for range 2 {
		testkit.OK(t, MakeFolders(0o700, all...))
	}
	for _, path := range all {
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			t.Errorf("%s: %v", path, err)
		}
	}
	file := filepath.Join(dir, "a", "file")
	testkit.OK(t, WriteFile(file, nil, 0o600))
	if err := MakeFolders(0o700, filepath.Join(dir, "e"), filepath.Join(file, "x")); !fault.Is(err, fault.StorageIO) || !strings.Contains(err.Error(), file) {
		t.Errorf("a file on the way: %v", err)
	}
}

func second(_ *Held, err error) error { return err }

func expect(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s holds %q (%v), want %q", path, got, err, want)
	}
}

func expectNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries := testkit.Must(os.ReadDir(dir))(t)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("folder holds %v, want %v", got, want)
	}
}
