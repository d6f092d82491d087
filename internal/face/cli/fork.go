package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/model/llm"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

func forkAgentCommand(l *Line) *cobra.Command {
	var name, prompt, at, model, program, effort string
	var role string
	var apart, clean, run bool
	c := &cobra.Command{
		Use:   "fork [AGENT]",
		Short: "Fork an agent; print the child's uuid",
		Long: `Fork an agent (agent 0 if none is named) and print the child's uuid. The child
inherits the context by reference: the cost does not depend on its length.
Files are shared, not copied: parent and child work in the same folder.

With --worktree the child gets a git worktree and a branch of its own, with the files
of its parent: the commit that is checked out there, and what is not committed or not
tracked (ignored files apart); --clean: the commit alone. "ramet merge" brings its work
back.

With --at the child begins with a rewind to that message, so that its context
is the parent's as it was just after it; with --worktree too, the files are what they
were then.

A prompt is stored as the child's first message; "ramet exec --continue CHILD" lets it
begin. With --run it begins at once, and the command prints its answer.

With --driver another program goes on with the conversation: in a fork of its own session
where the parent's is one of that program, at the end of a turn, and the program can fork;
else it is told the conversation in words.`,
		Args:              CheckArguments(0, 1),
		ValidArgsFunction: l.CompleteAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			if run {
				if !c.Flags().Changed("prompt") {
					return fault.New(fault.Usage, "fork: --run goes with --prompt: it says what the child is to do")
				}
				first := execFlags{fork: true, name: name, at: at, model: model, driver: program, effort: effort, role: role, worktree: apart, clean: clean}
				return runExec(l, c, first, []string{Or0(args), prompt})
			}
			ctx := c.Context()
			ws, parent, err := l.Find(ctx, Or0(args))
			if err != nil {
				return err
			}
			if clean && !apart {
				return fault.New(fault.Usage, "fork: --clean goes with --worktree").WithHint("add --worktree, or leave it out")
			}
			f := session.Fork{Parent: parent, Name: name, Worktree: apart, Clean: clean, Role: role}
			if c.Flags().Changed("name") && name == "" {
				return agent.CheckName(name)
			}
			if c.Flags().Changed("at") {
				if f.At, err = id.ParseMessage(at); err != nil {
					return err
				}
			}
			if f.Model, err = ws.Driver(program, model); err != nil {
				return err
			}
			if f.Model == (llm.Ref{}) && (c.Flags().Changed("model") || c.Flags().Changed("driver")) {
				return fault.New(fault.Usage, "fork: --model and --driver need a name")
			}
			if f.Effort, err = parseEffort(c, effort); err != nil {
				return err
			}
			if c.Flags().Changed("prompt") {
				said, err := l.Text(prompt)
				if err != nil {
					return err
				}
				f.Prompt = &said
			}
			done, err := ws.Fork(ctx, f)
			if err != nil {
				return err
			}
			out := forked{public.FormatAgent(done.Child), nil}
			if t := done.Tree; t != nil {
				out.Worktree = &forkedTree{t.Dir, t.Branch, t.Left, t.Brought}
				if t.Brought > 0 && !l.JSON {
					l.Note(fmt.Sprintf("%s that %s not committed came along", text.Count(t.Brought, "file"), map[bool]string{true: "is", false: "are"}[t.Brought == 1]))
				}
				if t.Left && !l.JSON {
					fmt.Fprintf(l.Stderr, "%s has changes that are not committed, and that the child does not have\n", text.Safe(parent.Cwd))
				}
			}
			if f.Prompt != nil && !l.JSON {
				l.Note(fmt.Sprintf("%s has its prompt and has not begun: `ramet exec --continue %s` starts it, or fork with --run", done.Child.Label(), done.Child.Label()))
			}
			return l.Print(out)
		},
	}
	c.Flags().StringVar(&name, "name", "", "a name for the child")
	c.Flags().StringVar(&prompt, "prompt", "", "first message of the child (- reads standard input); it is stored, and --run lets the child begin")
	c.Flags().BoolVar(&run, "run", false, "with --prompt: run the child's first turn and print its answer, as \"ramet exec --fork\" does")
	c.Flags().StringVar(&at, "at", "", "message id at which the child's context ends")
	c.Flags().StringVar(&model, "model", "", "vendor/name of the child's model (default: its parent's)")
	c.Flags().StringVar(&program, "driver", "", "let another program drive the child: claude, codex, … (see \"ramet drivers\"); --model is its own word then")
	c.Flags().StringVar(&role, "agent", "", "make it by a definition of .agents/agents or .claude/agents: its instructions, tools and model")
	c.Flags().StringVar(&effort, "effort", "", "how hard the child's model thinks (default: as its parent's)")
	c.Flags().BoolVar(&apart, "worktree", false, "give the child files of its own: a git worktree and a branch")
	c.Flags().BoolVar(&clean, "clean", false, "with --worktree: only what is committed")
	c.RegisterFlagCompletionFunc("model", l.CompleteModels)
	c.RegisterFlagCompletionFunc("driver", completeDrivers(l))
	c.RegisterFlagCompletionFunc("effort", cobra.FixedCompletions(llm.Efforts(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

// forked is the datum of fork.
type forked struct {
	public.Agent
	Worktree *forkedTree `json:"worktree"`
}

type forkedTree struct {
	Dir         string `json:"dir"`
	Branch      string `json:"branch"`
	Uncommitted bool   `json:"uncommitted"` // the parent's folder has changes that the child has not
	Brought     int    `json:"brought"`     // files that are not committed there, and came along
}

func (f forked) Text(w *Writer) { w.Line("%s", string(f.UUID)) }
