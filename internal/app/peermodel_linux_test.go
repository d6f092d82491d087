package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// peerModel is a model for the programs of others, in the wire formats of Anthropic's Messages and OpenAI's
// Responses, and Gemini's. What is said to it is what it does: "call NAME ARGUMENTS" calls a tool, "loop NAME ARGUMENTS" calls it for ever, NUMBER being another one each time,
// "think" thinks first, with a signature, "hang now" never answers, the first time, "be large" says that it read much; anything else, and results, it
// answers with "answer N".
type peerModel struct {
	n      atomic.Int64
	served atomic.Int64             // tokens, as it told them
	reads  atomic.Int64             // that it says it read with each request; 0: peerIn
	loops  atomic.Pointer[[]string] // what it calls for ever; nil: nothing
	hung   atomic.Bool              // once: what was asked then stays in the conversation
	mu     sync.Mutex
	last   string // request
}

// What the model says that it used.
const (
	peerIn    = 50
	peerOut   = 7
	peerLarge = 90_000 // after "be large"
)

var (
	peerCall = regexp.MustCompile(`(?m)^call (\S+) (\{.*\})$`)
	peerLoop = regexp.MustCompile(`(?m)^loop (\S+) (\{.*\})$`)
)

// peerHeard is what was said since the model spoke last.
type peerHeard struct {
	text    string // of people
	results bool
}

// hear hears something that was said before the rest; a result of before what is asked for now is of no account: some programs end
// a turn with a refused call, and no word of the model.
func (h *peerHeard) hear(text string, result bool) {
	if result && !peerCall.MatchString(h.text) {
		h.results = true
	}
	h.text += text + "\n"
}

// decide is what the model does about it.
func (h peerHeard) decide() (call []string, think, hang bool) {
	if m := peerCall.FindStringSubmatch(h.text); m != nil && !h.results && !strings.Contains(h.text, "what now?") { // some programs forget a call that was cut off
		call = m[1:]
	}
	return call, strings.Contains(h.text, "think"), strings.Contains(h.text, "hang now")
}

// decide is what the model does about a request: without tools it calls none, whatever is said in it.
func (m *peerModel) decide(h peerHeard, tools bool) (call []string, think, hang bool) {
	call, think, hang = h.decide()
	if loop := peerLoop.FindStringSubmatch(h.text); loop != nil {
		loop = loop[1:]
		m.loops.Store(&loop)
	}
	if loop := m.loops.Load(); loop != nil { // some programs end a loop of the same calls themselves
		call = []string{(*loop)[0], strings.ReplaceAll((*loop)[1], "NUMBER", fmt.Sprint(m.n.Load()))}
	}
	if !tools {
		call = nil
	}
	return call, think, hang
}

// read is what the model says that it read.
func (m *peerModel) read(h peerHeard) int64 {
	in := int64(peerIn)
	if n := m.reads.Load(); n > 0 {
		in = n
	}
	if strings.Contains(h.text, "be large") {
		in = peerLarge
	}
	m.served.Add(in + peerOut)
	return in
}

func (m *peerModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	stream := strings.Contains(string(body), `"stream":true`)
	switch {
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/messages") && stream:
		m.note(body)
		m.messages(w, r, body)
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/responses"):
		m.note(body)
		m.responses(w, r, body)
	case strings.HasSuffix(r.URL.Path, "GenerateContent"), strings.HasSuffix(r.URL.Path, ":generateContent"):
		m.note(body)
		m.contents(w, r, body)
	case strings.HasSuffix(r.URL.Path, "/messages"):
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"m%d","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"a title"}],"stop_reason":"end_turn","usage":{"input_tokens":%d,"output_tokens":%d}}`,
			m.n.Add(1), m.read(peerHeard{}), peerOut)
	default:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"input_tokens":1,"object":"list","data":[],"models":[]}`)
	}
}

func (m *peerModel) note(body []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !strings.Contains(string(body), `"codex_output_schema"`) { // Codex asks for a title, beside what it is told, when it likes
		m.last = string(body)
	}
}

// asked is the newest request.
func (m *peerModel) asked() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last
}

func heardMessages(body []byte) peerHeard {
	var q struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	json.Unmarshal(body, &q)
	var out peerHeard
	for i := len(q.Messages) - 1; i >= 0 && q.Messages[i].Role != "assistant"; i-- {
		var parts []struct{ Type, Text string }
		if content := q.Messages[i].Content; json.Unmarshal(content, &parts) != nil {
			var text string
			json.Unmarshal(content, &text)
			out.text += text + "\n"
		}
		for _, p := range slices.Backward(parts) {
			out.hear(p.Text, p.Type == "tool_result")
		}
	}
	return out
}

func (m *peerModel) messages(w http.ResponseWriter, r *http.Request, body []byte) {
	heard := heardMessages(body)
	call, think, hang := m.decide(heard, strings.Contains(string(body), `"input_schema"`))
	if hang && m.hung.CompareAndSwap(false, true) {
		<-r.Context().Done()
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	say := func(kind string, rest map[string]any) {
		rest["type"] = kind
		raw, _ := json.Marshal(rest)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, raw)
	}
	id, at, in := m.n.Add(1), 0, m.read(heard)
	block := func(start map[string]any, deltas ...map[string]any) {
		say("content_block_start", map[string]any{"index": at, "content_block": start})
		for _, d := range deltas {
			say("content_block_delta", map[string]any{"index": at, "delta": d})
		}
		say("content_block_stop", map[string]any{"index": at})
		at++
	}
	say("message_start", map[string]any{"message": map[string]any{"id": fmt.Sprintf("msg_%d", id), "type": "message", "role": "assistant", "model": "claude-opus-4-7",
		"content": []any{}, "stop_reason": nil, "usage": map[string]any{"input_tokens": in, "output_tokens": 1}}})
	if think {
		block(map[string]any{"type": "thinking", "thinking": "", "signature": ""}, map[string]any{"type": "thinking_delta", "thinking": "hm"},
			map[string]any{"type": "signature_delta", "signature": fmt.Sprintf("SIG%d", id)})
	}
	stop := "end_turn"
	if call != nil {
		stop = "tool_use"
		block(map[string]any{"type": "tool_use", "id": fmt.Sprintf("toolu_%d", id), "name": call[0], "input": map[string]any{}},
			map[string]any{"type": "input_json_delta", "partial_json": call[1]})
	} else {
		block(map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": fmt.Sprintf("answer %d", id)})
	}
	say("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}, "usage": map[string]any{"input_tokens": in, "output_tokens": peerOut}})
	say("message_stop", map[string]any{})
}

func heardResponses(body []byte) peerHeard {
	var q struct {
		Input []struct {
			Type, Role string
			Content    json.RawMessage
		}
	}
	json.Unmarshal(body, &q)
	var out peerHeard
	for i := len(q.Input) - 1; i >= 0 && q.Input[i].Role != "assistant" && !strings.HasSuffix(q.Input[i].Type, "call"); i-- {
		if out.results = strings.HasSuffix(q.Input[i].Type, "_output"); out.results {
			break
		}
		var parts []struct{ Type, Text string }
		json.Unmarshal(q.Input[i].Content, &parts)
		for _, p := range parts {
			out.text += p.Text + "\n"
		}
		if q.Input[i].Role == "user" { // the newest; a summary leaves the older ones there
			break
		}
	}
	return out
}

func (m *peerModel) responses(w http.ResponseWriter, r *http.Request, body []byte) {
	heard := heardResponses(body)
	call, think, hang := m.decide(heard, true)
	if hang && m.hung.CompareAndSwap(false, true) {
		<-r.Context().Done()
		return
	}
	in := m.read(heard)
	id := fmt.Sprint(m.n.Add(1))
	w.Header().Set("Content-Type", "text/event-stream")
	say := func(v map[string]any) {
		raw, _ := json.Marshal(v)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", v["type"], raw)
	}
	var items []any
	if think {
		items = append(items, map[string]any{"type": "reasoning", "id": "rs_" + id, "summary": []any{map[string]any{"type": "summary_text", "text": "hm"}}, "encrypted_content": "ENC" + id})
	}
	if call != nil {
		items = append(items, map[string]any{"type": "function_call", "id": "fc_" + id, "call_id": "call_" + id, "name": call[0], "arguments": call[1], "status": "completed"})
		if space, name, ok := strings.Cut(call[0], "/"); ok {
			items[len(items)-1].(map[string]any)["namespace"], items[len(items)-1].(map[string]any)["name"] = space, name
		}
	} else {
		items = append(items, map[string]any{"type": "message", "id": "msg_" + id, "role": "assistant", "status": "completed",
			"content": []any{map[string]any{"type": "output_text", "text": "answer " + id, "annotations": []any{}}}})
	}
	say(map[string]any{"type": "response.created", "response": map[string]any{"id": "resp_" + id, "object": "response", "status": "in_progress", "output": []any{}}})
	for i, item := range items {
		say(map[string]any{"type": "response.output_item.added", "output_index": i, "item": item})
		say(map[string]any{"type": "response.output_item.done", "output_index": i, "item": item})
	}
	say(map[string]any{"type": "response.completed", "response": map[string]any{"id": "resp_" + id, "object": "response", "status": "completed", "output": items,
		"usage": map[string]any{"input_tokens": in, "input_tokens_details": map[string]any{"cached_tokens": 10}, "output_tokens": peerOut,
			"output_tokens_details": map[string]any{"reasoning_tokens": 2}, "total_tokens": in + peerOut}}})
}

func heardContents(body []byte) peerHeard {
	var q struct {
		Contents []struct {
			Role  string
			Parts []struct {
				Text             string
				FunctionResponse json.RawMessage
			}
		}
	}
	json.Unmarshal(body, &q)
	var out peerHeard
	for i := len(q.Contents) - 1; i >= 0 && q.Contents[i].Role != "model"; i-- {
		for _, p := range slices.Backward(q.Contents[i].Parts) {
			out.hear(p.Text, p.FunctionResponse != nil)
		}
	}
	return out
}

// contents answers as Gemini's API does. Who wants JSON by a schema gets an object that suits whom it is asked for: who speaks next.
func (m *peerModel) contents(w http.ResponseWriter, r *http.Request, body []byte) {
	heard := heardContents(body)
	call, _, hang := m.decide(heard, strings.Contains(string(body), `"functionDeclarations"`))
	if hang && m.hung.CompareAndSwap(false, true) {
		<-r.Context().Done()
		return
	}
	id, in := m.n.Add(1), m.read(heard)
	part := map[string]any{"text": fmt.Sprintf("answer %d", id)}
	switch {
	case strings.Contains(string(body), `"responseMimeType":"application/json"`):
		part["text"] = `{"reasoning":"it was answered","next_speaker":"user"}`
	case call != nil:
		part = map[string]any{"functionCall": map[string]any{"name": call[0], "args": json.RawMessage(call[1])}}
	}
	raw, _ := json.Marshal(map[string]any{
		"candidates":    []any{map[string]any{"content": map[string]any{"role": "model", "parts": []any{part}}, "finishReason": "STOP", "index": 0}},
		"usageMetadata": map[string]any{"promptTokenCount": in, "candidatesTokenCount": peerOut, "totalTokenCount": in + peerOut}, "modelVersion": "gemini-2.5-pro"})
	if strings.HasSuffix(r.URL.Path, ":generateContent") {
		w.Header().Set("Content-Type", "application/json")
		w.Write(raw)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: %s\r\n\r\n", raw)
}
