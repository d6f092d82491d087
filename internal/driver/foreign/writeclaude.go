package foreign

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/uuid"

	"ramet/internal/core/history"
	"ramet/internal/model/catalog"
)

type claudeWriting struct{}

// claudeWritten is the version of Claude Code whose lines these are.
const claudeWritten = "2.1.197"

func (claudeWriting) head(*Writer) []any { return nil }

func (claudeWriting) lines(w *Writer, k history.Kind, parts []history.Part) []any {
	var out []any
	line := func(kind string, message, more map[string]any) {
		id := uuid.NewString()
		l := map[string]any{"parentUuid": nil, "isSidechain": false, "userType": "external", "cwd": w.Cwd, "sessionId": w.ID, "version": claudeWritten, "gitBranch": "",
			"type": kind, "message": message, "uuid": id, "timestamp": w.stamp()}
		if w.up != "" {
			l["parentUuid"] = w.up
		}
		for name, v := range more {
			l[name] = v
		}
		w.up = id
		out = append(out, l)
	}
	switch k {
	case history.Assistant:
		id := "msg_" + strings.ReplaceAll(uuid.NewString(), "-", "")
		blocks := claudeBlocks(parts)
		for i, b := range blocks {
			reason := any(nil)
			if i == len(blocks)-1 {
				if reason = "end_turn"; hasCall(parts) {
					reason = "tool_use"
				}
			}
			line("assistant", map[string]any{"id": id, "type": "message", "role": "assistant", "model": w.modelOf(string(catalog.Anthropic)), "content": []any{b},
				"stop_reason": reason, "stop_sequence": nil, "usage": map[string]int{"input_tokens": 0, "output_tokens": 0}}, nil)
		}
	case history.ToolResult:
		for _, one := range results(parts) {
			line("user", map[string]any{"role": "user", "content": []any{claudeAnswer(one)}}, nil)
		}
	case history.Compact:
		line("user", map[string]any{"role": "user", "content": history.Plain(parts)}, map[string]any{"isCompactSummary": true, "isVisibleInTranscriptOnly": true})
	default:
		content := any(claudeBlocks(parts))
		if len(parts) == 1 && parts[0].Type == history.Text {
			content = parts[0].Text
		}
		line("user", map[string]any{"role": "user", "content": content}, nil)
	}
	return out
}

func hasCall(parts []history.Part) bool {
	return slices.ContainsFunc(parts, func(p history.Part) bool { return p.Type == history.ToolCall })
}

// modelOf is the name of the session's model where it is of this vendor.
func (w *Writer) modelOf(vendor string) string {
	if name, ok := strings.CutPrefix(w.Model, vendor+"/"); ok {
		return name
	}
	return "<synthetic>"
}

// results puts what came with each result behind it.
func results(parts []history.Part) [][]history.Part {
	var out [][]history.Part
	for _, p := range parts {
		if p.Type == history.Result || len(out) == 0 {
			out = append(out, []history.Part{p})
			continue
		}
		out[len(out)-1] = append(out[len(out)-1], p)
	}
	return out
}

func claudeAnswer(one []history.Part) map[string]any {
	r := one[0]
	out := map[string]any{"type": "tool_result", "tool_use_id": r.CallID, "content": r.Text}
	if r.IsError {
		out["is_error"] = true
	}
	if len(one) > 1 {
		out["content"] = claudeBlocks(append([]history.Part{{Type: history.Text, Text: r.Text}}, one[1:]...))
	}
	return out
}

func claudeBlocks(parts []history.Part) []any {
	out := []any{}
	for _, p := range parts {
		own := p.Origin == string(catalog.Anthropic)
		switch {
		case p.Type == history.Text || p.Type == history.Result:
			if p.Text != "" {
				out = append(out, map[string]any{"type": "text", "text": p.Text})
			}
		case p.Type == history.Thinking && own && p.Signature != "":
			out = append(out, map[string]any{"type": "thinking", "thinking": p.Text, "signature": p.Signature})
		case (p.Type == history.Thinking || p.Type == history.Search) && own && len(p.Opaque) > 0:
			out = append(out, json.RawMessage(p.Opaque))
		case p.Type == history.ToolCall:
			out = append(out, map[string]any{"type": "tool_use", "id": p.CallID, "name": p.Name, "input": object(p)})
		case p.Type.IsData():
			out = append(out, map[string]any{"type": string(p.Type), "source": map[string]any{"type": "base64", "media_type": p.MediaType, "data": p.Data}})
		}
	}
	return out
}
