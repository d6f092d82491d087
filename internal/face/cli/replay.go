package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/operation"
	"ramet/internal/run/rundir"
)

func replayCommand(l *Line, f *runFlags) *cobra.Command {
	var check bool
	c := &cobra.Command{
		Use:   "replay ID",
		Short: "Make the snapshot again from the events; execute nothing",
		Long: `Replay all events, executing nothing, and write the snapshot. If the snapshot on the
disk was not the replay of its own first events, it is kept beside, the difference
is shown, and the exit code is 5. --check writes nothing.`,
		Args: CheckArguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			if check {
				return withReader(l, c, f, args[0], func(_ *rundir.Store, r *rundir.Reader) error {
					return replayRun(l, c, r, nil)
				})
			}
			return withSession(l, c, f, args[0], (*rundir.Store).OpenSession, func(x *rundir.Session) error { return replayRun(l, c, x.Reader, x) })
		},
	}
	c.Flags().BoolVar(&check, "check", false, "compare only, write nothing")
	return c
}

// replayRun compares the stored snapshot with the log, and, with a session, replaces
// it.
func replayRun(l *Line, c *cobra.Command, r *rundir.Reader, x *rundir.Session) error {
	stored, raw, ok, damage := r.Stored()
	var lines []string
	if damage == nil && ok {
		var err error
		if lines, err = r.Difference(c.Context(), stored, raw); err != nil {
			return err
		}
	}
	state, err := r.Replay(c.Context())
	if err != nil {
		return err
	}
	if doc, err := state.Encode(); err != nil {
		return err
	} else if err := rundir.ValidateOutput("snapshot", doc); err != nil {
		return fault.New(fault.EventChainBroken, "the events of run %s give no valid snapshot: %w", r.RunID, err)
	}
	bad := damage != nil || len(lines) > 0
	if x != nil {
		if err := x.PutSnapshot(bad); err != nil {
			return err
		}
	}
	if !bad {
		return l.Print(operation.RunState{Snapshot: state})
	}
	for _, line := range lines {
		fmt.Fprintln(l.Stderr, text.Safe(line))
	}
	if damage != nil {
		return damage
	}
	return fault.New(fault.EventChainBroken, "the snapshot of run %s was not the replay of its first %d events", r.RunID, stored.EventCount).
		WithHint("- is what the log says, + what the file said")
}
