package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

func stamp(ago time.Duration) string {
	return time.Now().Add(-ago).UTC().Format("2006-01-02T15:04:05.000000Z")
}

func number(s string, otherwise int) int {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	return otherwise
}

func (f *fake) routes() http.Handler {
	m := http.NewServeMux()
	handle := func(pattern string, h func(w http.ResponseWriter, r *http.Request, body map[string]any)) {
		m.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			var body map[string]any
			if r.Method == http.MethodPost {
				if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
					refuse(w, http.StatusBadRequest, "INVALID_TEXT", err.Error())
					return
				}
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			if ref := r.PathValue("ref"); ref != "" && f.find(ref) == nil {
				refuse(w, http.StatusNotFound, "NOT_FOUND", "no agent <b>"+ref+"</b>")
				return
			}
			h(w, r, body)
		})
	}
	m.HandleFunc("GET /api/v1/events", f.stream)
	handle("GET /api/v1/agents", func(w http.ResponseWriter, r *http.Request, _ map[string]any) {
		of := r.URL.Query().Get("of")
		if of == "" {
			answer(w, 200, map[string]any{"agents": f.agents})
			return
		}
		f.seen = append(f.seen, "agents of="+of)
		some := []map[string]any{}
		for _, uuid := range strings.Split(of, ",") {
			if a := f.find(uuid); a != nil {
				some = append(some, a)
			}
		}
		answer(w, 200, map[string]any{"agents": some})
	})
	handle("GET /api/v1/agents/{ref}", func(w http.ResponseWriter, r *http.Request, _ map[string]any) {
		answer(w, 200, f.find(r.PathValue("ref")))
	})
	handle("GET /api/v1/agents/{ref}/messages", func(w http.ResponseWriter, r *http.Request, _ map[string]any) {
		query, limit := r.URL.Query(), number(r.URL.Query().Get("limit"), 100)
		after, before := number(query.Get("after"), 0), number(query.Get("before"), math.MaxInt)
		if query.Has("after") && query.Has("before") {
			refuse(w, http.StatusBadRequest, "INVALID_FIELD", "before does not go with after")
			return
		}
		out, next, previous := []map[string]any{}, any(nil), any(nil)
		for _, msg := range f.talks[r.PathValue("ref")] {
			if n := msg["id"].(int); n > after && n < before {
				out = append(out, msg)
			}
		}
		if len(out) > limit && query.Has("before") {
			out = out[len(out)-limit:]
			previous = out[0]["id"]
		} else if len(out) > limit {
			out = out[:limit]
			next = out[limit-1]["id"]
		}
		answer(w, 200, map[string]any{"messages": out, "next": next, "previous": previous})
	})
	handle("GET /api/v1/agents/{ref}/diff", func(w http.ResponseWriter, r *http.Request, _ map[string]any) {
		f.seen = append(f.seen, "diff "+r.URL.Query().Get("state"))
		answer(w, 200, map[string]any{"changes": []any{
			map[string]any{"path": "main.go", "verb": "changed", "diff": "--- a/main.go\n+++ b/main.go\n@@ -11,2 +11,2 @@\n \tx := 1\n-\tconfig.Read(path)\n+\tconfig.Once(path)\n"},
			map[string]any{"path": hostile, "verb": "added", "diff": "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+" + hostileName + "\n"},
			map[string]any{"path": "logo.png", "verb": "removed", "diff": "", "note": "no text, 90 bytes"}}})
	})
	handle("GET /api/v1/agents/{ref}/messages/{message}/parts/{part}", func(w http.ResponseWriter, r *http.Request, _ map[string]any) {
		f.seen = append(f.seen, "part "+r.PathValue("message")+" "+r.PathValue("part")+" "+r.URL.Query().Get("offset"))
		if r.URL.Query().Get("offset") == "0" {
			answer(w, 200, map[string]any{"type": "tool_result", "text": "first piece " + hostile, "size": 9000, "next": 5000})
			return
		}
		answer(w, 200, map[string]any{"type": "tool_result", "text": "second piece", "size": 9000, "next": nil})
	})
	handle("GET /api/v1/agents/{ref}/mail", func(w http.ResponseWriter, r *http.Request, _ map[string]any) {
		letters := []map[string]any{}
		if n := f.find(r.PathValue("ref"))["unread_mail"].(int); n > 0 {
			letters = append(letters, map[string]any{"id": 7, "number": 1, "from_uuid": nil, "to_uuid": r.PathValue("ref"), "body": hostile,
				"created_at": stamp(time.Hour), "read_at": nil, "in_reply_to": nil})
		}
		answer(w, 200, map[string]any{"letters": letters})
	})
	handle("POST /api/v1/agents/{ref}/prompt", func(w http.ResponseWriter, r *http.Request, body map[string]any) {
		if body["model"] != nil {
			f.seen = append(f.seen, fmt.Sprint("prompt model=", body["model"]))
		}
		f.turn(r.PathValue("ref"), body["text"].(string))
		answer(w, 202, map[string]any{"agent_uuid": r.PathValue("ref"), "turn": 1})
	})
	handle("POST /api/v1/agents/{ref}/send", func(w http.ResponseWriter, r *http.Request, body map[string]any) {
		f.seen = append(f.seen, fmt.Sprint("send ", body["body"]))
		f.find(r.PathValue("ref"))["unread_mail"] = 1
		f.tell(map[string]any{"type": "mailed", "agent_uuid": r.PathValue("ref")})
		answer(w, 200, map[string]any{"id": 9, "number": 2})
	})
	handle("POST /api/v1/agents/{ref}/fork", func(w http.ResponseWriter, r *http.Request, body map[string]any) {
		name, _ := body["name"].(string)
		if body["at"] != nil {
			f.seen = append(f.seen, fmt.Sprint("fork at ", body["at"]))
		}
		child := f.agent(name, r.PathValue("ref"), 0)
		f.tell(map[string]any{"type": "forked", "agent_uuid": r.PathValue("ref"), "children": []any{child["uuid"]}})
		answer(w, 201, child)
	})
	handle("POST /api/v1/agents/{ref}/interrupt", func(w http.ResponseWriter, r *http.Request, _ map[string]any) {
		f.seen = append(f.seen, "interrupt "+r.PathValue("ref"))
		w.WriteHeader(http.StatusNoContent)
	})
	handle("GET /api/v1/agents/{ref}/kill-preview", func(w http.ResponseWriter, r *http.Request, _ map[string]any) {
		answer(w, 200, map[string]any{"count": len(f.below(r.PathValue("ref")))})
	})
	handle("POST /api/v1/agents/{ref}/kill", func(w http.ResponseWriter, r *http.Request, body map[string]any) {
		dying := f.below(r.PathValue("ref"))
		f.seen = append(f.seen, fmt.Sprint("kill confirm=", body["confirm"], " of ", len(dying)))
		if body["confirm"] != float64(len(dying)) {
			refuse(w, http.StatusConflict, "CONFLICT", fmt.Sprint("it would kill ", len(dying)))
			return
		}
		for _, a := range dying {
			a["status"], a["state"], a["end_reason"], a["ended_at"] = "dead", map[string]any{"word": "killed"}, "killed", stamp(0)
		}
		f.tell(map[string]any{"type": "killed", "agent_uuid": r.PathValue("ref")})
		answer(w, 200, map[string]any{"count": len(dying)})
	})
	handle("GET /api/v1/permissions", func(w http.ResponseWriter, _ *http.Request, _ map[string]any) {
		answer(w, 200, map[string]any{"asks": f.asks[:min(1, len(f.asks))]}) // one at a time, as a policy asks
	})
	handle("POST /api/v1/permissions/{id}", func(w http.ResponseWriter, r *http.Request, body map[string]any) {
		said := fmt.Sprint("permission ", r.PathValue("id"), " ", body["answer"])
		for _, more := range []string{"words", "rule"} {
			if body[more] != nil {
				said += fmt.Sprint(" ", body[more])
			}
		}
		f.seen = append(f.seen, said)
		f.asks = slices.DeleteFunc(f.asks, func(a map[string]any) bool { return a["id"] == r.PathValue("id") })
		answer(w, 200, map[string]any{})
	})
	handle("GET /api/v1/agents/{ref}/mode", func(w http.ResponseWriter, r *http.Request, _ map[string]any) {
		now := map[string]any{"mode": "ask", "of": nil, "grants": []any{}}
		if f.find(r.PathValue("ref"))["driver"] != nil {
			now["program"] = f.program()
		}
		answer(w, 200, now)
	})
	handle("POST /api/v1/agents/{ref}/mode", func(w http.ResponseWriter, _ *http.Request, body map[string]any) {
		f.seen = append(f.seen, fmt.Sprint("mode ", body["mode"]))
		if own, ok := strings.CutPrefix(body["mode"].(string), "claude:"); ok {
			f.mode = own
		}
		answer(w, 200, map[string]any{"mode": body["mode"], "of": nil, "grants": []any{}})
	})
	handle("GET /api/v1/runs", func(w http.ResponseWriter, r *http.Request, _ map[string]any) {
		kind, status := r.URL.Query().Get("job_type"), r.URL.Query().Get("status")
		out := []map[string]any{}
		for _, x := range f.runs {
			if (kind == "" || x["job_type"] == kind) && (status == "" || x["status"] == status) && len(out) < 1000 {
				out = append(out, x)
			}
		}
		answer(w, 200, map[string]any{"runs": out, "next_cursor": ""})
	})
	handle("GET /api/v1/runs/{id}/tree", func(w http.ResponseWriter, r *http.Request, _ map[string]any) {
		if f.tree == nil || r.PathValue("id") != f.tree["event_id"] {
			refuse(w, http.StatusNotFound, "NOT_FOUND", "no such run")
			return
		}
		if f.drawn == nil { // it is large, and the page is what is timed
			f.drawn, _ = json.Marshal(f.tree)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(f.drawn)
	})
	handle("GET /api/v1/home", func(w http.ResponseWriter, _ *http.Request, _ map[string]any) { answer(w, 200, f.home()) })
	handle("GET /api/v1/lineage", func(w http.ResponseWriter, _ *http.Request, _ map[string]any) { answer(w, 200, f.lineage()) })
	handle("GET /api/v1/search", func(w http.ResponseWriter, r *http.Request, _ map[string]any) {
		found := []any{}
		for _, a := range f.agents {
			if of := r.URL.Query().Get("agent"); of != "" && of != a["uuid"] {
				continue
			}
			for _, m := range f.talks[a["uuid"].(string)] {
				text, _ := json.Marshal(m["parts"])
				if strings.Contains(strings.ToLower(string(text)), strings.ToLower(r.URL.Query().Get("q"))) {
					found = append(found, map[string]any{"agent_uuid": a["uuid"], "message_id": m["id"], "kind": m["kind"], "created_at": m["created_at"], "around": string(text)})
				}
			}
		}
		slices.Reverse(found)
		answer(w, 200, map[string]any{"found": found, "more": false})
	})
	handle("GET /api/v1/run-logs", func(w http.ResponseWriter, _ *http.Request, _ map[string]any) {
		out := []map[string]any{}
		for _, id := range slices.Sorted(maps.Keys(f.logs)) {
			out = append(out, f.runRow(id))
		}
		answer(w, 200, map[string]any{"runs": out})
	})
	for _, verb := range []string{"resume", "cancel", "fork"} {
		handle("POST /api/v1/run-logs/{id}/"+verb, func(w http.ResponseWriter, r *http.Request, body map[string]any) {
			said, _ := json.Marshal(body)
			f.seen = append(f.seen, verb+" "+r.PathValue("id")+" "+string(said))
			made := r.PathValue("id")
			if verb == "fork" {
				made = "forked-1"
				f.logs[made] = eventsOf(made, 3, 0)
			}
			f.standing[made] = map[string]string{"resume": "running", "cancel": "cancelled", "fork": "stopped"}[verb]
			answer(w, 202, map[string]any{"run_id": made, "path": "", "run_state": "VALIDATING"})
		})
	}
	handle("POST /api/v1/run-logs", func(w http.ResponseWriter, _ *http.Request, body map[string]any) {
		said, _ := json.Marshal(body)
		f.seen = append(f.seen, "start "+string(said))
		f.logs["started-1"], f.standing["started-1"] = eventsOf("started-1", 2, 0), "running"
		answer(w, 202, map[string]any{"run_id": "started-1", "path": "", "run_state": "CREATED"})
	})
	handle("GET /api/v1/run-logs/{id}", func(w http.ResponseWriter, r *http.Request, _ map[string]any) {
		if len(f.logs[r.PathValue("id")]) == 0 {
			refuse(w, http.StatusNotFound, "NOT_FOUND", "no such run")
			return
		}
		answer(w, 200, snapshotOf(r.PathValue("id"), len(f.logs[r.PathValue("id")])))
	})
	handle("GET /api/v1/run-logs/{id}/events", func(w http.ResponseWriter, r *http.Request, _ map[string]any) {
		all := f.logs[r.PathValue("id")]
		after := min(number(r.URL.Query().Get("after"), 0), len(all))
		end := min(len(all), after+50) // as a server may
		answer(w, 200, map[string]any{"events": all[after:end], "next": end})
	})
	handle("GET /api/v1/run-logs/{id}/verify", func(w http.ResponseWriter, r *http.Request, _ map[string]any) {
		n := len(f.logs[r.PathValue("id")])
		if r.PathValue("id") == "broken-1" {
			refuse(w, http.StatusConflict, "EVENT_CHAIN_BROKEN", "line 5: the hash is not that of the event")
			return
		}
		answer(w, 200, map[string]any{"ok": true, "run_id": r.PathValue("id"), "events": n, "lines": n, "checkpoints": 1, "covered": n - 10, "elsewhere": false, "snapshot": "ok"})
	})
	handle("GET /api/v1/track", func(w http.ResponseWriter, _ *http.Request, _ map[string]any) {
		entries := []map[string]any{}
		if len(f.agents) > 0 {
			entries = append(entries, map[string]any{"agent_id": "a1", "agent_type": "general", "task_description": hostile, "status": "completed",
				"timestamp": stamp(time.Hour), "completion_timestamp": stamp(0), "reason": nil})
		}
		answer(w, 200, map[string]any{"entries": entries})
	})
	handle("GET /api/v1/usage", func(w http.ResponseWriter, r *http.Request, _ map[string]any) {
		answer(w, 200, f.usage(r.URL.Query().Get("by")))
	})
	handle("GET /api/v1/trust", func(w http.ResponseWriter, _ *http.Request, _ map[string]any) { answer(w, 200, f.trust()) })
	handle("POST /api/v1/trust", func(w http.ResponseWriter, _ *http.Request, body map[string]any) {
		f.seen = append(f.seen, fmt.Sprint("accept ", body["digest"]))
		f.accepted = true
		answer(w, 200, f.trust())
	})
	handle("POST /_test/cut", func(http.ResponseWriter, *http.Request, map[string]any) {
		close(f.cut)
		f.cut = make(chan struct{})
	})
	handle("POST /_test/refuse", func(http.ResponseWriter, *http.Request, map[string]any) { f.refuse = true })
	handle("POST /_test/tell", func(_ http.ResponseWriter, _ *http.Request, body map[string]any) { f.tell(body) })
	handle("POST /_test/standing", func(_ http.ResponseWriter, _ *http.Request, body map[string]any) {
		f.standing[body["run"].(string)] = body["status"].(string)
	})
	handle("POST /_test/state", func(_ http.ResponseWriter, _ *http.Request, body map[string]any) {
		f.find(body["agent"].(string))["state"] = map[string]any{"word": body["word"]}
		f.tell(map[string]any{"type": "state", "agent_uuid": body["agent"], "state": map[string]any{"word": body["word"]}})
	})
	handle("POST /_test/parts", func(_ http.ResponseWriter, _ *http.Request, body map[string]any) {
		ref := body["agent"].(string)
		meta, ok := body["meta"].(map[string]any)
		if !ok {
			meta = map[string]any{}
		}
		f.tell(map[string]any{"type": "entry", "agent_uuid": ref, "message": f.message(ref, body["kind"].(string), body["parts"].([]any), meta)})
	})
	handle("POST /_test/child", func(_ http.ResponseWriter, _ *http.Request, body map[string]any) {
		f.agent("late", body["of"].(string), 0)
	})
	handle("POST /_test/entry", func(_ http.ResponseWriter, _ *http.Request, body map[string]any) {
		ref := body["agent"].(string)
		f.tell(map[string]any{"type": "entry", "agent_uuid": ref, "message": f.say(ref, "assistant", body["text"].(string))})
	})
	handle("GET /_test/seen", func(w http.ResponseWriter, _ *http.Request, _ map[string]any) { answer(w, 200, f.seen) })
	return m
}

// begun is when runs began: a row that nothing happens to says the same each time.
var begun = stamp(time.Minute)

// runRow is a run in the list.
func (f *fake) runRow(id string) map[string]any {
	row := map[string]any{"run_id": id, "run_state": "VALIDATING", "status": "running", "reason": nil, "event_count": len(f.logs[id]), "created_at": begun, "updated_at": begun,
		"error": nil, "recipe": "docs", "repo": "https://example.org/" + id, "pr_url": nil, "cost_nano_usd": 120_000_000, "calls": 3}
	if status := f.standing[id]; status != "" {
		row["status"] = status
	}
	switch row["status"] {
	case "failed":
		row["run_state"], row["reason"] = "FAILED", "GATE_FAILED: 2 links lead nowhere"
	case "done":
		row["run_state"], row["pr_url"] = "DONE", "https://example.org/x/pull/12"
	}
	return row
}

// home is the screen of all agents; its rows are in the order of the agents.
func (f *fake) home() map[string]any {
	rows, living := map[string][]any{}, 0
	level := map[any]int{}
	for _, a := range f.agents {
		if a["status"] == "dead" {
			continue
		}
		living++
		state := a["state"].(map[string]any)
		word := state["word"].(string)
		group := map[string]string{"asks": "needs you", "failed": "needs you", "interrupted": "needs you", "working": "working", "waits": "working", "done": "done"}[word]
		if group == "" {
			group = "idle"
		}
		for _, ask := range f.asks[:min(1, len(f.asks))] {
			if ask["agent_uuid"] == a["uuid"] {
				group, word = "needs you", "asks"
			}
		}
		if parent := a["parent_uuid"]; parent != nil {
			level[a["uuid"]] = level[parent] + 1
		}
		name, said := "", "I looked at it"
		if name, _ = a["name"].(string); name == hostileName {
			said = hostile
		}
		rows[group] = append(rows[group], map[string]any{"uuid": a["uuid"], "name": name, "group": group, "state": map[string]any{"word": word, "detail": state["detail"]}, "does": word, "indent": level[a["uuid"]], "last": false,
			"path": []string{}, "parent_uuid": a["parent_uuid"], "asked": "do it", "said": said, "model": a["model"], "driver": nil, "spent": a["spent"], "since": a["created_at"], "ticks": group == "working",
			"unread_mail": a["unread_mail"], "below": 0, "folded": 0, "change": map[string]any{"branch": "ramet/x", "files": 1, "added": 41, "removed": 7}, "run": nil})
	}
	all, groups := []any{}, []any{}
	for _, g := range []string{"needs you", "working", "done", "idle"} {
		all = append(all, rows[g]...)
		groups = append(groups, map[string]any{"group": g, "count": len(rows[g])})
	}
	return map[string]any{"rows": all, "groups": groups, "agents": living, "asking": len(f.asks), "spent": map[string]any{"tokens": 1, "cost_nano_usd": 1_610_000_000},
		"budget": map[string]any{"tokens": nil, "cost_nano_usd": 5_000_000_000}}
}
