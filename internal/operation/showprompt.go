package operation

import (
	"context"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/operation/session"
)

// PromptName names one of the texts that agents get first.
type PromptName string

// AgentKind is a kind of agent that gets texts.
type AgentKind string

// toolSets lists the tools of agents, by kind of agent.
var toolSets = map[AgentKind]string{
	"person": "bash read write edit glob grep fetch job plan ask fork kill send read_mail wait ps look diff merge recall",
	"alone":  "bash read write edit glob grep fetch job read_mail recall children",
	"worker": "bash read write edit glob grep recall",
	"bare":   "",
}

// Words implements Words.
func (AgentKind) Words() []string { return []string{"person", "alone", "worker", "bare"} }

// Refuse implements Refuser.
func (AgentKind) Refuse(word string) error {
	return Invalid("for", fault.Usage, "{for} %.40q is not a kind of agent", word).Hint("use person, alone, worker or bare")
}

// ShowPromptInput chooses one text, or all those of an agent.
type ShowPromptInput struct {
	Name  PromptName `json:"name,omitempty" arg:"NAME" help:"one of the texts"`
	For   AgentKind  `json:"for,omitempty" default:"person" help:"audience: person, alone, worker or bare"`
	Tools *string    `json:"tools,omitempty" help:"the tools of the agent, separated by commas"`
}

// PromptText holds the texts that agents get first.
type PromptText struct {
	Prompt string `json:"prompt"`
	Bytes  int    `json:"bytes"`
	Folder string `json:"folder"` // whose files replace ramet's own
}

// ShowPrompt shows what agents get first.
var ShowPrompt = Op[ShowPromptInput, PromptText]{
	Doc: Doc{Name: "prompt show", Group: "settings", Faces: CLI, Effect: Reads, OnHome: true, Summary: "Show one prompt, or all of an agent's instructions",
		Help: `Show the prompt of that name (` + strings.Join(session.PromptNames(), ", ") + `), or all that an agent is told:
a person's agent and its children (--for person), a child that knows only its task
(alone), a worker of a run (worker), one without tools (bare), or one with the tools that --tools lists.`},
	Run: func(_ context.Context, e *Env, in ShowPromptInput) (out PromptText, err error) {
		folder := e.Session.Prompts()
		text := ""
		if in.Name != "" {
			text, err = folder.Text(string(in.Name))
		} else {
			tools := toolSets[in.For]
			if in.Tools != nil {
				tools = strings.ReplaceAll(*in.Tools, ",", " ")
			}
			text, err = folder.System(strings.Fields(tools))
		}
		return PromptText{text, len(text), string(folder)}, err
	},
	Text: func(w *printer.Writer, _ ShowPromptInput, out PromptText) { w.Line("%s", out.Prompt) },
}
