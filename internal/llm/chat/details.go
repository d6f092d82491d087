package chat

import (
	"encoding/json"

	"ramet/internal/llm/wire"
)

// details is OpenRouter's reasoning_details: signed or encrypted thinking in
// pieces, which it wants back whole. Pieces of one index are joined.
type details struct {
	order []float64
	byKey map[float64]map[string]any
}

func (d *details) add(pieces []json.RawMessage) {
	for _, raw := range pieces {
		var one map[string]any
		if json.Unmarshal(raw, &one) != nil {
			continue
		}
		key, ok := one["index"].(float64)
		if !ok {
			key = -1 - float64(len(d.order))
		}
		if d.byKey == nil {
			d.byKey = map[float64]map[string]any{}
		}
		whole := d.byKey[key]
		if whole == nil {
			d.byKey[key] = one
			d.order = append(d.order, key)
			continue
		}
		for name, value := range one {
			more, isText := value.(string)
			had, hadText := whole[name].(string)
			grows := name == "text" || name == "summary" || name == "data"
			switch {
			case grows && isText && hadText:
				whole[name] = had + more
			case value != nil:
				whole[name] = value
			}
		}
	}
}

func (d *details) bytes() []byte {
	if len(d.order) == 0 {
		return nil
	}
	list := make([]map[string]any, 0, len(d.order))
	for _, key := range d.order {
		list = append(list, d.byKey[key])
	}
	out, err := wire.Marshal(list)
	if err != nil {
		return nil
	}
	return out
}
