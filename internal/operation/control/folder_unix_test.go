//go:build unix

package control

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/core/registry"
	"ramet/internal/testkit"
)

func TestEverythingIsTheUsersOnly(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	for name, before := range map[string]os.FileMode{"new": 0, "made by somebody careless": 0o777} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			p := At(home, "/db")
			if before != 0 {
				testkit.OK(t, errors.Join(os.MkdirAll(p.dir, before), os.Chmod(p.dir, before)))
			}
			s := testkit.Must(Listen(p))(t)
			defer s.Close()
			modes(t, p.dir, map[string]fs.FileMode{".": 0o700 | fs.ModeDir, s.instance + ".lock": 0o600, s.instance + ".sock": 0o600 | fs.ModeSocket})
		})
	}
}

// modes demands exactly these files.
func modes(t *testing.T, dir string, want map[string]fs.FileMode) {
	t.Helper()
	found := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		found++
		name, _ := filepath.Rel(dir, path)
		info, err := e.Info()
		if err != nil {
			return err
		}
		if mode, ok := want[name]; !ok || info.Mode() != mode {
			t.Errorf("%s is %v, want %v", name, info.Mode(), mode)
		}
		return nil
	})
	if err != nil || found != len(want) {
		t.Errorf("%d files, want %d: %v", found, len(want), err)
	}
}

func TestAPathLongerThanASocketsNameMayBe(t *testing.T) {
	home := filepath.Join(t.TempDir(), strings.Repeat("long", 20), strings.Repeat("longer", 20))
	b := newBenchAt(t, home)
	p := b.process()
	if path := b.place.sock(strings.Split(p.owner, ":")[2]); len(path) <= 108 {
		t.Fatalf("%s is not long", path)
	}
	b.answers(p.owner)
	p.quit()
	<-p.ended
	modes(t, b.place.dir, map[string]fs.FileMode{".": 0o700 | fs.ModeDir})
}

func TestAKilledKernelIsKnownToBeDeadAtOnce(t *testing.T) {
	b := newBench(t)
	p := b.process()
	if b.place.Gone(p.owner) {
		t.Fatal("it lives")
	}
	b.answers(p.owner)
	p.kill()
	if !b.place.Gone(p.owner) {
		t.Error("it is dead, and not gone")
	}
	err := b.place.Answers(t.Context(), p.owner)
	if !fault.Is(err, fault.Leased) || !strings.Contains(err.Error(), p.owner) {
		t.Errorf("%v", err)
	}
	if n := b.place.Tell(t.Context(), "", registry.Ring{}); n != 0 {
		t.Errorf("%d of the dead live", n)
	}
	// The socket goes at once; the lock stays as long as leases last.
	instance := strings.Split(p.owner, ":")[2]
	modes(t, b.place.dir, map[string]fs.FileMode{".": 0o700 | fs.ModeDir, instance + ".lock": 0o600})
	if !b.place.Gone(p.owner) {
		t.Error("it was forgotten too soon")
	}
	past := time.Now().Add(-2 * swept)
	testkit.OK(t, os.Chtimes(b.place.lock(instance), past, past))
	b.place.Tell(t.Context(), "", registry.Ring{})
	modes(t, b.place.dir, map[string]fs.FileMode{".": 0o700 | fs.ModeDir})
	if b.place.Gone(p.owner) {
		t.Error("nobody can know any more")
	}
}

func TestALivingKernelIsNotSweptHoweverOld(t *testing.T) {
	b := newBench(t)
	k := b.serve()
	past := time.Now().Add(-2 * swept)
	testkit.OK(t, os.Chtimes(b.place.lock(k.server.instance), past, past))
	if got, err := b.place.instances(); err != nil || len(got) != 1 {
		t.Errorf("%v %v", got, err)
	}
	b.answers(k.server.Owner)
}

// A kernel that is stopped lives, and answers nobody.
func TestAStoppedKernelIsPassedOver(t *testing.T) {
	b := newBench(t)
	p := b.process()
	testkit.OK(t, p.cmd.Process.Signal(syscall.SIGSTOP))
	// A signal takes effect when it does; the parent is told.
	testkit.Must(syscall.Wait4(p.cmd.Process.Pid, nil, syscall.WUNTRACED, nil))(t)
	hello, news := helloWait, newsWait
	helloWait, newsWait = 100*time.Millisecond, 100*time.Millisecond // it never answers
	var asking sync.WaitGroup
	asking.Go(func() {
		err := b.place.Answers(t.Context(), p.owner)
		if !fault.Is(err, fault.Leased) || !strings.Contains(err.Error(), p.owner) {
			t.Errorf("%v", err)
		}
	})
	asking.Go(func() {
		if n := b.place.Tell(t.Context(), "", registry.Ring{What: registry.RingMail}); n != 1 {
			t.Errorf("%d kernels are silent", n)
		}
	})
	asking.Wait()
	if b.place.Gone(p.owner) {
		t.Error("it is only asleep")
	}
	helloWait, newsWait = hello, news
	testkit.OK(t, p.cmd.Process.Signal(syscall.SIGCONT))
	b.answers(p.owner)
}

func TestOwnersThatAreNotOfThisMachine(t *testing.T) {
	p := At(t.TempDir(), "/db")
	testkit.OK(t, os.MkdirAll(p.dir, 0o700))
	// A lock that is free, in reach of a name that climbs.
	testkit.OK(t, os.WriteFile(filepath.Join(filepath.Dir(p.dir), "x.lock"), nil, 0o600))
	for _, owner := range []string{
		"", "x", ":", "::", "elsewhere:1:0123456789ab", p.host + ":1", p.host + ":1:", p.host + ":1:0123456789ab:x",
		p.host + ":1:0123456789aX", p.host + ":1:0123456789AB", p.host + ":1:../x", p.host + ":1:../../../abcd", p.host + ":1:0123456789ab",
	} {
		if p.Gone(owner) {
			t.Errorf("%q is gone, and nobody can know", owner)
		}
		err := p.Answers(t.Context(), owner)
		if !fault.Is(err, fault.Leased) || !strings.Contains(err.Error(), "held by "+owner+", which does not answer") {
			t.Errorf("%q: %v", owner, err)
		}
	}
}

func TestGarbageInTheFolder(t *testing.T) {
	b := newBench(t)
	k := b.serve()
	in := func(name string) string { return filepath.Join(b.place.dir, name) }
	testkit.OK(t, errors.Join(
		os.WriteFile(in("note.txt"), []byte("hello"), 0o644),
		os.WriteFile(in("odd.lock"), nil, 0o600),
		os.WriteFile(in("..lock"), nil, 0o600),
		os.WriteFile(in("0000000000aa.sock"), []byte("no socket"), 0o600),
		os.WriteFile(in("0000000000ab.lock"), nil, 0o000),
		os.Mkdir(in("0000000000ac.lock"), 0o700),
		os.Symlink(in("nowhere"), in("0000000000ad.lock")),
		os.Symlink(in("."), in("0000000000ae.lock")),
	))
	if n := b.place.Tell(t.Context(), "", registry.Ring{What: registry.RingMail}); n != 0 {
		t.Errorf("%d are silent", n)
	}
	k.rung(t)
	for _, name := range []string{"note.txt", "odd.lock", "..lock", "0000000000aa.sock", "0000000000ac.lock"} {
		if _, err := os.Lstat(in(name)); err != nil {
			t.Errorf("somebody's %s: %v", name, err)
		}
	}
}

func TestWhoeverLooksDisturbsNobodyWhoComes(t *testing.T) {
	p := At(t.TempDir(), "/db")
	done := make(chan struct{})
	var looking, coming sync.WaitGroup
	for range 4 {
		looking.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					p.instances()
				}
			}
		})
	}
	for range 4 {
		coming.Go(func() {
			for range 50 {
				s, err := Listen(p)
				if err != nil {
					t.Error(err)
					return
				}
				if p.Gone(s.Owner) {
					t.Error("it is there")
				}
				s.Close()
			}
		})
	}
	coming.Wait()
	close(done)
	looking.Wait()
}

func TestWhoConnectsDoesNotCount(t *testing.T) {
	const plain = "postgres://db.example/team?schema=one"
	same := []string{"postgresql://db.example/team?schema=one", "postgres://ada@db.example/team?schema=one",
		"postgres://ada:opensesame@db.example/team?schema=one", "postgres://eve:other@db.example:5432/team?schema=one",
		"postgres://db.example/team?schema=one&user=ada&password=opensesame", "postgres://db.example/team?lock_timeout=1s&schema=one"}
	for _, db := range same {
		if At("/h", db).dir != At("/h", plain).dir {
			t.Errorf("%s is another place than %s", db, plain)
		}
	}
	others := []string{"postgres://db.example/team?schema=two", "postgres://db.example/other?schema=one", "postgres://db.example:5433/team?schema=one",
		"postgres://else.example/team?schema=one", "/db.example/team", "postgres://db.example:port:opensesame/"}
	for _, db := range others {
		if At("/h", db).dir == At("/h", plain).dir {
			t.Errorf("%s is the same place as %s", db, plain)
		}
	}
	for _, db := range append(same, others...) {
		if strings.Contains(identity(db), "opensesame") {
			t.Errorf("%s: a password counts: %s", db, identity(db))
		}
	}
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	testkit.OK(t, os.Symlink(dir, link))
	for _, file := range []string{"ramet.db", "later.db"} { // the second is not there yet
		if file == "ramet.db" {
			testkit.OK(t, os.WriteFile(filepath.Join(dir, file), nil, 0o600))
		}
		if At("/h", filepath.Join(link, file)).dir != At("/h", filepath.Join(dir, file)).dir {
			t.Errorf("%s by another path is another place", file)
		}
	}
}
