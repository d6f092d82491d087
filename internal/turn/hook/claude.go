package hook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/core/toolinfo"
)

// SettingsFiles are the files of a project that name hooks in the other program's form.
var SettingsFiles = []string{".claude/settings.json", ".claude/settings.local.json"}

// ParseSettings reads the hooks of such a file. Whatever else is in it is not read; an event
// that does not happen here, and a kind of hook that is none of a command, is a note.
func ParseSettings(from string, data []byte) (hooks []Hook, notes []string, err error) {
	var file struct {
		Off   bool                       `json:"disableAllHooks"`
		Hooks map[string]json.RawMessage `json:"hooks"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, nil, fault.New(fault.InvalidConfig, "%s: hooks are not readable: %v", from, err).WithHint("the file is JSON")
	}
	if file.Off {
		return nil, nil, nil
	}
	var unknown []string
	for name := range file.Hooks {
		if !slices.Contains(Theirs, Event(name)) {
			unknown = append(unknown, name)
		}
	}
	if slices.Sort(unknown); len(unknown) > 0 {
		notes = append(notes, from+": no such event happens here: "+strings.Join(unknown, ", "))
	}
	for _, event := range Theirs { // in one order, whatever the file's is
		raw, ok := file.Hooks[string(event)]
		if !ok {
			continue
		}
		found, said, err := parseGroups(from, event, raw)
		if err != nil {
			return nil, nil, err
		}
		hooks, notes = append(hooks, found...), append(notes, said...)
	}
	return hooks, notes, nil
}

// BrokenGuards stands for the hooks of a file that can't be read, as far as they could object to a call or a prompt: the
// events that its text names.
func BrokenGuards(from string, data []byte, why error) (hooks []Hook) {
	for _, event := range []Event{PreToolUse, UserPromptSubmit} {
		if bytes.Contains(data, []byte(`"`+string(event)+`"`)) {
			hooks = append(hooks, Hook{Event: event, Command: "the hooks of " + from, Theirs: true, From: from, Broken: why})
		}
	}
	return hooks
}

func parseGroups(from string, event Event, raw json.RawMessage) (hooks []Hook, notes []string, err error) {
	var groups []struct {
		Matcher string `json:"matcher"`
		Hooks   []struct {
			Type    string  `json:"type"`
			Command string  `json:"command"`
			Timeout float64 `json:"timeout"`
		} `json:"hooks"`
	}
	if err := json.Unmarshal(raw, &groups); err != nil {
		return nil, nil, fault.New(fault.InvalidConfig, "%s: hooks of %s are not readable: %v", from, event, err).
			WithHint(`a list of {"matcher": …, "hooks": [{"type": "command", "command": …}]}`)
	}
	for _, g := range groups {
		for _, one := range g.Hooks {
			switch {
			case one.Type != "command":
				notes = append(notes, fmt.Sprintf("%s: a hook of %s is of type %.40q: only commands run here", from, event, one.Type))
			case strings.TrimSpace(one.Command) == "":
				notes = append(notes, fmt.Sprintf("%s: a hook of %s has no command", from, event))
			default:
				h := Hook{Event: event, Matcher: g.Matcher, Command: one.Command, Theirs: true, From: from}
				if one.Timeout > 0 {
					h.Timeout = time.Duration(min(one.Timeout, 3600) * float64(time.Second))
				}
				hooks = append(hooks, h)
			}
		}
	}
	return hooks, notes, nil
}

// Input returns what a hook reads on an occasion: one JSON object.
func (h Hook) Input(o Occasion, p Place) []byte {
	in := map[string]any{}
	maps.Copy(in, o.Fields)
	in["session_id"], in["cwd"], in["hook_event_name"] = p.Session, p.Dir, string(o.Event)
	in["transcript_path"] = "" // histories lie in a database
	in["permission_mode"] = p.Mode
	if h.Theirs {
		in["permission_mode"] = cmp.Or(theirModes[p.Mode], "default")
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

// theirModes are the other program's words for how calls are permitted.
var theirModes = map[string]string{"edits": "acceptEdits", "box": "acceptEdits", "read-only": "plan"}

// theirNames returns the names that the other program has for a tool. A tool of a server is mcp__ and
// its name; one that the other program does not have keeps ours.
func theirNames(tool string, args json.RawMessage) []string {
	if info := toolinfo.Find(tool); info != nil && len(info.Names) > 0 {
		var members map[string]json.RawMessage
		if tool == "edit" && json.Unmarshal(args, &members) == nil && members["edits"] != nil { // several at once
			return []string{"MultiEdit", "Edit"}
		}
		return slices.Clip(info.Names)
	}
	if strings.Contains(tool, "__") {
		return []string{"mcp__" + tool}
	}
	return []string{tool}
}

// argumentsOf returns the arguments of a tool that the other program calls otherwise, ours to theirs.
func argumentsOf(tool string) map[string]string {
	if info := toolinfo.Find(tool); info != nil {
		return info.Arguments
	}
	return nil
}

// modes are the forms in which grep answers, ours to theirs.
var modes = map[string]string{"lines": "content", "files": "files_with_matches", "count": "count"}

// toTheirs returns a tool's arguments in the other program's words. Files have whole paths there.
func toTheirs(tool, dir string, args json.RawMessage) json.RawMessage {
	return translate(args, argumentsOf(tool), func(_, their string, value any) any {
		said, _ := value.(string)
		switch seconds, timed := value.(float64); {
		case their == "file_path" && said != "" && !filepath.IsAbs(said):
			return filepath.Join(dir, filepath.FromSlash(said))
		case their == "output_mode" && modes[said] != "":
			return modes[said]
		case tool == "bash" && their == "timeout" && timed:
			return seconds * 1000
		}
		return value
	})
}

// toOurs renames the arguments that a hook has changed from the other program's names to ours.
func toOurs(tool, dir string, args json.RawMessage) json.RawMessage {
	names := map[string]string{}
	for our, their := range argumentsOf(tool) {
		names[their] = our
	}
	return translate(args, names, func(their, _ string, value any) any {
		said, _ := value.(string)
		switch ms, timed := value.(float64); {
		case their == "file_path" && filepath.IsAbs(said):
			if rel, err := filepath.Rel(dir, said); err == nil && filepath.IsLocal(rel) {
				return filepath.ToSlash(rel)
			}
		case their == "output_mode":
			for our, mode := range modes {
				if mode == said {
					return our
				}
			}
		case tool == "bash" && their == "timeout" && timed:
			return ms / 1000
		}
		return value
	})
}

// translate gives the members of an object other names, and values; what is no object stays.
func translate(args json.RawMessage, names map[string]string, change func(name, now string, value any) any) json.RawMessage {
	var given map[string]any
	if json.Unmarshal(args, &given) != nil {
		return args
	}
	out := map[string]any{}
	for name, value := range given {
		now := name
		if known, ok := names[name]; ok {
			now = known
		}
		out[now] = change(name, now, value)
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return args
	}
	return raw
}
