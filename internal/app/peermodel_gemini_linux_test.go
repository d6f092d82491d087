package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

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
