package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/operation/public"
	"ramet/internal/turn/permit"
)

func modeCommand(l *Line) *cobra.Command {
	var modes []string
	for _, m := range permit.Modes() {
		modes = append(modes, string(m))
	}
	return &cobra.Command{
		Use:   "mode [AGENT] [MODE]",
		Short: "Show or choose how an agent's calls are permitted",
		Long: `Show how the calls of an agent (agent 0 if none is named) are permitted, or choose it:

  ask        files and commands are asked for, unless a rule permits them
  edits      files are changed unasked, commands are asked for
  box        files are changed unasked, commands run inside the sandbox
  read-only  nothing is changed or run

The choice holds at once, also for a turn that is under way, and for everybody below
the agent who has no mode of its own. Without a choice the setting permission counts.

An agent that another program drives has one of that program's own modes besides: MODE may be the
program's word for it (NAME:WORD where ramet has the same), from the next turn on. In a mode in
which the program is not known to ask, it runs confined.

` + ExitHelp(),
		Args: CheckArguments(0, 2),
		ValidArgsFunction: func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return modes, cobra.ShellCompDirectiveNoFileComp
			}
			return l.CompleteAgents(1)(c, args, word)
		},
		RunE: func(c *cobra.Command, args []string) error {
			ref := "0"
			if len(args) > 0 {
				ref = args[0]
			}
			ws, a, err := l.Find(c.Context(), ref)
			if err != nil && len(args) == 1 {
				if meant(err, args[0], permit.ModeNames()) { // mode box is for agent 0
					args = []string{"0", args[0]}
					ws, a, err = l.Find(c.Context(), "0")
				}
			}
			if err != nil {
				return err
			}
			if len(args) == 2 {
				if err := ws.Programs().ChooseMode(c.Context(), a, args[1]); err != nil {
					return err
				}
			}
			found, err := ws.Turns().Standing(c.Context(), a)
			if err != nil {
				return err
			}
			out := formatMode(a.ID, found)
			if out.Program, err = ws.Programs().Program(c.Context(), a); err != nil {
				return err
			}
			return l.Print(out)
		},
	}
}

// meant says whether a word that names no agent is one of the known ones, or nearly one, where no
// agent is called nearly so.
func meant(err error, word string, known []string) bool {
	near, f := text.NearestWord(strings.ToLower(word), known), (*fault.Error)(nil)
	return near == word || near != "" && errors.As(err, &f) && f.Code == fault.NotFound && !strings.HasPrefix(f.Hint, "did you mean")
}

func formatMode(a id.Agent, s permit.Standing) modeShape {
	out := modeShape{Agent: a, Mode: s.Mode, Of: public.Optional(s.Of), Grants: []grantShape{}}
	for _, g := range s.Grants {
		by := ""
		if g.By != nil {
			by = g.By.String()
		}
		out.Grants = append(out.Grants, grantShape{g.Rule.String(), g.To, public.Optional(by)})
	}
	return out
}

// modeShape is the datum of mode.
type modeShape struct {
	Agent  id.Agent     `json:"agent_uuid"`
	Mode   permit.Mode  `json:"mode"`
	Of     *id.Agent    `json:"of"` // whose choice it is; null: the setting
	Grants []grantShape `json:"grants"`
	// Program is that which drives the agent, with modes of its own; absent: none does.
	Program *public.Program `json:"program,omitempty"`
}

// grantShape is what a person permitted an agent and those below it.
type grantShape struct {
	Rule string   `json:"rule"`
	To   id.Agent `json:"to"`
	By   *string  `json:"by"`
}

func (m modeShape) Text(w *printer.Writer) {
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
		programText(w, m.Program)
	}
}
