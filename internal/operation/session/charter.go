package session

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/core/kit"
	"ramet/internal/core/trust"
	"ramet/internal/driver"
	"ramet/internal/files/worktree"
	"ramet/internal/ledger"
	"ramet/internal/operation/public"
	"ramet/internal/tools/hookprogram"
	"ramet/internal/tools/mcp"
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

// definitions returns the folders where a user keeps definitions.
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

// Gate stands before the project that the command was given in, with every kind of thing
// that acts.
func (s *Session) Gate(ctx context.Context) (trust.Gate, error) {
	home, err := s.HomeDir()
	if err != nil {
		return trust.Gate{}, err
	}
	project, err := config.ProjectFolder(s.Dir)
	return openGate(ctx, home, project), err
}

func openGate(ctx context.Context, home, project string) trust.Gate {
	return trust.Gate{Home: home, Project: project, Sources: slices.Concat(trust.Standard(), kit.Sources(), []trust.Source{hookprogram.Source(), mcp.Source(), driver.PresetSource(), worktree.Programs(ctx)})}
}

// Gate checks what acts in the project of the workspace.
func (w Project) Gate(ctx context.Context) trust.Gate {
	return openGate(ctx, w.ws.Home, w.ws.Place.Project)
}

// AcceptReview accepts a review, if it has the digest that a person named.
func AcceptReview(ctx context.Context, g trust.Gate, r trust.Review, digest string) error {
	if now := r.Digest(); now != digest {
		return fault.New(fault.Untrusted, "what would act is not %.64s: it is %s", digest, now).
			WithHint("nothing was accepted; look again with `ramet trust --list`")
	}
	return g.Accept(ctx, r)
}

// FormatReview returns the public shape of a review.
func FormatReview(r trust.Review) (public.Trust, error) {
	out := public.Trust{Project: r.Project, Trusted: r.Trusted(), Given: r.Given, Digest: r.Digest(), Things: []public.Thing{}}
	for _, i := range r.Items {
		t := public.Thing{Kind: string(i.Kind), Path: i.Path, Size: len(i.Data), Does: i.Does, Change: string(i.Change),
			Link: public.Optional(trust.Reveal(i.Link)), Refused: public.Optional(i.Refused), Invisible: []string{}}
		if i.Refused == "" && i.Change != trust.Gone {
			t.SHA256 = public.Optional(i.SHA256())
		}
		for _, m := range trust.Invisible(i.Data) {
			t.Invisible = append(t.Invisible, m.String())
		}
		if i.Change != trust.Same && i.Refused == "" {
			var err error
			if t.Diff, err = r.Diff(i); err != nil {
				return out, err
			}
		}
		out.Things = append(out.Things, t)
	}
	return out, nil
}

// CheckInside refuses a path of the project that leads out of it: a repository must not choose
// what is written elsewhere. What the user names outside is the user's will.
func CheckInside(project, path, hint string) error {
	return trust.Folder{Project: project, Dir: path, Hint: hint}.Stays()
}

// book makes the project's folder before the first entry, as every .ramet is made.
type book struct {
	*ledger.Folder
	project string
}

func (b book) Spawn(ctx context.Context, st ledger.Start) (ledger.Entry, error) {
	if err := CheckInside(b.project, b.Dir(), "make it a folder"); err != nil {
		return ledger.Entry{}, err
	}
	if err := MakeProjectFolder(b.project); err != nil {
		return ledger.Entry{}, err
	}
	return b.Folder.Spawn(ctx, st)
}
