package foreign

import (
	"encoding/base64"
	"encoding/json"

	"ramet/internal/core/history"
	"ramet/internal/model/catalog"
)

type codexWriting struct{}

// codexWritten is the version of Codex whose lines these are.
const codexWritten = "0.166.0"

func (codexWriting) cover(w *Writer, kind string, payload any) map[string]any {
	return map[string]any{"timestamp": w.stamp(), "type": kind, "payload": payload}
}

func (c codexWriting) head(w *Writer) []any {
	return []any{c.cover(w, "session_meta", map[string]any{"id": w.ID, "session_id": w.ID, "timestamp": w.stamp(), "cwd": w.Cwd, "originator": "ramet",
		"cli_version": codexWritten, "source": "cli"})}
}

func (c codexWriting) lines(w *Writer, k history.Kind, parts []history.Part) []any {
	var out []any
	item := func(payload any) { out = append(out, c.cover(w, "response_item", payload)) }
	switch k {
	case history.ToolResult:
		for _, one := range results(parts) {
			item(codexAnswer(w, one))
		}
		return out
	case history.Assistant:
		for _, p := range parts {
			if one := codexAnswered(p); one != nil {
				item(one)
			}
			if p.Type == history.Text {
				out = append(out, c.cover(w, "event_msg", map[string]any{"type": "agent_message", "message": p.Text}))
			}
		}
		return out
	}
	role := "user"
	if k == history.System {
		role = "developer"
	}
	content := []any{}
	for _, p := range parts {
		switch {
		case p.Type == history.Text:
			content = append(content, map[string]any{"type": "input_text", "text": p.Text})
		case p.Type == history.Image:
			content = append(content, codexImage(p))
		case p.Type.IsData():
			content = append(content, map[string]any{"type": "input_text", "text": p.About()})
		}
	}
	item(map[string]any{"type": "message", "role": role, "content": content})
	if role == "user" {
		out = append(out, c.cover(w, "event_msg", map[string]any{"type": "user_message", "message": history.Plain(parts), "images": []any{}}))
	}
	return out
}

func codexImage(p history.Part) map[string]any {
	return map[string]any{"type": "input_image", "image_url": "data:" + p.MediaType + ";base64," + base64.StdEncoding.EncodeToString(p.Data)}
}

// codexAnswered is a part of an answer as an item; nil: it is of another vendor.
func codexAnswered(p history.Part) any {
	own := p.Origin == string(catalog.Responses)
	switch p.Type {
	case history.Text:
		m := map[string]any{"type": "message", "role": "assistant", "content": []any{map[string]any{"type": "output_text", "text": p.Text}}}
		var kept struct{ Phase string }
		if own && json.Unmarshal(p.Opaque, &kept) == nil && kept.Phase != "" {
			m["phase"] = kept.Phase
		}
		return m
	case history.Thinking, history.Search:
		if own && len(p.Opaque) > 0 {
			return json.RawMessage(p.Opaque)
		}
	case history.ToolCall:
		if in, ok := customInput(p); ok {
			return map[string]any{"type": "custom_tool_call", "status": "completed", "call_id": p.CallID, "name": p.Name, "input": in}
		}
		return map[string]any{"type": "function_call", "name": p.Name, "arguments": string(object(p)), "call_id": p.CallID}
	}
	return nil
}

// patchTool is the tool of Codex whose input is no JSON.
const patchTool = "apply_patch"

func customInput(p history.Part) (string, bool) {
	var args map[string]string
	if p.Name != patchTool || json.Unmarshal(p.Args, &args) != nil || len(args) != 1 {
		return "", false
	}
	in, ok := args["input"]
	return in, ok
}

func codexAnswer(w *Writer, one []history.Part) map[string]any {
	r := one[0]
	kind := "function_call_output"
	if w.name[r.CallID] == patchTool {
		kind = "custom_tool_call_output"
	}
	out := map[string]any{"type": kind, "call_id": r.CallID, "output": r.Text}
	if len(one) > 1 {
		list := []any{map[string]any{"type": "input_text", "text": r.Text}}
		for _, p := range one[1:] {
			if p.Type == history.Image {
				list = append(list, codexImage(p))
			}
		}
		out["output"] = list
	}
	return out
}
