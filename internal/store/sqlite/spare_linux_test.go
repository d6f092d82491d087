package sqlite

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ramet/internal/base/step"
	"ramet/internal/store"
)

// ledger is a database of numbers, through the same handles as a workspace.
type ledger struct {
	*dialect
	t *testing.T
}

func openLedger(t *testing.T, path string) ledger {
	t.Helper()
	f, err := prepare(path, "")
	if err != nil {
		t.Fatal(err)
	}
	d := &dialect{path: path, readOnly: f.readOnly}
	if err := d.open(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	run(t, d.writer, `CREATE TABLE IF NOT EXISTS numbers (n INTEGER PRIMARY KEY, word TEXT)`)
	run(t, d.writer, fmt.Sprintf(`PRAGMA application_id = %d`, applicationID))
	return ledger{d, t}
}

func (l ledger) add(word string) {
	l.t.Helper()
	run(l.t, l.writer, `INSERT INTO numbers (word) VALUES ('`+word+`')`)
}

func (l ledger) shut() {
	l.t.Helper()
	if err := l.close(); err != nil {
		l.t.Fatal(err)
	}
}

func words(t *testing.T, db *sql.DB) string {
	t.Helper()
	var out string
	if err := db.QueryRow(`SELECT coalesce(group_concat(word, ' ' ORDER BY n), '') FROM numbers`).Scan(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

func names(t *testing.T, path string) uint64 {
	t.Helper()
	var is unix.Stat_t
	if err := unix.Lstat(path, &is); err != nil {
		t.Fatal(err)
	}
	return is.Nlink
}

func content(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The log of the next process is the file of the last one, and holds nothing in between.
func TestTheLogRests(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ramet.db")
	l := openLedger(t, path)
	l.add("opensesame")
	l.shut()
	rested := content(t, spareOf(path))
	if rest, ok := bytes.CutPrefix(rested, []byte(atRest)); !ok || len(rest) == 0 || !blank(rest) {
		t.Errorf("the spare of %d bytes begins with %q, and what follows is not all zero", len(rested), rested[:min(40, len(rested))])
	}
	if _, err := os.Lstat(logOf(path)); err == nil {
		t.Error("the log is still there")
	}
	if hasLog(path) {
		t.Error("a log that rests counts")
	}
	l = openLedger(t, path)
	if names(t, spareOf(path)) != 2 {
		t.Error("the spare was not made the log")
	}
	l.add("again")
	if !hasLog(path) {
		t.Error("a log that is used does not count")
	}
	l.shut()
	l = openLedger(t, path)
	defer l.shut()
	if got := words(t, l.readers); got != "opensesame again" {
		t.Error(got)
	}
}

// Who only reads changes nothing in it, and pays for nothing.
func TestAReaderLeavesTheLogAtRest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ramet.db")
	openLedger(t, path).shut()
	before := content(t, spareOf(path))
	f, err := prepare(path, "")
	if err != nil {
		t.Fatal(err)
	}
	d := &dialect{path: path}
	if err := d.open(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	words(t, d.readers)
	if err := d.close(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, content(t, spareOf(path))) || names(t, spareOf(path)) != 1 {
		t.Error("it is another one")
	}
}

// A whole log of another day would put old pages back.
func TestASpareOfAnotherDayIsNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ramet.db")
	l := openLedger(t, path)
	l.add("one")
	old := content(t, logOf(path))
	l.add("two")
	l.shut()
	if err := os.WriteFile(spareOf(path), old, 0o600); err != nil { // a process was killed before it wiped it
		t.Fatal(err)
	}
	db := open(path, "mode=ro", 1) // SQLite itself knows nothing of it
	if got := words(t, db); got != "one two" {
		t.Error(got)
	}
	db.Close()
	l = openLedger(t, path)
	if got := words(t, l.readers); got != "one two" {
		t.Errorf("the old log was read: %s", got)
	}
	l.add("three")
	l.shut()
	if os.WriteFile(spareOf(path), old, 0o600) != nil || (&dialect{path: path}).rested() {
		t.Error("it was not put back")
	}
	l = openLedger(t, path)
	defer l.shut()
	if got := words(t, l.readers); got != "one two three" {
		t.Error(got)
	}
}

// rested says whether the spare is at rest.
func (d *dialect) rested() bool {
	f, err := step.OpenFile(spareOf(d.path), os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return rests(f)
}

// A log that is in use is nobody else's, whatever they do.
func TestALogInUseIsNotTouched(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ramet.db")
	openLedger(t, path).shut()
	l := openLedger(t, path)
	defer l.shut()
	l.add("one")
	before := content(t, logOf(path))
	wake(path)
	keep(path)
	rest(path)
	openLedger(t, path).shut()
	if !bytes.HasPrefix(content(t, logOf(path)), before[:len(atRest)]) {
		t.Error("it was wiped")
	}
	l.add("two")
	copied := filepath.Join(dir, "copied.db") // as the disk is when the machine fails now
	for _, end := range []string{"", "-wal", "-spare"} {
		if err := os.WriteFile(copied+end, content(t, path+end), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := openLedger(t, copied)
	defer c.shut()
	if got := words(t, c.readers); got != "one two" {
		t.Error(got)
	}
}

// What has the name of the spare and is not the log's is left alone.
func TestASpareOfSomebodyElse(t *testing.T) {
	for what, plant := range map[string]func(spare, victim string) error{
		"a link":       func(spare, victim string) error { return os.Symlink(victim, spare) },
		"another name": func(spare, victim string) error { return os.Link(victim, spare) },
		"a folder":     func(spare, _ string) error { return os.Mkdir(spare, 0o700) },
		"a pipe":       func(spare, _ string) error { return unix.Mkfifo(spare, 0o600) },
		"an open file": func(spare, _ string) error { return os.WriteFile(spare, []byte("for all"), 0o666) },
		"a log for all": func(spare, _ string) error {
			return errors.Join(os.WriteFile(spare, []byte("\x37\x7f\x06\x82"+strings.Repeat("x", 5000)), 0o600), os.Chmod(spare, 0o666))
		},
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			path, victim := filepath.Join(dir, "ramet.db"), filepath.Join(dir, "victim")
			openLedger(t, path).shut()
			if err := os.Remove(spareOf(path)); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := plant(spareOf(path), victim); err != nil {
				t.Fatal(err)
			}
			l := openLedger(t, path)
			l.add("one")
			if info, err := os.Stat(logOf(path)); err != nil || info.Mode() != 0o600 {
				t.Errorf("the log: %v, %v", info, err)
			}
			l.shut()
			if got := string(content(t, victim)); got != "precious" {
				t.Errorf("%q", got)
			}
			l = openLedger(t, path)
			defer l.shut()
			if got := words(t, l.readers); got != "one" {
				t.Error(got)
			}
		})
	}
}

// Who keeps a copy under that name has it still.
func TestACopyOfTheDatabaseIsNoSpare(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ramet.db")
	l := openLedger(t, path)
	l.add("precious")
	l.shut()
	before := content(t, path)
	if err := os.WriteFile(spareOf(path), before, 0o600); err != nil {
		t.Fatal(err)
	}
	l = openLedger(t, path)
	l.add("more")
	if err := l.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.shut()
	if !bytes.Equal(content(t, spareOf(path)), before) {
		t.Error("the copy was changed")
	}
}

// tired breaks off after some writes.
type tired struct {
	*os.File
	left int
}

func (f *tired) WriteAt(b []byte, at int64) (int, error) {
	if f.left--; f.left < 0 {
		return 0, errors.New("killed")
	}
	return f.File.WriteAt(b, at)
}

// A wiping that was broken off is finished by the next, wherever it was.
func TestAWipingThatWasBrokenOff(t *testing.T) {
	for writes := range 8 {
		f, err := os.Create(filepath.Join(t.TempDir(), "log"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(strings.Repeat("x", 100_000)); err != nil {
			t.Fatal(err)
		}
		if err := blankPages(&tired{f, writes}); (err == nil) != (writes == 7) {
			t.Errorf("%d writes: %v", writes, err)
		}
		if err := blankPages(f); err != nil {
			t.Fatal(err)
		}
		if rest := content(t, f.Name())[len(atRest):]; !blank(rest) {
			t.Errorf("broken off after %d writes, something stays", writes)
		}
	}
}

// A long log is not kept whole, and one that was emptied to remove deleted bytes is used again.
func TestALongLogIsCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ramet.db")
	openLedger(t, path).shut()
	l := openLedger(t, path)
	for range 12 {
		l.add(strings.Repeat("x", 200_000))
	}
	l.shut()
	if size := len(content(t, spareOf(path))); size != largestSpare {
		t.Errorf("%d bytes are kept", size)
	}
	l = openLedger(t, path)
	l.add("secret")
	if err := l.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	if size := len(content(t, spareOf(path))); size != 0 {
		t.Errorf("%d bytes are left of what was removed", size)
	}
	l.shut()
	l = openLedger(t, path)
	defer l.shut()
	if names(t, spareOf(path)) != 2 {
		t.Error("it is not used any more")
	}
}

// Many processes open, write and close one file at once: nothing is lost, whoever is the last.
func TestManyProcessesAndOneSpare(t *testing.T) {
	const processes, rounds = 6, 40
	if path := os.Getenv("RAMET_TEST_SPARE"); path != "" {
		for i := range rounds {
			l := openLedger(t, path)
			l.add(fmt.Sprint(os.Getpid(), ".", i))
			l.shut()
		}
		return
	}
	path := filepath.Join(t.TempDir(), "ramet.db")
	openLedger(t, path).shut()
	ended := make(chan string, processes)
	for range processes {
		go func() {
			c := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestManyProcessesAndOneSpare$")
			c.Env = append(os.Environ(), "RAMET_TEST_SPARE="+path)
			if out, err := c.CombinedOutput(); err != nil {
				ended <- fmt.Sprintf("%v\n%s", err, out)
			} else {
				ended <- ""
			}
		}()
	}
	for range processes {
		if failure := <-ended; failure != "" {
			t.Error(failure)
		}
	}
	l := openLedger(t, path)
	defer l.shut()
	var n int
	var ok string
	if err := l.readers.QueryRowContext(store.Lasting(t.Context()), `SELECT count(DISTINCT word), (SELECT integrity_check FROM pragma_integrity_check) FROM numbers`).Scan(&n, &ok); err != nil {
		t.Fatal(err)
	}
	if n != processes*rounds || ok != "ok" {
		t.Errorf("%d of %d are there; the file is %s", n, processes*rounds, ok)
	}
}
