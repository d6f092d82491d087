package kernel

import (
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/turn/hook"
)

// forking returns the hook event of a fork.
func forking(f registry.Fork) hook.Occasion {
	children := make([]map[string]any, len(f.Children))
	for i, c := range f.Children {
		children[i] = map[string]any{"agent_id": string(c.ID), "name": c.Name, "prompt": promptOf(c)}
	}
	return hook.Occasion{Event: hook.Fork, Fields: map[string]any{"parent_id": string(f.Parent), "children": children}}
}

// Forking returns the hook event of a fork by a person.
func Forking(parent string, c registry.Child) hook.Occasion {
	o := forking(registry.Fork{Children: []registry.Child{c}})
	o.Fields["parent_id"] = parent
	return o
}

func promptOf(c registry.Child) string {
	for _, d := range c.Entries {
		if d.Kind == history.User && len(d.Parts) > 0 {
			return d.Parts[len(d.Parts)-1].Text
		}
	}
	return ""
}

// Mailing returns the hook event of a message.
func Mailing(s registry.Send) hook.Occasion {
	return hook.Occasion{Event: hook.Mail, Fields: map[string]any{"from": string(s.From), "to": string(s.To), "body": s.Body}}
}

// Killing returns the hook event of a kill.
func Killing(k registry.Kill) hook.Occasion {
	return hook.Occasion{Event: hook.Kill, Fields: map[string]any{"victim_id": string(k.Agent), "by": string(k.By), "cascade": k.Cascade, "reason": k.Reason}}
}
