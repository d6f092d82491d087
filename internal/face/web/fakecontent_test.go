package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// hostile is what an agent, a tool or a letter may say to take the page over: tags,
// handlers, addresses that are code, marks that turn the text round, terminal codes, a
// word without end.
var hostile = `<script>window.pwned = 1</script><img src=x onerror="window.pwned = 2"><b class="injected">bold</b>` +
	"\n\n[a link](javascript:window.pwned=3) [b](data:text/html,<script>window.pwned=4</script>) ![p](http://elsewhere.invalid/x.png)" +
	"\n\n" + `<iframe src="javascript:alert(1)"></iframe><svg onload=alert(2)><style>*{display:none}</style>` +
	"\n\n\x1b[31mred\x1b[0m \x1b]0;title\x07 \x00\x01\x07 \u202Eright to left\u202C \u2066isolate\u2069 " + strings.Repeat("W", 3000) +
	"\n\n| a | b |\n|---|---|\n| <b class=injected>x</b> | " + strings.Repeat("y", 400) + " |\n\n```html\n<script>alert(3)</script> " + strings.Repeat("z", 500) + "\n```\n"

var hostileName = `<img src=x onerror=alert(1)>` + "\u202E" + strings.Repeat("name", 40)

const speech = `## What I found

The **parser** reads ` + "`agents.toml`" + ` twice. Two ways to mend it:

1. keep the *first* reading and pass it on
2. cache by path, as [the docs](https://example.org/cache) say
   - simpler
   - but it must be dropped when the file changes

` + "```go\nfunc Read(path string) (Config, error) {\n\treturn cache.Get(path)\n}\n```" + `

> Nothing else uses it.

| way | lines | risk |
|---|---|---|
| pass it on | 14 | none |
| cache | 40 | stale |
`

func uuid(n int) string { return fmt.Sprintf("agent%017d", n) }

func (f *fake) agent(name, parent string, age time.Duration) map[string]any {
	a := map[string]any{"uuid": uuid(len(f.agents)), "name": nil, "parent_uuid": nil, "fork_message_id": nil, "status": "running", "end_reason": nil,
		"created_at": stamp(age), "ended_at": nil, "depth": 0, "own_messages": 0, "total_messages": 0, "unread_mail": 0, "head_message_id": nil,
		"provider": "offline", "model": "offline/demo", "cwd": "/project", "state": map[string]any{"word": "idle"},
		"spent": map[string]any{"tokens": 0, "cost_nano_usd": 0}, "budget": nil}
	if name != "" {
		a["name"] = name
	}
	if parent != "" {
		a["parent_uuid"], a["fork_message_id"] = parent, 3
	}
	f.agents = append(f.agents, a)
	return a
}

func (f *fake) message(ref, kind string, parts []any, meta map[string]any) map[string]any {
	f.last++
	m := map[string]any{"id": f.last, "agent_uuid": ref, "kind": kind, "parts": parts, "meta": meta, "created_at": stamp(time.Hour - time.Duration(f.last)*time.Second),
		"hash": fmt.Sprintf("%064x", f.last)}
	f.talks[ref] = append(f.talks[ref], m)
	f.find(ref)["head_message_id"] = f.last
	return m
}

func (f *fake) say(ref, kind, text string) map[string]any {
	return f.message(ref, kind, []any{map[string]any{"type": "text", "text": text}}, map[string]any{})
}

// turn is what a kernel does with a prompt, at once.
func (f *fake) turn(ref, text string) {
	line := func(kind string, more map[string]any) map[string]any {
		l := map[string]any{"type": kind, "agent_uuid": ref}
		for k, v := range more {
			l[k] = v
		}
		return l
	}
	f.tell(line("turn_started", map[string]any{"turn": 1, "text": "offline/demo"}),
		line("entry", map[string]any{"message": f.say(ref, "user", text)}),
		line("thinking_delta", map[string]any{"text": "hm"}),
		line("text_delta", map[string]any{"text": "echo: "}), line("text_delta", map[string]any{"text": text}),
		line("spent", map[string]any{"usage": map[string]any{"input": 10, "output": 5, "cache_read": 0, "cache_write": 0}, "cost_nano_usd": 1_000_000}),
		line("entry", map[string]any{"message": f.say(ref, "assistant", "echo: "+text)}),
		line("turn_ended", nil))
}

func (f *fake) fill() {
	root := f.agent("root", "", 50*time.Hour)
	root["spent"] = map[string]any{"tokens": 182_340, "cost_nano_usd": 4_120_000_000}
	ref := uuid(0)
	f.say(ref, "system", "You are a careful engineer.")
	f.say(ref, "user", "Where is the configuration read, and why twice?")
	f.message(ref, "assistant", []any{map[string]any{"type": "thinking", "text": "Look for callers of Read.\nThen compare."},
		map[string]any{"type": "text", "text": "I look."}, map[string]any{"type": "tool_call", "call_id": "c1", "name": "grep", "args": map[string]any{"pattern": "config.Read", "path": "."}},
		map[string]any{"type": "tool_call", "call_id": "c2", "name": "<b class=injected>tool</b>", "args": map[string]any{"x": hostile}}}, map[string]any{})
	f.message(ref, "tool_result", []any{map[string]any{"type": "tool_result", "call_id": "c1", "name": "grep", "text": "main.go:12: config.Read(path)\nserve.go:40: config.Read(path)\n"},
		map[string]any{"type": "tool_result", "call_id": "c2", "name": "x", "text": hostile, "is_error": true}}, map[string]any{})
	f.message(ref, "assistant", []any{map[string]any{"type": "tool_call", "call_id": "c3", "name": "read", "args": map[string]any{"path": "large.txt"}}}, map[string]any{})
	f.message(ref, "tool_result", []any{map[string]any{"type": "tool_result", "call_id": "c3", "name": "read", "size": 9000}}, map[string]any{})
	f.message(ref, "files", nil, map[string]any{"files": map[string]any{"root": "ab", "changed": 0, "bytes": 0, "when": "before"}})
	f.message(ref, "files", nil, map[string]any{"files": map[string]any{"root": "cd", "changed": 2, "bytes": 90, "when": "after"}})
	f.say(ref, "assistant", speech)
	f.message(ref, "usage", nil, map[string]any{"call": map[string]any{"model": "offline/demo", "outcome": "stop", "input": 1200, "output": 300, "cache_read": 0, "cache_write": 0, "cost_nano_usd": 3_000_000, "priced": true, "took_ms": 1400}})
	for i, name := range []string{"parser", "tests", "docs", hostileName, "reviewer", "old attempt"} {
		child := f.agent(name, ref, time.Duration(40-5*i)*time.Hour)
		child["spent"] = map[string]any{"tokens": 1000 * (i + 1), "cost_nano_usd": int64(i+1) * 70_000_000}
		for j := range i {
			grand := f.agent(fmt.Sprintf("%.12s %d", name, j+1), child["uuid"].(string), time.Duration(30-i)*time.Minute)
			grand["spent"] = map[string]any{"tokens": 500, "cost_nano_usd": 900_000}
			if j == 1 {
				grand["unread_mail"] = 3
			}
		}
	}
	f.message(ref, "fork", nil, map[string]any{"children": []any{uuid(1), uuid(2)}})
	f.agents[1]["state"] = map[string]any{"word": "working", "detail": "runs tests"}
	f.agents[2]["state"] = map[string]any{"word": "interrupted"}
	f.agents[4]["unread_mail"] = 2
	f.agents[11]["driver"], f.agents[11]["provider"], f.agents[11]["model"] = "claude", "driver", "claude/fast"
	f.agents[6]["model"], f.agents[6]["provider"] = nil, nil // it never ran
	dead := f.agents[len(f.agents)-1]
	dead["status"], dead["end_reason"], dead["state"] = "dead", "killed", map[string]any{"word": "killed"}
	over := f.agents[len(f.agents)-2] // it said what it had to say, and nobody killed it
	over["name"], over["status"], over["end_reason"], over["state"] = "finished", "dead", "done", map[string]any{"word": "done"}
	for i := range 260 { // more than a page
		f.say(uuid(5), "user", fmt.Sprintf("line %d", i))
	}
	long := ""
	for range 20 { // deeper than is drawn
		long = f.agent("chain", long, time.Hour)["uuid"].(string)
	}
	bad := f.agents[7]["uuid"].(string)
	f.agents[7]["name"] = hostileName
	f.say(bad, "user", hostile)
	f.message(bad, "assistant", []any{map[string]any{"type": "text", "text": hostile}, map[string]any{"type": "thinking", "text": hostile},
		map[string]any{"type": "image", "media_type": "image/svg+xml", "data": "PHN2Zy8+"}, map[string]any{"type": hostile}}, map[string]any{})
	f.message(bad, "killed", nil, map[string]any{"reason": hostile})
	f.message(bad, "note", []any{map[string]any{"type": "text", "text": hostile}}, map[string]any{})
	f.message(bad, hostile, nil, nil)
	f.asks = []map[string]any{{"id": "ask-1", "agent_uuid": uuid(1), "tool": "bash", "text": "remove the folder build", "subject": "rm -rf build && " + hostile,
		"choices": choices("bash(rm -rf build)", "no rule is saved for what cannot be undone or foreseen: it deletes"), "why": "it is outside the project", "asked_at": stamp(time.Minute), "until": stamp(-9 * time.Minute)},
		{"id": "ask-2", "agent_uuid": uuid(1), "tool": "bash", "text": "make it so", "subject": "make it so", "outside": true, "reason": hostile, "choices": choices("bash(make it so)", ""), "asked_at": stamp(time.Minute)},
		{"id": "ask-3", "agent_uuid": uuid(1), "tool": "write", "text": "write main.go", "subject": "main.go", "choices": choices("write(main.go)", ""), "asked_at": stamp(time.Minute),
			"change": map[string]any{"patch": "@@ -7 +7,3 @@\n-old := 1\n+func main() {\n+<b class=injected>x</b>\n+}\n", "removed": "", "added": ""}}}
	f.fillRuns(3, 4, 3)
	f.logs["docs-2026"] = eventsOf("docs-2026", 120, 0)
	f.logs["broken-1"] = eventsOf("broken-1", 40, 5)
	f.logs["failed-1"], f.standing["failed-1"] = eventsOf("failed-1", 9, 0), "failed"
	f.logs["done-1"], f.standing["done-1"] = eventsOf("done-1", 9, 0), "done"
}

// program is what the program offers that drives the agent.
func (f *fake) program() map[string]any {
	offer := func(word, title, about string, hint any) any {
		return map[string]any{"word": word, "title": title, "about": about, "hint": hint}
	}
	return map[string]any{"driver": "claude", "mode": f.mode, "boxed": true, "modes": []any{offer("default", "Ask first", "", nil), offer("plan", "Plan", "reads only", nil)},
		"models": []any{offer("fast", "Fast", "", nil), offer("large", "Large", "", nil)}, "efforts": []any{},
		"commands": []any{offer("review", "", "reads what changed <b>", "BRANCH"), offer("compact", "", "forgets", nil)}}
}

// choices are those of a question.
func choices(rule, no string) []any {
	out := []any{map[string]any{"choice": "no", "text": "no"}, map[string]any{"choice": "because", "text": "no, because"}, map[string]any{"choice": "once", "text": "once"},
		map[string]any{"choice": "agent", "text": "for this agent", "rule": rule}}
	if no != "" {
		return append(out, map[string]any{"choice": "project", "text": "for this project", "no": no})
	}
	return append(out, map[string]any{"choice": "project", "text": "for this project", "rule": rule})
}

func (f *fake) fillBig(n int) {
	f.agent("root", "", 50*time.Hour)
	for i := 1; i < n; i++ {
		f.agent(fmt.Sprintf("worker %d", i), uuid((i-1)/7), time.Duration(n-i)*time.Second)
	}
	f.fillRuns(20, 25, 19)
}

// fillRuns makes a tree of nodes, workers and calls.
func (f *fake) fillRuns(nodes, workers, calls int) {
	begin := time.Now().Add(-time.Hour)
	number := 0
	var all []map[string]any
	record := func(parent map[string]any, job, name, status string, from, took time.Duration) map[string]any {
		number++
		r := map[string]any{"event_id": fmt.Sprintf("00000000-0000-4000-8000-%012d", number), "run_id": name, "agent_name": "drafter", "job_type": job, "status": status,
			"start_time": begin.Add(from).UTC().Format(time.RFC3339Nano), "end_time": begin.Add(from + took).UTC().Format(time.RFC3339Nano), "duration_ms": took.Milliseconds(),
			"created_at": stamp(0), "updated_at": stamp(0), "children": []any{},
			"sums": map[string]any{"records": 1, "llm_calls": calls, "input_tokens": 1200, "output_tokens": 340, "total_tokens": 1540, "api_cost_usd": 0.0123, "duration_ms": 900}}
		if parent != nil {
			r["parent_run_id"], r["run_id"] = parent["run_id"], fmt.Sprintf("docs-2026-%s-%s-a1", job, name)
			parent["children"] = append(parent["children"].([]any), r)
		}
		all = append(all, r)
		return r
	}
	length := time.Duration(nodes) * time.Minute
	f.tree = record(nil, "launch", "docs-2026", "partial", 0, length)
	for n := range nodes {
		node := record(f.tree, "orchestrator_node", []string{"CREATED", "CLONED_INPUTS", "PLANNED"}[n%3], "success", time.Duration(n)*time.Minute, time.Minute)
		for w := range workers {
			status, job := "success", "worker"
			if w == 1 {
				status = "failure"
			}
			if w == workers-1 {
				job = "gate"
			}
			from := time.Duration(n)*time.Minute + time.Duration(w)*time.Minute/time.Duration(workers+2)
			worker := record(node, job, fmt.Sprintf("section-%d-%d", n+1, w+1), status, from, time.Minute*2/time.Duration(workers+2))
			for c := range calls {
				step := time.Minute * 2 / time.Duration((workers+2)*(calls+1))
				call := record(worker, "llm_call", fmt.Sprintf("%d-%d-%d", n+1, w+1, c+1), "success", from+step*time.Duration(c), step)
				call["context_json"] = map[string]any{"model": "offline/demo", "prompt_hash": strings.Repeat("ab", 32)}
				call["metrics_json"] = map[string]any{"input_tokens": 1200, "output_tokens": 340}
			}
		}
	}
	f.tree["error_summary"] = hostile
	f.tree["sums"].(map[string]any)["records"] = number
	for _, r := range all {
		flat := map[string]any{}
		for k, v := range r {
			if k != "children" && k != "sums" {
				flat[k] = v
			}
		}
		f.runs = append(f.runs, flat)
	}
}

// eventsOf makes a chain as docs/run-log.md has it; one event is changed afterwards.
func eventsOf(run string, n, damaged int) []map[string]any {
	prev := ""
	var out []map[string]any
	for i := range n {
		payload := map[string]any{"work_item_id": fmt.Sprintf("section-%d", i), "message": "<b class=injected>&\u2028é😀", "n": i, "half": 0.5, "nested": map[string]any{"z": nil, "a": []any{true, "x"}}}
		kind := "WORK_ITEM_FINISHED"
		if i == 0 {
			kind, payload = "RUN_CREATED", map[string]any{"run_id": run}
		}
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.Encode(payload)
		text := strings.ReplaceAll(strings.TrimSpace(b.String()), `\u2028`, "\u2028")
		id, ts := fmt.Sprintf("evt-%d", i+1), time.Now().Add(time.Duration(i-n)*time.Second).UTC().Format("2006-01-02T15:04:05Z")
		sum := sha256.Sum256([]byte(id + ts + kind + text + prev))
		hash := hex.EncodeToString(sum[:])
		if damaged == i+1 {
			payload["n"] = -1
		}
		out = append(out, map[string]any{"event_id": id, "ts": ts, "type": kind, "payload": payload, "prev_hash": prev, "event_hash": hash, "run_id": run, "trace_id": strings.Repeat("a", 32), "span_id": strings.Repeat("b", 16)})
		prev = hash
	}
	return out
}

func snapshotOf(run string, n int) map[string]any {
	return map[string]any{"run_id": run, "run_state": "VALIDATING", "created_at": stamp(time.Hour), "updated_at": stamp(time.Minute), "event_count": n, "last_event_hash": "",
		"schema_version": 1, "failure": nil, "pr": nil, "section_states": map[string]any{"intro": "DRAFTED", hostileName: "PENDING"},
		"artifacts": []any{map[string]any{"name": "plan", "path": "plan.json", "schema_id": "plan", "sha256": strings.Repeat("0f", 32), "ts": stamp(time.Hour), "writer_worker": nil}},
		"gates":     []any{map[string]any{"name": "links", "ok": false, "runs": 2, "issues": []any{"i1"}, "started_at": nil, "finished_at": nil}},
		"issues": []any{map[string]any{"issue_id": "i1", "gate": "links", "severity": "error", "status": "OPEN", "message": hostile, "error_code": nil, "files": []any{"docs/a.md"}, "location": nil,
			"suggested_fix": "remove it", "opened_at": stamp(0), "resolved_at": nil}},
		"work_items": []any{map[string]any{"work_item_id": "section-1", "worker": "drafter", "scope_key": hostileName, "status": "failed", "attempt": 2, "started_at": nil, "finished_at": nil,
			"error": map[string]any{"code": "OUTPUT_INVALID", "message": hostile}}}}
}

// trust is a project whose instructions have changed.
func (f *fake) trust() map[string]any {
	thing := map[string]any{"kind": "instructions", "path": "AGENTS.md", "sha256": "ab", "size": 9, "does": "stands before every conversation",
		"change": "changed", "link": nil, "refused": nil, "invisible": []string{"line 1: zero-width U+200B"},
		"diff": "--- accepted/AGENTS.md\n+++ now/AGENTS.md\n@@ -1 +1 @@\n-Be kind.\n+Be quick.\n" + hostile}
	if f.accepted {
		thing["change"], thing["diff"] = "same", ""
	}
	return map[string]any{"project": "/project", "trusted": f.accepted, "given": true, "digest": "d1", "things": []any{thing}}
}

func (f *fake) usage(by string) map[string]any {
	rows := []map[string]any{}
	row := func(key string, ref any, n int64) map[string]any {
		return map[string]any{"key": key, "agent_uuid": ref, "calls": n * 3, "failed": n % 2, "input": n * 12_000, "output": n * 2100, "cache_read": n * 90_000, "cache_write": n * 800,
			"cost_nano_usd": n * n * 31_000_000, "unpriced": 0, "took_ms": n * 4000}
	}
	for i := range min(14, len(f.agents)) {
		n := int64(i%7 + 1)
		switch by {
		case "day":
			rows = append(rows, row(time.Now().AddDate(0, 0, i-13).Format("2006-01-02"), nil, n))
		case "model":
			rows = append(rows, row([]string{"anthropic/large", "openai/middle", hostileName, "offline/demo"}[i%4]+fmt.Sprint(i/4), nil, n))
		default:
			rows = append(rows, row(uuid(i), uuid(i), n))
		}
	}
	return map[string]any{"by": by, "rows": rows, "total": row("total", nil, int64(len(rows)))}
}

// lineage is everybody in time: agent 0 marked a place, spoke on and went back to it, and its child
// wrote to it.
func (f *fake) lineage() map[string]any {
	out := map[string]any{"agents": []any{}, "points": []any{}, "letters": []any{}, "more": false}
	list := func(key string, v map[string]any) { out[key] = append(out[key].([]any), v) }
	for i, a := range f.agents {
		name := fmt.Sprint(a["name"])
		if a["name"] == nil {
			name = a["uuid"].(string)[:8]
		}
		until := a["created_at"].(string)
		if ended, ok := a["ended_at"].(string); ok {
			until = ended
		} else if i%3 != 0 {
			until = stamp(time.Duration(i%50) * time.Minute)
		}
		if until < a["created_at"].(string) {
			until = a["created_at"].(string)
		}
		list("agents", map[string]any{"uuid": a["uuid"], "name": name, "parent_uuid": a["parent_uuid"], "fork_message_id": a["fork_message_id"], "state": a["state"], "from": a["created_at"], "until": until,
			"killed": a["status"] == "dead", "end_reason": a["end_reason"], "head_message_id": 1, "own_messages": a["own_messages"], "spent": a["spent"], "run": false})
		if i > 0 && i%4 == 0 {
			list("letters", map[string]any{"id": i, "number": i, "from_uuid": a["uuid"], "about_uuid": nil, "to_uuid": uuid(i / 2), "at": until, "read": i%8 == 0})
		}
	}
	if len(f.agents) > 0 {
		list("points", map[string]any{"agent_uuid": uuid(0), "message_id": 3, "kind": "mark", "at": stamp(40 * time.Minute), "text": "before the change", "target_id": nil, "target_at": nil})
		list("points", map[string]any{"agent_uuid": uuid(0), "message_id": 4, "kind": "rewind", "at": stamp(20 * time.Minute), "text": "before the change", "target_id": 3, "target_at": stamp(40 * time.Minute)})
	}
	return out
}
