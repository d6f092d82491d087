package hook

import (
	"encoding/json"
	"maps"
)

// Input returns what a hook reads on an occasion: one JSON object.
func (h Hook) Input(o Occasion, p Place) []byte {
	in := map[string]any{}
	maps.Copy(in, o.Fields)
	in["session_id"], in["cwd"], in["hook_event_name"] = p.Session, p.Dir, string(o.Event)
	in["transcript_path"] = "" // histories lie in a database
	in["permission_mode"] = p.Mode
	if h.Theirs {
		in["permission_mode"] = theirMode(p.Mode)
	}
	in["agent_id"], in["agent_name"] = p.Agent, p.Name
	if o.Tool != "" {
		name, args := o.Tool, o.Args
		if h.Theirs {
			name, args = theirNames(o.Tool, o.Args)[0], toTheirs(o.Tool, p.Dir, o.Args)
		}
		in["tool_name"], in["tool_use_id"] = name, o.CallID
		if json.Valid(args) {
			in["tool_input"] = args
		}
		if o.Event == PostToolUse {
			in["tool_response"] = toolResponse(h, o, args)
		}
	}
	raw, err := json.Marshal(in)
	if err != nil { // fields of ours that are no JSON
		raw, _ = json.Marshal(map[string]any{"hook_event_name": string(o.Event), "cwd": p.Dir, "session_id": p.Session})
	}
	return append(raw, '\n')
}

// toolResponse returns what a tool answered.
func toolResponse(h Hook, o Occasion, args json.RawMessage) map[string]any {
	out := map[string]any{"success": true, "content": o.Answer}
	if !h.Theirs {
		return out
	}
	var said struct {
		File string `json:"file_path"`
	}
	if json.Unmarshal(args, &said) == nil && said.File != "" {
		out["filePath"] = said.File
	}
	if o.Tool == "bash" {
		out["stdout"], out["stderr"], out["interrupted"] = o.Answer, "", false
	}
	return out
}

// theirMode returns the other program's word for how calls are permitted.
func theirMode(mode string) string {
	switch mode {
	case "edits", "box":
		return "acceptEdits"
	case "read-only":
		return "plan"
	}
	return "default"
}
