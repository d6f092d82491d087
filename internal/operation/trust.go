package operation

import (
	"context"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/trust"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

// TrustInput chooses between listing what acts, accepting it, and ending the trust.
type TrustInput struct {
	List   bool   `json:"list,omitempty" help:"only list"`
	Yes    bool   `json:"yes,omitempty" help:"accept without asking"`
	Accept string `json:"accept,omitempty" help:"accept without asking if the list has this digest"`
	Revoke bool   `json:"revoke,omitempty" help:"withdraw what was accepted"`
	Seen   bool   `json:"seen,omitempty" faces:"-" help:"the person has reviewed the list"`
}

// Undecided implements Confirmer.
func (in *TrustInput) Undecided() bool { return !in.List && !in.Yes && in.Accept == "" && !in.Revoke }

// SetDryRun implements Confirmer.
func (in *TrustInput) SetDryRun(dry bool) { in.List = dry }

// Decide implements Confirmer. What is accepted is what the person has seen.
func (in *TrustInput) Decide(yes bool, plan any) error {
	if !yes {
		return fault.New(fault.Untrusted, "nothing was accepted")
	}
	in.Accept, in.Seen = plan.(public.Trust).Digest, true
	return nil
}

// ReviewTrust lists what acts in the project of a command, and accepts it.
var ReviewTrust = Op[TrustInput, public.Trust]{
	Doc: Doc{Name: "trust", Group: "settings", Faces: CLI, OnHome: true, OneOf: "list yes accept revoke", Summary: "Review files of this project that take effect, and accept them",
		Help: `List the files of the current project that take effect, and ask for each: its .ramet/config.toml, its
instructions (AGENTS.override.md, AGENTS.md, CLAUDE.md of all folders, and what they import), and
programs that its git configuration runs. Each is shown with its effect, how it differs from what you
accepted before, and any invisible characters.

What you accept is stored, and used in exactly this version until you accept a change. Every turn
reports once that there is a change. Links that lead out of the project are not followed.

Without a terminal, {yes} accepts everything, and {accept} accepts only what was listed
(see "digest" in {list} --json).`},
	Run: reviewTrust,
	Text: func(w *printer.Writer, in TrustInput, d public.Trust) {
		if !in.Seen {
			listThings(w, d)
		}
		switch {
		case d.Trusted && len(d.Things) > 0:
			w.Line("%s is trusted with what is listed", d.Project)
		case d.Trusted:
			w.Line("%s is trusted; nothing in it acts", d.Project)
		case len(d.Things) == 0 && d.Digest != "":
			w.Line("nothing in %s acts", d.Project)
		default:
			w.Line("%s is not trusted%s", d.Project, map[bool]string{true: " with its changes", false: ""}[d.Given])
		}
	},
	Ask: func(w *printer.Writer, plan public.Trust) string {
		if !slices.ContainsFunc(plan.Things, func(t public.Thing) bool { return t.Change != string(trust.Same) }) {
			return ""
		}
		listThings(w, plan)
		w.Line("%s is not trusted%s", plan.Project, map[bool]string{true: " with its changes", false: ""}[plan.Given])
		return "Let this act? [y/N] "
	},
}

func reviewTrust(ctx context.Context, e *Env, in TrustInput) (out public.Trust, err error) {
	if !in.List {
		if err := session.NeedPerson(ctx, "trust", e.Session.Own); err != nil {
			return out, err
		}
	}
	g, err := e.Session.Gate(ctx)
	if err != nil {
		return out, err
	}
	return passGate(ctx, g, in)
}

// passGate lists what acts in a project, and accepts it if the input says so.
func passGate(ctx context.Context, g trust.Gate, in TrustInput) (out public.Trust, err error) {
	if in.Revoke {
		return public.Trust{Project: g.Project, Things: []public.Thing{}}, g.Revoke(ctx)
	}
	r, err := g.Review()
	if err != nil {
		return out, err
	}
	out, err = session.FormatReview(r)
	if asked := in.Undecided(); err != nil || in.List || asked && len(r.Changes()) == 0 {
		return out, err
	} else if asked {
		return out, Incomplete{fault.New(fault.Untrusted, "no person is there to ask").
			WithHint("look at the list, then: ramet trust --yes, or --accept %s", out.Digest)}
	}
	if in.Yes {
		in.Accept = out.Digest
	}
	if err := session.AcceptReview(ctx, g, r, in.Accept); err != nil {
		return out, err
	}
	out.Trusted, out.Given = true, true
	return out, nil
}

func listThings(w *printer.Writer, d public.Trust) {
	rows := [][]string{{"CHANGE", "KIND", "WHERE", "SIZE", "SHA256", "WHAT IT DOES"}}
	for _, t := range d.Things {
		hash, path, does := "-", t.Path, t.Does
		if t.SHA256 != nil {
			hash = (*t.SHA256)[:12]
		}
		if t.Link != nil {
			path += " -> " + *t.Link
		}
		if t.Refused != nil {
			does = "does nothing: " + *t.Refused
		}
		rows = append(rows, []string{t.Change, t.Kind, path, text.Count(t.Size, "byte"), hash, does})
	}
	if len(d.Things) > 0 {
		w.Table(rows)
	}
	for _, t := range d.Things {
		for n, m := range t.Invisible {
			if n == maxMarks {
				w.Line("! %s: and %d more that cannot be seen", text.Single(t.Path), len(t.Invisible)-n)
				break
			}
			w.Line("! %s %s", text.Single(t.Path), m)
		}
	}
	for _, t := range d.Things {
		writeThingDiff(w, t)
	}
}

// Limits of what is printed of one thing.
const (
	maxMarks     = 20
	maxDiffLines = 400
)

func writeThingDiff(w *printer.Writer, t public.Thing) {
	lines := strings.Split(strings.TrimSuffix(t.Diff, "\n"), "\n")
	if t.Diff == "" {
		return
	}
	for n, l := range lines {
		if n == maxDiffLines {
			w.Line("… %d more lines; read %s", len(lines)-n, text.Single(t.Path))
			return
		}
		w.Line("%s", l)
	}
}

// ShowTrust lists what acts in the project of a workspace.
var ShowTrust = Op[NoInput, public.Trust]{
	Doc: Doc{Name: "trust show", Group: "trust", ID: "getTrust", Route: "GET /api/v1/trust 200", Faces: HTTP, Effect: Reads,
		Summary: "List the files of the project that act, and how they differ from what a person accepted"},
	Run: func(ctx context.Context, e *Env, _ NoInput) (public.Trust, error) {
		return passGate(ctx, e.Project().Gate(ctx), TrustInput{List: true})
	},
}

// AcceptTrustInput names what a person has seen.
type AcceptTrustInput struct {
	Digest string `json:"digest" help:"of the list"`
}

// AcceptTrust lets act what was listed under a digest.
var AcceptTrust = Op[AcceptTrustInput, public.Trust]{
	Doc: Doc{Name: "trust accept", Group: "trust", ID: "acceptTrust", Route: "POST /api/v1/trust 200", Faces: HTTP, Persons: true,
		Summary: "Accept what was listed under a digest, in exactly these bytes"},
	Run: func(ctx context.Context, e *Env, in AcceptTrustInput) (public.Trust, error) {
		g := e.Project().Gate(ctx)
		if _, err := passGate(ctx, g, TrustInput{Accept: in.Digest}); err != nil {
			return public.Trust{}, err
		}
		return passGate(ctx, g, TrustInput{List: true})
	},
}

// InstructionsInput names an agent.
type InstructionsInput struct {
	Agent AgentRef `json:"agent,omitempty" arg:"AGENT" default:"0" help:"the agent to assign them to"`
}

// ShowInstructions prints the instructions of an agent.
var ShowInstructions = Op[InstructionsInput, public.Instructions]{
	Doc: Doc{Name: "instructions", Group: "agents", Faces: CLI, Effect: Reads,
		Summary: "Print an agent's instructions and their sources",
		Help: `Print the instructions of an agent (default: agent 0), in the order in which its model reads
them: first your own AGENTS.md, next to your configuration; then, for every folder from the
project's down to the agent's, the first accepted one of AGENTS.override.md, AGENTS.md and
CLAUDE.md, with the files that it imports (@path). Instructions of subfolders are added when a tool
first reads or changes a file there. The limit is 128 KiB in all.

Instructions of a project are used only in the version that you accepted (ramet trust).`},
	On: func(ctx context.Context, e *Env, a agent.Agent, _ InstructionsInput) (out public.Instructions, err error) {
		return e.Project().ShowInstructions(a)
	},
	Text: writeInstructions,
}

func writeInstructions(w *printer.Writer, _ InstructionsInput, d public.Instructions) {
	for _, t := range d.Texts {
		from := t.From
		if t.ImportedBy != nil {
			from += ", imported by " + *t.ImportedBy
		}
		w.Line("== %s (%s, %s)", from, t.Scope, text.Count(t.Size, "byte"))
		for line := range strings.Lines(strings.TrimSpace(t.Text)) {
			w.Line("%s", strings.TrimRight(line, "\r\n"))
		}
		w.Line("")
	}
	if len(d.Texts) == 0 {
		w.Line("this agent has no instructions")
	}
	for _, n := range d.Notes {
		w.Line("note: %s", n)
	}
}

// ListHooks lists the commands that run on events.
var ListHooks = Op[NoInput, public.Hooks]{
	Doc: Doc{Name: "hooks", Group: "agents", Faces: CLI, Effect: Reads,
		Summary: "List the commands that run on events of agents",
		Help: `List the hooks: commands that run on events, such as before and after a tool call or at the end
of a turn. They are defined in [[hooks]] of your configuration and the project's, in the
project's .claude/settings.json and settings.local.json once you have accepted them (ramet
trust), and in .claude/settings.json in your home folder. Hooks of a project run confined.
While a file that names PreToolUse or UserPromptSubmit can't be read, calls or prompts are
refused: its hooks may be guards.`},
	Run:  func(_ context.Context, e *Env, _ NoInput) (public.Hooks, error) { return e.Project().ListHooks() },
	Text: writeHooks,
}

func writeHooks(w *printer.Writer, _ NoInput, d public.Hooks) {
	writeTable(w, "no hooks", []string{"EVENT", "MATCHER", "WHOSE", "TIME", "COMMAND"}, d.Hooks, func(h public.Hook) []string {
		matcher, whose := h.Matcher, h.Scope
		if matcher == "" {
			matcher = "*"
		}
		if h.Required {
			whose += ", required"
		}
		return []string{h.Event, text.Line(matcher, 40), whose, (time.Duration(h.TimeoutMS) * time.Millisecond).String(), text.Line(h.Command, 100)}
	})
	for _, n := range d.Notes {
		w.Line("note: %s", n)
	}
}

// ListSkills lists the skills that agents can read.
var ListSkills = Op[NoInput, public.Skills]{
	Doc: Doc{Name: "skills", Group: "agents", Faces: CLI, Effect: Reads, Summary: "List the skills that agents can read",
		Help: `List the skills that agents can read: SKILL.md files in .agents/skills and .claude/skills of the
project, once you have accepted them (ramet trust), and of your home folder, and in skills next to
your configuration. An agent sees their names and descriptions, and reads one with the tool skill.
allowed-tools restricts the tools until the turn ends; it never adds any.`},
	Run:  func(_ context.Context, e *Env, _ NoInput) (public.Skills, error) { return e.Prompts().Skills() },
	Text: func(w *printer.Writer, _ NoInput, out public.Skills) { writeSkills(w, out, false) },
}

// CheckSkills checks definitions against their format.
var CheckSkills = Op[NoInput, public.Skills]{
	Doc: Doc{Name: "skills check", Group: "agents", Faces: CLI, Effect: Reads, Summary: "Check skills, agents and commands for errors",
		Help: `Check the skills, agents and commands that you and the project define. The exit code is 1 if a file
defines none.`},
	Run: func(_ context.Context, e *Env, _ NoInput) (public.Skills, error) {
		out, err := e.Prompts().Skills()
		if err == nil && len(out.Flaws) > 0 {
			err = Incomplete{fault.New(fault.Failed, "%s cannot be used", text.Count(len(out.Flaws), "file"))}
		}
		return out, err
	},
	Text: func(w *printer.Writer, _ NoInput, out public.Skills) { writeSkills(w, out, true) },
}

func writeSkills(w *printer.Writer, d public.Skills, remarks bool) {
	writeTable(w, "no skills", []string{"SKILL", "WHOSE", "WHEN TO USE IT"}, d.Skills, func(s public.Skill) []string {
		return []string{s.Name, s.Scope, text.Line(s.Description, 100)}
	})
	for _, s := range d.Skills {
		for _, r := range s.Remarks {
			if remarks {
				w.Line("remark: %s: %s", text.Single(s.Path), r)
			}
		}
	}
	for _, f := range d.Flaws {
		w.Line("not used: %s: %s", text.Single(f.Path), text.Single(f.Why))
	}
	for _, f := range d.Hidden {
		w.Line("hidden: %s: %s", text.Single(f.Path), text.Single(f.Why))
	}
	for _, n := range d.Notes {
		w.Line("note: %s", n)
	}
}
