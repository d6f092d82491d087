package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
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
		kind, err := f.newKind()
		if err != nil {
			return nil, err
		}
		store, err := l.Runs(f.dir)
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
