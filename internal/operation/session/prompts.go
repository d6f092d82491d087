package session

import (
	"path/filepath"

	"ramet/internal/core/config"
)

// Prompts is the folder whose files take the place of ramet's own prompts: beside the
// user's configuration. A project has no say.
func (w Prompts) Folder() PromptFolder { return w.ws.prompts }

// promptFolder finds it; where nobody knows the configuration there is none.
func promptFolder(env func(string) string) PromptFolder {
	path, err := config.Path(env)
	if err != nil {
		return ""
	}
	return PromptFolder(filepath.Join(filepath.Dir(path), "prompts"))
}

// Prompts is the same before a workspace is open.
func (s *Session) Prompts() PromptFolder { return promptFolder(s.Getenv) }
