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

// toOurs is toTheirs backwards, for arguments that a hook has changed.
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
