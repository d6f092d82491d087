package telemetry

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/text"
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

// launch is the work of one process on the run.
type launch struct {
	record
	node     *record // of the state that the run is in; nil: not known
	visits   map[run.State]int
	gates    map[string]*record // that are running
	gateRuns map[string]int
	open     []*child        // in the order of beginning
	names    map[string]bool // the run_ids below it
	counts   counts
	resuming bool // only events of a resume so far
}

// child is a record that is open and what closes with it.
type child struct {
	*record
	item *item // whose call or record it is; nil: none
	call *call
}

type counts struct{ discovered, succeeded, failed int64 }

func (c counts) fields() fieldValues {
	return fieldValues{"items_discovered": c.discovered, "items_succeeded": c.succeeded, "items_failed": c.failed}
}

// isResume reports whether an event is one that a resume begins with, or may continue with.
func isResume(e run.Event) (begins, continues bool) {
	switch e.Type {
	case run.RunReopened, run.ResumeRewind:
		return true, true
	case run.RunStateChanged:
		why := run.ReadPayload[run.Step](e.Payload).Reason
		back := why == run.ReasonReopen || why == run.ReasonRewind || why == run.ReasonForce
		return back, back
	case run.WorkItemFailed:
		why := run.ReadPayload[run.ItemFailure](e.Payload).Error
		lost := why.Code == interrupted && why.Message == run.Gone
		return lost, lost
	case run.WorkItemInvalidated:
		return false, true
	}
	return false, false
}

// launchFor makes sure that there is a launch that the event belongs to.
func (f *Follow) launchFor(e run.Event, at time.Time) {
	begins, continues := isResume(e)
	switch {
	case f.now == nil:
		f.launch(f.begun, e, at)
		f.now.resuming = begins
	case begins && (!f.now.resuming || f.now.ended):
		f.abandon()
		f.launch(e, e, at)
		f.now.resuming = true
	case !continues:
		f.now.resuming = false
	}
}

// launch creates the record of a launch, and of the state that it finds. from is the
// event that has its span, first the one that it begins with.
func (f *Follow) launch(from, first run.Event, at time.Time) {
	f.n++
	runID := f.run
	if f.n > 1 {
		runID += "-l" + strconv.Itoa(f.n)
	}
	span := from.SpanID
	if from.Type == run.WorkItemFailed || span == "" { // the span of an item, which has its own record
		span = spanOf(runID)
	}
	l := &launch{visits: map[run.State]int{}, gates: map[string]*record{}, gateRuns: map[string]int{}, names: map[string]bool{}}
	l.record = record{eventID: EventID(f.run, string(Launch), "", strconv.Itoa(f.n)), runID: runID, span: span, start: at}
	f.now, f.why = l, reason{}
	about := fieldValues{"trace_id": first.TraceID, "span_id": span, "launch": f.n}
	for k, v := range f.origin {
		about[k] = v
	}
	f.add(createDelivery(Record{EventID: l.eventID, RunID: runID, AgentName: orchestrator, JobType: Launch, Status: Running,
		StartTime: at, Product: f.recipe, Context: about.object()}))
	switch first.Type {
	case run.RunStateChanged, run.RunReopened, run.ResumeRewind: // says itself which state it is
	default:
		if f.state != "" {
			f.enter(run.Event{TraceID: first.TraceID}, f.state, at)
		}
	}
}

const orchestrator = "orchestrator"

// below makes the ids of something below the launch.
func (l *launch) below(job JobType, unit string, attempt int) record {
	runID := RunID(l.runID, job, unit, attempt)
	return record{runID: runID, eventID: EventID(l.runID, string(job), unit, strconv.Itoa(attempt))}
}

// parent returns the record that a child without a nearer parent belongs to.
func (l *launch) parent() *record {
	if l.node != nil {
		return l.node
	}
	return &l.record
}

// enter creates the record of a state.
func (f *Follow) enter(e run.Event, state run.State, at time.Time) {
	l := f.now
	l.visits[state]++
	n := l.below(Node, string(state), l.visits[state])
	if n.start, n.span = at, e.SpanID; n.span == "" {
		n.span = spanOf(n.runID)
	}
	r := Record{EventID: n.eventID, RunID: n.runID, ParentRunID: l.runID, AgentName: orchestrator, JobType: Node,
		Status: Running, StartTime: at,
		Context: fieldValues{"trace_id": e.TraceID, "span_id": n.span, "parent_span_id": cmp.Or(e.ParentSpan, l.span), "state": cutLine(string(state), MaxName)}.object()}
	if end, over := ends[state]; over {
		n.ended = true
		r.Status, r.EndTime = end, &at
		r.DurationMS = new(int64(0))
	}
	l.node = &n
	f.add(createDelivery(r))
}

// ends are the states in which a run is over.
var ends = map[run.State]Status{run.Done: Success, run.Failed: Failure, run.Cancelled: Cancelled}

// step leaves a state and enters another.
func (f *Follow) step(e run.Event, at time.Time) {
	p := run.ReadPayload[run.Step](e.Payload)
	l, to := f.now, p.New
	if to == "" {
		return
	}
	end, over := ends[to]
	why := f.why
	if over && end != Success && why.code == "" {
		why = reason{string(to), p.Reason, ""}
	}
	if over {
		f.settle(at, end)
	}
	if l.node != nil && !l.node.ended {
		if over && end != Success {
			f.add(l.node.end(end, at, why, nil))
		} else {
			f.add(l.node.end(Success, at, reason{}, fieldValues{"error_summary": nil})) // see Stop
		}
	}
	f.state = to
	f.enter(e, to, at)
	if !over {
		return
	}
	more := l.counts.fields()
	if end == Success {
		why = reason{}
		more["error_summary"] = nil // of a process that stopped on the way
	}
	f.add(l.record.end(end, at, why, more))
	f.why = reason{}
}

// ending remembers why the run will end. The reason of one that has ended is delivered at once.
func (f *Follow) ending(why reason) {
	if !f.now.ended {
		f.why = why
		return
	}
	if end := ends[f.state]; end == Failure || end == Cancelled {
		f.add(patchDelivery(f.now.eventID, fieldValues{"error_summary": why.summary()}))
	}
}

// settle closes what is open below the launch when the run ends.
func (f *Follow) settle(at time.Time, how Status) {
	if how == Success {
		how = Failure
	}
	f.closeAll(at, how, reason{interrupted, "the run ended before it", ""})
}

// abandon closes a launch whose process is gone, at its last sign of life.
func (f *Follow) abandon() {
	l := f.now
	why := reason{interrupted, "the process ended", ""}
	f.closeAll(f.last, Failure, why)
	if l.node != nil && !l.node.ended {
		f.add(l.node.end(Failure, f.last, why, nil))
	}
	if !l.ended {
		f.add(l.record.end(Failure, f.last, why, l.counts.fields()))
	}
}

// closeAll closes the newest first.
func (f *Follow) closeAll(at time.Time, how Status, why reason) {
	open := f.now.open
	f.now.open = nil
	for _, c := range slices.Backward(open) {
		f.close(c, at, how, why)
	}
	clear(f.now.gates)
}

func (f *Follow) close(c *child, at time.Time, how Status, why reason) {
	var more fieldValues
	if c.call != nil {
		more = c.call.lostEvidence()
	}
	f.add(c.end(how, at, why, more))
}

// closed takes a record from the open ones.
func (l *launch) closed(r *record) {
	for i, c := range slices.Backward(l.open) {
		if c.record == r {
			l.open = slices.Delete(l.open, i, i+1)
			return
		}
	}
}

// cloned records the first repository that the run works on.
func (f *Follow) cloned(clones []run.Clone) {
	at := slices.IndexFunc(clones, func(c run.Clone) bool { return c.URL != "" })
	if at < 0 {
		return
	}
	first := clones[at]
	from := cutLine(withoutUser(first.URL), MaxRef)
	about := fieldValues{"git_repo": from, "source_ref": from}
	if commitForm().MatchString(first.Commit) {
		about["git_commit_hash"], about["git_commit_source"] = first.Commit, "input"
	}
	f.add(patchDelivery(f.now.eventID, about))
}

// Delivery is one request to the telemetry service: the creation of a record (POST), or
// a change of one (PATCH).
type Delivery struct {
	Method  string
	EventID string
	Body    []byte // RFC 8785 form
}

// Collection is the path under which records are created.
const Collection = "/api/v1/runs"

// Path returns the path of the request.
func (d Delivery) Path() string {
	if d.Method == http.MethodPost {
		return Collection
	}
	return Collection + "/" + d.EventID
}

// record remembers a record that was created.
type record struct {
	eventID string
	runID   string
	span    string
	start   time.Time
	ended   bool
}

// createDelivery returns the delivery of a new record. Texts are cut to the lengths that a record holds.
func createDelivery(r Record) Delivery {
	r.AgentName = cutLine(r.AgentName, MaxName)
	if r.AgentName == "" {
		r.AgentName = "unknown"
	}
	r.Product = cutLine(r.Product, MaxName)
	r.Host = cutLine(r.Host, MaxName)
	r.Environment = cutLine(r.Environment, MaxName)
	r.TriggerType = cutLine(r.TriggerType, MaxName)
	r.InputSummary = cutLines(r.InputSummary, MaxSummary)
	r.OutputSummary = cutLines(r.OutputSummary, MaxSummary)
	r.ErrorSummary = cutLines(r.ErrorSummary, MaxSummary)
	r.ErrorDetails = cutLines(r.ErrorDetails, MaxDetails)
	body, err := FormatNew(r)
	if err != nil {
		panic("follow: a record that cannot be encoded: " + err.Error()) // it is all ours
	}
	return Delivery{http.MethodPost, r.EventID, body}
}

// fieldValues are the changes of a patch, or an object inside a record.
type fieldValues map[string]any

func (f fieldValues) object() json.RawMessage {
	text, err := json.Marshal(map[string]any(f))
	if err == nil {
		text, err = chain.Canonical(text)
	}
	if err != nil {
		panic("follow: an object that cannot be encoded: " + err.Error())
	}
	return text
}

func patchDelivery(eventID string, f fieldValues) Delivery {
	return Delivery{http.MethodPatch, eventID, f.object()}
}

// end delivers the end of a record. more may be nil.
func (r *record) end(status Status, at time.Time, why reason, more fieldValues) Delivery {
	again := r.ended
	r.ended = true
	at = laterTime(r.start, at)
	f := fieldValues{"status": status, "end_time": formatTime(at), "duration_ms": at.Sub(r.start).Milliseconds()}
	if why.code != "" {
		f["error_summary"] = why.summary()
	} else if again { // it was closed too early
		f["error_summary"], f["error_details"] = nil, nil
	}
	if why.details != "" {
		f["error_details"] = cutLines(why.details, MaxDetails)
	}
	for k, v := range more {
		f[k] = v
	}
	return patchDelivery(r.eventID, f)
}

type reason struct{ code, message, details string }

func (w reason) summary() string {
	return cutLines(joinReason(w.code, w.message), MaxSummary)
}

// status returns the status of a record that ended for a reason.
func (w reason) status() Status {
	switch w.code {
	case "":
		return Success
	case string(fault.TimedOut):
		return Timeout
	case string(fault.Cancelled), string(fault.Killed):
		return Cancelled
	}
	return Failure
}

func laterTime(a, b time.Time) time.Time {
	if b.Before(a) { // clocks are put back
		return a
	}
	return b
}

// formatTime returns a time as bodies hold it.
func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// cutLine returns a text on one line, of at most so many bytes.
func cutLine(s string, limit int) string {
	return cutText(text.Line(cutHead(s, 4*limit), limit), limit)
}

// cutLines returns a text of at most so many bytes, without what drives a terminal.
func cutLines(s string, limit int) string { return cutText(text.Safe(cutHead(s, limit)), limit) }

// cutHead keeps long texts from being looked at as a whole.
func cutHead(s string, limit int) string { return s[:min(len(s), limit)] }

func cutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	const mark = "…"
	return text.Head(s, limit-len(mark)) + mark
}

func joinReason(code, message string) string {
	if message == "" {
		return code
	}
	return code + ": " + message
}

// spanOf returns the span of something that has a name.
func spanOf(name string) string { return chain.Sum([]byte(name)).String()[:16] }

// withoutUser returns an address without names and passwords.
func withoutUser(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.User == nil {
		return s
	}
	u.User = nil
	return u.String()
}

// timeOf returns an event's time; of one that has none, the time of the event before.
func timeOf(e run.Event, before time.Time) time.Time {
	t, err := time.Parse(time.RFC3339Nano, e.TS)
	if err != nil || t.Year() < 1970 || t.Year() > 9999 {
		return laterTime(time.Unix(0, 0).UTC(), before)
	}
	return truncateTime(t)
}

// Signal leaves a signal in a channel that has room for one.
func Signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
