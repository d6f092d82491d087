package session

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/core/history"
	"ramet/internal/core/kit"
	"ramet/internal/core/trust"
	"ramet/internal/driver"
	"ramet/internal/files/worktree"
	"ramet/internal/kernel"
	"ramet/internal/ledger"
	"ramet/internal/operation/public"
	"ramet/internal/tools/hookprogram"
	"ramet/internal/tools/mcp"
	"ramet/internal/turn/hook"
	"ramet/internal/turn/loop"
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

// Hooks returns the hooks that count, the user's first.
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

// Instructions opens a charter for its instructions alone.
func (w Project) Instructions(a agent.Agent, instead string) (kit.InstructionWords, error) {
	return once(w.ws, func(c Charter) (kit.InstructionWords, error) { return c.Instructions(a, instead) })
}

// Kit opens a charter for its kit alone.
func (w Project) Kit() (kit.Kit, error) { return once(w.ws, Charter.Kit) }

// Hooks opens a charter for its hooks alone.
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

// Joining returns the instructions that come with files which tools of an agent touched; their
// paths are relative to its folder. known lists what joined already, bytes by path.
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

// within returns the folder of an agent in its project, with slashes. For a worktree it is the same folder of the
// project.
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

// ShowInstructions returns Instructions in its public shape.
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

// ours returns a hook of a configuration.
func ours(c config.Hook) hook.Hook {
	return hook.Hook{Event: hook.Event(c.Event), Matcher: c.Matcher, Command: c.Command, Timeout: c.Timeout, Required: c.Required,
		Project: c.Project, From: c.Where}
}

// HooksOf returns the hooks for what an agent does, whose tools may work in another folder instead;
// nil: there are none. If they cannot be read, the result objects to everything.
func (w Project) HooksOf(a agent.Agent, instead string) loop.Hooks {
	if w.ws.system.Hooks == nil {
		return nil
	}
	found, err := w.Hooks()
	if err == nil && len(found.Hooks) == 0 {
		return nil
	}
	var runner hookprogram.Runner
	if err == nil {
		runner, err = w.ws.system.Hooks(w.ws)
	}
	if err != nil {
		return func(_ context.Context, o hook.Occasion) hook.Verdict {
			return hook.Judge(o, hook.Place{}, []hook.Ran{{Hook: hook.Hook{Event: o.Event, Command: "-", From: "?"}, Failed: err, Objects: true}})
		}
	}
	return func(ctx context.Context, o hook.Occasion) hook.Verdict {
		return runner.Fire(ctx, found.Hooks, o, w.placed(ctx, a, instead))
	}
}

// placed returns the folder and project in which something happens to an agent.
func (w Project) placed(ctx context.Context, a agent.Agent, instead string) hook.Place {
	p := hook.Place{Session: string(a.ID), Agent: string(a.ID), Name: a.Name, Dir: w.ws.Place.Project}
	for up := a.Parent; up != ""; {
		row, err := w.ws.Store.Agent(ctx, up)
		if err != nil {
			break
		}
		p.Session, up = string(row.ID), row.Parent
	}
	if dir, err := w.ws.Folder(a, instead); err == nil {
		p.Dir = dir
	}
	if standing, err := w.ws.Turns().Standing(ctx, a); err == nil {
		p.Mode = string(standing.Mode)
	}
	return p
}

// fires tells hooks what a person is about to do with an agent, and the agent's history of them.
// An objection is DENIED.
func (w Project) fires(ctx context.Context, a agent.Agent, o hook.Occasion) error {
	hooks := w.HooksOf(a, "")
	if hooks == nil {
		return nil
	}
	v := hooks(ctx, o)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := w.tells(ctx, a.ID, v.Entries); err != nil {
		return err
	}
	return kernel.Objection(o.Event, v)
}

// tells writes entries about hooks, in whichever kernel holds the agent.
func (w Project) tells(ctx context.Context, a id.Agent, entries []history.Draft) error {
	for _, e := range entries {
		if err := w.ws.Agents().order(ctx, a, e); err != nil {
			return err
		}
	}
	return nil
}

// ListHooks lists the hooks in their public shape.
func (w Project) ListHooks() (public.Hooks, error) {
	found, err := w.Hooks()
	if err != nil {
		return public.Hooks{}, err
	}
	out := public.Hooks{Hooks: []public.Hook{}, Notes: append(append([]string{}, found.Notes...), found.Remarks...)}
	for _, h := range found.Hooks {
		scope := "user"
		if h.Project {
			scope = "project"
		}
		out.Hooks = append(out.Hooks, public.Hook{Event: string(h.Event), Matcher: h.Matcher, Command: h.Command, Scope: scope, From: h.From,
			TimeoutMS: h.Patience().Milliseconds(), Required: h.Required, Confined: h.Project})
	}
	return out, nil
}
