package session

import (
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/core/agent"
	"ramet/internal/core/kit"
	"ramet/internal/core/trust"
	"ramet/internal/ledger"
	"ramet/internal/tools/hookprogram"
	"ramet/internal/turn/hook"
)

// Charter holds the instructions, skills, roles, commands and hooks for agents. What counts of the project is
// decided when it is opened, so that all that is read of it is from before a person accepted
// something, or from after. It is read anew for each turn, and belongs to one goroutine.
type Charter struct {
	w *Workspace
	s *trust.Shelf
}

// Charter opens the charter of the workspace; Close gives it back.
func (w Project) Charter() (Charter, error) {
	s, err := trust.Gate{Home: w.ws.Home, Project: w.ws.Place.Project}.Shelf()
	return Charter{w.ws, s}, err
}

// Close gives back the project's folder.
func (c Charter) Close() error { return c.s.Close() }

// Instructions returns the texts before the conversation of an agent, whose tools may work in
// another folder instead.
func (c Charter) Instructions(a agent.Agent, instead string) (kit.InstructionWords, error) {
	return kit.InstructionsBefore(c.w.user, c.s, c.w.Project().within(a, instead))
}

// Kit returns the skills, roles and commands that the user and the project define.
func (c Charter) Kit() (kit.Kit, error) {
	return kit.Read(c.s, c.w.Place.Project, c.w.Prompts().definitions()...)
}

// Hooks are the hooks that count, the user's first.
func (c Charter) Hooks() (hookprogram.Found, error) {
	var f hookprogram.Found
	for _, own := range c.w.Config.Hooks {
		f.Hooks = append(f.Hooks, ours(own))
	}
	if filepath.IsAbs(c.w.user.Home) {
		f.OfUser(filepath.Join(c.w.user.Home, ".claude", "settings.json"))
	}
	err := f.OfProject(c.s, c.w.Place.Project)
	// Those by which another program's agents land in our ledger: ours do without.
	f.Hooks = slices.DeleteFunc(f.Hooks, func(h hook.Hook) bool { return strings.Contains(h.Command, ledger.ClaudeHook) })
	return f, err
}

// Instructions are those of a charter that nothing else is asked of.
func (w Project) Instructions(a agent.Agent, instead string) (kit.InstructionWords, error) {
	return once(w.ws, func(c Charter) (kit.InstructionWords, error) { return c.Instructions(a, instead) })
}

// Kit is that of a charter that nothing else is asked of.
func (w Project) Kit() (kit.Kit, error) { return once(w.ws, Charter.Kit) }

// Hooks are those of a charter that nothing else is asked of.
func (w Project) Hooks() (hookprogram.Found, error) { return once(w.ws, Charter.Hooks) }

func once[T any](w *Workspace, read func(Charter) (T, error)) (out T, err error) {
	c, err := w.Project().Charter()
	if err != nil {
		return out, err
	}
	defer c.Close()
	return read(c)
}
