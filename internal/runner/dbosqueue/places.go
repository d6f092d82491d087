package dbosqueue

import (
	"maps"
	"slices"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"ramet/internal/runner"
)

// putAside moves the jobs that have waited longest into this host's own queue, as many
// as it has places for. Hosts that do so at once step over each other's.
func (v *service) putAside() {
	v.claims.Lock()
	defer v.claims.Unlock()
	v.mu.Lock()
	free := v.most - len(v.out)
	// One that was cancelled and resumed may be ending here still: it waits for that.
	ending := slices.AppendSeq([]string{}, maps.Keys(v.out))
	v.mu.Unlock()
	if free <= 0 {
		return
	}
	table := v.table("workflow_status")
	rows, err := v.pool.Query(v.ctx, `UPDATE `+table+` SET queue_name = $1
		WHERE workflow_uuid IN (SELECT workflow_uuid FROM `+table+`
			WHERE status = 'ENQUEUED' AND queue_name = ANY($2) AND application_version = $3 AND workflow_uuid <> ALL($5)
				AND EXISTS (SELECT FROM `+v.table("queues")+` WHERE name = $1)
			ORDER BY priority, created_at LIMIT $4 FOR UPDATE SKIP LOCKED)
		RETURNING workflow_uuid`, hostPrefix+v.host, v.queues, version, free, ending)
	if err != nil {
		return
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if rows.Scan(&id) != nil {
			return
		}
		v.mu.Lock()
		v.out[id] = &place{}
		v.mu.Unlock()
	}
}

// comeBack makes the queue of this host anew, which it has lost if it was taken for dead.
// Without it nothing is put aside: nobody would look for it there.
func (v *service) comeBack() {
	var there bool
	err := v.pool.QueryRow(v.ctx, `SELECT EXISTS (SELECT FROM `+v.table("queues")+` WHERE name = $1)`, hostPrefix+v.host).Scan(&there)
	if err == nil && !there && v.register() == nil {
		nudge(v.look)
	}
}

// review ends what is cancelled, or is somebody else's by now.
func (v *service) review() {
	v.mu.Lock()
	before := maps.Clone(v.out)
	v.mu.Unlock()
	if len(before) == 0 {
		return
	}
	rows, err := dbos.ListWorkflows(as(v.client, v.ctx), dbos.WithFilterWorkflowIDs(slices.Collect(maps.Keys(before))...),
		dbos.WithFilterLoadInput(false), dbos.WithFilterLoadOutput(false))
	if err != nil {
		return
	}
	ours := map[string]bool{}
	for _, row := range rows {
		ours[row.ID] = row.Status == dbos.WorkflowStatusPending && row.ExecutorID == v.host ||
			row.Status == dbos.WorkflowStatusEnqueued && row.QueueName == hostPrefix+v.host
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for id, p := range before {
		if !ours[id] && v.out[id] == p {
			v.drop(id, p)
		}
	}
}

// giveUp gives back what the server takes for ours, and nobody does here: the answer was
// lost when DBOS took it.
func (v *service) giveUp() {
	rows, err := dbos.ListWorkflows(as(v.client, v.ctx), dbos.WithFilterName(workflow), dbos.WithFilterExecutorIDs(v.host),
		dbos.WithFilterStatus(dbos.WorkflowStatusPending), dbos.WithFilterLoadInput(true), dbos.WithFilterLoadOutput(false))
	if err != nil {
		return
	}
	before := v.strays
	v.strays = map[string]time.Time{}
	var lost []runner.Job
	for _, row := range rows {
		since, known := before[row.ID]
		switch {
		case v.begun(row.ID):
		case !known:
			v.strays[row.ID] = time.Now()
		case time.Since(since) < strayTime:
			v.strays[row.ID] = since
		default:
			if j, err := jobOf(row); err == nil {
				lost = append(lost, j)
			}
		}
	}
	if len(lost) == 0 || v.giveBack(v.ctx, lost) != nil {
		return // what fails is noticed again
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, j := range lost {
		if p := v.out[j.ID]; p != nil && p.cancel == nil {
			delete(v.out, j.ID)
		}
	}
	nudge(v.look)
}

// begun says whether a job is being done here.
func (v *service) begun(id string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	p := v.out[id]
	return p != nil && p.cancel != nil
}

// drop ends a job that is not ours any more. The caller holds mu.
func (v *service) drop(id string, p *place) {
	p.ended = true
	if p.cancel == nil {
		delete(v.out, id)
		nudge(v.look)
		return
	}
	p.cancel()
}

// endHere ends a job that this process does.
func (s *Server) endHere(id string) {
	s.mu.Lock()
	v := s.serving
	s.mu.Unlock()
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if p := v.out[id]; p != nil {
		v.drop(id, p)
	}
}

// doneHere says whether this process does a job.
func (s *Server) doneHere(id string) bool {
	s.mu.Lock()
	v := s.serving
	s.mu.Unlock()
	if v == nil {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	p := v.out[id]
	return p != nil && !p.ended
}
