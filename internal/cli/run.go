package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/durable"
	"ramet/internal/fault"
	"ramet/internal/printer"
	"ramet/internal/run"
	"ramet/internal/run/schema"
	"ramet/internal/rundir"
	"ramet/internal/workspace"
)

// runFlags are those of all run commands.
type runFlags struct {
	dir, log string
}

func (s *session) runCommand() *cobra.Command {
	f := &runFlags{}
	c := &cobra.Command{
		Use:   "run",
		Short: "The event logs of orchestrated runs",
		Long: `Keep an append-only, hash-chained log of what a job did; replay it, plan how to go
on, and prove that nobody changed it. Any program, in any language, can use it as
its own audit trail: init, append, verify.`,
		Args: unknownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.PersistentFlags().StringVar(&f.dir, "runs-dir", "", "folder of the runs (default $RAMET_RUNS, else .ramet/runs of the project)")
	c.PersistentFlags().StringVar(&f.log, "log", "", "where the log is: ndjson, sqlite or postgres://… (default: as the run was made; ndjson for a new one)")
	c.AddCommand(s.runInit(f), s.runAppend(f), s.runEvents(f), s.runShow(f), s.runList(f), s.runReplay(f), s.runPlan(f),
		s.runVerify(f), s.runExport(f), s.runImport(f), s.runFork(f))
	return c
}

// kind is the user's word on where the log is.
func (f *runFlags) kind() (rundir.Kind, error) {
	k := rundir.Kind(f.log)
	if k == "" || k == rundir.NDJSON || k == rundir.SQLite || isPostgres(f.log) {
		return k, nil
	}
	return "", fault.New(fault.Usage, "--log %.40q is no kind of log", f.log).WithHint("use ndjson, sqlite or postgres://…")
}

func isPostgres(s string) bool {
	return strings.HasPrefix(s, "postgres://") || strings.HasPrefix(s, "postgresql://")
}

// newKind is where a new run's log goes.
func (f *runFlags) newKind() (rundir.Kind, error) {
	k, err := f.kind()
	if k == "" {
		k = rundir.NDJSON
	}
	return k, err
}

// runs is the folder of the runs.
func (s *session) runs(f *runFlags) (*rundir.Store, error) {
	root := f.dir
	if root == "" {
		root = s.Getenv("RAMET_RUNS")
	}
	if root == "" {
		project, err := workspace.Project(s.Dir)
		if err != nil {
			return nil, err
		}
		root = filepath.Join(project, ".ramet", "runs")
	} else if !filepath.IsAbs(root) {
		root = filepath.Join(s.Dir, root)
	}
	return &rundir.Store{Root: root, Logs: s.Logs, Key: s.signingKey, Now: s.Now}, nil
}

// makeRamet makes the project's .ramet folder, which git is to ignore.
func (s *session) makeRamet(f *runFlags) error {
	if f.dir != "" || s.Getenv("RAMET_RUNS") != "" {
		return nil
	}
	project, err := workspace.Project(s.Dir)
	if err != nil {
		return err
	}
	dir := filepath.Join(project, ".ramet")
	if err := durable.MakeFolder(dir, 0o755); err != nil {
		return err
	}
	err = durable.CreateFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o644)
	if fault.Is(err, fault.Conflict) {
		return nil
	}
	return err
}

type openSession func(*rundir.Store, context.Context, string, rundir.Kind) (*rundir.Session, error)

// withSession opens a run for appending, with one of the store's ways to do that,
// and says if its tail had to be repaired.
func (s *session) withSession(c *cobra.Command, f *runFlags, runID string, open openSession, do func(*rundir.Session) error) error {
	store, err := s.runs(f)
	if err != nil {
		return err
	}
	kind, err := f.kind()
	if err != nil {
		return err
	}
	x, err := open(store, c.Context(), runID, kind)
	if err != nil {
		return err
	}
	if x.Repaired != "" {
		fmt.Fprintf(s.Stderr, "LOG_TAIL_REPAIRED: %s\n", x.Repaired)
	}
	return errors.Join(do(x), x.Close())
}

func (s *session) withReader(c *cobra.Command, f *runFlags, runID string, do func(*rundir.Store, *rundir.Reader) error) error {
	store, err := s.runs(f)
	if err != nil {
		return err
	}
	kind, err := f.kind()
	if err != nil {
		return err
	}
	r, err := store.Open(c.Context(), runID, kind)
	if err != nil {
		return err
	}
	return errors.Join(do(store, r), r.Close())
}

func (s *session) runInit(f *runFlags) *cobra.Command {
	var runID, config string
	c := &cobra.Command{
		Use: "init", Short: "Make a new run, in state CREATED; print its id", Args: arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			text, err := readConfig(s.Stdin, config)
			if err != nil {
				return err
			}
			kind, err := f.newKind()
			if err != nil {
				return err
			}
			store, err := s.runs(f)
			if err != nil {
				return err
			}
			if runID == "" {
				runID = store.NewID(text)
			}
			if err := run.CheckRunID(runID); err != nil {
				return err
			}
			if err := s.makeRamet(f); err != nil {
				return err
			}
			sum := sha256.Sum256(text)
			x, err := store.Begin(c.Context(), runID, kind, text, map[string]any{
				"run_id": runID, "config_sha256": hex.EncodeToString(sum[:])})
			if err != nil {
				return err
			}
			return errors.Join(s.print(runMade{runID, store.Dir(runID), x.Now().RunState}), x.Close())
		},
	}
	c.Flags().StringVar(&runID, "run-id", "", "id of the run (default: made of time and configuration)")
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

// runMade is the datum of run init, fork and import.
type runMade struct {
	RunID string    `json:"run_id"`
	Path  string    `json:"path"`
	State run.State `json:"run_state"`
}

func (d runMade) Text(w *printer.Writer) { w.Line("%s", d.RunID) }

func (s *session) runAppend(f *runFlags) *cobra.Command {
	var kind, payload, span, parent string
	c := &cobra.Command{
		Use:   "append ID",
		Short: "Add an event; print its id",
		Long: `Add an event to a run's log: it is checked against the form of its type and the
state of the run, linked, and on the disk when its id is printed.`,
		Args: arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			if kind == "" {
				return fault.New(fault.Usage, "run append: --type is missing").WithHint("for instance --type ARTIFACT_WRITTEN")
			}
			text, err := s.text(payload)
			if err != nil {
				return err
			}
			return s.withSession(c, f, args[0], (*rundir.Store).OpenSession, func(x *rundir.Session) error {
				events, err := x.Append(c.Context(), rundir.Request{Type: run.Type(kind), Payload: []byte(text), SpanID: span, ParentSpan: parent})
				if err != nil {
					return err
				}
				return s.print(appended{events[0]})
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

// appended is the datum of run append: the event as it stands in the log.
type appended struct{ run.Event }

func (d appended) MarshalJSON() ([]byte, error) { return d.Line(), nil }

func (d appended) Text(w *printer.Writer) { w.Line("%s", d.ID) }

func (s *session) runFork(f *runFlags) *cobra.Command {
	var at, runID string
	c := &cobra.Command{
		Use:   "fork ID --at EVENT",
		Short: "Make a run that continues another from one of its events",
		Long: `Make a run that continues another from one of its events, given as event_id or as
its number in the log. The events before are shared, not copied, and linked by
hash.`,
		Args: arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			if at == "" {
				return fault.New(fault.Usage, "run fork: --at is missing").WithHint("give an event_id or a number of `ramet run events`")
			}
			store, err := s.runs(f)
			if err != nil {
				return err
			}
			kind, err := f.newKind()
			if err != nil {
				return err
			}
			if runID != "" {
				if err := run.CheckRunID(runID); err != nil {
					return err
				}
			}
			x, err := store.Fork(c.Context(), args[0], at, runID, kind)
			if err != nil {
				return err
			}
			return errors.Join(s.print(runMade{x.RunID, store.Dir(x.RunID), x.Now().RunState}), x.Close())
		},
	}
	c.Flags().StringVar(&at, "at", "", "event_id or number of the last event to share")
	c.Flags().StringVar(&runID, "run-id", "", "id of the new run")
	return c
}

func (s *session) runImport(f *runFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE",
		Short: "Make a run from an exported log",
		Long: `Make a run from the NDJSON lines that "ramet run export" printed. All of it is
verified first; the lines stay the same to the byte. - reads standard input.`,
		Args: arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			var data []byte
			var err error
			if args[0] == "-" {
				data, err = io.ReadAll(s.Stdin)
			} else {
				data, err = os.ReadFile(args[0])
			}
			if err != nil {
				return fault.New(fault.NotFound, "read export: %w", err)
			}
			store, err := s.runs(f)
			if err != nil {
				return err
			}
			kind, err := f.newKind()
			if err != nil {
				return err
			}
			if err := s.makeRamet(f); err != nil {
				return err
			}
			x, err := store.Import(c.Context(), data, kind)
			if err != nil {
				return err
			}
			return errors.Join(s.print(runMade{x.RunID, store.Dir(x.RunID), x.Now().RunState}), x.Close())
		},
	}
}

func (s *session) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:       "schema NAME",
		Short:     "Print a published JSON Schema: event, snapshot, issue or run_config",
		Args:      arguments(1, 1),
		ValidArgs: schema.Names(),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := schema.Schema(args[0])
			if err != nil {
				return err
			}
			return s.print(rawJSON(text))
		},
	}
}

// rawJSON is a datum that is JSON in any case.
type rawJSON json.RawMessage

func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }

func (r rawJSON) Text(w *printer.Writer) { w.Block("", string(r)) }
