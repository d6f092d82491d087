package talk

import (
	"strings"

	"ramet/internal/base/text"
	"ramet/internal/core/kit"
)

// Roles tells a model which agents are defined, in at most so many bytes; empty: none is.
func Roles(roles []kit.Role, most int) string {
	if len(roles) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Agents that `fork` can make by their definitions (agent: NAME).\n")
	for _, r := range roles {
		b.WriteString("- " + r.Name + ": " + text.Line(r.Description, 300) + "\n")
	}
	return clipLines(b.String(), most)
}
