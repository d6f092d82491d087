package vendors

import (
	"fmt"
	"slices"
)

// detail is a piece of OpenRouter's reasoning_details, which OpenAI's SDK has no
// type for. Its documentation says that pieces of the same index, type and id
// are one.
type detail struct {
	Index           any
	Type, ID        string
	Text, Summary   string
	Data, Signature string
}

func (d detail) key() string { return fmt.Sprint(d.Index, " ", d.Type, " ", d.ID) }

// collected joins pieces and writes each whole detail as one line.
func collected(pieces []detail) []string {
	var whole []detail
	for _, p := range pieces {
		i := slices.IndexFunc(whole, func(d detail) bool { return d.key() == p.key() || p.ID == "" && d.Index == p.Index && d.Type == p.Type })
		if i < 0 {
			whole = append(whole, p)
			continue
		}
		whole[i].Text += p.Text
		whole[i].Summary += p.Summary
		whole[i].Data += p.Data
		if p.Signature != "" {
			whole[i].Signature = p.Signature
		}
	}
	var out []string
	for _, d := range whole {
		out = append(out, fmt.Sprintf("%+v", d))
	}
	return out
}
