package hook

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/core/toolinfo"
)

// theirNames returns the names that the other program has for a tool. A tool of a server is mcp__ and
// its name; one that the other program does not have keeps ours.
func theirNames(tool string, args json.RawMessage) []string {
	if info := toolinfo.Find(tool); info != nil && len(info.Names) > 0 {
		if tool == "edit" && hasMember(args, "edits") { // several at once
			return []string{"MultiEdit", "Edit"}
		}
		return slices.Clip(info.Names)
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
	var ours map[string]any
	if json.Unmarshal(args, &ours) != nil {
		return args
	}
	out := map[string]any{}
	for name, value := range ours {
		their := name
		if known, ok := argumentsOf(tool)[name]; ok {
			their = known
		}
		switch said, _ := value.(string); {
		case their == "file_path" && said != "" && !filepath.IsAbs(said):
			value = filepath.Join(dir, filepath.FromSlash(said))
		case their == "output_mode" && modes[said] != "":
			value = modes[said]
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
	for our, their := range argumentsOf(tool) {
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
			for ourMode, their := range modes {
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
