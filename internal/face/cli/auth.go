package cli

import (
	"io"

	"github.com/spf13/cobra"

	"ramet/internal/model/catalog"
)

func authCommand() *cobra.Command {
	return parent("auth", "Store, list and remove API keys", `Keys come from the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY, …) or from
credentials.toml in ramet's home, which only you can read. A key is never printed,
never stored in a history, and never in the environment of a tool.`)
}

// maxSecret limits what is read of a secret.
const maxSecret = 64 << 10

// secret asks for a secret on the terminal, or reads it from standard input.
func (l *Line) secret(question string) (string, error) {
	if l.Password != nil {
		return l.Password(question)
	}
	b, err := io.ReadAll(io.LimitReader(l.Stdin, maxSecret))
	return string(b), err
}

func keyOwners() (out []string) {
	for _, v := range catalog.Vendors() {
		if v.KeyOwner() == v.Name {
			out = append(out, v.Name)
		}
	}
	return out
}
