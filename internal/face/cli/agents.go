package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/operation"
)

// forkAgentCommand returns the command of the operation, with --run in addition: it is "ramet exec --fork".
func forkAgentCommand(l *Line) *cobra.Command {
	c := l.Command(&operation.Fork)
	var run bool
	c.Flags().BoolVar(&run, "run", false, "with --prompt: run the child's first turn and print its answer, as \"ramet exec --fork\" does")
	fork := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if !run {
			return fork(c, args)
		}
		bound, err := l.Bind(c, &operation.Fork, args)
		if err != nil {
			return err
		}
		in := bound.(*operation.ForkInput)
		if in.Prompt == nil {
			return fault.New(fault.Usage, "fork: --run goes with --prompt: it says what the child is to do")
		}
		return runExec(c.Context(), l, &execInput{Fork: true, Name: in.Name, At: in.At, Model: in.Model, Driver: in.Driver, Effort: in.Effort, Role: in.Role,
			Worktree: in.Worktree, Clean: in.Clean}, []string{Or0(args), string(*in.Prompt)})
	}
	return c
}

// killCommand returns the command of the operation, with --finished in addition, which names no agent.
func killCommand(l *Line) *cobra.Command {
	c := l.Command(&operation.Kill)
	c.Long += `

With --finished instead of an agent, all agents end that are done or have failed and have no
working, waiting or interrupted agent in their subtree. They keep their state.

Killing an agent that is already dead exits with 0 and shows when it ended. Agent 0 can't be
killed.`
	var finished bool
	c.Flags().BoolVar(&finished, "finished", false, "all agents that are done or have failed")
	for _, flag := range []string{"cascade", "reason", "confirm"} {
		c.MarkFlagsMutuallyExclusive("finished", flag)
	}
	one := c.Args
	c.Args = func(c *cobra.Command, args []string) error {
		if finished {
			return CheckArguments(0, 0)(c, args)
		}
		return one(c, args)
	}
	kill := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if !finished {
			return kill(c, args)
		}
		ws, err := l.Open(c.Context())
		if err != nil {
			return err
		}
		ended, err := ws.Agents().KillFinished(c.Context())
		out := struct {
			Killed []id.Agent `json:"killed"`
			Count  int        `json:"count"`
		}{[]id.Agent{}, len(ended)}
		for _, a := range ended {
			out.Killed = append(out.Killed, a.ID)
		}
		return errors.Join(l.Print(printer.Result{JSON: out, Write: func(w *printer.Writer) {
			for _, a := range ended {
				w.Line("ended %s", a.Label())
			}
			if len(ended) == 0 {
				w.Line("no agent is finished")
			}
		}}), err)
	}
	return c
}
