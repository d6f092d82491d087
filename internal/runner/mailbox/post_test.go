package mailbox_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
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
