package dbosqueue

import (
	"maps"
	"slices"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
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
