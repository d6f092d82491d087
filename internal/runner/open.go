package runner

import (
	"cmp"
	"context"
	"slices"

	"ramet/internal/run"
)

// New opens a run that has a log. Nothing is written before Execute.
func New(ctx context.Context, o Options) (*Run, error) {
	if o.Far == nil {
		o.Far = o.Near
	}
	r := &Run{Options: o, limits: o.Recipe.Limits.WithDefaults(), wake: make(chan struct{}, 1), calls: map[string]string{}, fixed: map[string]int{},
		items: map[item]*attempt{}, byID: map[string]*attempt{}, issues: map[string]run.Issue{}, gates: map[string]bool{},
		sections: map[string]run.SectionState{}, hashes: map[string]string{}, passed: map[string]bool{}}
	r.load(o.Log.Now())
	r.know()
	if r.Site.Patch == "" {
		r.Site.Patch = r.expand(o.Recipe.Changes(), "all")
	}
	if err := o.Recipe.CheckPaths(r.values); err != nil {
		return nil, err
	}
	return r, r.recount(ctx)
}

// load takes over what the log amounts to.
func (r *Run) load(s run.Snapshot) {
	r.state = s.RunState
	for _, w := range s.WorkItems {
		e := r.newest(item{w.Worker, w.ScopeKey})
		if w.Attempt < e.number {
			continue
		}
		delete(r.byID, e.id)
		e.id, e.number, e.status, e.outputs = w.WorkItemID, w.Attempt, w.Status, w.Outputs
		e.inputs, e.code, e.retry, e.failure = itemInputs(w.Inputs), "", false, ""
		if w.Error != nil {
			e.code, e.failure = w.Error.Code, w.Error.Message
		}
		e.retry = w.Retryable != nil && *w.Retryable
		r.byID[e.id] = e
	}
	for _, i := range s.Issues {
		r.issues[i.IssueID] = i
		r.opened = append(r.opened, i.IssueID)
	}
	for name, st := range s.SectionStates {
		r.sections[name] = st
	}
}

func itemInputs(files []run.File) []Input {
	out := make([]Input, len(files))
	for i, f := range files {
		out[i].Path = f.Path
		if f.SHA256 != nil {
			out[i].SHA256 = *f.SHA256
		}
	}
	return out
}

// inOrder are all items' newest attempts, by their ids: the same order each time.
func (r *Run) inOrder() []*attempt {
	out := make([]*attempt, 0, len(r.items))
	for _, e := range r.items {
		if e.id != "" {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b *attempt) int { return cmp.Compare(a.id, b.id) })
	return out
}
