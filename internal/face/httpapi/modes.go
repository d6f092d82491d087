package httpapi

import (
	"net/http"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/operation/public"
)

// ModeNow is how the calls of an agent are permitted.
type ModeNow struct {
	Mode   string      `json:"mode"`   // ask, edits, box or read-only
	Of     *id.Agent   `json:"of"`     // whose choice it is; null: the setting
	Grants []GrantedTo `json:"grants"` // what persons granted it and its ancestors
	// Program is that which drives the agent, with what it offers; absent: none does.
	Program *public.Program `json:"program,omitempty"`
}

// GrantedTo is a rule that a person granted to an agent and those below it.
type GrantedTo struct {
	Rule string   `json:"rule"`
	To   id.Agent `json:"to"`
	By   string   `json:"by"` // who, and from where
}

// ModeInput chooses a mode.
type ModeInput struct {
	Mode string `json:"mode"` // ask, edits, box or read-only; or a mode of the program that drives the agent, as NAME:WORD
}

func (a Agents) modeRoutes() []Route {
	const one = "/api/v1/agents/{ref}/mode"
	doc := func(id, summary string) Doc { return Doc{ID: id, Tag: "permissions", Summary: summary} }
	return []Route{
		Does(Route{Method: http.MethodGet, Path: one, Doc: doc("getMode", "Get how the calls of an agent are permitted")}, http.StatusOK,
			func(c *Call, _ None) (ModeNow, error) {
				found, err := a.find(c)
				if err != nil {
					return ModeNow{}, err
				}
				return a.mode(c, found)
			}),
		Does(Route{Method: http.MethodPost, Path: one, Doc: doc("setMode", "Choose how the calls of an agent and those below it are permitted; it holds at once")},
			http.StatusOK, a.setMode),
	}
}

func (a Agents) mode(c *Call, of agent.Agent) (ModeNow, error) {
	found, err := a.Workspace.Turns().Standing(c.Context(), of)
	out := ModeNow{Mode: string(found.Mode), Grants: []GrantedTo{}}
	if found.Of != "" {
		out.Of = &found.Of
	}
	for _, g := range found.Grants {
		one := GrantedTo{Rule: g.Rule.String(), To: g.To}
		if g.By != nil {
			one.By = g.By.String()
		}
		out.Grants = append(out.Grants, one)
	}
	if err == nil {
		out.Program, err = a.Workspace.Programs().Program(c.Context(), of)
	}
	return out, err
}

func (a Agents) setMode(c *Call, in ModeInput) (ModeNow, error) {
	found, err := a.find(c)
	if err != nil {
		return ModeNow{}, err
	}
	if err := a.Workspace.Programs().ChooseMode(c.Context(), found, in.Mode); err != nil {
		if fault.Is(err, fault.InvalidField) {
			err = pointed("/mode", err)
		}
		return ModeNow{}, err
	}
	return a.mode(c, found)
}
