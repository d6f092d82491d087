package kernel

import (
	"ramet/internal/core/agent"
	"ramet/internal/model/llm"
)

// verbs are the kernel as the tools of one agent's turn use it.
type verbs struct {
	*Kernel
	p      *agentProcess
	claim  agent.Claim
	family *counter
	asked  llm.Ref // the model that this turn was asked to use; zero: the agent's own
	around *surroundings
}
