package runner

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/run/recipe"
)

// window limits the items that are in the queue at once: enough for all hosts, and few
// enough that a long list costs no memory there.
const window = 256

// batch limits the items that one append queues.
const batch = 128

// level does the items of workers that do not wait for each other.
func (r *Run) level(ctx context.Context, workers []recipe.Worker) error {
	r.mu.Lock()
	r.know()
	r.mu.Unlock()
	wanted, err := r.wanted(workers)
	if err != nil {
		return err
	}
	r.mu.Lock()
	err = r.checkLater(workers)
	r.mu.Unlock()
	if err != nil {
		return err
	}
	if err := r.queueAll(ctx, wanted); err != nil {
		return err
	}
	for {
		r.mu.Lock()
		left, stopped, failures := r.unsettled, r.stopped, r.failures
		r.mu.Unlock()
		switch {
		case stopped != nil:
			return stopped
		case left == 0:
			if err := r.verdict(ctx, failures); err != nil {
				return err
			}
			for _, w := range workers {
				r.passed[w.Name] = true
			}
			return nil
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (r *Run) wanted(workers []recipe.Worker) ([]item, error) {
	sections, err := r.sectionNames()
	if err != nil {
		return nil, err
	}
	var out []item
	for _, w := range workers {
		if w.Each.Issue {
			out = append(out, item{w.Name, r.mending})
			continue
		}
		scopes, err := recipe.ItemScopes(w, sections, r.Folder.Read)
		if err != nil {
			return nil, err
		}
		for _, s := range scopes {
			out = append(out, item{w.Name, s})
		}
	}
	return out, nil
}

// queueAll brings all items that are not done into the log and the queue.
func (r *Run) queueAll(ctx context.Context, items []item) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unsettled, r.failures, r.backlog = 0, nil, nil
	var records []run.Request
	for i, u := range items {
		more, err := r.require(ctx, u)
		if err != nil {
			return err
		}
		records = append(records, more...)
		if len(records) >= batch || i == len(items)-1 {
			if err := r.append(ctx, records...); err != nil {
				return err
			}
			records = nil
		}
	}
	return r.feed(ctx)
}

// require decides whether an item has to be done, and gives the events that queue it.
func (r *Run) require(ctx context.Context, u item) ([]run.Request, error) {
	w, _ := r.worker(u.worker)
	e := r.newest(u)
	in, err := r.inputs(w, u.scope)
	if err != nil {
		return nil, err
	}
	var records []run.Request
	switch {
	case e.status == run.Completed && w.Each.Issue:
		// It was mended before, and is still there.
		records = append(records, invalidateRecord(e, stillOpen))
		e.code, e.failure = "STILL_OPEN", stillOpen
	case e.status == run.Completed && r.fresh(e, in):
		return nil, nil
	case e.status == run.Completed:
		records = append(records, invalidateRecord(e, "its inputs or outputs changed"))
	case e.status == run.ItemSkipped:
		return nil, nil
	case e.status == run.ItemFailed && !e.retry:
		r.failures = append(r.failures, failed{e.id, Failure{Code: e.code, Message: e.failure}})
		return nil, nil
	case e.status == run.Pending && !slices.Equal(e.inputs, in):
		records = append(records, r.failing(e, Failure{Code: string(fault.Interrupted), Message: "its inputs changed while it waited", Retryable: true}))
	}
	if err := r.checkSize(w, e, in); err != nil {
		return nil, err
	}
	e.wanted, e.tries, e.unsure = true, 0, 0
	r.unsettled++
	if e.status == run.Pending {
		r.backlog = append(r.backlog, e)
		return records, nil
	}
	return append(records, r.queue(e, w, in)), nil
}

const stillOpen = "the issue is still there after the last attempt"

// queue is the event of the next attempt.
func (r *Run) queue(e *attempt, w recipe.Worker, in []Input) run.Request {
	delete(r.byID, e.id)
	e.number++
	e.id, e.status, e.inputs, e.host = run.ItemID(r.RunID, e.worker, e.number, e.scope), run.Pending, in, ""
	e.sent = false
	r.byID[e.id] = e
	r.backlog = append(r.backlog, e)
	q := run.Queueing{WorkItemID: e.id, Worker: e.worker, Attempt: e.number, ScopeKey: e.scope, Inputs: []run.FileRef{}, Outputs: []run.FileRef{}}
	for _, f := range in {
		q.Inputs = append(q.Inputs, run.FileRef{Path: f.Path, SHA256: f.SHA256})
	}
	for _, o := range w.Outputs {
		q.Outputs = append(q.Outputs, run.FileRef{Path: r.expand(o.Path, e.scope)})
	}
	if w.External {
		q.Effect, q.IdempotencyKey = run.EffectExternal, r.expand(w.Key, e.scope)
	}
	return itemRecord(e.id, run.WorkItemQueued, q)
}

// feed enqueues what the log has queued, as far as there is room. The caller holds mu.
func (r *Run) feed(ctx context.Context) error {
	var near, far []Enqueued
	for r.outstanding < window && len(r.backlog) > 0 && r.stopped == nil {
		e := r.backlog[0]
		r.backlog = r.backlog[1:]
		if r.queueName(e) == Local {
			near = append(near, r.enqueued(e))
		} else {
			far = append(far, r.enqueued(e))
		}
		e.sent = true
		r.outstanding++
	}
	err := enqueueAll(ctx, r.Near, near)
	if err == nil {
		err = enqueueAll(ctx, r.Far, far)
	}
	if err != nil {
		r.stopLocked(err)
	}
	return err
}

func enqueueAll(ctx context.Context, q Queue, attempts []Enqueued) error {
	if len(attempts) == 0 {
		return nil
	}
	return q.Enqueue(ctx, attempts...)
}

// fresh reports whether a completed item need not be done again.
func (r *Run) fresh(e *attempt, in []Input) bool {
	if !slices.Equal(e.inputs, in) {
		return false
	}
	for _, o := range e.outputs {
		if sum, ok := r.hash(o.Path); !ok || o.SHA256 != nil && *o.SHA256 != sum {
			return false
		}
	}
	return true
}

// verdict ends a level: what failed for good ends the run, and blocks its sections.
func (r *Run) verdict(ctx context.Context, failures []failed) error {
	if len(failures) == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var records []run.Request
	for _, f := range failures {
		if e := r.byID[f.id]; e != nil {
			if w, _ := r.worker(e.worker); w.Each.Sections {
				records = append(records, r.section(e.scope, run.Blocked)...)
			}
		}
	}
	if err := r.append(ctx, records...); err != nil {
		return err
	}
	first := failures[0]
	if e := r.byID[first.id]; e != nil && first.failure.Code == string(fault.OutputInvalid) {
		if w, _ := r.worker(e.worker); w.Each.Issue {
			return r.unmended(r.issues[e.scope], first.failure.Message)
		}
	}
	hint := "`ramet run resume " + r.RunID + " --redo " + first.id + "` does it again"
	switch e := r.byID[first.id]; {
	case fatal[fault.Code(first.failure.Code)]:
		hint = "look at the item with `ramet run show " + r.RunID + "`; `ramet run resume " + r.RunID + " --from-failed` tries again"
	case e != nil && e.retry:
		hint = "fix that, then `ramet run resume " + r.RunID + "` continues the run"
	}
	return fault.New(fault.Code(first.failure.Code), "work item %s failed: %s", first.id, first.failure.Message).WithHint("%s", hint)
}

// settle records how an attempt ended, and queues the next one where that is right. The
// caller holds mu.
func (r *Run) settle(ctx context.Context, e *attempt, res *Result, f *Failure) error {
	w, _ := r.worker(e.worker)
	var records []run.Request
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
	if err := r.append(ctx, records...); err != nil {
		*e = done
		return err
	}
	e.reported = nil
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

// afterFailure returns the events of a failure, and whether the item is tried again.
func (r *Run) afterFailure(e *attempt, f Failure) ([]run.Request, bool) {
	w, _ := r.worker(e.worker)
	if f.Unknown && w.External && w.LooksUp() {
		f.Retryable = true // the next attempt looks first
		if e.unsure++; e.unsure < mostUnsure {
			f.Code = string(fault.Interrupted)
		}
	}
	again := f.Retryable
	// A resume tries again what was neither the task's fault nor can have acted: a key is put right, a disk has room again.
	if code := fault.Code(f.Code); !fatal[code] && code != fault.UnknownOutcome && (!w.External || w.LooksUp()) {
		f.Retryable = true
	}
	records := []run.Request{r.failing(e, f)}
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

// mostUnsure limits the attempts of one item that end without knowing whether it acted: a lookup
// that fails three times is broken.
const mostUnsure = 3

// finishing returns the events of an item that gave back what it promised.
func (r *Run) finishing(e *attempt, res Result) []run.Request {
	w, _ := r.worker(e.worker)
	var records []run.Request
	if len(res.Clones) > 0 {
		records = append(records, newRecord(run.InputsCloned, run.Clones{Inputs: res.Clones}))
	}
	e.outputs = nil
	for _, b := range res.Files {
		sum, known := r.hashes[b.Path] // of what was delivered
		if !known {
			sum = chain.Sum(b.Data).String()
		}
		form := "bytes"
		for _, o := range w.Outputs {
			if o.Schema != "" && recipe.CoversPath(r.expand(o.Path, e.scope), b.Path) {
				form = o.Schema
			}
		}
		records = append(records, itemRecord(e.id, run.ArtifactWritten, run.Writing{Name: b.Path, Path: b.Path, SHA256: sum, SchemaID: form, WriterWorker: e.worker}))
		e.outputs = append(e.outputs, run.File{Path: b.Path, SHA256: &sum})
	}
	outputs := []run.FileRef{}
	for _, o := range e.outputs {
		outputs = append(outputs, run.FileRef{Path: o.Path, SHA256: *o.SHA256})
	}
	records = append(records, itemRecord(e.id, run.WorkItemFinished, run.Finished{WorkItemID: e.id, Outputs: outputs}))
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
		proposal := run.Proposal{Bundle: res.PR}
		if u, err := url.Parse(res.PR); err == nil && u.Scheme != "" && u.Host != "" {
			proposal = run.Proposal{URL: res.PR}
		}
		records = append(records, newRecord(run.PullRequestOpened, proposal))
	}
	return records
}

// inputsFile lists the repositories that were cloned.
const inputsFile = "artifacts/inputs.json"

// know finds the values of all names in braces, as far as they are known: the base is
// once the inputs were cloned.
func (r *Run) know() {
	var inputs struct {
		Base   string `json:"base"`
		Source string `json:"source"`
	}
	if data, err := r.Folder.Read(inputsFile); err == nil {
		json.Unmarshal(data, &inputs) // the form of the file was checked when it was written
	}
	r.values = r.Recipe.Values(r.Params, inputs.Base)
	r.begins = map[string]string{"work/source.bundle": inputs.Source}
}

// expand puts scope and parameters into a path or a value. New has checked that this can
// be done.
func (r *Run) expand(text, scope string) string {
	out, err := recipe.ExpandText(text, scope, r.values)
	if err != nil {
		return text
	}
	return out
}

// hash of a file of the run, read once.
func (r *Run) hash(path string) (string, bool) {
	if sum, ok := r.hashes[path]; ok {
		return sum, true
	}
	sum, ok := r.Folder.Hash(path)
	if ok {
		r.hashes[path] = sum
	}
	return sum, ok
}

// inputs returns the files that an item is to be given, with their hashes as they are now.
func (r *Run) inputs(w recipe.Worker, scope string) ([]Input, error) {
	paths, err := r.paths(w, scope)
	if err != nil {
		return nil, err
	}
	out := make([]Input, 0, len(paths))
	for _, p := range paths {
		sum, ok := r.hash(p)
		if !ok {
			return nil, fault.New(fault.OutputInvalid, "worker %s needs %s, which is missing", w.Name, p).
				WithHint("the worker that makes it has to be done again: `ramet run resume %s --redo ITEM`", r.RunID)
		}
		out = append(out, Input{p, sum})
	}
	return out, nil
}

// paths returns the inputs of an item. What fixes made comes last, in the order in which
// they were first tried: each begins where the one before ended.
func (r *Run) paths(w recipe.Worker, scope string) ([]string, error) {
	var out, late []string
	order := r.fixOutputs()
	own := r.ownOutputs(w, scope)
	for _, in := range w.Inputs {
		path := r.expand(in, scope)
		folder, all := strings.CutSuffix(path, "/**")
		if !all {
			out = append(out, path)
			continue
		}
		files, err := r.Folder.Below(folder)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			switch {
			case own[f]: // of an earlier attempt
			case slices.Contains(order, f):
				late = append(late, f)
			default:
				out = append(out, f)
			}
		}
	}
	slices.SortFunc(late, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	return append(out, late...), nil
}

// fixOutputs returns the files of fixes, in the order in which they were first queued.
func (r *Run) fixOutputs() []string {
	var out []string
	for _, scope := range r.fixes {
		for _, w := range r.Recipe.Workers {
			if w.Each.Issue {
				for _, o := range w.Outputs {
					out = append(out, r.expand(o.Path, scope))
				}
			}
		}
	}
	return out
}

func (r *Run) ownOutputs(w recipe.Worker, scope string) map[string]bool {
	own := map[string]bool{}
	for _, o := range w.Outputs {
		own[r.expand(o.Path, scope)] = true
	}
	if e := r.items[item{w.Name, scope}]; e != nil {
		for _, o := range e.outputs {
			own[o.Path] = true
		}
	}
	return own
}

// planFile lists which of a recipe's sections there are.
const planFile = "artifacts/plan.json"

// sectionNames returns the sections that there are: those of the plan, once there is one.
func (r *Run) sectionNames() ([]string, error) {
	if len(r.Recipe.Sections) == 0 {
		return nil, nil // whatever its plan is
	}
	data, err := r.Folder.Read(planFile)
	if fault.Is(err, fault.NotFound) {
		names := make([]string, len(r.Recipe.Sections))
		for i, s := range r.Recipe.Sections {
			names[i] = s.Name
		}
		return names, nil
	}
	if err != nil {
		return nil, err
	}
	var plan struct {
		Sections []struct {
			Name string `json:"name"`
		} `json:"sections"`
	}
	if err := json.Unmarshal(data, &plan); err != nil {
		return nil, fault.New(fault.OutputInvalid, "read %s: %w", planFile, err)
	}
	var names []string
	for _, s := range plan.Sections {
		names = append(names, s.Name)
	}
	return names, nil
}

// section returns the events that bring a section to a state, by the way that there is.
func (r *Run) section(name string, to run.SectionState) []run.Request {
	now, ok := r.sections[name]
	if !ok {
		now = run.NotStarted
	}
	var records []run.Request
	for _, next := range run.SectionPath(now, to) {
		records = append(records, newRecord(run.SectionStateChanged, run.SectionStep{Section: name, Old: now, New: next}))
		now = next
	}
	r.sections[name] = now
	return records
}

// allSections returns the events that bring all sections to a state.
func (r *Run) allSections(to run.SectionState) []run.Request {
	names, err := r.sectionNames()
	if err != nil {
		return nil // the worker that needs them says so
	}
	var records []run.Request
	for _, n := range names {
		records = append(records, r.section(n, to)...)
	}
	return records
}
