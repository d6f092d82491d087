package runtest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"pgregory.net/rapid"

	"ramet/internal/base/chain"
	"ramet/internal/run"
)

// Dice draws the chance of a whole history from one seed. What rapid draws by
// itself prefers small numbers, and such runs never get far.
func Dice(t *rapid.T) *rand.Rand {
	seed := fnv.New64a()
	seed.Write(rapid.SliceOfN(rapid.Byte(), 8, 8).Draw(t, "seed"))
	return rand.New(rand.NewPCG(seed.Sum64(), 5))
}

// Step is an event that might come next, the nth. Its payload has the form of its
// type; whether it is legal is left to chance, with good odds. Names come from
// small pools, so that events meet each other.
func Step(r *rand.Rand, s run.Snapshot, n int) run.Draft {
	kind := pick(r, kinds...)
	switch {
	case s.EventCount == 0 && r.IntN(10) > 0:
		kind = run.RunCreated
	case s.RunState == run.Failed && r.IntN(3) > 0:
		kind = pick(r, run.RunStateChanged, run.RunReopened)
	}
	d := Draft(n, kind, payload(r, s, kind))
	d.RunID = s.RunID
	if kind == run.RunForked && r.IntN(4) > 0 {
		d.RunID = fmt.Sprintf("fork%d", n)
	}
	return d
}

// kinds are the types by their odds: once each, and those again that make a run
// go on.
var kinds = slices.Concat(run.Types(), []run.Type{"FROM_A_NEWER_VERSION"}, slices.Repeat([]run.Type{run.RunStateChanged}, 16),
	slices.Repeat([]run.Type{run.WorkItemQueued, run.WorkItemStarted, run.WorkItemFinished}, 3),
	[]run.Type{run.GateRunFinished, run.IssueResolved, run.SectionStateChanged})

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func payload(r *rand.Rand, s run.Snapshot, kind run.Type) string {
	switch kind {
	case run.RunCreated:
		return marshal(map[string]any{"run_id": s.RunID, "config_sha256": Sum})
	case run.RunStateChanged:
		return marshal(transition(r, s))
	case run.RunForked:
		hash := pick(r, s.LastEventHash, s.LastEventHash, Sum)
		if hash == "" {
			hash = Sum
		}
		return marshal(map[string]any{"parent_run_id": s.RunID, "event_id": "00000000-0000-7000-8000-000000000001",
			"event_hash": hash, "event_count": max(1, s.EventCount)})
	case run.ResumeRewind:
		to, ok := s.RunState.RewindTo()
		if !ok {
			to = run.Created
		}
		return marshal(map[string]any{"from_state": s.RunState, "to_state": to})
	case run.ArtifactWritten:
		a := map[string]any{"name": pick(r, "b", "a", "ä", "c"), "path": pick(r, "x", "y"), "sha256": Sum, "schema_id": "urn:x"}
		if r.IntN(2) == 0 {
			a["writer_worker"] = "writer"
		}
		return marshal(a)
	case run.WorkItemQueued:
		return marshal(queued(r, s))
	case run.WorkItemStarted:
		return marshal(map[string]any{"work_item_id": item(r, s, run.Pending)})
	case run.WorkItemFinished:
		return marshal(map[string]any{"work_item_id": item(r, s, run.InProgress), "outputs": files(r)})
	case run.WorkItemFailed:
		why := pick[any](r, "it broke", map[string]any{"code": "TIMEOUT", "message": ""})
		return marshal(map[string]any{"work_item_id": item(r, s, run.InProgress), "error": why, "retryable": r.IntN(2) == 0})
	case run.WorkItemInvalidated:
		return marshal(map[string]any{"work_item_id": item(r, s, run.Completed)})
	case run.GateRunStarted:
		return marshal(map[string]any{"gate": pick(r, "links", "claims")})
	case run.GateRunFinished:
		return marshal(map[string]any{"gate": pick(r, "links", "claims"), "ok": r.IntN(2) == 0, "issues": pick(r, []string{}, []string{"i1"})})
	case run.IssueOpened:
		return marshal(map[string]any{"issue": issue(r)})
	case run.IssueResolved:
		return marshal(map[string]any{"issue_id": pick(r, "i1", "i2", "i3")})
	case run.SectionStateChanged:
		name := pick(r, "intro", "ä<")
		now, ok := s.SectionStates[name]
		if !ok {
			now = run.NotStarted
		}
		return marshal(map[string]any{"section": name, "old_state": now, "new_state": pick(r, run.SectionStates()...)})
	case "FROM_A_NEWER_VERSION":
		return `{"n":[1,{"deep":null}]}`
	}
	return examples[kind]
}

func transition(r *rand.Rand, s run.Snapshot) map[string]any {
	reason := ""
	switch n := r.IntN(20); {
	case s.RunState == run.Failed:
		reason = run.ReasonReopen
	case n == 0:
		reason = run.ReasonForce
	case n < 3:
		reason = run.ReasonRewind
	}
	next := s.RunState.Next(reason)
	if s.RunState == run.Failed && s.Failure != nil {
		// Where it failed, or a step back from there; anything else is refused.
		next = []run.State{s.Failure.FromState, s.Failure.FromState}
		if to, ok := s.Failure.FromState.RewindTo(); ok {
			next[0] = to
		}
	} else if n := len(next) - 2; n > 0 && r.IntN(12) > 0 {
		next = next[:n] // not to its end yet
	}
	if len(next) == 0 || r.IntN(10) == 0 {
		next = run.States()
	}
	p := map[string]any{"old_state": s.RunState, "new_state": pick(r, next...)}
	if reason != "" {
		p["reason"] = reason
	}
	return p
}

func queued(r *rand.Rand, s run.Snapshot) map[string]any {
	worker, scope, attempt := pick(r, "writer", "linker"), pick(r, "intro", "a:b"), 1+r.Int64N(3)
	p := map[string]any{"work_item_id": run.ItemID(s.RunID, worker, attempt, scope), "worker": worker, "attempt": attempt,
		"scope_key": scope, "inputs": files(r), "outputs": files(r)}
	switch r.IntN(4) {
	case 0:
		p["effect"], p["idempotency_key"] = "external", "k"
	case 1:
		p["effect"] = "external"
	}
	return p
}

// item is mostly one that has the status.
func item(r *rand.Rand, s run.Snapshot, status run.Status) string {
	var fit, all []string
	for _, w := range s.WorkItems {
		all = append(all, w.WorkItemID)
		if w.Status == status {
			fit = append(fit, w.WorkItemID)
		}
	}
	switch {
	case len(fit) > 0 && r.IntN(6) > 0:
		return pick(r, fit...)
	case len(all) > 0:
		return pick(r, all...)
	}
	return "nothing:of:1:sorts"
}

func files(r *rand.Rand) []any {
	out := []any{}
	for range r.IntN(3) {
		path := pick(r, "x", "y<z>")
		out = append(out, pick[any](r, path, map[string]any{"path": path, "sha256": Sum}, map[string]any{"path": path, "name": "n"}))
	}
	return out
}

func issue(r *rand.Rand) map[string]any {
	p := map[string]any{
		"issue_id": pick(r, "i1", "i2", "i3"),
		"gate":     "links",
		"severity": pick(r, "info", "warn", "error", "blocker"),
		"message":  "<&> \u2028 ü",
		"status":   pick(r, "OPEN", "OPEN", "IN_PROGRESS", "RESOLVED"),
	}
	if r.IntN(2) == 0 {
		p["location"] = pick[any](r, nil, "a.md:3", 1e21, map[string]any{"b": 1, "a": []any{"\u2028<", 0.1}})
		p["files"] = []string{"a.md"}
		p["opened_at"] = 7 // his own affair
	}
	return p
}

// marshal gives the RFC 8785 form.
func marshal(v any) string {
	text, err := json.Marshal(v)
	if err == nil {
		text, err = chain.Canonical(text)
	}
	if err != nil {
		panic(fmt.Sprintf("marshal %v: %v", v, err))
	}
	return string(text)
}

// RunID is the run of all drafts that name no other.
const RunID = "20260115T142210Z-0a1b2c3d"

// Sum is a hash to write where one belongs.
const Sum = "9dfb1406f3ec56c177fc8c1c42dc94168135eb54ae4bdf6e177f348b3bbe9534"

// Item is the work item of the examples.
const Item = RunID + ":writer:1:intro"

var examples = map[run.Type]string{
	run.RunCreated:      `{"config_sha256":"` + Sum + `","run_id":"` + RunID + `"}`,
	run.RunStateChanged: `{"new_state":"CLONED_INPUTS","old_state":"CREATED","reason":"it is time"}`,
	run.RunCompleted:    `{}`,
	run.RunFailed:       `{"code":"NO_PROGRESS","message":"three fixes, no change"}`,
	run.RunCancelled:    `{"reason":"asked for"}`,
	run.RunReopened:     `{"reason":"asked for"}`,
	run.RunForked:       `{"event_count":1,"event_hash":"` + Sum + `","event_id":"00000000-0000-7000-8000-000000000001","parent_run_id":"parent"}`,
	run.ResumeRewind:    `{"from_state":"DRAFTING","to_state":"PLAN_READY"}`,
	run.InputsCloned:    `{"inputs":[{"commit":"1ab51d6","name":"source","url":"https://example.org/source.git"}]}`,
	run.ArtifactWritten: `{"name":"facts","path":"artifacts/facts.json","schema_id":"urn:facts:1","sha256":"` + Sum + `","writer_worker":"finder"}`,
	run.WorkItemQueued: `{"attempt":1,"effect":"external","idempotency_key":"k1","inputs":[{"name":"facts","path":"artifacts/facts.json","sha256":"` + Sum +
		`"},"plan.json"],"outputs":["drafts/intro.md"],"scope_key":"intro","work_item_id":"` + Item + `","worker":"writer"}`,
	run.WorkItemStarted:     `{"work_item_id":"` + Item + `"}`,
	run.WorkItemFinished:    `{"outputs":[{"name":"intro","path":"drafts/intro.md","sha256":"` + Sum + `"}],"work_item_id":"` + Item + `"}`,
	run.WorkItemFailed:      `{"error":{"code":"TIMEOUT","message":"took too long"},"retryable":true,"work_item_id":"` + Item + `"}`,
	run.WorkItemInvalidated: `{"reason":"asked for","work_item_id":"` + Item + `"}`,
	run.GateRunStarted:      `{"gate":"links"}`,
	run.GateRunFinished:     `{"gate":"links","issues":["i1"],"ok":false}`,
	run.IssueOpened: `{"issue":{"error_code":"DEAD_LINK","files":["a.md"],"gate":"links","issue_id":"i1","location":{"line":3},` +
		`"message":"no such page","severity":"blocker","status":"OPEN","suggested_fix":"remove it"}}`,
	run.IssueResolved:       `{"issue_id":"i1"}`,
	run.SectionStateChanged: `{"new_state":"OUTLINED","old_state":"NOT_STARTED","section":"intro"}`,
	run.PullRequestOpened:   `{"bundle":"reports/pr.bundle","url":"https://example.org/pull/1"}`,
	run.LLMCallStarted: `{"call_id":"writer_intro_1","max_tokens":4096,"model":"m","prompt_hash":"a3f2...c901","provider_base_url":"https://example.org/v1",` +
		`"response_format":"text","temperature":0.5,"tool_schema_hash":"b9e1...d783"}`,
	run.LLMCallFinished: `{"api_cost_usd":0.0495,"call_id":"writer_intro_1","finish_reason":"stop","latency_ms":5234,"output_hash":"b9e1...d783",` +
		`"token_usage":{"input_tokens":1500,"output_tokens":3000,"total_tokens":4500},"tool_calls_count":0}`,
	run.LLMCallFailed: `{"call_id":"writer_intro_1","error_class":"HTTPError","error_details":"Traceback","error_summary":"rate limit",` +
		`"http_status":429,"latency_ms":1205,"retryable":true}`,
	run.LLMCacheHit: `{"cache_key":"k","call_id":"writer_intro_1","output_hash":"b9e1...d783"}`,
}

// Examples gives a payload for each type that run knows, in RFC 8785 form, with
// every field that it may have.
func Examples() map[run.Type]string { return maps.Clone(examples) }

// Draft returns the nth event of the run RunID: its id and time follow from n.
func Draft(n int, t run.Type, payload string) run.Draft {
	return run.Draft{
		ID:      fmt.Sprintf("%08x-0000-7000-8000-000000000000", n),
		RunID:   RunID,
		TS:      run.FormatTime(time.Unix(1_768_486_930+int64(n), 0)),
		Type:    t,
		Payload: []byte(payload),
		TraceID: "0af7651916cd43dd8448eb211c80319c",
		SpanID:  fmt.Sprintf("%016x", n),
	}
}
