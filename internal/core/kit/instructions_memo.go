package kit

import (
	"encoding/json"
	"iter"

	"ramet/internal/core/history"
)

// memo records, in an entry, which instructions joined with it.
type memo struct {
	Instructions []joined `json:"instructions"`
}

type joined struct {
	Path string `json:"path"`
	Size int    `json:"size"`
}

// KnownInstructions returns what joined a conversation so far, by the memos that it holds: bytes by path.
func KnownInstructions(memos iter.Seq[json.RawMessage]) map[string]int {
	out := map[string]int{}
	for raw := range memos {
		var m memo
		if json.Unmarshal(raw, &m) != nil {
			continue // another's
		}
		for _, j := range m.Instructions {
			out[j.Path] = j.Size
		}
	}
	return out
}

// Entry returns the words as they join a conversation; ok is false if there are none.
func (w InstructionWords) Entry() (d history.Draft, ok bool, err error) {
	if len(w.Texts) == 0 {
		return d, false, nil
	}
	var m memo
	for _, t := range w.Texts {
		m.Instructions = append(m.Instructions, joined{t.From, len(t.Body)})
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return d, false, err
	}
	d, err = history.Say(history.System, w.String())
	if err != nil {
		return d, false, err
	}
	d.Parts[0].Memo = raw
	return d, true, nil
}
