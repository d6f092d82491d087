package public

import (
	"ramet/internal/core/agent"
	"ramet/internal/core/mail"
	"ramet/internal/core/state"
)

// Waited is the result of a wait.
type Waited struct {
	Over    bool     `json:"over"` // what was waited for has come
	Agents  []Agent  `json:"agents"`
	Letters []Letter `json:"letters"` // unread in the mailbox that was watched
}

// FormatWaited is the shape of how a wait ended.
func FormatWaited(over bool, agents []agent.Agent, now state.Now, letters []mail.Letter) Waited {
	out := Waited{over, []Agent{}, []Letter{}}
	for _, a := range agents {
		out.Agents = append(out.Agents, FormatNow(a, now))
	}
	for _, l := range letters {
		out.Letters = append(out.Letters, FormatLetter(l))
	}
	return out
}
