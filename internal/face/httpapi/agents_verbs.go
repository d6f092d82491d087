package httpapi

import (
	"net/http"

	"ramet/internal/operation/session"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/kernel"
	"ramet/internal/model/llm"
)

// PromptInput is what a user says to an agent.
type PromptInput struct {
	Text  string `json:"text"`
	Model string `json:"model,omitempty"` // vendor/name; empty: the agent's own

	Effort string `json:"effort,omitempty"` // how hard the model thinks from now on; empty: as before
}

// TurnBegun is a turn that was asked for. What comes of it is told by events.
type TurnBegun struct {
	Agent id.Agent `json:"agent_uuid"`
	Turn  int64    `json:"turn"` // as in events of the kernel that runs it; 0: not known
}

func (a Agents) prompt(c *Call, in PromptInput) (TurnBegun, error) {
	p := kernel.Prompt{Text: in.Text}
	if err := session.CheckPrompt(in.Text); err != nil {
		return TurnBegun{}, pointed("/text", err)
	}
	if in.Model != "" {
		ref, err := llm.ParseRef(in.Model)
		if err != nil {
			return TurnBegun{}, pointed("/model", err)
		}
		p.Model = ref
	}
	var err error
	if p.Effort, err = llm.ParseEffort(in.Effort); err != nil {
		return TurnBegun{}, pointed("/effort", err)
	}
	found, err := a.find(c)
	if err != nil {
		return TurnBegun{}, err
	}
	n, err := a.Workspace.Turns().Begin(c.Context(), found, p, a.Events.beside)
	return TurnBegun{Agent: found.ID, Turn: n}, err
}

// pointed says which field an error is about.
func pointed(pointer string, err error) error {
	e := answerOf(err)
	e.status = http.StatusUnprocessableEntity
	e.Details = append(e.Details, Detail{Pointer: pointer, Message: e.Message})
	return e
}

// KillPreview is what a kill would do.
type KillPreview struct {
	Count   int  `json:"count"` // how many agents would end
	Cascade bool `json:"cascade"`
	Dead    bool `json:"already_dead"`
}

func (a Agents) preview(c *Call, _ None) (KillPreview, error) {
	cascade, err := c.Number("cascade", 0, 1, 1)
	if err != nil {
		return KillPreview{}, err
	}
	found, err := a.find(c)
	if err != nil {
		return KillPreview{}, err
	}
	all := cascade == 1
	n, _, err := a.Workspace.Agents().Victims(c.Context(), session.Kill{Agent: found, Cascade: &all})
	return KillPreview{n, all, found.Status == agent.Dead}, err
}

// Nothing is a body without fields.
type Nothing struct{}

// Interrupted says whether there was a turn to stop.
type Interrupted struct {
	Agent       id.Agent `json:"agent_uuid"`
	Interrupted bool     `json:"interrupted"`
}

func (a Agents) interrupt(c *Call, _ Nothing) (Interrupted, error) {
	found, err := a.find(c)
	if err != nil {
		return Interrupted{}, err
	}
	stopped, err := a.Workspace.Turns().Stop(c.Context(), kernel.Stop{Agent: found.ID})
	return Interrupted{found.ID, stopped}, err
}
