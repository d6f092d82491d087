package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// turns lets an agent answer so often.
func (s *stage) turns(t *testing.T, name string, n int) {
	t.Helper()
	const atOnce = 20 // of one process
	for done := 0; done < n; done += atOnce {
		b := connect(t, s.over())
		for i := range min(atOnce, n-done) {
			if _, refusal := b.call("prompt", fmt.Sprintf(`{"agent":%q,"text":"hello %d"}`, name, done+i)); refusal != "" {
				t.Fatal(refusal)
			}
		}
		b.session.Close()
	}
}

// A hundred turns of Claude Code: what we counted is what was served. Then it loops, with a budget of
// its parent's, and stops there.
func TestPeersClaudeIsCounted(t *testing.T) {
	var served atomic.Int64
	const reads = 20_000
	s := claudeStage(t, messagesServer(t, &served, reads))
	s.must(t, "fork", "--name", "kid", "--driver", "claude")
	s.turns(t, "kid", 100)
	if got := s.spent(t, "kid").Tokens; got != served.Load() {
		t.Errorf("%d tokens are counted, and %d were served", got, served.Load())
	}
	if log := s.must(t, "log", "kid", "--own", "--json"); strings.Contains(log, "mismatch") {
		t.Log("what it reported is something else at times")
	}
	t.Log(s.must(t, "ps"))
	before := served.Load()
	const limit = 500_000
	out := s.ramet("exec", "kid", "--allow", "bash", "--max-tokens", fmt.Sprint(limit), "loop")
	t.Logf("it ended with %d: %s %s", out.code, out.stdout, out.stderr)
	more := served.Load() - before
	if more > limit || more < 2*reads || s.spent(t, "kid").Tokens != served.Load() {
		t.Errorf("%d tokens more were served, %+v are counted, %d were served", more, s.spent(t, "kid"), served.Load())
	}
	s.must(t, "verify")
}

// A kill in the middle of a command, and the death of ramet, leave nothing of Claude Code alive.
func TestPeersClaudeIsGone(t *testing.T) {
	var served atomic.Int64
	s := claudeStage(t, messagesServer(t, &served, 50))
	for _, how := range []string{"death", "kill"} {
		s.must(t, "fork", "--name", how+"-of", "--driver", "claude")
		r := s.exec(t, how+"-of", "--allow", "bash", "run touch "+how+"; sleep 777")
		r.hangs(t, filepath.Join(s.dir, how))
		began := time.Now()
		if how == "kill" {
			s.must(t, "kill", how+"-of", "--cascade")
			if !r.ends() {
				t.Fatalf("it does not end:%s", r.told())
			}
		} else {
			r.kill()
		}
		if err := s.quiet(patience); err != nil {
			t.Error(err)
		}
		t.Logf("%s: nothing is alive after %s", how, time.Since(began))
	}
	s.must(t, "verify")
}

// responsesServer answers as OpenAI's Responses API does, with words.
func responsesServer(t *testing.T, served *atomic.Int64, reads int64) string {
	t.Helper()
	var n atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != "POST" || !strings.HasSuffix(r.URL.Path, "/responses") {
			t.Logf("asked for %s %s", r.Method, r.URL)
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"object":"list","data":[],"models":[]}`)
			return
		}
		served.Add(reads + 7)
		id := fmt.Sprintf("r%d", n.Add(1))
		w.Header().Set("Content-Type", "text/event-stream")
		say := func(v map[string]any) {
			raw, _ := json.Marshal(v)
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", v["type"], raw)
		}
		item := map[string]any{"type": "message", "id": "m" + id, "role": "assistant", "status": "completed",
			"content": []any{map[string]any{"type": "output_text", "text": "answer " + id, "annotations": []any{}}}}
		say(map[string]any{"type": "response.created", "response": map[string]any{"id": id, "object": "response", "status": "in_progress", "output": []any{}}})
		say(map[string]any{"type": "response.output_item.added", "output_index": 0, "item": map[string]any{"type": "message", "id": "m" + id, "role": "assistant", "status": "in_progress", "content": []any{}}})
		say(map[string]any{"type": "response.output_text.delta", "item_id": "m" + id, "output_index": 0, "content_index": 0, "delta": "answer " + id})
		say(map[string]any{"type": "response.output_item.done", "output_index": 0, "item": item})
		say(map[string]any{"type": "response.completed", "response": map[string]any{"id": id, "object": "response", "status": "completed", "output": []any{item},
			"usage": map[string]any{"input_tokens": reads, "input_tokens_details": map[string]any{"cached_tokens": 0}, "output_tokens": 7,
				"output_tokens_details": map[string]any{"reasoning_tokens": 0}, "total_tokens": reads + 7}}})
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// A hundred turns of Codex: what we counted is what was served; then its budget is over.
func TestPeersCodexIsCounted(t *testing.T) {
	var served atomic.Int64
	base := responsesServer(t, &served, 20_000)
	config := fmt.Sprintf(`{"model":"gpt-5.1-codex","model_provider":"ours","model_providers":{"ours":{"name":"ours","base_url":"%s/v1","wire_api":"responses","env_key":"OUR_KEY"}}}`, base)
	s := peerStage(t, "codex-acp", fmt.Sprintf("[driver.codex.env]\nOUR_KEY = \"sk-none\"\nCODEX_CONFIG = '%s'\nCODEX_HOME = %q\n", config, t.TempDir()))
	t.Log(s.must(t, "drivers", "codex"))
	s.must(t, "fork", "--name", "kid", "--driver", "codex")
	s.turns(t, "kid", 100)
	if got := s.spent(t, "kid").Tokens; got != served.Load() {
		t.Errorf("%d tokens are counted, and %d were served", got, served.Load())
	}
	t.Log(s.must(t, "ps"))
	before := served.Load()
	const limit = 20_000
	out := s.ramet("exec", "kid", "--max-tokens", fmt.Sprint(limit), "one more")
	t.Logf("it ended with %d: %s %s", out.code, out.stdout, out.stderr)
	if more := served.Load() - before; more > limit {
		t.Errorf("%d tokens more were served", more)
	}
	s.must(t, "verify")
}
