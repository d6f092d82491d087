package session

import (
	"path/filepath"
	"strings"

	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/core/kit"
	"ramet/internal/operation/public"
)

// Joining are the instructions that come with files which tools of an agent touched; their
// paths are relative to its folder. known is what joined already, bytes by path.
func (w Project) Joining(a agent.Agent, instead string, touched []string, known map[string]int) (kit.InstructionWords, error) {
	c, err := w.Charter()
	if err != nil {
		return kit.InstructionWords{}, err
	}
	defer c.Close()
	dir := w.within(a, instead)
	files := make([]string, len(touched))
	for i, f := range touched {
		files[i] = filepath.ToSlash(filepath.Join(dir, f))
	}
	used := 0
	for _, n := range known {
		used += n
	}
	has := func(p string) bool { _, ok := known[p]; return ok }
	return kit.InstructionsBelow(c.s, dir, files, has, used)
}

// within is the folder of an agent in its project, with slashes. That of a worktree is where
// the same folder is in the project.
func (w Project) within(a agent.Agent, instead string) string {
	dir, err := w.ws.Folder(a, instead)
	if err != nil {
		return "." // it is not on this machine
	}
	if dir == w.ws.Place.Project {
		return "." // whatever links lead there
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "."
	}
	for _, top := range []func() (string, error){
		func() (string, error) { return filepath.EvalSymlinks(w.ws.Place.Project) },
		func() (string, error) { return config.ProjectFolder(dir) },
	} {
		base, err := top()
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(base, dir); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return filepath.ToSlash(rel)
		}
	}
	return "."
}

// ShowInstructions is Instructions in its public shape.
func (w Project) ShowInstructions(a agent.Agent) (public.Instructions, error) {
	words, err := w.Instructions(a, "")
	if err != nil {
		return public.Instructions{}, err
	}
	out := public.Instructions{Agent: string(a.ID), Size: words.Size, Texts: []public.Instruction{}, Notes: words.Notes}
	if out.Notes == nil {
		out.Notes = []string{}
	}
	for _, t := range words.Texts {
		scope := "project"
		if t.User {
			scope = "user"
		}
		out.Texts = append(out.Texts, public.Instruction{From: t.From, Scope: scope, ImportedBy: public.Optional(t.By), Size: len(t.Body), Text: t.Body})
	}
	return out, nil
}
