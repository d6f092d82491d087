package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/run"
	"ramet/internal/run/rundir"
)

func appendEventCommand(l *Line, f *runFlags) *cobra.Command {
	var kind, payload, span, parent string
	c := &cobra.Command{
		Use:   "append ID",
		Short: "Add an event; print its id",
		Long: `Add an event to a run's log: it is checked against the form of its type and the
state of the run, linked, and on the disk when its id is printed.`,
		Args: CheckArguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			if kind == "" {
				return fault.New(fault.Usage, "run append: --type is missing").WithHint("for instance --type ARTIFACT_WRITTEN")
			}
			text, err := l.Text(payload)
			if err != nil {
				return err
			}
			return withSession(l, c, f, args[0], (*rundir.Store).OpenSession, func(x *rundir.Session) error {
				events, err := x.Append(c.Context(), rundir.Request{Type: run.Type(kind), Payload: []byte(text), SpanID: span, ParentSpan: parent})
				if len(events) == 0 {
					return err
				}
				// It is in the log, and stays there: what failed is the snapshot or the checkpoint behind it.
				return errors.Join(l.Print(appended{events[0]}), unsettled(args[0], err))
			})
		},
	}
	c.Flags().StringVar(&kind, "type", "", "type of the event, for instance ARTIFACT_WRITTEN")
	c.Flags().StringVar(&payload, "payload", "{}", "a JSON object (- reads standard input)")
	c.Flags().StringVar(&span, "span", "", "span_id, 16 hex digits (default: a new one)")
	c.Flags().StringVar(&parent, "parent-span", "", "parent_span_id, 16 hex digits")
	var types []string
	for _, t := range run.Types() {
		types = append(types, string(t))
	}
	c.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(types, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// unsettled returns the error for an event that was written when the folder could not be brought up to
// it: repeating the command would write it twice.
func unsettled(runID string, err error) error {
	f, ok := fault.Of(err)
	if !ok {
		return err
	}
	return f.WithHint("the event is in the log: do not repeat it; `ramet run replay %s` makes the snapshot again once this is mended", runID)
}

// appended is the datum of run append: the event as it stands in the log.
type appended struct{ run.Event }

func (d appended) MarshalJSON() ([]byte, error) { return d.Line(), nil }

func (d appended) Text(w *printer.Writer) { w.Line("%s", d.ID) }
