package runner

import (
	"context"
	"net/url"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/run/recipe"
)

// settle records how an attempt ended, and queues the next one where that is right. The
// caller holds mu.
func (r *Run) settle(ctx context.Context, e *attempt, res *Result, f *Failure) error {
	w, _ := r.worker(e.worker)
	var records []Record
	again := false
	if f == nil {
		records = r.finishing(e, *res)
	} else {
		records, again = r.afterFailure(e, *f)
	}
	done := *e
	if again {
		in, err := r.inputs(w, e.scope)
		if err != nil {
			in = e.inputs
		}
		records = append(records, r.queue(e, w, in))
	}
	write := r.append
	if f == nil {
		write = r.share // nothing is enqueued by it
	}
	if err := write(ctx, records...); err != nil {
		*e = done
		return err
	}
	e.reported, e.claimed = nil, nil
	r.outstanding = max(0, r.outstanding-1)
	if !again && e.wanted {
		e.wanted = false
		r.unsettled--
		if f != nil {
			r.failures = append(r.failures, failed{e.id, *f})
		}
	}
	if f == nil {
		e.code, e.failure, e.answer = "", "", ""
	}
	if r.unsettled == 0 {
		r.settled()
	}
	return r.feed(ctx)
}

// afterFailure are the events of a failure, and whether the item is tried again.
func (r *Run) afterFailure(e *attempt, f Failure) ([]Record, bool) {
	w, _ := r.worker(e.worker)
	if f.Unknown && w.External && looksUpOutcome(w) {
		f.Retryable = true // the next attempt looks first
		if e.unsure++; e.unsure < mostUnsure {
			f.Code = string(fault.Interrupted)
		}
	}
	again := f.Retryable
	if r.passing(w, f) {
		f.Retryable = true
	}
	records := []Record{r.failing(e, f)}
	if f.Code != string(fault.Interrupted) {
		e.tries++
		if w.Each.Issue {
			r.fixed[e.scope]++
		}
	}
	tries := e.tries
	if w.Each.Issue {
		tries = r.fixed[e.scope]
	}
	return records, again && f.Code != string(fault.UnknownOutcome) && tries < r.attempts(w) && r.stopped == nil
}

// mostUnsure is how often attempts of one item may end without knowing whether it acted: whoever
// cannot say three times, as a lookup that is broken, cannot say the next time either.
const mostUnsure = 3

// looksUpOutcome reports whether an attempt of a worker that acts outside the run finds out first whether it
// has happened.
func looksUpOutcome(w recipe.Worker) bool { return w.Lookup != "" || w.Uses != "" }

// passing reports whether a resume tries again what failed: it was neither the task's fault
// nor can it have acted. A key is put right, a disk has room again.
func (r *Run) passing(w recipe.Worker, f Failure) bool {
	code := fault.Code(f.Code)
	return !fatal[code] && code != fault.UnknownOutcome && (!w.External || looksUpOutcome(w))
}

// finishing are the events of an item that gave back what it promised.
func (r *Run) finishing(e *attempt, res Result) []Record {
	w, _ := r.worker(e.worker)
	var records []Record
	if len(res.Clones) > 0 {
		records = append(records, newRecord(run.InputsCloned, run.Clones{Inputs: res.Clones}))
	}
	e.outputs = nil
	for _, b := range res.Files {
		sum, known := r.hashes[b.Path] // of what was delivered
		if !known {
			sum = hashOf(b.Data)
		}
		form := "bytes"
		for _, o := range w.Outputs {
			if o.Schema != "" && recipe.CoversPath(r.expand(o.Path, e.scope), b.Path) {
				form = o.Schema
			}
		}
		records = append(records, newRecord(run.ArtifactWritten, run.Writing{Name: b.Path, Path: b.Path, SHA256: sum, SchemaID: form, WriterWorker: e.worker}).about(e.id))
		e.outputs = append(e.outputs, run.File{Path: b.Path, SHA256: &sum})
	}
	outputs := []run.FileRef{}
	for _, o := range e.outputs {
		outputs = append(outputs, run.FileRef{Path: o.Path, SHA256: *o.SHA256})
	}
	records = append(records, newRecord(run.WorkItemFinished, run.Finished{WorkItemID: e.id, Outputs: outputs}).about(e.id))
	e.status = run.Completed
	if w.Each.Issue {
		r.fixed[e.scope]++
	}
	if w.Each.Sections && r.state == run.Drafting {
		records = append(records, r.section(e.scope, run.Drafted)...)
	}
	if w.Uses != "" {
		records = append(records, r.found(e.worker, res.Issues)...)
	}
	if res.PR != "" {
		records = append(records, r.pullRequest(res.PR))
	}
	return records
}

func (r *Run) pullRequest(where string) Record {
	if isURL(where) {
		return newRecord(run.PullRequestOpened, run.Proposal{URL: where})
	}
	return newRecord(run.PullRequestOpened, run.Proposal{Bundle: where})
}

func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme != "" && u.Host != ""
}
