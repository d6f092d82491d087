package telemetry

import (
	"cmp"
	"slices"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/run"
)

// Follow makes the telemetry of one run. The zero Follow is ready for the first event of
// a log; it is used by one goroutine at a time.
type Follow struct {
	run    string
	begun  run.Event   // RUN_CREATED or RUN_FORKED
	origin fieldValues // of the context of launches
	recipe string      // what the run carries out
	state  run.State   // empty: not known
	last   time.Time   // of the last event
	n      int         // launches so far
	now    *launch     // the newest launch, which may have ended; nil: none yet
	why    reason      // of the end that was announced
	items  map[string]*item
	spans  map[string]*item // the same, by span
	calls  map[string]*call // by trace and span
	here   fieldValues      // about this process; nil: it was delivered
	out    []Delivery
}

// Next reads the next event of the log and returns the deliveries that follow from it.
func (f *Follow) Next(e run.Event) []Delivery {
	f.out = nil
	at := timeOf(e, f.last)
	begins := e.Type == run.RunCreated || e.Type == run.RunForked
	if begins || f.items == nil {
		f.reset(e)
		f.last = at
		if begins {
			return nil
		}
	}
	f.launchFor(e, at)
	if f.here != nil {
		f.add(patchDelivery(f.now.eventID, f.here))
		f.here = nil
	}
	switch e.Type {
	case run.RunStateChanged:
		f.step(e, at)
	case run.RunFailed:
		why := run.ReadPayload[run.ItemError](e.Payload)
		f.ending(reason{orFailed(why.Code), why.Message, ""})
	case run.RunCancelled:
		f.ending(reason{string(fault.Cancelled), run.ReadPayload[run.Why](e.Payload).Reason, ""})
	case run.InputsCloned:
		f.cloned(run.ReadPayload[run.Clones](e.Payload).Inputs)
	case run.PullRequestOpened:
		p := run.ReadPayload[run.Proposal](e.Payload)
		if ref := cutLine(withoutUser(p.URL+p.Bundle), MaxRef); ref != "" {
			f.add(patchDelivery(f.now.eventID, fieldValues{"target_ref": ref}))
		}
	case run.WorkItemQueued:
		f.queued(run.ReadPayload[run.Queueing](e.Payload), at)
	case run.WorkItemStarted:
		f.started(e, run.ReadPayload[run.Started](e.Payload), at)
	case run.WorkItemFinished:
		p := run.ReadPayload[run.Finished](e.Payload)
		f.finished(e, p.WorkItemID, reason{}, len(p.Outputs), at)
	case run.WorkItemFailed:
		p := run.ReadPayload[run.ItemFailure](e.Payload)
		f.finished(e, p.WorkItemID, reason{orFailed(p.Error.Code), p.Error.Message, ""}, 0, at)
	case run.GateRunStarted:
		f.gateBegins(e, run.ReadPayload[run.GateStart](e.Payload).Gate, at)
	case run.GateRunFinished:
		f.gateEnds(run.ReadPayload[run.GateEnd](e.Payload), at)
	case run.LLMCallStarted, run.LLMCallFinished, run.LLMCallFailed, run.LLMCacheHit:
		f.call(e, at)
	}
	f.last = at
	return f.out
}

func (f *Follow) add(d ...Delivery) { f.out = append(f.out, d...) }

// reset begins a run. The events before a fork belong to the run that was forked.
func (f *Follow) reset(e run.Event) {
	p := run.ReadPayload[run.Creation](e.Payload) // of another event only the recipe, which it has not
	here := f.here
	*f = Follow{run: e.RunID, begun: e, recipe: p.Recipe, here: here,
		items: map[string]*item{}, spans: map[string]*item{}, calls: map[string]*call{}, origin: fieldValues{}}
	switch e.Type {
	case run.RunCreated:
		f.state = run.Created
		if p.ConfigSHA256 != "" {
			f.origin["config_sha256"] = cutLine(p.ConfigSHA256, MaxName)
		}
	case run.RunForked:
		f.origin["forked_from"] = cutLine(run.ReadPayload[run.Fork](e.Payload).ParentRunID, MaxName)
	}
}

// RunAbout describes the process that carries out a launch. Empty fields are not recorded.
type RunAbout struct {
	Host        string
	Environment string
	TriggerType string
	GitBranch   string
	GitRunTag   string
}

// Here describes the process that carries out the present launch, or the next one. The next event delivers it.
// Call it after the events that were in the log already, so that they give the same deliveries again.
func (f *Follow) Here(a RunAbout) {
	f.here = nil
	for name, value := range map[string]string{"host": a.Host, "environment": a.Environment, "trigger_type": a.TriggerType,
		"git_branch": a.GitBranch, "git_run_tag": a.GitRunTag} {
		if value = cutLine(value, MaxName); value != "" {
			if f.here == nil {
				f.here = fieldValues{}
			}
			f.here[name] = value
		}
	}
}

// Stop closes the records of a process that ends before the run does, for a reason (a fault's code and message).
// The log does not hold this; if a later process continues the launch, its end counts.
func (f *Follow) Stop(code, message string, at time.Time) []Delivery {
	if f.now == nil || f.now.ended {
		return nil
	}
	why := reason{orFailed(code), message, ""}
	status := why.status()
	if why.code == interrupted { // by a signal: it was wanted
		status = Cancelled
	}
	at = laterTime(f.last, truncateTime(at))
	var out []Delivery
	end := func(r record, more fieldValues) { out = append(out, r.end(status, at, why, more)) } // of a copy: it may go on
	for _, c := range slices.Backward(f.now.open) {
		if c.call != nil {
			end(*c.record, c.call.lostEvidence())
		} else {
			end(*c.record, nil)
		}
	}
	if f.now.node != nil && !f.now.node.ended {
		end(*f.now.node, nil)
	}
	end(f.now.record, f.now.counts.fields())
	return out
}

// Partial marks the newest launch as partial, because not all of it was delivered. A launch that did not end well
// stays as it is.
func (f *Follow) Partial(why string) []Delivery {
	if f.now == nil || !f.now.ended || f.state != run.Done {
		return nil
	}
	return []Delivery{patchDelivery(f.now.eventID, fieldValues{"status": Partial, "error_summary": cutLines(why, MaxSummary)})}
}

// Launch returns the run_id of the newest launch, or "" before the first.
func (f *Follow) Launch() string {
	if f.now == nil {
		return ""
	}
	return f.now.runID
}

func orFailed(code string) string { return cmp.Or(code, string(fault.Failed)) }

// interrupted is the code of what ended with its process.
const interrupted = string(fault.Interrupted)
