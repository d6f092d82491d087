package loop

import (
	"encoding/json"
	"slices"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/model/llm"
)

// LastCall returns the newest call of a tool behind an entry that has a result, and that result.
func (c *Conversation) LastCall(tool string, after id.Message) (args json.RawMessage, result llm.Part, ok bool) {
	for i := c.Len() - 1; i >= 0 && c.at(i).id > after; i-- {
		for _, p := range c.at(i).message.Parts {
			switch {
			case !ok && p.Type == llm.ToolResult && p.Name == tool:
				result, ok = p, true
			case ok && p.Type == llm.ToolCall && p.CallID == result.CallID:
				return p.Args, result, true
			}
		}
	}
	return nil, result, false
}

// BeforeCalls returns the newest entry before the model's last message; false: nothing stands
// before it.
func (c *Conversation) BeforeCalls() (id.Message, bool) {
	for i := c.Len() - 1; i > 0; i-- {
		if c.at(i).kind == history.Assistant {
			return c.at(i - 1).id, true
		}
	}
	return 0, false
}

// returns reports whether a rewind changes nothing: the context ends where it leads to.
func (c *Conversation) returns(e history.Entry) bool {
	m, err := e.Decode()
	if err != nil || c.group != nil || c.loose {
		return false
	}
	to, err := id.ParseMessage(m.Target)
	n := c.Len()
	return err == nil && c.shaped <= to && n > 0 && c.at(n-1).id <= to
}

// Aside returns the newest facts that stand in the conversation; empty: none do.
func (c *Conversation) Aside() string {
	for _, s := range c.segments() {
		for i := len(s.items) - 1; i >= 0; i-- {
			parts := s.items[i].message.Parts
			for j := range parts {
				if parts[j].Aside {
					return parts[j].Text
				}
			}
		}
	}
	return ""
}

// Newest returns the newest message of a role, as a request has it; false if there is none.
func (c *Conversation) Newest(r llm.Role) (llm.Message, bool) {
	lists := [][]llm.Message{c.withOpen(nil)}
	for _, s := range c.segments() {
		lists = append(lists, s.out)
	}
	for _, list := range lists {
		for _, m := range slices.Backward(list) {
			if m.Role == r {
				return m, true
			}
		}
	}
	return llm.Message{}, false
}
