package proc

import (
	"ramet/internal/agent"
	"ramet/internal/llm"
)

// verbs are the kernel as the tools of one agent's turn use it.
type verbs struct {
	*Kernel
	p      *process
	claim  agent.Claim
	family *counter
	asked  llm.Ref // the model that this turn was asked to use; zero: the agent's own
	around *surroundings
}
