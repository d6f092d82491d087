package foreign

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"ramet/internal/core/history"
	"ramet/internal/model/catalog"
)

type piWriting struct{}

func (piWriting) head(w *Writer) []any {
	return []any{map[string]any{"type": "session", "version": piVersion, "id": w.ID, "timestamp": w.stamp(), "cwd": w.Cwd}}
}

func (piWriting) lines(w *Writer, k history.Kind, parts []history.Part) []any {
	var out []any
	line := func(message map[string]any) {
		w.drawn++
		id := fmt.Sprintf("%08x", w.drawn)
		l := map[string]any{"type": "message", "id": id, "parentId": nil, "timestamp": w.stamp(), "message": message}
		message["timestamp"] = w.now.UnixMilli()
		if w.up != "" {
			l["parentId"] = w.up
		}
		w.up = id
		out = append(out, l)
	}
	switch k {
	case history.ToolResult:
		for _, one := range results(parts) {
			r := one[0]
			line(map[string]any{"role": "toolResult", "toolCallId": r.CallID, "toolName": w.name[r.CallID], "isError": r.IsError,
				"content": piBlocks(append([]history.Part{{Type: history.Text, Text: r.Text}}, one[1:]...))})
		}
	case history.Assistant:
		api, vendor := piAPI(parts)
		reason := "stop"
		if hasCall(parts) {
			reason = "toolUse"
		}
		model := w.modelOf(vendor)
		none := map[string]any{"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
			"cost": map[string]int{"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}}
		line(map[string]any{"role": "assistant", "api": api, "provider": vendor, "model": model, "stopReason": reason, "usage": none, "content": piBlocks(parts)})
	default:
		line(map[string]any{"role": "user", "content": piBlocks(parts)})
	}
	return out
}

// piAPI is the protocol of what a vendor keeps in the parts of an answer.
func piAPI(parts []history.Part) (api, vendor string) {
	for _, p := range parts {
		for name, protocol := range origins {
			if p.Origin == string(protocol) {
				return name, map[catalog.Protocol]string{catalog.Anthropic: "anthropic", catalog.Responses: "openai", catalog.Gemini: "google"}[protocol]
			}
		}
	}
	return "openai-completions", "openai" // what signs nothing
}

func piBlocks(parts []history.Part) []any {
	out := []any{}
	for _, p := range parts {
		switch {
		case p.Type == history.Text:
			out = append(out, map[string]any{"type": "text", "text": p.Text})
		case p.Type == history.Thinking && p.Origin != "" && (p.Signature != "" || strings.HasPrefix(string(p.Opaque), "{")):
			sign := cmp.Or(p.Signature, string(p.Opaque))
			out = append(out, map[string]any{"type": "thinking", "thinking": p.Text, "thinkingSignature": sign})
		case p.Type == history.ToolCall:
			b := map[string]any{"type": "toolCall", "id": p.CallID, "name": p.Name, "arguments": json.RawMessage(object(p))}
			if p.Signature != "" {
				b["thoughtSignature"] = p.Signature
			}
			out = append(out, b)
		case p.Type == history.Image:
			out = append(out, map[string]any{"type": "image", "mimeType": p.MediaType, "data": p.Data})
		case p.Type.IsData():
			out = append(out, map[string]any{"type": "text", "text": p.About()})
		}
	}
	return out
}
