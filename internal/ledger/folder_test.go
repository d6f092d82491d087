package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

var fileNoon = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

// place is a state folder whose clock stands at noon.
func place(t *testing.T) *Folder {
	return FolderAt(filepath.Join(t.TempDir(), "state"), FolderOptions{Now: func() time.Time { return fileNoon }})
}

func begin(t *testing.T, f *Folder, ids ...string) {
	t.Helper()
	for _, id := range ids {
		testkit.Must(f.Spawn(t.Context(), Start{ID: id, Type: "t", Plan: "02", Group: "g"}))(t)
	}
}

func put(t *testing.T, f *Folder, name, text string) {
	t.Helper()
	path := filepath.Join(f.dir, name)
	testkit.OK(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)))
}

func readLedger(t *testing.T, f *Folder, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(f.dir, name))
	if errors.Is(err, os.ErrNotExist) {
		return "(not there)"
	}
	testkit.OK(t, err)
	return string(data)
}

func points(t *testing.T, f *Folder, want string) {
	t.Helper()
	if got := readLedger(t, f, PointerName); got != want {
		t.Fatalf("the pointer names %q, not %q", got, want)
	}
}

func drawnFile(t *testing.T, f *Folder) string {
	t.Helper()
	v := testkit.Must(f.Read(t.Context()))(t)
	var words []string
	for _, e := range v.Entries() {
		words = append(words, e.ID+":"+string(e.Status))
	}
	return strings.Join(words, " ")
}

func drawsFile(t *testing.T, f *Folder, want string) {
	t.Helper()
	if got := drawnFile(t, f); got != want {
		t.Fatalf("the ledger holds %s, not %s", got, want)
	}
}

// namesFile lists the folder, without the lock.
func namesFile(t *testing.T, f *Folder) string {
	t.Helper()
	entries := testkit.Must(os.ReadDir(f.dir))(t)
	var out []string
	for _, e := range entries {
		if e.Name() != FileName+".lock" {
			out = append(out, e.Name())
		}
	}
	return strings.Join(out, " ")
}

func refusedFile(t *testing.T, err error, code fault.Code) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Fatalf("got %v, want %s", err, code)
	}
}

func TestThePointerFollowsTheAgents_RemovedOnlyByTheOneItNames(t *testing.T) {
	f, ctx := place(t), t.Context()
	begin(t, f, "a", "b")
	points(t, f, "b")
	testkit.Must(f.Move(ctx, "a", Completed, ""))(t)
	points(t, f, "b") // the source would delete it here
	testkit.Must(f.Move(ctx, "b", Interrupted, "Ctrl-C"))(t)
	points(t, f, "b") // kept, to find out what to resume
	testkit.Must(f.Resume(ctx, "b", Start{ID: "c"}))(t)
	points(t, f, "c")
	testkit.Must(f.Move(ctx, "c", Timeout, ""))(t)
	points(t, f, "(not there)")
	drawsFile(t, f, "a:completed b:resumed c:timeout")
	if got := namesFile(t, f); got != FileName {
		t.Errorf("the folder holds %s", got)
	}
}

func TestMissingFile_ReadsAsEmptyAndIsMadeFromTheTemplate(t *testing.T) {
	f := place(t)
	drawsFile(t, f, "")
	if _, err := os.Stat(f.dir); err == nil {
		t.Fatal("reading made a folder")
	}
	_, err := f.Move(t.Context(), "a", Completed, "")
	refusedFile(t, err, fault.NotFound)
	if _, err := os.Stat(f.dir); err == nil {
		t.Fatal("a refusal made a folder")
	}
	testkit.Must(f.Recover(t.Context()))(t)
	if got, want := readLedger(t, f, FileName), "{\n  \"version\": \"1.0\",\n  \"max_entries\": 50,\n  \"entries\": []\n}"; got != want {
		t.Errorf("%s", got)
	}
}

func TestParseError_KeptAsCorruptThenFromAWholeTemporaryFile(t *testing.T) {
	f := place(t)
	begin(t, f, "a")
	whole := readLedger(t, f, FileName)
	for _, damage := range []string{"", whole[:len(whole)/2], "null", "\x00\x00", `{"entries":5}`} {
		put(t, f, FileName, damage)
		put(t, f, "."+FileName+"123", strings.ReplaceAll(whole, `"a"`, `"from-temp"`))
		put(t, f, "."+FileName+"124", whole[:20]) // half written
		put(t, f, PointerName, "a")
		r := testkit.Must(f.Recover(t.Context()))(t)
		if r.From != FromTemp || r.Entries != 1 || !r.Pointer {
			t.Errorf("%+v", r)
		}
		if kept, err := os.ReadFile(r.Corrupt); err != nil || string(kept) != damage {
			t.Errorf("%q was kept as %q: %v", damage, kept, err)
		}
		drawsFile(t, f, "from-temp:spawned")
		points(t, f, "from-temp")
		if strings.Contains(namesFile(t, f), "."+FileName) {
			t.Errorf("leftovers: %s", namesFile(t, f))
		}
	}
	if n := strings.Count(namesFile(t, f), ".corrupt-20260115T1200"); n != 5 {
		t.Errorf("%d are kept: %s", n, namesFile(t, f))
	}
}

func TestParseError_ElseFromSummaries(t *testing.T) {
	f := place(t)
	put(t, f, FileName, "{")
	put(t, f, "summaries/02-SUMMARY.md", "---\nplan: 02\nstatus: completed\nexecuted_by_agent: a\ncompleted_at: 2026-01-15T14:45:32Z\n---\n")
	put(t, f, "summaries/03-SUMMARY.md", "---\nplan: 03\nstatus: partial\nexecuted_by_agent: b\ncompleted_at: 2026-01-15T15:45:32Z\n---\n")
	put(t, f, "summaries/04-SUMMARY.md", "---\nplan: 04\nstatus: skipped\nexecuted_by_agent: c\n---\n")
	put(t, f, "summaries/notes.md", "---\nplan: 05\nstatus: completed\nexecuted_by_agent: d\n---\n")
	var told []RepairResult
	f.told = func(r RepairResult) { told = append(told, r) }
	drawsFile(t, f, "a:completed b:interrupted") // any command recovers first
	if len(told) != 1 || told[0].From != FromSummaries || told[0].Entries != 2 {
		t.Errorf("%+v", told)
	}
	if !strings.Contains(readLedger(t, f, FileName), `"recovered": true`) {
		t.Error("they are not marked")
	}
	drawsFile(t, f, "a:completed b:interrupted")
	if len(told) != 1 {
		t.Error("it was recovered twice")
	}
}

func TestParseError_ElseFromNothingAndTheUpdateGoesOn(t *testing.T) {
	f := place(t)
	put(t, f, FileName, "<html>")
	begin(t, f, "a")
	drawsFile(t, f, "a:spawned")
	put(t, f, FileName, "<html>")
	_, err := f.Move(t.Context(), "a", Completed, "")
	refusedFile(t, err, fault.NotFound)
	drawsFile(t, f, "")
	if n := strings.Count(namesFile(t, f), "corrupt"); n != 2 {
		t.Errorf("%d are kept: %s", n, namesFile(t, f))
	}
}

func TestAPointerToNothingIsRepaired(t *testing.T) {
	for name, pointer := range map[string]string{"unknown": "nobody", "empty": "", "spaces": " \n", "huge": strings.Repeat("x", 1<<20)} {
		f := place(t)
		begin(t, f, "a", "b")
		testkit.Must(f.Move(t.Context(), "b", Failed, ""))(t)
		put(t, f, PointerName, pointer)
		v := testkit.Must(f.Read(t.Context()))(t)
		if e, ok := v.Active(v.Named); !ok || e.ID != "a" {
			t.Errorf("%s: %+v", name, e)
		}
		points(t, f, "a")
	}
	f := place(t)
	put(t, f, PointerName, "nobody")
	drawsFile(t, f, "")
	points(t, f, "(not there)")
}

func TestAPointerWithALineFeedIsAsGood(t *testing.T) {
	f := place(t)
	begin(t, f, "a", "b")
	put(t, f, PointerName, "a\n")
	if v, err := f.Read(t.Context()); err != nil || v.Named != "a" {
		t.Errorf("%+v %v", v, err)
	}
	points(t, f, "a\n") // nothing to repair, so nothing is written
}

func TestANewerMajorVersionIsReadNotWritten(t *testing.T) {
	f := place(t)
	const newer = `{"version":"2.0","entries":[{"agent_id":"a","status":"spawned"}]}`
	put(t, f, FileName, newer)
	put(t, f, PointerName, "nobody")
	drawsFile(t, f, "a:spawned")
	_, err := f.Move(t.Context(), "a", Completed, "")
	refusedFile(t, err, fault.StorageNewer)
	_, err = f.Spawn(t.Context(), Start{ID: "b"})
	refusedFile(t, err, fault.StorageNewer)
	_, err = f.Recover(t.Context())
	refusedFile(t, err, fault.StorageNewer)
	if got := readLedger(t, f, FileName); got != newer {
		t.Errorf("%s", got)
	}
	points(t, f, "nobody")
}

func TestARefusedChangeWritesNothing(t *testing.T) {
	f := place(t)
	begin(t, f, "a")
	before, _ := os.Stat(f.path())
	for _, try := range []func() error{
		func() error { _, err := f.Spawn(t.Context(), Start{ID: "a"}); return err },
		func() error { _, err := f.Move(t.Context(), "x", Failed, ""); return err },
		func() error { _, err := f.Resume(t.Context(), "a", Start{ID: "b"}); return err },
		func() error { _, err := f.Move(t.Context(), "a", Resumed, ""); return err },
	} {
		if try() == nil {
			t.Error("it was not refused")
		}
	}
	if after, _ := os.Stat(f.path()); !os.SameFile(before, after) {
		t.Error("the file was replaced")
	}
	points(t, f, "a")
}

func TestAnUpdateThatIsNoneWritesNothing(t *testing.T) {
	f := place(t)
	begin(t, f, "a")
	testkit.Must(f.Move(t.Context(), "a", Interrupted, ""))(t)
	before, _ := os.Stat(f.path())
	testkit.Must(f.Move(t.Context(), "a", Interrupted, "again"))(t)
	if after, _ := os.Stat(f.path()); !os.SameFile(before, after) {
		t.Error("the file was replaced")
	}
}

func TestABusyLockIsWaitedForThenLocked(t *testing.T) {
	f := place(t)
	begin(t, f, "a")
	held, err := durable.TryLock(f.path() + ".lock")
	testkit.OK(t, err)
	f.wait = time.Millisecond
	_, err = f.Move(t.Context(), "a", Completed, "")
	refusedFile(t, err, fault.Locked)
	drawsFile(t, f, "a:spawned") // reading needs no lock
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f.wait = time.Minute
	_, err = f.Move(ctx, "a", Completed, "")
	refusedFile(t, err, fault.Cancelled)
	testkit.OK(t, held.Unlock())
	testkit.Must(f.Move(t.Context(), "a", Completed, ""))(t)
}

func TestManyGoroutinesOfOneProcess(t *testing.T) {
	f := place(t)
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			if _, err := f.Spawn(t.Context(), Start{ID: fmt.Sprintf("g%d", i)}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := len(strings.Fields(drawnFile(t, f))); n != 64 {
		t.Errorf("%d of 64 are there", n)
	}
}

func TestOddFilesAreNotFollowed(t *testing.T) {
	f, out := place(t), filepath.Join(t.TempDir(), "victim")
	testkit.OK(t, errors.Join(os.WriteFile(out, []byte("precious"), 0o600), os.MkdirAll(f.dir, 0o755),
		os.Symlink(out, filepath.Join(f.dir, PointerName)), os.Symlink(out, filepath.Join(f.dir, PointerName+".tmp"))))
	begin(t, f, "a")
	points(t, f, "a")
	if data, _ := os.ReadFile(out); string(data) != "precious" {
		t.Errorf("%s", data)
	}
	testkit.OK(t, errors.Join(os.Remove(f.path()), os.Symlink(out, f.path())))
	_, err := f.Read(t.Context())
	refusedFile(t, err, fault.StorageForeign)
	_, err = f.Spawn(t.Context(), Start{ID: "b"})
	refusedFile(t, err, fault.StorageForeign)
	if data, _ := os.ReadFile(out); string(data) != "precious" {
		t.Errorf("%s", data)
	}
}

func TestTheModeOfTheFileStays(t *testing.T) {
	f := place(t)
	begin(t, f, "a")
	testkit.OK(t, os.Chmod(f.path(), 0o600))
	begin(t, f, "b")
	if info, err := os.Stat(f.path()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}

func TestTheClockMayGoBackwards(t *testing.T) {
	f := place(t)
	begin(t, f, "a")
	f.now = func() time.Time { return fileNoon.Add(-time.Hour) }
	begin(t, f, "b")
	testkit.Must(f.Move(t.Context(), "a", Completed, ""))(t)
	var doc struct {
		Entries []struct {
			Timestamp           time.Time  `json:"timestamp"`
			CompletionTimestamp *time.Time `json:"completion_timestamp"`
		} `json:"entries"`
	}
	testkit.OK(t, json.Unmarshal([]byte(readLedger(t, f, FileName)), &doc))
	if e := doc.Entries[0]; e.CompletionTimestamp.Before(e.Timestamp) {
		t.Errorf("%+v", e)
	}
	v := testkit.Must(f.Read(t.Context()))(t)
	if e, _ := v.Newest(); e.ID != "b" {
		t.Errorf("the newest is %s", e.ID)
	}
}

// Eight processes write, and are killed with SIGKILL again and again in the middle of it.
// Every update that was acknowledged is there at the end, and whoever reads meanwhile
// sees a whole file.
func TestEightWritersLoseNothing(t *testing.T) {
	updates, seed := 20, uint64(1)
	if testkit.SoakOn() {
		updates, seed = 1000, testkit.SoakSeed(t)
	}
	f := FolderAt(t.TempDir(), FolderOptions{})
	put(t, f, FileName, `{"version":"1.0","max_entries":1000000,"entries":[]}`)

	var over atomic.Bool
	polled := make(chan int)
	go func() {
		n := 0
		for ; !over.Load() || n == 0; n++ {
			data, err := os.ReadFile(f.path())
			if err != nil || !json.Valid(data) {
				t.Errorf("a reader saw %v, %.80q…", err, data)
				break
			}
		}
		polled <- n
	}()

	var writers sync.WaitGroup
	acknowledged, kills := make([]map[string]Status, 8), make([]int, 8)
	for i := range 8 {
		writers.Go(func() {
			acknowledged[i] = map[string]Status{}
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			for got, next := 0, 0; got < updates; {
				more, last := storm(t, f.dir, fmt.Sprintf("w%d", i), next, min(updates-got, 1+random.IntN(20)), acknowledged[i])
				got += more
				next = last + 2 // the next number may be in the file already, not acknowledged
				kills[i]++
			}
		})
	}
	writers.Wait()
	over.Store(true)
	reads := <-polled

	begin(t, f, "last") // under whose lock the leftovers of the killed are swept
	if got := namesFile(t, f); got != FileName+" "+PointerName {
		t.Errorf("the folder holds %s", got)
	}
	v := testkit.Must(f.Read(t.Context()))(t)
	have := map[string]Status{}
	for _, e := range v.Entries() {
		if _, twice := have[e.ID]; twice {
			t.Errorf("%s is there twice", e.ID)
		}
		have[e.ID] = e.Status
	}
	total, killed := 0, 0
	for i, acks := range acknowledged {
		for id, status := range acks {
			if got := have[id]; got != status && !(status == Spawned && got == Completed) {
				t.Errorf("%s was acknowledged as %s and is %q", id, status, got)
			}
		}
		total += len(acks)
		killed += kills[i]
	}
	t.Logf("%d agents, %d kills, %d reads", total, killed, reads)
}

func TestEightWritersLoseNothingSoak(t *testing.T) {
	testkit.SoakOnly(t)
	TestEightWritersLoseNothing(t)
}

// storm lets one writer write until it has acknowledged quota updates, and kills it. It
// returns how many it acknowledged and the last number that it used.
func storm(t *testing.T, dir, name string, from, quota int, acks map[string]Status) (got, last int) {
	p := start(t, "write", dir, name, strconv.Itoa(from))
	last = from
	for p.lines.Scan() {
		status, id, ok := strings.Cut(p.lines.Text(), " ")
		if !ok || status == "error:" {
			t.Errorf("%s says %q", name, p.lines.Text())
			break
		}
		acks[id] = Status(status)
		_, number, _ := strings.Cut(id, "-")
		last, _ = strconv.Atoi(number)
		if got++; got == quota {
			p.Process.Kill() // and what it acknowledged before that is still read
		}
	}
	p.Wait()
	return got, last
}

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
