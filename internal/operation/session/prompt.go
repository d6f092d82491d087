package session

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/core/config"
)

//go:embed *.md
var texts embed.FS

// block is one text, and the tools without which nobody is told it: one of each group.
type block struct {
	name  string
	needs [][]string
}

// blocks are the texts in their order.
var blocks = []block{
	{"base", nil},
	{"permission", [][]string{{"bash", "edit", "write"}}},
	{"children", [][]string{{"fork"}, {"wait"}, {"send"}, {"diff"}, {"merge"}, {"kill"}}},
	{"mail", [][]string{{"wait"}}},
}

// maxText bounds a text of the user's.
const maxText = 64 << 10

// PromptFolder is the folder of texts that replace the built-in ones; empty: none do.
type PromptFolder string

// PromptNames lists the texts.
func PromptNames() []string {
	out := make([]string, len(blocks))
	for i, b := range blocks {
		out[i] = b.name
	}
	return out
}

// System returns the system prompt of an agent with these tools.
func (f PromptFolder) System(tools []string) (string, error) {
	var out []string
	for _, b := range blocks {
		if !b.fits(tools) {
			continue
		}
		text, err := f.Text(b.name)
		if err != nil {
			return "", err
		}
		if text != "" {
			out = append(out, text)
		}
	}
	return strings.Join(out, "\n\n"), nil
}

func (b block) fits(tools []string) bool {
	for _, group := range b.needs {
		if !slices.ContainsFunc(group, func(t string) bool { return slices.Contains(tools, t) }) {
			return false
		}
	}
	return true
}

// Text is one of the texts: the user's, else ours. Unknown: NOT_FOUND.
func (f PromptFolder) Text(name string) (string, error) {
	if !slices.Contains(PromptNames(), name) {
		return "", fault.New(fault.NotFound, "no prompt %.40q", name).WithHint("the prompts are: %s", strings.Join(PromptNames(), ", "))
	}
	if f != "" {
		path := filepath.Join(string(f), name+".md")
		own, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return "", fault.New(fault.InvalidConfig, "read prompt: %w", err)
		case len(own) > maxText:
			return "", fault.New(fault.InvalidConfig, "read prompt: %s has more than %d bytes", path, maxText)
		default:
			return strings.TrimSpace(strings.ToValidUTF8(string(own), "\uFFFD")), nil
		}
	}
	ours, err := texts.ReadFile(name + ".md")
	if err != nil {
		return "", fault.New(fault.Failed, "read prompt: %w", err)
	}
	return strings.TrimSpace(string(ours)), nil
}

// Folder returns the folder whose files take the place of ramet's own prompts: beside the
// user's configuration. A project has no say.
func (w Prompts) Folder() PromptFolder { return w.ws.prompts }

// promptFolder finds it; where the configuration is unknown there is none.
func promptFolder(env func(string) string) PromptFolder {
	path, err := config.Path(env)
	if err != nil {
		return ""
	}
	return PromptFolder(filepath.Join(filepath.Dir(path), "prompts"))
}

// Prompts returns the same before a workspace is open.
func (s *Session) Prompts() PromptFolder { return promptFolder(s.Getenv) }
