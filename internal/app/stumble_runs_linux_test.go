package app_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	runs "ramet/internal/run"
	"ramet/internal/run/sqllog"
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
	r.t.Cleanup(func() {
		if err := f.clear(); err != nil {
			r.t.Error(err)
		}
	})
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
