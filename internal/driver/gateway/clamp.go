package gateway

import "encoding/json"

// leastOutput is how far the output of a request is lowered at most.
const leastOutput = 4096

// lower returns the request with its output limited to most, through the members that its path obeys.
// Nothing else changes, except a budget for thinking that would not fit.
func (v vendor) lower(limits []string, body []byte, most int64) ([]byte, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, err
	}
	if v.nested != "" {
		var inner map[string]json.RawMessage
		if raw := all[v.nested]; len(raw) > 0 {
			if err := json.Unmarshal(raw, &inner); err != nil {
				return nil, err
			}
		}
		if inner == nil {
			inner = map[string]json.RawMessage{}
		}
		put(inner, limits, most)
		raw, err := json.Marshal(inner)
		if err != nil {
			return nil, err
		}
		all[v.nested] = raw
		return json.Marshal(all)
	}
	put(all, limits, most)
	if err := lowerThinking(all, most); err != nil {
		return nil, err
	}
	return json.Marshal(all)
}

// put sets the members that are there, or the first.
func put(all map[string]json.RawMessage, names []string, most int64) {
	raw, _ := json.Marshal(most) // a number
	found := false
	for _, name := range names {
		if _, ok := all[name]; ok {
			all[name], found = raw, true
		}
	}
	if !found {
		all[names[0]] = raw
	}
}

// lowerThinking keeps Anthropic's budget of thinking below what may be written at all.
func lowerThinking(all map[string]json.RawMessage, most int64) error {
	var thinking map[string]any
	if raw := all["thinking"]; len(raw) == 0 || json.Unmarshal(raw, &thinking) != nil {
		return nil
	}
	if budget, ok := thinking["budget_tokens"].(float64); !ok || int64(budget) < most {
		return nil
	}
	thinking["budget_tokens"] = most / 2
	raw, err := json.Marshal(thinking)
	all["thinking"] = raw
	return err
}

// maxKept is the longest body that is kept.
const maxKept = 1 << 20
