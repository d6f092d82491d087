package bench

import (
	"bufio"
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/launch/sandbox"
	"ramet/internal/ledger"
	"ramet/internal/store"
	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
)

// scale is how much of the full size is measured.
var scale = func() float64 {
	f, err := strconv.ParseFloat(os.Getenv("RAMET_BENCH_SCALE"), 64)
	if err != nil || f <= 0 {
		return 0.01
	}
	return min(f, 1)
}()

// scaled is a full size at the scale of this run.
func scaled(n int) int { return max(1, int(float64(n)*scale)) }

// workshop is the folder of this run's databases.
var workshop string

func TestMain(m *testing.M) {
	sandbox.Main() // commands of tools run below this binary
	if play := roles[os.Getenv(roleVariable)]; play != nil {
		os.Exit(play())
	}
	var err error
	if workshop, err = os.MkdirTemp("", "ramet-bench-*"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := pgtest.Main(m)
	printPromises()
	if err := os.RemoveAll(workshop); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// fresh is the path of a database that does not exist yet.
func fresh(b *testing.B) string {
	b.Helper()
	dir := testkit.Must(os.MkdirTemp(workshop, "db-*"))(b)
	b.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "ramet.db")
}

// promise is one figure and its limit.
type promise struct {
	name    string
	unit    string // "" for a ratio
	limit   float64
	atLeast bool // the limit is a floor
	noLimit bool // shown, not promised
	got     float64
}

var promises []promise

// atMost records a figure that must not be above its limit.
func atMost(b *testing.B, name, unit string, got, limit float64) {
	record(b, promise{name: name, unit: unit, got: got, limit: limit})
}

// atLeast records a figure that must not be below its limit.
func atLeast(b *testing.B, name, unit string, got, limit float64) {
	record(b, promise{name: name, unit: unit, got: got, limit: limit, atLeast: true})
}

// shown records a figure that nobody promised.
func shown(b *testing.B, name, unit string, got float64) {
	record(b, promise{name: name, unit: unit, got: got, noLimit: true})
}

func record(b *testing.B, p promise) {
	promises = append(promises, p)
	unit := strings.Join(strings.Fields(p.name+" "+p.unit), "-")
	b.ReportMetric(0, "ns/op") // the time of a round means nothing
	b.ReportMetric(p.got, unit)
}

func (p promise) String() string {
	figure := func(f float64) string { return strings.TrimSpace(fmt.Sprintf("%.3g %s", f, p.unit)) }
	if p.noLimit {
		return fmt.Sprintf("%-8s%-80s %14s", "-", p.name, figure(p.got))
	}
	sign, used := "<=", p.got/p.limit
	if p.atLeast {
		sign, used = ">=", p.limit/p.got
	}
	verdict := "ok"
	switch {
	case scale < 1:
		verdict = "smoke"
	case used > 1:
		verdict = "MISSED"
	}
	return fmt.Sprintf("%-8s%-80s %14s %s %-10s %4.0f %% of the limit", verdict, p.name, figure(p.got), sign, figure(p.limit), 100*used)
}

func printPromises() {
	if len(promises) == 0 {
		return
	}
	fmt.Printf("\nPromises at scale %g, %d cores, %s\n", scale, runtime.NumCPU(), runtime.Version())
	for _, p := range promises {
		fmt.Println(p)
	}
}

// times are the durations of one side.
type times []time.Duration

func (t *times) of(f func()) {
	begin := time.Now()
	f()
	*t = append(*t, time.Since(begin))
}

// at is a percentile, 0.5 the median.
func (t times) at(p float64) float64 {
	sorted := slices.Sorted(slices.Values(t))
	return float64(sorted[min(len(sorted)-1, int(p*float64(len(sorted))))])
}

// must ends a benchmark that cannot go on.
func must[T any](b *testing.B) func(T, error) T {
	return func(v T, err error) T {
		b.Helper()
		testkit.OK(b, err)
		return v
	}
}

func check(b *testing.B, err error) {
	b.Helper()
	testkit.OK(b, err)
}

// middle is the median.
func middle(figures []float64) float64 {
	sorted := slices.Sorted(slices.Values(figures))
	return sorted[len(sorted)/2]
}

// An update of the ledger (lock, read, change, write, pointer) costs little more than
// writing the same file atomically without any of that.
func BenchmarkLedgerUpdateAgainstBareWrite(b *testing.B) {
	const entries = 50 // as many as a file holds unless it says otherwise
	l := newBook(b, entries)
	var theirs, ours times
	n := 0
	round := func() {
		for range scaled(500) {
			n++
			data := must[[]byte](b)(os.ReadFile(l.path))
			theirs.of(func() { check(b, durable.WriteFile(l.path+".bare", data, 0o644)) })
			ours.of(func() { l.update(b, n) })
		}
	}
	round()
	theirs, ours = nil, nil
	for b.Loop() {
		round()
	}
	atMost(b, "ledger: one update / the bare atomic write of the same file", "", ours.at(0.5)/theirs.at(0.5), 2)
	shown(b, "ledger: one update of 50 entries", "ms", ours.at(0.5)/1e6)
}

// book is a ledger in which one agent in turn starts and ends, so that its size stays.
type book struct {
	*ledger.Folder
	path string
	id   string
}

// newBook makes one that is full of finished agents.
func newBook(b *testing.B, entries int) *book {
	b.Helper()
	dir := must[string](b)(os.MkdirTemp(workshop, "ledger-*"))
	sheet := must[*ledger.Sheet](b)(ledger.Parse(fmt.Appendf(nil, `{"version":"1.0","max_entries":%d,"entries":[]}`, entries)))
	for i := range entries {
		id := fmt.Sprintf("agent-%d", i)
		must[ledger.Entry](b)(sheet.Spawn(ledger.Start{ID: id, Type: "backend-specialist", Plan: "02", Group: "API Endpoints", Minutes: 30, Owner: ledger.SelfOwner()}, time.Now()))
		must[ledger.Entry](b)(sheet.Move(id, ledger.Completed, "", time.Now()))
	}
	l := &book{Folder: ledger.FolderAt(dir, ledger.FolderOptions{}), path: filepath.Join(dir, ledger.FileName)}
	check(b, durable.WriteFile(l.path, sheet.Format(), 0o644))
	return l
}

// update is one update: odd ones start an agent, even ones end it.
func (l *book) update(b *testing.B, n int) {
	if n%2 == 1 {
		l.id = fmt.Sprintf("new-%d", n)
		must[ledger.Entry](b)(l.Spawn(b.Context(), ledger.Start{ID: l.id, Type: "backend-specialist", Plan: "02", Group: "API Endpoints", Minutes: 30, Owner: ledger.SelfOwner()}))
		return
	}
	must[ledger.Entry](b)(l.Move(b.Context(), l.id, ledger.Completed, ""))
}

func replay(b *testing.B, s *store.Store, a id.Agent, want int) *history.Context {
	b.Helper()
	c := must[*history.Context](b)(history.Replay(b.Context(), s, a))
	if len(c.Messages) != want {
		b.Fatalf("replayed %d messages, want %d", len(c.Messages), want)
	}
	return c
}

// Replay costs little more than reading the rows; the bare side does not even
// keep them.
func BenchmarkReplayAgainstBareDriver(b *testing.B) {
	onBoth(b, func(b *testing.B, e engine) {
		s, place := e.make(b)
		reader := child(b, s)
		size := scaled(100_000)
		fill(b, s, reader, size)
		bare := e.bare(b, place)
		read := func() {
			rows := must[*sql.Rows](b)(bare.QueryContext(b.Context(), `SELECT id, agent_uuid, kind, content, meta, created_at, hash
				FROM messages WHERE agent_uuid = $1 AND id > $2 AND id <= $3 ORDER BY id`, string(reader), 0, int64(1<<62)))
			defer rows.Close()
			n := 0
			for rows.Next() {
				var m, created int64
				var who, kind, content, meta, hash sql.RawBytes
				check(b, rows.Scan(&m, &who, &kind, &content, &meta, &created, &hash))
				n++
			}
			check(b, rows.Err())
			if n != size+1 { // and the fork
				b.Fatalf("read %d rows", n)
			}
		}
		var theirs, ours times
		for b.Loop() {
			for range 5 {
				runtime.GC() // nobody pays for the other's rubbish
				theirs.of(read)
				runtime.GC()
				ours.of(func() { replay(b, s, reader, size) })
			}
		}
		atMost(b, e.name+": replay of 100,000 messages / bare driver", "", ours.at(0.5)/theirs.at(0.5), 1.5)
		shown(b, e.name+": messages replayed", "/s", float64(size)/ours.at(0.5)*1e9)
	})
}

// allocated is how many bytes f allocates.
func allocated(f func()) float64 {
	var before, after runtime.MemStats
	f() // what is made once only
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc - before.TotalAlloc)
}

// large is the workspace of 1,000,000 messages and 10,000 living agents: one
// with almost all the messages, called many, and 100 leads with 98 workers
// below each, who said a few things themselves.
type large struct {
	engine
	*store.Store
	place string
	many  id.Agent
	last  id.Message // the newest of many
}

func makeLarge(b *testing.B, e engine) large {
	b.Helper()
	s, place := e.make(b)
	zero := must[agent.Agent](b)(s.Zero(b.Context())).ID
	messages, agents := scaled(1_000_000), scaled(10_000)
	leads := max(3, agents/100)

	l := large{engine: e, Store: s, place: place}
	l.many = fork(b, s, zero, 1, func(int) string { return "many" })[0].ID
	made, said := 2, 0
	for i, lead := range fork(b, s, zero, leads, func(i int) string { return fmt.Sprintf("lead-%d", i) }) {
		fill(b, s, lead.ID, 100)
		said += 100
		workers := min(99, agents-made-(leads-i))
		made += 1 + len(fork(b, s, lead.ID, workers, func(k int) string { return fmt.Sprintf("worker-%d.%d", i, k) }))
	}
	fill(b, s, l.many, max(1000, messages-said))
	l.last = must[agent.Agent](b)(s.Agent(b.Context(), l.many)).Head
	b.Logf("%s: made %d agents and %d messages", e.name, made, max(1000, messages-said)+said)
	return l
}

// With a million messages in the workspace, all of them in one context.
func BenchmarkAMillionMessages(b *testing.B) {
	onBoth(b, func(b *testing.B, e engine) {
		l := makeLarge(b, e)
		b.Run("Tail", l.tails) // before the forks, whose entries stand at the end
		b.Run("Fork", l.forks)
		if e.name == "SQLite" {
			b.Run("Commands", l.commands)
		}
	})
}

// Fork does not get slower with the length of the history.
func (l large) forks(b *testing.B) {
	small, _ := l.make(b)
	few := child(b, small)
	fill(b, small, few, 10)
	for range scaled(500) { // the first hundreds are slower
		forkOnce(b, small, few)
		forkOnce(b, l.Store, l.many)
	}
	var theirs, ours times
	for b.Loop() {
		for range scaled(500) {
			theirs.of(func() { forkOnce(b, small, few) })
			ours.of(func() { forkOnce(b, l.Store, l.many) })
		}
	}
	atMost(b, l.name+": fork p50 at 1,000,000 messages / at 10", "", ours.at(0.5)/theirs.at(0.5), 1.2)
}

// The last messages of a long history are read without the rest.
func (l large) tails(b *testing.B) {
	small, _ := l.make(b)
	few := child(b, small)
	fill(b, small, few, 1000)
	tail := func(s *store.Store, a id.Agent) func() {
		return func() {
			if got := must[[]history.Entry](b)(history.Tail(b.Context(), s, a, 20)); len(got) != 20 {
				b.Fatalf("read %d messages", len(got))
			}
		}
	}
	var theirs, ours times
	var less, more float64
	for b.Loop() {
		for range 100 {
			theirs.of(tail(small, few))
			ours.of(tail(l.Store, l.many))
		}
		less, more = allocated(tail(small, few)), allocated(tail(l.Store, l.many))
	}
	atMost(b, l.name+": last 20 of 1,000,000 messages / of 1,000, time p50", "", ours.at(0.5)/theirs.at(0.5), 1.5)
	atMost(b, l.name+": last 20 of 1,000,000 messages / of 1,000, bytes allocated", "", more/less, 1.1)
}

// The fixture is a conversation of a coding agent about this repository: what
// it reads are files and searches of the repository, listings of Go's standard
// library, edits and test runs. It is committed, so that the figure does not change
// with the sources.
const conversation = "testdata/conversation.jsonl"

// said is one line of the fixture.
type said struct {
	Kind  history.Kind   `json:"kind"`
	Parts []history.Part `json:"parts"`
}

// bytes counts what was said, without any encoding.
func (s said) bytes() (n int) {
	for _, p := range s.Parts {
		n += len(p.Text) + len(p.Signature) + len(p.Args) + len(p.Data)
	}
	return n
}

func loadConversation(tb testing.TB) []said {
	tb.Helper()
	f := testkit.Must(os.Open(conversation))(tb)
	defer f.Close()
	var out []said
	dec := json.NewDecoder(bufio.NewReader(f))
	for dec.More() {
		var s said
		testkit.OK(tb, dec.Decode(&s))
		out = append(out, s)
	}
	return out
}

// Stored, a conversation takes little more room than what was said; each entry
// is written as it comes, in a transaction of its own.
func BenchmarkDatabaseSize(b *testing.B) {
	onBoth(b, func(b *testing.B, e engine) {
		lines := loadConversation(b)
		var stored, content float64
		for b.Loop() {
			s, place := e.make(b)
			speaker := must[agent.Agent](b)(s.Zero(b.Context())).ID
			content = 0
			for _, l := range lines {
				if _, err := s.Append(b.Context(), speaker, agent.Passing(), history.Draft{Kind: l.Kind, Parts: l.Parts}); err != nil {
					b.Fatal(err)
				}
				content += float64(l.bytes())
			}
			stored = e.size(b, place)
		}
		name := e.name + ": database bytes / content bytes of the fixture conversation"
		if e.name == "SQLite" {
			atMost(b, name, "", stored/content, 1.3)
		} else {
			shown(b, name, "", stored/content)
		}
		shown(b, e.name+": content of the fixture conversation", "bytes", content)
	})
}

// size is the room that a workspace takes.
func (e engine) size(b *testing.B, place string) float64 {
	b.Helper()
	if e.name == "SQLite" {
		return float64(settle(b, place))
	}
	var n float64
	check(b, e.bare(b, place).QueryRowContext(b.Context(), `SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c
		WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace`).Scan(&n))
	return n
}

// Some figures are about a whole process. This binary plays that process: it is
// started again with a role, reads its orders as JSON from standard input and
// answers with JSON.
const roleVariable = "RAMET_BENCH_ROLE"

var roles = map[string]func() int{}

// enrol gives a name to what a process of its own does.
func enrol[Orders, Answer any](name string, play func(Orders) (Answer, error)) string {
	roles[name] = func() int {
		var orders Orders
		err := json.NewDecoder(os.Stdin).Decode(&orders)
		if err == nil {
			var answer Answer
			if answer, err = play(orders); err == nil {
				err = json.NewEncoder(os.Stdout).Encode(answer)
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	return name
}

// apart lets a process of its own play a role.
func apart[Answer any](b *testing.B, role string, orders any) Answer {
	b.Helper()
	c := exec.CommandContext(b.Context(), must[string](b)(os.Executable()))
	c.Env = append(os.Environ(), roleVariable+"="+role)
	c.Stdin = bytes.NewReader(must[[]byte](b)(json.Marshal(orders)))
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		b.Fatalf("%s: %v\n%s", role, err, errs.Bytes())
	}
	var answer Answer
	check(b, json.Unmarshal(out, &answer))
	return answer
}
