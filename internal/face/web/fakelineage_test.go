package web

import (
	"fmt"
	"time"
)

// lineage is everybody in time: agent 0 marked a place, spoke on and went back to it, and its child
// wrote to it.
func (f *fake) lineage() map[string]any {
	out := map[string]any{"agents": []any{}, "points": []any{}, "letters": []any{}, "more": false}
	list := func(key string, v map[string]any) { out[key] = append(out[key].([]any), v) }
	for i, a := range f.agents {
		name := fmt.Sprint(a["name"])
		if a["name"] == nil {
			name = a["uuid"].(string)[:8]
		}
		until := a["created_at"].(string)
		if ended, ok := a["ended_at"].(string); ok {
			until = ended
		} else if i%3 != 0 {
			until = stamp(time.Duration(i%50) * time.Minute)
		}
		if until < a["created_at"].(string) {
			until = a["created_at"].(string)
		}
		list("agents", map[string]any{"uuid": a["uuid"], "name": name, "parent_uuid": a["parent_uuid"], "fork_message_id": a["fork_message_id"], "state": a["state"], "from": a["created_at"], "until": until,
			"killed": a["status"] == "dead", "end_reason": a["end_reason"], "head_message_id": 1, "own_messages": a["own_messages"], "spent": a["spent"], "run": false})
		if i > 0 && i%4 == 0 {
			list("letters", map[string]any{"id": i, "number": i, "from_uuid": a["uuid"], "about_uuid": nil, "to_uuid": uuid(i / 2), "at": until, "read": i%8 == 0})
		}
	}
	if len(f.agents) > 0 {
		list("points", map[string]any{"agent_uuid": uuid(0), "message_id": 3, "kind": "mark", "at": stamp(40 * time.Minute), "text": "before the change", "target_id": nil, "target_at": nil})
		list("points", map[string]any{"agent_uuid": uuid(0), "message_id": 4, "kind": "rewind", "at": stamp(20 * time.Minute), "text": "before the change", "target_id": 3, "target_at": stamp(40 * time.Minute)})
	}
	return out
}
