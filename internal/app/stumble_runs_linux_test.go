package app_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ramet/internal/core/registry"
	runs "ramet/internal/run"
	"ramet/internal/run/sqllog"
	pg "ramet/internal/store/database"
	"ramet/internal/testkit"
)

// six has items of a model's agents.
const six = `
name: six
description: for tests
states:
  DRAFTING: [draft]
workers:
  draft:
    each: [i01, i02, i03, i04, i05, i06]
    prompt: 'write {{scope}}'
    outputs: [{path: 'drafts/{scope}.txt', answer: true}]
`

// begin begins runs on one host while there is trouble, one after the other, and has a worker
// beside it that takes up what is orphaned. The function that it gives demands that all are
// DONE.
func (r *rough) begin(working *sync.WaitGroup, dice *rand.Rand) (demand func()) {
	f := &fleet{team: r.team}
	boss, heir := f.site("boss"), f.site("heir")
	boss.lease, heir.lease, boss.pulse, heir.pulse = "15s", "15s", "", ""
	f.write(boss.dir, "recipe.yaml", six)
	network := boss.host.through()
	helper := heir.begin("worker", "--host", "heir", "--orchestrate")
	helper.says(r.t, "waits for items")
	var begun []string
	working.Go(func() { r.trouble(network, dice) })
	working.Go(func() {
		for n := 0; time.Now().Before(r.until); n++ {
			id := fmt.Sprintf("run%d", n)
			k := boss.try("run", "start", "--recipe", "recipe.yaml", "--run-id", id, "--model", "script/model.jsonl")
			if k == nil {
				return
			}
			<-k.over
			exit, said := k.cmd.ProcessState.ExitCode(), k.stderr.String()
			switch {
			case exit == 0, strings.Contains(said, "error[FENCED]"), strings.Contains(said, "error[LOCKED]"): // or the worker has it
			case !strings.Contains(said, "error[STORAGE_UNREACHABLE]") && !strings.Contains(said, "error[UNKNOWN_OUTCOME]"):
				r.t.Errorf("%s: exit code %d: %s", id, exit, said)
			}
			begun = append(begun, id)
			if exit != 0 {
				r.t.Logf("%s: exit code %d: %s", id, exit, said)
			}
		}
	})
	return func() {
		done := 0
		for _, id := range begun {
			var last runs.State
			for late := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
				if last = r.stateOf(id); last == runs.Done || last == "" || time.Now().After(late) {
					break
				}
			}
			if last != runs.Done && last != "" {
				r.t.Errorf("%s is %s; the worker said: %s", id, last, helper.stderr.String())
			}
			if last == runs.Done {
				done++
			}
		}
		r.t.Logf("of %d runs %d were begun, and are DONE", len(begun), done)
		if done == 0 {
			r.t.Error("no run was tested")
		}
	}
}

// stateOf reads what the log of a run says; empty: there is none.
func (r *rough) stateOf(id string) runs.State {
	log, err := sqllog.OpenTable(context.Background(), r.db, id)
	if err != nil {
		return "unknown"
	}
	defer log.Close()
	reducer, any := runs.NewReducer(runs.New(id)), false
	for e, err := range log.Events(context.Background(), 0) {
		if err == nil {
			err = reducer.Apply(e.Event)
		}
		if err != nil {
			r.t.Errorf("%s: %v", id, err)
			return "unknown"
		}
		any = true
	}
	if !any {
		return ""
	}
	return reducer.State()
}

// A run outlives the loss of all its connections, whatever other commands look at the project meanwhile: its
// log's lock is free until the orchestrator writes again, and that proves nothing.
func TestARunWithoutConnectionsIsNobodysToEnd(t *testing.T) {
	t.Parallel()
	f := newFleet(t, strings.ReplaceAll(six, "write {{scope}}", "write {{scope}} patiently")+"limits: {parallel: 1}\n")
	f.boss.lease = "10m"
	network := f.boss.host.through()
	k := f.boss.begin("run", "start", "--recipe", "recipe.yaml", "--run-id", f.run, "--model", "script/model.jsonl")
	k.told(f.boss)
	gate := filepath.Join(f.boss.dir, "gate")
	testkit.WaitUntil(t, "it works", func() bool { return holds(k.cmd.Process.Pid, gate) })
	if !f.locked(k) {
		t.Fatal("the log is not locked: the test shows nothing")
	}
	network.Cut()
	testkit.WaitUntil(t, "the lock of its log is free", func() bool { return !f.locked(k) })
	f.boss.ramet(0, "exec", "0", "hello", "--model", "script/model.jsonl")
	for _, look := range []string{"list", "show"} {
		args := []string{"run", look, f.run}[:map[string]int{"list": 2, "show": 3}[look]]
		if said := f.boss.ramet(0, args...); !strings.Contains(said, "running") {
			t.Errorf("run %s: %s", look, said)
		}
	}
	f.boss.begin("run", "resume", f.run).ends(t, 4, "LOCKED", "is carried out by")
	if f.locked(k) {
		t.Error("the orchestrator wrote meanwhile: the test shows nothing")
	}
	f.boss.open(6)
	f.done(k)
	if said := f.boss.ramet(0, "log", string(f.agent("run-"+f.run).ID), "--json"); strings.Contains(said, `"actor"`) {
		t.Errorf("a person ended its agent: %s", said)
	}
}

// locked reports whether a session of a process holds the lock of a log.
func (f *fleet) locked(k *task) (yes bool) {
	f.t.Helper()
	to := testkit.Must(pg.ParsePostgres(f.db))(f.t)
	conn, err := pgx.ConnectConfig(f.t.Context(), to.Config)
	if err != nil {
		f.t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := conn.QueryRow(f.t.Context(), `SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid)
		WHERE l.locktype = 'advisory' AND l.granted AND a.application_name LIKE $1)`, fmt.Sprintf("ramet process %d on %%", k.cmd.Process.Pid)).Scan(&yes); err != nil {
		f.t.Fatal(err)
	}
	return yes
}

// An orchestrator goes on with another agent when its own was ended, and nobody cancelled the run; a person's
// kill cancels it, and the log has the person's reason.
func TestOnlyWhoCancelsARunCancelsIt(t *testing.T) {
	t.Parallel()
	f := newFleet(t, strings.ReplaceAll(six, "write {{scope}}", "write {{scope}} patiently")+"limits: {attempts: 1}\n")
	f.boss.lease = "10m"
	k := f.boss.begin("run", "start", "--recipe", "recipe.yaml", "--run-id", f.run, "--model", "script/model.jsonl")
	k.told(f.boss)
	gate := filepath.Join(f.boss.dir, "gate")
	testkit.WaitUntil(t, "it works", func() bool { return holds(k.cmd.Process.Pid, gate) })
	own := f.agent("run-" + f.run)
	testkit.Must(f.ws.Kill(t.Context(), registry.Kill{Agent: own.ID, By: own.ID, Cascade: true, Reason: "run r was interrupted in DRAFTING"}))(t)
	k.says(t, "continues with another agent")
	testkit.WaitUntil(t, "it works again", func() bool {
		return f.agent("run-"+f.run).ID != own.ID && holds(k.cmd.Process.Pid, gate)
	})
	f.boss.ramet(0, "kill", "run-"+f.run, "--cascade", "--reason", "it costs too much")
	k.ends(t, 130, "CANCELLED")
	if said := f.boss.ramet(0, "run", "events", f.run, "--json"); !strings.Contains(said, `{"reason":"it costs too much"}`) {
		t.Error(said)
	}
}
