package runtest

import (
	"encoding/json"
	"fmt"

	"pgregory.net/rapid"

	"ramet/internal/chain"
	"ramet/internal/run"
)

// Step draws the type and payload of an event that might come next. The payload
// has the form of its type; whether the event is legal is left to chance, with
// good odds. Names come from small pools, so that events meet each other.
func Step(t *rapid.T, s run.Snapshot) (run.Type, string) {
	if s.EventCount == 0 && rapid.IntRange(0, 9).Draw(t, "begin") > 0 {
		return run.RunCreated, marshal(map[string]any{"run_id": s.RunID, "config_sha256": Sum})
	}
	kind := rapid.SampledFrom(often).Draw(t, "type")
	return kind, payload(t, s, kind)
}

// often lists the types, those more than once that others depend on.
var often = append(run.Types(), run.RunStateChanged, run.RunStateChanged, run.RunStateChanged, run.WorkItemQueued,
	run.WorkItemQueued, run.WorkItemStarted, run.WorkItemStarted, run.WorkItemFinished, run.GateRunFinished,
	run.SectionStateChanged, "FROM_A_NEWER_VERSION")

func payload(t *rapid.T, s run.Snapshot, kind run.Type) string {
	one := func(from ...string) string { return rapid.SampledFrom(from).Draw(t, "word") }
	switch kind {
	case run.RunCreated:
		return marshal(map[string]any{"run_id": s.RunID, "config_sha256": Sum})
	case run.RunStateChanged:
		return marshal(transition(t, s))
	case run.RunForked:
		return marshal(map[string]any{"parent_run_id": s.RunID, "event_id": "00000000-0000-7000-8000-000000000001",
			"event_hash": Sum, "event_count": s.EventCount + 1})
	case run.ResumeRewind:
		to, ok := s.RunState.RewindTo()
		if !ok {
			to = run.Created
		}
		return marshal(map[string]any{"from_state": s.RunState, "to_state": to})
	case run.ArtifactWritten:
		a := map[string]any{"name": one("b", "a", "ä", "c"), "path": one("x", "y"), "sha256": Sum, "schema_id": "urn:x"}
		if rapid.Bool().Draw(t, "writer") {
			a["writer_worker"] = "writer"
		}
		return marshal(a)
	case run.WorkItemQueued:
		return marshal(queued(t, s))
	case run.WorkItemStarted:
		return marshal(map[string]any{"work_item_id": item(t, s)})
	case run.WorkItemFinished:
		return marshal(map[string]any{"work_item_id": item(t, s), "outputs": files(t)})
	case run.WorkItemFailed:
		var why any = "it broke"
		if rapid.Bool().Draw(t, "coded") {
			why = map[string]any{"code": "TIMEOUT", "message": ""}
		}
		return marshal(map[string]any{"work_item_id": item(t, s), "error": why, "retryable": rapid.Bool().Draw(t, "retryable")})
	case run.WorkItemInvalidated:
		return marshal(map[string]any{"work_item_id": item(t, s)})
	case run.GateRunStarted:
		return marshal(map[string]any{"gate": one("links", "claims")})
	case run.GateRunFinished:
		return marshal(map[string]any{"gate": one("links", "claims"), "ok": rapid.Bool().Draw(t, "ok"), "issues": []string{}})
	case run.IssueOpened:
		return marshal(map[string]any{"issue": issue(t)})
	case run.IssueResolved:
		return marshal(map[string]any{"issue_id": one("i1", "i2", "i3")})
	case run.SectionStateChanged:
		return marshal(section(t, s))
	case "FROM_A_NEWER_VERSION":
		return `{"n":[1,{"deep":null}]}`
	}
	return examples[kind]
}

func transition(t *rapid.T, s run.Snapshot) map[string]any {
	reason := rapid.SampledFrom([]string{"", "", "", run.ReasonRewind, run.ReasonReopen, run.ReasonForce}).Draw(t, "reason")
	next := s.RunState.Next(reason)
	// Early ends make short tests: they are drawn, but rarely.
	if n := len(next) - 2; n > 0 && rapid.IntRange(0, 7).Draw(t, "end") > 0 {
		next = next[:n]
	}
	if len(next) == 0 || rapid.IntRange(0, 5).Draw(t, "anywhere") == 0 {
		next = run.States()
	}
	p := map[string]any{"old_state": s.RunState, "new_state": rapid.SampledFrom(next).Draw(t, "to")}
	if reason != "" {
		p["reason"] = reason
	}
	return p
}

func queued(t *rapid.T, s run.Snapshot) map[string]any {
	worker := rapid.SampledFrom([]string{"writer", "linker"}).Draw(t, "worker")
	scope := rapid.SampledFrom([]string{"intro", "a:b"}).Draw(t, "scope")
	attempt := rapid.Int64Range(1, 3).Draw(t, "attempt")
	p := map[string]any{"work_item_id": run.ItemID(s.RunID, worker, attempt, scope), "worker": worker, "attempt": attempt,
		"scope_key": scope, "inputs": files(t), "outputs": files(t)}
	if rapid.Bool().Draw(t, "external") {
		p["effect"] = "external"
		if rapid.Bool().Draw(t, "keyed") {
			p["idempotency_key"] = "k"
		}
	}
	return p
}

func item(t *rapid.T, s run.Snapshot) string {
	if len(s.WorkItems) == 0 {
		return "nothing:of:1:sorts"
	}
	return s.WorkItems[rapid.IntRange(0, len(s.WorkItems)-1).Draw(t, "item")].WorkItemID
}

func files(t *rapid.T) []any {
	out := []any{}
	for range rapid.IntRange(0, 2).Draw(t, "files") {
		path := rapid.SampledFrom([]string{"x", "y<z>"}).Draw(t, "path")
		if rapid.Bool().Draw(t, "bare") {
			out = append(out, path)
		} else {
			out = append(out, map[string]any{"path": path, "sha256": Sum})
		}
	}
	return out
}

func issue(t *rapid.T) map[string]any {
	p := map[string]any{
		"issue_id": rapid.SampledFrom([]string{"i1", "i2", "i3"}).Draw(t, "issue"),
		"gate":     "links",
		"severity": rapid.SampledFrom([]string{"info", "warn", "error", "blocker"}).Draw(t, "severity"),
		"message":  "<&> \u2028 ü",
		"status":   rapid.SampledFrom([]string{"OPEN", "OPEN", "IN_PROGRESS", "RESOLVED"}).Draw(t, "status"),
	}
	if rapid.Bool().Draw(t, "more") {
		p["location"] = rapid.SampledFrom([]any{nil, "a.md:3", 1e21, map[string]any{"b": 1, "a": []any{"\u2028<", 0.1}}}).Draw(t, "location")
		p["files"] = []string{"a.md"}
		p["opened_at"] = 7 // his own affair
	}
	return p
}

func section(t *rapid.T, s run.Snapshot) map[string]any {
	name := rapid.SampledFrom([]string{"intro", "ä<"}).Draw(t, "section")
	now, ok := s.SectionStates[name]
	if !ok {
		now = run.NotStarted
	}
	return map[string]any{"section": name, "old_state": now, "new_state": rapid.SampledFrom(run.SectionStates()).Draw(t, "to")}
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
