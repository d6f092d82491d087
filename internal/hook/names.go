package hook

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"ramet/internal/late"
)

// tools are the other program's names for ours; the first is told, the others match too.
var tools = late.Value[map[string][]string]{Make: func() map[string][]string {
	return map[string][]string{
		"bash": {"Bash"}, "job": {"BashOutput", "KillShell", "KillBash", "TaskOutput"},
		"read": {"Read"}, "write": {"Write"}, "edit": {"Edit", "MultiEdit"},
		"list": {"LS"}, "glob": {"Glob"}, "grep": {"Grep"},
		"fetch": {"WebFetch"}, "fork": {"Task", "Agent"}, "skill": {"Skill"},
		"plan": {"TodoWrite"}, "ask": {"AskUserQuestion"},
	}
}}

// theirNames are the names that the other program has for a tool. A tool of a server is mcp__ and
// its name; one that the other program does not have keeps ours.
func theirNames(tool string, args json.RawMessage) []string {
	if names, ok := tools.Get()[tool]; ok {
		if tool == "edit" && hasMember(args, "edits") { // several at once
			return []string{"MultiEdit", "Edit"}
		}
		return names
	}
	if strings.Contains(tool, "__") {
		return []string{"mcp__" + tool}
	}
	return []string{tool}
}

func hasMember(args json.RawMessage, name string) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(args, &members) == nil && members[name] != nil
}

// arguments are members of a tool's arguments, ours to theirs.
var arguments = late.Value[map[string]map[string]string]{Make: func() map[string]map[string]string {
	return map[string]map[string]string{
		"read":  {"path": "file_path"},
		"write": {"path": "file_path"},
		"edit":  {"path": "file_path"},
		"grep":  {"include": "glob", "ignore_case": "-i", "context": "-C", "mode": "output_mode"},
		"fork":  {"agent": "subagent_type", "name": "description"},
		"bash":  {"background": "run_in_background"},
		"skill": {"name": "skill"},
		"plan":  {"steps": "todos"},
	}
}}

// modes are the forms in which grep answers, ours to theirs.
var modes = late.Value[map[string]string]{Make: func() map[string]string {
	return map[string]string{"lines": "content", "files": "files_with_matches", "count": "count"}
}}

// toTheirs is a tool's arguments in the other program's words. Files have whole paths there.
func toTheirs(tool, dir string, args json.RawMessage) json.RawMessage {
	var ours map[string]any
	if json.Unmarshal(args, &ours) != nil {
		return args
	}
	out := map[string]any{}
	for name, value := range ours {
		their := name
		if known, ok := arguments.Get()[tool][name]; ok {
			their = known
		}
		switch said, _ := value.(string); {
		case their == "file_path" && said != "" && !filepath.IsAbs(said):
			value = filepath.Join(dir, filepath.FromSlash(said))
		case their == "output_mode" && modes.Get()[said] != "":
			value = modes.Get()[said]
		case tool == "bash" && name == "timeout":
			if seconds, ok := value.(float64); ok {
				value = seconds * 1000
			}
		}
		out[their] = value
	}
	if raw, err := json.Marshal(out); err == nil {
		return raw
	}
	return args
}

// toOurs is toTheirs backwards, for arguments that a hook has changed.
func toOurs(tool, dir string, args json.RawMessage) json.RawMessage {
	var theirs map[string]any
	if json.Unmarshal(args, &theirs) != nil {
		return args
	}
	names := map[string]string{}
	for our, their := range arguments.Get()[tool] {
		names[their] = our
	}
	out := map[string]any{}
	for name, value := range theirs {
		our := name
		if known, ok := names[name]; ok {
			our = known
		}
		switch said, _ := value.(string); {
		case name == "file_path" && filepath.IsAbs(said):
			if rel, err := filepath.Rel(dir, said); err == nil && filepath.IsLocal(rel) {
				value = filepath.ToSlash(rel)
			}
		case name == "output_mode":
			for ourMode, their := range modes.Get() {
				if their == said {
					value = ourMode
				}
			}
		case tool == "bash" && name == "timeout":
			if ms, ok := value.(float64); ok {
				value = ms / 1000
			}
		}
		out[our] = value
	}
	if raw, err := json.Marshal(out); err == nil {
		return raw
	}
	return args
}
