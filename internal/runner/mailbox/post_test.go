package mailbox_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"ramet/internal/base/fault"
	"ramet/internal/runner"
	"ramet/internal/runner/mailbox"
	"ramet/internal/store/database"
	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

const (
	runID = "20261115T100000Z-abcd"
	item  = runID + ":draft:1:intro"
)

// place is a database with an empty post, gone with the test.
func place(tb testing.TB) string {
	tb.Helper()
	address := pgtest.URL(tb)
	tb.Cleanup(func() { query(tb, address, `DROP SCHEMA IF EXISTS `+schemaOf(tb, address)+` CASCADE`) })
	others := goleak.IgnoreCurrent()
	tb.Cleanup(func() { goleak.VerifyNone(tb, others) })
	return address
}

func schemaOf(tb testing.TB, address string) string {
	tb.Helper()
	pg := testkit.Must(database.ParsePostgres(address))(tb)
	return pg.Schema + "_runs"
}

// query runs a statement of the test's own, in the schema of the post.
func query(tb testing.TB, address, sql string, args ...any) [][]any {
	tb.Helper()
	pg := testkit.Must(database.ParsePostgres(address))(tb)
	pg.Config.RuntimeParams["application_name"] = "the test itself"
	pg.Config.RuntimeParams["client_min_messages"] = "warning"
	pg.Config.RuntimeParams["search_path"] = pg.Schema + "_runs"
	ctx := context.Background()
	conn := testkit.Must(pgx.ConnectConfig(ctx, pg.Config))(tb)
	defer conn.Close(ctx)
	rows := testkit.Must(conn.Query(ctx, sql, args...))(tb)
	out := testkit.Must(pgx.CollectRows(rows, func(row pgx.CollectableRow) ([]any, error) { return row.Values() }))(tb)
	return out
}

func open(tb testing.TB, address string) *mailbox.Client {
	tb.Helper()
	c := testkit.Must(mailbox.Open(tb.Context(), address))(tb)
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
	return c
}

// serve answers for an orchestrator until it is ended, or the test.
func serve(tb testing.TB, c *mailbox.Client, epoch int64, d runner.Orchestrator) (end func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mailbox.ServeRun(ctx, c, runID, epoch, d) }()
	end = sync.OnceValue(func() error {
		cancel()
		return within(tb, ended)
	})
	tb.Cleanup(func() {
		if err := end(); err != nil && !fault.Is(err, fault.Fenced) {
			tb.Error(err)
		}
	})
	return end
}

func within[T any](tb testing.TB, c <-chan T) T {
	tb.Helper()
	return testkit.Receive(tb, "something happens", c)
}

// orchestrator is an orchestrator's: it keeps what it was told, and answers what it is set to.
type orchestratorLease struct {
	mu     sync.Mutex
	inputs map[string][]byte
	calls  map[string]int // by verb and item
	told   []runner.Report
	given  map[string]runner.Result
	failed map[string]*runner.Failure
	refuse error
	before func(verb string) // called first, without mu
}

func newDesk() *orchestratorLease {
	return &orchestratorLease{inputs: map[string][]byte{}, calls: map[string]int{}, given: map[string]runner.Result{}, failed: map[string]*runner.Failure{}}
}

func (d *orchestratorLease) enter(verb, itemID string) error {
	if d.before != nil {
		d.before(verb)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls[verb+" "+itemID]++
	return d.refuse
}

func (d *orchestratorLease) count(verb, itemID string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls[verb+" "+itemID]
}

func (d *orchestratorLease) Claim(_ context.Context, itemID, host string) (runner.Attempt, error) {
	if err := d.enter("claim", itemID); err != nil {
		return runner.Attempt{}, err
	}
	return claimed(itemID, host), nil
}

func claimed(itemID, host string) runner.Attempt {
	return runner.Attempt{ID: itemID, RunID: runID, Worker: "draft", Scope: host, Number: 3, Agent: "a", Inputs: []runner.Input{{Path: "p", SHA256: "s"}},
		Task: runner.Task{Prompt: "write\x00it", Outputs: []runner.Output{{Path: "o", Patch: true}}, Timeout: time.Minute, With: map[string]string{"k": "v"}}}
}

func (d *orchestratorLease) Fetch(_ context.Context, itemID, sum string) ([]byte, error) {
	if err := d.enter("fetch", itemID); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	data, ok := d.inputs[sum]
	if !ok {
		return nil, fault.New(fault.NotFound, "no input %s", sum)
	}
	return data, nil
}

func (d *orchestratorLease) Report(_ context.Context, itemID string, r runner.Report) error {
	if err := d.enter("report", itemID); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.told = append(d.told, r)
	return nil
}

func (d *orchestratorLease) Deliver(_ context.Context, itemID string, r runner.Result, failure *runner.Failure) error {
	if err := d.enter("deliver", itemID); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.given[itemID], d.failed[itemID] = r, failure
	return nil
}

func (d *orchestratorLease) input(data []byte) string {
	sum := sha256.Sum256(data)
	name := hex.EncodeToString(sum[:])
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inputs[name] = data
	return name
}

// rest counts what the post holds, table by table.
func rest(tb testing.TB, address string) string {
	var counts []string
	for _, table := range []string{"requests", "answers", "blobs", "desks"} {
		counts = append(counts, fmt.Sprintf("%s %v", table, query(tb, address, `SELECT count(*) FROM `+table)[0][0]))
	}
	slices.Sort(counts)
	return fmt.Sprint(counts)
}

// A run is left to one heir, and its orchestrator is refused from then on.
func TestARunHasOneHeir(t *testing.T) {
	mailbox.Hasten(t, 20*time.Millisecond, 20*time.Millisecond, time.Minute)
	address := place(t)
	boss, heir, other := open(t, address), open(t, address), open(t, address)
	ended := make(chan error, 1)
	go func() { ended <- mailbox.ServeRun(t.Context(), boss, runID, 1, newDesk()) }()
	if _, err := heir.Claim(t.Context(), item, "h"); err != nil { // it is there
		t.Fatal(err)
	}
	lost := func() { query(t, address, `UPDATE desks SET seen_at = seen_at - interval '1 hour'`) }
	if runs, err := heir.OrphanedRuns(t.Context(), time.Minute); err != nil || len(runs) != 0 {
		t.Errorf("there is an orchestrator: %v %v", runs, err)
	}
	testkit.OK(t, boss.PutHandover(t.Context(), runID, []byte("first")))
	testkit.OK(t, boss.PutHandover(t.Context(), runID, []byte("last")))
	// Whoever looks first has it: the orchestrator may show itself again in between.
	for took := false; !took; {
		lost()
		testkit.Must(heir.OrphanedRuns(t.Context(), time.Minute))(t)
		will, ok, err := heir.ClaimHandover(t.Context(), runID, time.Minute)
		if err != nil || ok && string(will) != "last" {
			t.Fatalf("%q %v", will, err)
		}
		took = ok
	}
	if _, ok, err := other.ClaimHandover(t.Context(), runID, time.Minute); ok || err != nil {
		t.Errorf("a second heir: %v %v", ok, err)
	}
	if err := <-ended; !fault.Is(err, fault.Fenced) {
		t.Errorf("the orchestrator: %v", err)
	}
	heir.Release(t.Context(), runID)
	if _, ok, err := other.ClaimHandover(t.Context(), runID, time.Minute); !ok || err != nil {
		t.Errorf("what was offered: %v %v", ok, err)
	}
}

// Who says that it leaves has no heir.
func TestWhoLeavesHasNoHeir(t *testing.T) {
	address := place(t)
	boss := open(t, address)
	end := serve(t, boss, 1, newDesk())
	testkit.Must(boss.Claim(t.Context(), item, "h"))(t)
	testkit.OK(t, boss.PutHandover(t.Context(), runID, []byte("will")))
	testkit.OK(t, end())
	if _, ok, err := boss.ClaimHandover(t.Context(), runID, time.Minute); ok || err != nil {
		t.Errorf("it has one: %v %v", ok, err)
	}
}

func TestFilesAreHandedOver(t *testing.T) {
	address := place(t)
	boss := open(t, address)
	for path, data := range map[string]string{"a/x": "old", "a/y": "same", "z": ""} {
		testkit.OK(t, boss.PutFile(t.Context(), runID, path, []byte(data)))
	}
	testkit.OK(t, boss.PutFile(t.Context(), runID, "a/x", []byte("new")))
	got := map[string]string{}
	fetch := func() (int, error) {
		return boss.Files(t.Context(), runID, func(path string) (string, bool) {
			const same = "0967115f2813a3541eaef77de9d9d5773f1c0c04314b0bbfe4ff3b3b1c55b5d5" // sha256 of "same"
			return same, path == "a/y"
		}, func(path string, data []byte) error { got[path] = string(data); return nil })
	}
	if n, err := fetch(); err != nil || n != 2 || got["a/x"] != "new" || got["a/y"] != "" {
		t.Errorf("%d %v %q", n, err, got)
	}
	query(t, address, `UPDATE files SET data = 'changed' WHERE path = 'z'`)
	if _, err := fetch(); !fault.Is(err, fault.StorageCorrupt) {
		t.Errorf("a changed copy: %v", err)
	}
	testkit.OK(t, boss.ClearButFiles(t.Context(), runID))
	if n := query(t, address, `SELECT count(*) FROM files`)[0][0]; n != int64(3) {
		t.Errorf("%v files are left", n)
	}
	testkit.OK(t, boss.Clear(t.Context(), runID))
	if n := query(t, address, `SELECT count(*) FROM files`)[0][0]; n != int64(0) {
		t.Errorf("%v files are left", n)
	}
}

func contains(text, part string) bool { return strings.Contains(text, part) }

func TestHostsAreAliveByTheClockOfTheDatabase(t *testing.T) {
	address := place(t)
	c := open(t, address)
	const lease = time.Minute
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- c.Beat(ctx, mailbox.Host{Name: "alive", Queues: []string{"work", "more"}, Parallel: 4, Version: "1.2"}, 30*time.Millisecond)
	}()
	query(t, address, `INSERT INTO hosts VALUES ('dead', clock_timestamp() - interval '2 minutes', '{}', 1, '')`)
	hosts := listed(t, c, 2)
	if h := hosts[0]; h.Name != "alive" || !slices.Equal(h.Queues, []string{"work", "more"}) || h.Parallel != 4 || h.Version != "1.2" || h.Seen > lease {
		t.Errorf("%+v", h)
	}
	if h := hosts[1]; h.Name != "dead" || h.Seen < 2*time.Minute || h.Seen > 3*time.Minute {
		t.Errorf("%+v", h)
	}
	if hosts[0].Gone(lease) || !hosts[1].Gone(lease) {
		t.Errorf("%+v", hosts)
	}
	// It beats again and again.
	seen := query(t, address, `SELECT seen_at FROM hosts WHERE host = 'alive'`)[0][0].(time.Time)
	for range 2 {
		last := seen
		for !seen.After(last) {
			seen = query(t, address, `SELECT seen_at FROM hosts WHERE host = 'alive'`)[0][0].(time.Time)
		}
	}
	for _, name := range []string{"alive", "dead"} { // one that is alive is not forgotten
		if err := c.Forget(t.Context(), name, lease); err != nil {
			t.Error(err)
		}
	}
	if hosts := listed(t, c, 1); hosts[0].Name != "alive" {
		t.Error(hosts)
	}
	leave()
	testkit.OK(t, within(t, ended))
	listed(t, c, 0)
}

// listed waits until there are so many hosts.
func listed(t *testing.T, c *mailbox.Client, n int) []mailbox.Host {
	t.Helper()
	var hosts []mailbox.Host
	testkit.WaitUntil(t, fmt.Sprint(n, " hosts are listed"), func() bool {
		hosts = testkit.Must(c.Hosts(t.Context()))(t)
		return len(hosts) == n
	})
	return hosts
}

func TestABeatOutlivesItsConnections(t *testing.T) {
	address := place(t)
	p := pgtest.Through(t, address)
	c := open(t, p.URL)
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Beat(ctx, mailbox.Host{Name: "h"}, 30*time.Millisecond) }()
	look := func() time.Time {
		rows := query(t, address, `SELECT seen_at FROM hosts`)
		if len(rows) == 0 {
			return time.Time{}
		}
		return rows[0][0].(time.Time)
	}
	last := time.Time{}
	for range 3 {
		for !look().After(last) {
		}
		last = look()
		p.Cut()
	}
	for !look().After(last) {
	}
	leave()
	testkit.OK(t, within(t, ended))
}
