package operation

import (
	"context"
	"errors"
	"slices"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/model/llm"
	"ramet/internal/operation/public"
	"ramet/internal/turn/permit"
)

// ModeInput shows or chooses a mode.
type ModeInput struct {
	Agent AgentRef `json:"agent,omitempty" arg:"AGENT" slash:"-" default:"0" help:"the agent whose mode to show or set"`
	Mode  *Mode    `json:"mode" arg:"[MODE]" help:"ask, edits, box or read-only; or a mode of the program that drives the agent (NAME:WORD)"`
}

// SetMode shows or chooses how an agent's calls are permitted.
var SetMode = Op[ModeInput, ModeNow]{
	Doc: Doc{Name: "mode", Group: "agents", ID: "setMode", Route: "POST /api/v1/agents/{ref=agent}/mode 200", Faces: CLI | HTTP | Slash,
		Summary: "Show or choose how an agent's calls are approved",
		Help: `Show or choose how the calls of an agent (default: agent 0) are approved:

  ask        file changes and commands need approval, unless a rule allows them
  edits      file changes need no approval, commands do
  box        file changes need no approval, commands run in the sandbox
  read-only  nothing is changed or run

The mode applies at once, even to a running turn, and to all descendants that have no mode of
their own. The default is the setting permission.

An agent that is driven by another program also has that program's own modes. MODE can be one of
them (NAME:WORD if ramet has a mode of the same name); it applies from the next turn on. In a mode in
which the program isn't known to ask, it runs confined.`},
	Run: func(ctx context.Context, e *Env, in ModeInput) (out ModeNow, err error) {
		a, err := agentOrWord(ctx, e, in.Agent, &in.Mode, permit.ModeNames())
		if err != nil {
			return out, err
		}
		if in.Mode != nil {
			if err := e.Programs().ChooseMode(ctx, a, string(*in.Mode)); err != nil {
				return out, At("mode", err)
			}
		}
		return e.mode(ctx, a)
	},
	Text: func(w *printer.Writer, _ ModeInput, out ModeNow) { out.write(w) },
}

// ShowMode returns how an agent's calls are permitted.
var ShowMode = Op[AgentInput, ModeNow]{
	Doc: Doc{Name: "mode show", Group: "permissions", ID: "getMode", Route: "GET /api/v1/agents/{ref=agent}/mode 200", Faces: HTTP, Effect: Reads,
		Summary: "Get how an agent's calls are approved"},
	On: func(ctx context.Context, e *Env, a agent.Agent, _ AgentInput) (out ModeNow, err error) {
		return e.mode(ctx, a)
	},
}

// agentOrWord finds the agent that a field names. If it names none, and no word is given, but it is one of
// the known words or nearly one, it is the word, and agent 0 is meant: "mode box".
func agentOrWord[W ~string](ctx context.Context, e *Env, ref AgentRef, word **W, known []string) (agent.Agent, error) {
	a, err := e.Target(ctx, ref)
	if err == nil || *word != nil {
		return a, err
	}
	near, f := text.NearestWord(strings.ToLower(string(ref)), known), (*fault.Error)(nil)
	if near == string(ref) || near != "" && errors.As(err, &f) && f.Code == fault.NotFound && !strings.HasPrefix(f.Hint, "did you mean") {
		*word = new(W(ref))
		return e.Find(ctx, "0")
	}
	return a, err
}

// ModeNow describes the permission mode of an agent.
type ModeNow struct {
	Agent  id.Agent    `json:"agent_uuid"`
	Mode   permit.Mode `json:"mode"`
	Of     *id.Agent   `json:"of"`     // the agent that the mode was chosen for; null: it is the setting
	Grants []GrantedTo `json:"grants"` // to it and its ancestors
	// Program drives the agent, and has modes of its own; absent: none does.
	Program *public.Program `json:"program,omitempty"`
}

// GrantedTo is a rule that a person granted to an agent and its subtree.
type GrantedTo struct {
	Rule string   `json:"rule"`
	To   id.Agent `json:"to"`
	By   *string  `json:"by"` // the person, and the face
}

func (e *Env) mode(ctx context.Context, a agent.Agent) (ModeNow, error) {
	found, err := e.Turns().Standing(ctx, a)
	if err != nil {
		return ModeNow{}, err
	}
	out := ModeNow{Agent: a.ID, Mode: found.Mode, Of: public.Optional(found.Of), Grants: []GrantedTo{}}
	for _, g := range found.Grants {
		one := GrantedTo{Rule: g.Rule.String(), To: g.To}
		if g.By != nil {
			one.By = new(g.By.String())
		}
		out.Grants = append(out.Grants, one)
	}
	out.Program, err = e.Programs().Program(ctx, a)
	return out, err
}

func (m ModeNow) write(w *printer.Writer) {
	switch {
	case m.Of == nil:
		w.Line("%s (the setting permission)", m.Mode)
	case *m.Of == m.Agent:
		w.Line("%s", m.Mode)
	default:
		w.Line("%s (of %s)", m.Mode, m.Of.Short())
	}
	for _, g := range m.Grants {
		by := "somebody"
		if g.By != nil {
			by = *g.By
		}
		w.Line("%s granted to %s by %s", g.Rule, g.To.Short(), by)
	}
	if m.Program != nil {
		writeProgramMode(w, m.Program)
	}
}

func writeProgramMode(w *printer.Writer, p *public.Program) {
	mode := "its own choice"
	if p.Mode != nil {
		mode = *p.Mode
	}
	if p.Boxed != nil && *p.Boxed {
		mode += " (confined)"
	}
	var words []string
	for _, c := range p.Modes {
		words = append(words, c.Word)
	}
	if len(words) > 0 {
		mode += " of " + strings.Join(words, ", ")
	}
	w.Line("%s: mode %s", p.Driver, mode)
}

// EffortInput shows or chooses an effort.
type EffortInput struct {
	Agent  AgentRef    `json:"agent,omitempty" arg:"AGENT" slash:"-" default:"0" help:"the agent whose effort to show or set"`
	Effort *llm.Effort `json:"effort,omitempty" arg:"EFFORT" help:"reasoning effort"`
}

// SetEffort shows or chooses how hard an agent's model thinks.
var SetEffort = Op[EffortInput, EffortNow]{
	Doc: Doc{Name: "effort", Group: "agents", Faces: CLI | Slash,
		Summary: "Show or choose the reasoning effort of an agent's model",
		Help: `Show or choose the reasoning effort of an agent's model (default: agent 0): none, minimal, low,
medium, high, xhigh, max, or default, which is what ` + "`ramet models`" + ` shows for
the model, or the setting effort. If a model doesn't support a level, it gets the nearest one.

The choice applies from the agent's next turn on, and to children that are forked afterwards.`},
	Run:  setEffort,
	Text: func(w *printer.Writer, _ EffortInput, out EffortNow) { out.write(w) },
}

func setEffort(ctx context.Context, e *Env, in EffortInput) (out EffortNow, err error) {
	a, err := agentOrWord(ctx, e, in.Agent, &in.Effort, llm.Efforts())
	if err != nil {
		return out, err
	}
	if in.Effort != nil {
		if _, err := ParseEffort(string(*in.Effort)); err != nil { // it was given as the agent
			return out, err
		}
		if err := e.Models().SetEffort(ctx, a, *in.Effort); err != nil {
			return out, err
		}
	}
	found, err := e.Models().Effort(ctx, a)
	out = EffortNow{Agent: a.ID, Effort: public.Optional(string(found.Word)), Of: public.Optional(found.Of), From: "model"}
	switch {
	case found.Of != "":
		out.From = "agent"
	case found.Set:
		out.From = "setting"
	}
	return out, err
}

// ParseEffort reads an effort.
func ParseEffort(word string) (llm.Effort, error) {
	if !slices.Contains(llm.Efforts(), word) {
		return "", refuseWord("effort", word, llm.Efforts())
	}
	return llm.Effort(word), nil
}

// EffortNow describes the effort of an agent's model.
type EffortNow struct {
	Agent  id.Agent  `json:"agent_uuid"`
	Effort *string   `json:"effort"` // null: the model is not asked to think
	Of     *id.Agent `json:"of"`     // the agent that it was chosen for; null: none
	From   string    `json:"from"`   // agent, setting or model
}

func (e EffortNow) write(w *printer.Writer) {
	word := "the model is not asked to think"
	if e.Effort != nil {
		word = *e.Effort
	}
	switch {
	case e.From == "setting":
		w.Line("%s (the setting effort)", word)
	case e.Of == nil:
		w.Line("%s (usual for its model)", word)
	case *e.Of != e.Agent:
		w.Line("%s (of %s)", word, e.Of.Short())
	default:
		w.Line("%s", word)
	}
}

// DriversInput chooses programs.
type DriversInput struct {
	Name    Driver `json:"name,omitempty" arg:"NAME" help:"only this one"`
	NoStart bool   `json:"no_start,omitempty" help:"start none of them"`
}

// ListDrivers lists the programs that can drive agents.
var ListDrivers = Op[DriversInput, public.Drivers]{
	Doc: Doc{Name: "drivers", Group: "agents", Faces: CLI, Effect: Reads,
		Summary: "List the programs that can drive agents: Claude Code, Codex, …",
		Help: `List the programs that can drive agents: those that ramet knows and those of your
configuration, with path, version and capabilities. Installed programs are started briefly
to ask them; {no_start} starts nothing.

[driver.NAME] in your configuration adds a program that speaks the Agent Client Protocol, or
changes one that ramet knows. Its keys: command, args, env, mode (the mode its sessions start
in), asks (in that mode it asks before it changes anything), box (run it in the sandbox), state
(its own folders, which it can write to in the sandbox), login, off.

A program that doesn't ask runs confined: it can write only to the agent's folder and to its own
state. ramet never touches its login.`},
	Run: func(ctx context.Context, e *Env, in DriversInput) (public.Drivers, error) {
		all := e.Programs().Drivers(ctx, !in.NoStart)
		if in.Name == "" {
			return all, nil
		}
		for _, d := range all.Drivers {
			if d.Name == string(in.Name) {
				return public.Drivers{Drivers: []public.Driver{d}}, nil
			}
		}
		_, err := e.Programs().Driver(string(in.Name), "") // it says which was perhaps meant
		if err == nil {
			err = fault.New(fault.NotFound, "no driver %.60q is known", in.Name)
		}
		return all, err
	},
	Text: writeDrivers,
}

func writeDrivers(w *printer.Writer, _ DriversInput, d public.Drivers) {
	writeTable(w, "", []string{"NAME", "STATE", "VERSION", "ASKS", "BOX", "CAN", "WHAT"}, d.Drivers, func(one public.Driver) []string {
		what := strings.Join(one.Command, " ")
		switch {
		case one.Why != nil:
			what = *one.Why
		case one.State == "missing" && one.Install != nil:
			what = *one.Install
		case one.Path != nil:
			what = *one.Path
		}
		return []string{one.Name, one.State, orDash(one.Version), yesNo(one.Asks), yesNo(one.Boxed), orText(strings.Join(one.Can, " ")), text.Line(what, 100)}
	})
}

func orDash(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

func orText(s string) string { return orDash(public.Optional(s)) }

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
