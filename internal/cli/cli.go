// Package cli is ramet's command line: one file for each command, all of them
// thin. A command reads its arguments, calls a verb or a query of the
// workspace, and hands one datum to the printer, which shows it as text or, with
// --json, in its public shape (documented in docs/json.md).
//
// Errors leave as error[CODE]: what: what to do, on standard error, with the
// exit code of the table in package fault.
package cli

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ramet/internal/agent"
	"ramet/internal/config"
	"ramet/internal/credential"
	"ramet/internal/demo"
	"ramet/internal/fault"
	"ramet/internal/history"
	"ramet/internal/mail"
	"ramet/internal/printer"
	"ramet/internal/registry"
	"ramet/internal/rundir"
	"ramet/internal/workspace"
)

// Workspace is what commands need of a store.
type Workspace interface {
	agent.Directory
	agent.Leases
	history.Log
	history.Viewer
	mail.Boxes
	registry.Registry
	registry.Feed
	registry.Upkeep
	registry.Replies
	registry.Purses
	registry.Bell
	Close() error
}

// Env is everything a command may know of the world outside.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Dir            string // current folder
	Terminal       bool   // standard output is one
	ErrTerminal    bool   // standard error is one
	Now            func() time.Time
	Version        Version
	// Open opens the store of a place.
	Open func(context.Context, workspace.Place) (Workspace, error)
	// Kernel starts a kernel.
	Kernel func(context.Context, KernelRequest) (*Kernel, error)
	// Carry carries out a run until it is over or has to stop; nil only when it is DONE.
	Carry func(context.Context, RunRequest) error
	// Work takes items of runs from a database until ctx ends.
	Work func(context.Context, WorkRequest) error
	// Serve serves the HTTP API until ctx ends.
	Serve func(context.Context, ServeRequest) error
	// Screen is the terminal UI; nil where standard input or output is no terminal.
	Screen func(context.Context, ScreenRequest) error
	// Detach carries out the same command line again in the background, shows what it
	// prints, and returns the exit code it has for its user, while it may go on. nil:
	// this system cannot.
	Detach func(context.Context) (exit int, err error)
	// Leave is set in a process that Detach started: it gives the exit code to the
	// user, and nothing is shown from then on.
	Leave func(exit int)
	// Sandbox says whether commands can be confined here, or why not.
	Sandbox func() error
	// Logs opens the event logs of runs.
	Logs rundir.Logs
	// Password asks for a secret on the terminal without showing what is typed;
	// nil where standard input is no terminal.
	Password func(prompt string) (string, error)
	// Demo is the guided tour; it makes a workspace of its own.
	Demo func(ctx context.Context, show func(demo.Step) error) error
}

// Run carries out one command line and returns the exit code.
func Run(ctx context.Context, args []string, e Env) int {
	s := &session{Env: e}
	root := s.root()
	root.SetArgs(args)
	root.SetIn(e.Stdin)
	root.SetOut(e.Stdout)
	root.SetErr(e.Stderr)
	err := root.ExecuteContext(ctx)
	if cerr := s.close(); err == nil {
		err = cerr
	}
	if err == nil {
		return 0
	}
	var exit exited
	if errors.As(err, &exit) {
		return int(exit)
	}
	if code := fault.CodeOf(err); ctx.Err() != nil && (code == fault.Failed || code == fault.Interrupted) {
		err = fault.New(fault.Interrupted, "stopped by a signal")
	}
	// Before the flags are parsed nobody knows about --json; then look.
	asJSON := s.json || hasFlag(args, "--json")
	(&printer.Printer{Out: e.Stderr, JSON: asJSON, Color: s.color(e.ErrTerminal)}).Fail(s.hide(err))
	return fault.Exit(err)
}

// exited is the exit code of a command that was carried out by another process,
// which has said everything.
type exited int

func (e exited) Error() string { return "exit " + strconv.Itoa(int(e)) }

func hasFlag(args []string, flag string) bool {
	for _, a := range args {
		if a == "--" {
			return false
		}
		if a == flag {
			return true
		}
	}
	return false
}

// session is one command line being carried out.
type session struct {
	Env
	db, home, workspace string
	json                bool

	conf *config.Config
	keys *credential.Store
	ws   Workspace
}

func (s *session) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "ramet",
		Short: "An operating environment for LLM agents",
		Long: `ramet runs LLM agents as durable processes: they fork, mail each other, are
killed with their whole subtree, and come back after a crash where they were.

Without a command it opens the terminal: many agents on one screen; F1 or /help
there shows the keys and commands. Where standard input or output is no terminal
it prints this help.

The workspace is that of the project you stand in; --db, RAMET_DB and
--workspace choose another.

` + exitHelp(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		Args:              unknownCommand,
		PersistentPreRunE: s.notEmpty,
		RunE:              s.bare,
	}
	flags := root.PersistentFlags()
	flags.StringVar(&s.db, "db", "", "database: a file, or postgres://user@host/database?schema=NAME")
	flags.StringVar(&s.home, "home", "", "ramet's home folder (default $RAMET_HOME, else the XDG data folder + /ramet)")
	flags.StringVar(&s.workspace, "workspace", "", "a project's folder, or the name of a known workspace")
	flags.BoolVar(&s.json, "json", false, "print JSON")
	root.SetFlagErrorFunc(badFlag)
	root.SetHelpCommand(helpCommand())
	root.AddGroup(
		&cobra.Group{ID: "agents", Title: "Agents:"},
		&cobra.Group{ID: "history", Title: "History:"},
		&cobra.Group{ID: "mail", Title: "Mail:"},
		&cobra.Group{ID: "proof", Title: "Proof and care:"},
		&cobra.Group{ID: "runs", Title: "Runs:"},
		&cobra.Group{ID: "ledger", Title: "Ledger:"},
		&cobra.Group{ID: "models", Title: "Models:"},
	)
	add := func(group string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("agents", s.execCommand(), s.serveCommand(), s.webCommand(), s.psCommand(), s.showCommand(), s.forkCommand(), s.mergeCommand(), s.worktreeCommand(), s.killCommand(), s.renameCommand())
	add("history", s.appendCommand(), s.logCommand(), s.clearCommand(), s.compactCommand(), s.markCommand(), s.rewindCommand(), s.exportCommand())
	add("mail", s.sendCommand(), s.mailCommand(), s.readCommand())
	add("proof", s.verifyCommand(), s.checkpointCommand(), s.keyCommand(), s.redactCommand(), s.gcCommand(), s.backupCommand())
	add("runs", s.runCommand(), s.workerCommand(), s.schemaCommand())
	add("ledger", s.trackCommand())
	add("models", s.modelsCommand(), s.authCommand(), s.spendingCommand())
	add("", s.configCommand(), s.trustCommand(), s.doctorCommand(), s.demoCommand(), s.versionCommand())
	addCompletion(root)
	return root
}

// acting are the files of a project that do something once it is trusted.
var acting = []string{".ramet/config.toml", "AGENTS.md", "CLAUDE.md"}

// config loads the configuration once.
func (s *session) config() (*config.Config, error) {
	if s.conf != nil {
		return s.conf, nil
	}
	project, err := workspace.Project(s.Dir)
	if err != nil {
		return nil, err
	}
	home, err := s.homeDir()
	if err != nil {
		return nil, err
	}
	trusted, err := config.Trusted(home, project, acting)
	if err != nil {
		return nil, err
	}
	s.conf, err = config.Load(config.Options{Env: s.Getenv, Project: project, Trusted: trusted, Check: judge})
	return s.conf, err
}

// homeDir is ramet's home. It need not be there yet.
func (s *session) homeDir() (string, error) {
	home, err := config.Home(s.Getenv, s.home)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(home); err == nil && !info.IsDir() {
		return "", fault.New(fault.InvalidConfig, "ramet's home %s is not a folder", home).
			WithHint("choose another with --home or RAMET_HOME")
	}
	return home, nil
}

// credentials reads the keys once.
func (s *session) credentials() (*credential.Store, error) {
	if s.keys != nil {
		return s.keys, nil
	}
	home, err := s.homeDir()
	if err != nil {
		return nil, err
	}
	keys, err := credential.Open(s.Getenv, home)
	if err != nil {
		return nil, err
	}
	s.keys = keys
	return keys, nil
}

// place decides which workspace is meant.
func (s *session) place() (workspace.Place, error) {
	home, err := s.homeDir()
	if err != nil {
		return workspace.Place{}, err
	}
	choice := workspace.Choice{DB: s.db, Workspace: s.workspace, Home: home, Dir: s.Dir}
	if choice.DB == "" {
		choice.DB = s.Getenv("RAMET_DB")
	}
	if choice.DB == "" && choice.Workspace == "" {
		conf, err := s.config()
		if err != nil {
			return workspace.Place{}, err
		}
		choice.ConfigDB = conf.DB
	}
	return workspace.Locate(choice)
}

// open opens the workspace once; Run closes it.
func (s *session) open(ctx context.Context) (Workspace, error) {
	if s.ws != nil {
		return s.ws, nil
	}
	place, err := s.place()
	if err != nil {
		return nil, err
	}
	ws, err := s.Open(ctx, place)
	if err != nil {
		return nil, err
	}
	s.ws = ws
	return ws, nil
}

// find opens the workspace and finds an agent in it.
func (s *session) find(ctx context.Context, ref string) (Workspace, agent.Agent, error) {
	ws, err := s.open(ctx)
	if err != nil {
		return nil, agent.Agent{}, err
	}
	a, err := agent.Find(ctx, ws, ref)
	return ws, a, err
}

// findOr0 takes the agent from the first argument, or agent 0.
func (s *session) findOr0(ctx context.Context, args []string) (Workspace, agent.Agent, error) {
	if len(args) == 0 {
		return s.find(ctx, "0")
	}
	return s.find(ctx, args[0])
}

func (s *session) close() error {
	if s.ws == nil {
		return nil
	}
	return s.ws.Close()
}

// text is an argument, or standard input for "-".
func (s *session) text(arg string) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	b, err := io.ReadAll(io.LimitReader(s.Stdin, history.MaxText+1))
	if err != nil {
		return "", fault.New(fault.InvalidText, "read standard input: %w", err)
	}
	return strings.TrimSuffix(string(b), "\n"), nil
}

func (s *session) printer() *printer.Printer {
	return &printer.Printer{Out: s.Stdout, JSON: s.json, Color: s.color(s.Terminal), Now: s.Now}
}

func (s *session) print(d printer.Datum) error { return s.printer().Print(d) }

// color decides by the configuration, which knows NO_COLOR too. Where it
// cannot be read, somebody else says so.
func (s *session) color(terminal bool) bool {
	conf, err := s.config()
	switch {
	case err != nil:
		return terminal && s.Getenv("NO_COLOR") == ""
	case conf.Color == "auto":
		return terminal && s.Getenv("TERM") != "dumb"
	}
	return conf.Color == "always"
}

// hide takes the password of a database URL and the keys that were read out of
// an error, should any layer have repeated them.
func (s *session) hide(err error) error {
	known := []string{password(s.db), password(s.Getenv("RAMET_DB"))}
	if s.conf != nil {
		known = append(known, password(s.conf.DB))
	}
	if s.keys != nil {
		known = slices.AppendSeq(known, maps.Values(s.keys.Values()))
	}
	for _, secret := range known {
		if secret == "" || !strings.Contains(err.Error(), secret) {
			continue
		}
		f, ok := fault.Of(err)
		if !ok {
			f = fault.New(fault.CodeOf(err), "%v", err)
		}
		c := *f
		c.Message = strings.ReplaceAll(c.Message, secret, "****")
		c.Hint = strings.ReplaceAll(c.Hint, secret, "****")
		c.Err = nil
		err = &c
	}
	return err
}
