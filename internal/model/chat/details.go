package chat

import (
	"encoding/json"

	"ramet/internal/model/wire"
)

// details is OpenRouter's reasoning_details: signed or encrypted thinking in
// pieces, which it wants back whole and in order. Pieces of the same index, type
// and id are one; a piece without an id goes on with the last of its index and
// type.
type details struct {
	list []map[string]any
}

func (d *details) add(pieces []json.RawMessage) {
	for _, raw := range pieces {
		var one map[string]any
		if json.Unmarshal(raw, &one) != nil || one == nil {
			continue
		}
		whole := d.find(one)
		if whole == nil {
			d.list = append(d.list, one)
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

// find returns the detail that a piece continues; nil if it begins one.
func (d *details) find(piece map[string]any) map[string]any {
	if piece["index"] == nil {
		return nil
	}
	id, _ := piece["id"].(string)
	for i := len(d.list) - 1; i >= 0; i-- {
		one := d.list[i]
		if one["index"] != piece["index"] || one["type"] != piece["type"] {
			continue
		}
		if other, _ := one["id"].(string); id == "" || other == "" || id == other {
			return one
		}
	}
	return nil
}

func (d *details) bytes() []byte {
	if len(d.list) == 0 {
		return nil
	}
	out, err := wire.Marshal(d.list)
	if err != nil {
		return nil
	}
	return out
}
