package follow

import (
	"slices"
	"time"

	"ramet/internal/telemetry"
)

// Follow makes the telemetry of one run. The zero Follow is ready for the first event of
// a log; it is used by one goroutine at a time.
type Follow struct {
	run    string
	begun  Event     // RUN_CREATED or RUN_FORKED
	origin fields    // of the context of launches
	recipe string    // what the run carries out
	state  string    // of the run; empty: not known
	last   time.Time // of the last event
	n      int       // launches so far
	now    *launch   // the newest launch, which may have ended; nil: none yet
	why    reason    // of the end that was announced
	items  map[string]*item
	spans  map[string]*item // the same, by span
	calls  map[string]*call // by trace and span
	here   fields           // what the process says of itself; nil: all was said
	out    []Delivery
}

// Next takes the next event of the log and gives what follows from it.
func (f *Follow) Next(e Event) []Delivery {
	f.out = nil
	at := e.at(f.last)
	p := e.payload()
	if e.Type == runCreated || e.Type == runForked || f.items == nil {
		f.reset(e, p)
		f.last = at
		if e.Type == runCreated || e.Type == runForked {
			return nil
		}
	}
	f.launchFor(e, p, at)
	if f.here != nil {
		f.add(patch(f.now.eventID, f.here))
		f.here = nil
	}
	switch e.Type {
	case stateChanged:
		f.step(e, p, at)
	case runFailed:
		f.ending(reason{orFailed(p.Code), string(p.Message), ""})
	case runCancelled:
		f.ending(reason{"CANCELLED", string(p.Reason), ""})
	case inputsCloned:
		f.cloned(p)
	case pullRequest:
		if ref := line(withoutUser(string(p.URL+p.Bundle)), telemetry.MaxRef); ref != "" {
			f.add(patch(f.now.eventID, fields{"target_ref": ref}))
		}
	case itemQueued:
		f.queued(e, p, at)
	case itemStarted:
		f.started(e, p, at)
	case itemFinished, itemFailed:
		f.finished(e, p, at)
	case gateStarted:
		f.gateBegins(e, p, at)
	case gateFinished:
		f.gateEnds(e, p, at)
	case callStarted, callFinished, callFailed, cacheHit:
		f.call(e, p, at)
	}
	f.last = at
	return f.out
}

func (f *Follow) add(d ...Delivery) { f.out = append(f.out, d...) }

// reset begins a run. The events before a fork belong to the run that was forked.
func (f *Follow) reset(e Event, p payload) {
	here := f.here
	*f = Follow{run: e.RunID, begun: e, recipe: string(p.Recipe), here: here,
		items: map[string]*item{}, spans: map[string]*item{}, calls: map[string]*call{}, origin: fields{}}
	switch e.Type {
	case runCreated:
		f.state = "CREATED"
		if p.ConfigSHA256 != "" {
			f.origin["config_sha256"] = line(string(p.ConfigSHA256), telemetry.MaxName)
		}
	case runForked:
		f.origin["forked_from"] = line(string(p.ParentRunID), telemetry.MaxName)
	}
}

// About is what only the process knows that carries out a launch. Empty fields say
// nothing.
type About struct {
	Host        string
	Environment string
	TriggerType string
	GitBranch   string
	GitRunTag   string
}

// Here says who carries out what follows: the present launch, or the next, is told with
// the next event. Call it after the events that were in the log already, so that they
// give what they gave before.
func (f *Follow) Here(a About) {
	f.here = nil
	for name, value := range map[string]string{"host": a.Host, "environment": a.Environment, "trigger_type": a.TriggerType,
		"git_branch": a.GitBranch, "git_run_tag": a.GitRunTag} {
		if value = line(value, telemetry.MaxName); value != "" {
			if f.here == nil {
				f.here = fields{}
			}
			f.here[name] = value
		}
	}
}

// Stop says that the process ends without the run having ended, for a reason (a fault's
// code and message), so that nothing stays running in the telemetry that does not run.
// The log does not say so; if a later process continues the launch, its end counts.
func (f *Follow) Stop(code, message string, at time.Time) []Delivery {
	if f.now == nil || f.now.ended {
		return nil
	}
	why := reason{orFailed(words(code)), message, ""}
	status := why.status()
	if why.code == "INTERRUPTED" { // by a signal: somebody wanted it
		status = telemetry.Cancelled
	}
	at = later(f.last, moment(at))
	var out []Delivery
	end := func(r record, more fields) { out = append(out, r.end(status, at, why, more)) } // of a copy: it may go on
	for _, c := range slices.Backward(f.now.open) {
		if c.call != nil {
			end(*c.record, c.call.cut())
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

// Partial says that not all of the newest launch was delivered: what arrived is true, and
// something is missing. It says nothing of a launch that did not end well.
func (f *Follow) Partial(why string) []Delivery {
	if f.now == nil || !f.now.ended || f.state != "DONE" {
		return nil
	}
	return []Delivery{patch(f.now.eventID, fields{"status": telemetry.Partial, "error_summary": lines(why, telemetry.MaxSummary)})}
}

// Launch is the run_id of the newest launch; empty: there was none.
func (f *Follow) Launch() string {
	if f.now == nil {
		return ""
	}
	return f.now.runID
}

func orFailed(code words) string {
	if code == "" {
		return "FAILED"
	}
	return string(code)
}
