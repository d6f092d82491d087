package httpapi

import (
	"ramet/internal/base/id"
	"ramet/internal/operation/public"
)

// home is the screen of all agents. Who follows the events asks again after each that names
// an agent, or none.
func (a Agents) home(c *Call, _ None) (public.Home, error) {
	if err := a.here(); err != nil {
		return public.Home{}, err
	}
	facts, err := a.Workspace.Agents().Overview(c.Context())
	if err != nil {
		return public.Home{}, err
	}
	facts.Asks = map[id.Agent]string{}
	if a.Asks != nil {
		for _, ask := range a.Asks.List() {
			if facts.Asks[ask.Agent] == "" { // the oldest comes first
				facts.Asks[ask.Agent] = ask.Text
			}
		}
	}
	return public.FormatHome(public.MakeHome(facts)), nil
}
