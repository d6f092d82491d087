package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/operation"
	"ramet/internal/run"
	"ramet/internal/run/rundir"
)

func initCommand(l *Line, f *runFlags) *cobra.Command {
	var runID, config string
	c := l.command("init", "Make a new run, in state CREATED; print its id", "", 0, 0, func(ctx context.Context, _ []string) (printer.Datum, error) {
		text, err := readConfig(l.Stdin, config)
		if err != nil {
			return nil, err
		}
		store, kind, err := f.openNew(l)
		if err != nil {
			return nil, err
		}
		if runID == "" {
			runID = store.NewID(text)
		}
		if err := run.CheckRunID(runID); err != nil {
			return nil, err
		}
		if err := l.MakeRuns(f.dir); err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		x, err := store.Begin(ctx, runID, kind, text, map[string]any{
			"run_id": runID, "config_sha256": hex.EncodeToString(sum[:])})
		if err != nil {
			return nil, err
		}
		return madeRun(store, x), x.Close()
	})
	c.Flags().StringVar(&runID, "run-id", "", "id of the run (default: from time and configuration)")
	c.Flags().StringVar(&config, "config", "", "configuration, YAML; copied (- reads standard input)")
	return c
}

func readConfig(stdin io.Reader, path string) ([]byte, error) {
	var text []byte
	var err error
	switch path {
	case "":
		return []byte("{}\n"), nil
	case "-":
		text, err = io.ReadAll(stdin)
	default:
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fault.New(fault.NotFound, "read configuration: %w", err)
	}
	return text, rundir.CheckConfig(text)
}

func appendEventCommand(l *Line, f *runFlags) *cobra.Command {
	var kind, payload, span, parent string
	c := l.command("append ID", "Add an event; print its id", `Add an event to the log of a run. The event is checked against the schema of its type and the
state of the run, and linked to the one before. When its id is printed, it is on disk.`, 1, 1, func(ctx context.Context, args []string) (printer.Datum, error) {
		if kind == "" {
			return nil, fault.New(fault.Usage, "run append: --type is missing").WithHint("for instance --type ARTIFACT_WRITTEN")
		}
		text, err := l.Text(payload)
		if err != nil {
			return nil, err
		}
		return nil, withSession(ctx, l, f, args[0], (*rundir.Store).OpenSession, func(x *rundir.Session) error {
			events, err := x.Append(ctx, run.Request{Type: run.Type(kind), Payload: []byte(text), SpanID: span, ParentSpan: parent})
			if len(events) == 0 {
				return err
			}
			// It is in the log, and stays there: what failed is the snapshot or the checkpoint behind it.
			return errors.Join(l.Print(appended{events[0]}), unsettled(args[0], err))
		})
	})
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

type appended struct{ run.Event }

func (d appended) MarshalJSON() ([]byte, error) { return d.Line(), nil }

func (d appended) Text(w *printer.Writer) { w.Line("%s", d.ID) }

func replayCommand(l *Line, f *runFlags) *cobra.Command {
	var check bool
	c := l.command("replay ID", "Rebuild the snapshot from the events, without executing anything", `Replay all events without executing anything, and write the snapshot. If the snapshot on disk
differs from a replay of the events it covers, it is kept next to the new one, the difference
is shown, and the exit code is 5. --check writes nothing.`, 1, 1, func(ctx context.Context, args []string) (printer.Datum, error) {
		if check {
			return nil, withReader(ctx, l, f, args[0], func(_ *rundir.Store, r *rundir.Reader) error {
				return replayRun(ctx, l, r, nil)
			})
		}
		return nil, withSession(ctx, l, f, args[0], (*rundir.Store).OpenForReplay, func(x *rundir.Session) error { return replayRun(ctx, l, x.Reader, x) })
	})
	c.Flags().BoolVar(&check, "check", false, "only compare, write nothing")
	return c
}

// replayRun compares the stored snapshot with the log, and, with a session, replaces
// it.
func replayRun(ctx context.Context, l *Line, r *rundir.Reader, x *rundir.Session) error {
	stored, raw, ok, damage := r.Stored()
	var lines []string
	var state run.Snapshot
	var err error
	if damage == nil && ok {
		state, lines, err = r.Compare(ctx, stored, raw)
	} else {
		state, err = r.Replay(ctx)
	}
	if err != nil {
		return err
	}
	if doc, err := state.Encode(); err != nil {
		return err
	} else if err := rundir.CheckSnapshot(doc); err != nil {
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

func importRunCommand(l *Line, f *runFlags) *cobra.Command {
	return l.command("import FILE", "Make a run from an exported log", `Create a run from the NDJSON lines that "ramet run export" printed. Everything is verified
first, and the lines are stored byte for byte. FILE - reads standard input.`, 1, 1, func(ctx context.Context, args []string) (printer.Datum, error) {
		var data []byte
		var err error
		if args[0] == "-" {
			data, err = io.ReadAll(l.Stdin)
		} else {
			data, err = os.ReadFile(args[0])
		}
		if err != nil {
			return nil, fault.New(fault.NotFound, "read export: %w", err)
		}
		store, kind, err := f.openNew(l)
		if err != nil {
			return nil, err
		}
		if err := l.MakeRuns(f.dir); err != nil {
			return nil, err
		}
		x, err := store.Import(ctx, data, kind)
		if err != nil {
			return nil, err
		}
		return madeRun(store, x), x.Close()
	})
}

func exportRunCommand(l *Line, f *runFlags) *cobra.Command {
	var format string
	c := l.command("export ID", "Write the log of a run as NDJSON", `Verify the log of a run and write it to standard output, one event per line. The bytes are the
same for every form of log. The events of runs that it continues come first.`, 1, 1, func(ctx context.Context, args []string) (printer.Datum, error) {
		if format != "ndjson" {
			return nil, fault.New(fault.Usage, "run export: unknown format %q", format).WithHint("use ndjson")
		}
		return nil, withReader(ctx, l, f, args[0], func(_ *rundir.Store, r *rundir.Reader) error {
			for e, err := range r.Events(ctx, 0) {
				if err != nil {
					return err
				}
				if _, err := io.WriteString(l.Stdout, string(e.Raw)+"\n"); err != nil {
					return err
				}
			}
			return nil
		})
	})
	c.Flags().StringVar(&format, "format", "ndjson", "ndjson")
	return c
}
