package app

import (
	"ramet/internal/agent"
	"ramet/internal/llm"
	"ramet/internal/llm/catalog"
	"ramet/internal/tui"
)

// Model is what a turn would use.
func (d *desk) Model(a agent.Agent, asked llm.Ref) (tui.Model, error) {
	m, err := d.kernel.Options.Model(a, asked)
	if err != nil {
		return tui.Model{}, err
	}
	out := tui.Model{Ref: m.Ref, Title: m.Info.Title, Context: m.Info.Context, BuiltIn: m.Ref.Vendor == catalog.Offline}
	switch {
	case asked != (llm.Ref{}):
		out.Why = "chosen with /model"
	case a.Model != "":
		out.Why = "the agent's own"
	case d.request.Config.Model != "":
		out.Why = "set in your configuration"
	default:
		out.Why = "the first whose key is there"
		if v, err := catalog.Find(m.Ref.Vendor); err == nil {
			if from := d.request.Keys.Access(v).KeyFrom; from != "" {
				out.Why = "because of " + from
			}
		}
	}
	return out, nil
}

// Usable lists what can be asked.
func (d *desk) Usable() []tui.Model {
	var out []tui.Model
	for _, v := range catalog.Vendors() {
		if ok, _ := d.request.Keys.Usable(v); !ok {
			continue
		}
		for _, m := range v.Table().Models {
			out = append(out, tui.Model{Ref: llm.Ref{Vendor: v.Name, Name: m.Name}, Title: m.Title, Context: m.Context, BuiltIn: v.BuiltIn})
		}
	}
	return out
}
