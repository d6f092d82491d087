package app

import "ramet/internal/operation/session"

// verbs are the verbs of a workspace in one type, for the terminal, which takes them as an interface.
type verbs struct {
	agentVerbs
	turnVerbs
	modelVerbs
	promptVerbs
	historyVerbs
	fileVerbs
	programVerbs
}

type (
	agentVerbs   = session.Agents
	turnVerbs    = session.Turns
	modelVerbs   = session.Models
	promptVerbs  = session.Prompts
	historyVerbs = session.History
	fileVerbs    = session.Files
	programVerbs = session.Programs
)

func verbsOf(ws *session.Workspace) verbs {
	return verbs{ws.Agents(), ws.Turns(), ws.Models(), ws.Prompts(), ws.History(), ws.Files(), ws.Programs()}
}
