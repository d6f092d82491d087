package session

import (
	"path/filepath"

	"ramet/internal/core/kit"
	"ramet/internal/operation/public"
)

// definitions are the folders where a user keeps definitions.
func (w Prompts) definitions() []string {
	var out []string
	if w.ws.user.Dir != "" {
		out = append(out, w.ws.user.Dir)
	}
	if filepath.IsAbs(w.ws.user.Home) {
		for _, dir := range kit.Folders {
			out = append(out, filepath.Join(w.ws.user.Home, dir))
		}
	}
	return out
}

// Skills lists skills in their public shape, with what is wrong with files that define none.
func (w Prompts) Skills() (public.Skills, error) {
	k, err := w.ws.Project().Kit()
	if err != nil {
		return public.Skills{}, err
	}
	out := public.Skills{Skills: []public.Skill{}, Flaws: []public.Flaw{}, Hidden: []public.Flaw{}, Notes: append([]string{}, k.Notes...)}
	for _, s := range k.Skills {
		one := public.Skill{Name: s.Name, Description: s.Description, Scope: "user", Path: s.Path, License: public.Optional(s.License),
			Compatibility: public.Optional(s.Compatibility), Allowed: s.Allowed, Remarks: append([]string{}, s.Remarks...)}
		if s.Project {
			one.Scope = "project"
		}
		out.Skills = append(out.Skills, one)
	}
	for _, f := range k.Flaws {
		out.Flaws = append(out.Flaws, public.Flaw{Path: f.Path, Why: f.Why})
	}
	for _, f := range k.Hidden {
		out.Hidden = append(out.Hidden, public.Flaw{Path: f.Path, Why: f.Why})
	}
	return out, nil
}
