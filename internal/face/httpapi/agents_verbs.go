package httpapi

import (
	"net/http"

	"ramet/internal/operation/session"

	"ramet/internal/base/id"
	"ramet/internal/kernel"
	"ramet/internal/model/llm"
)

// PromptInput is a user's prompt to an agent.
type PromptInput struct {
	Text  string `json:"text"`
	Model string `json:"model,omitempty"` // vendor/name; empty: the agent's own

	Effort string `json:"effort,omitempty"` // how hard the model thinks from now on; empty: as before
	Ticket string `json:"ticket,omitempty"` // names the prompt, so that it can be taken back (interrupt); empty: it cannot
}

// TurnBegun is a turn that was asked for. What comes of it is told by events.
type TurnBegun struct {
	Agent id.Agent `json:"agent_uuid"`
	Turn  int64    `json:"turn"` // as in events of the kernel that runs it; 0: not known
}

func (a Agents) prompt(c *Call, in PromptInput) (TurnBegun, error) {
	p := kernel.Prompt{Text: in.Text, Environment: a.environment(), Ticket: in.Ticket}
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
	n, err := a.Workspace.Turns().Begin(c.Context(), found, p)
	return TurnBegun{Agent: found.ID, Turn: n}, err
}

func (a Agents) environment() *kernel.Environment {
	if a.Environment == nil {
		return nil
	}
	return a.Environment()
}

// pointed says which field an error is about.
func pointed(pointer string, err error) error {
	e := answerOf(err)
	e.status = http.StatusUnprocessableEntity
	e.Details = append(e.Details, Detail{Pointer: pointer, Message: e.Message})
	return e
}
