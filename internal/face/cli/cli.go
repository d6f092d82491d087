// Package cli is ramet's command line. Each command reads its arguments, calls one operation, verb or
// query of the session, and hands one value to the printer, which shows it as text or, with --json,
// in its public shape (documented in docs/json.md). A Line is one command line: its streams, its
// printer and its session.
//
// Errors are printed as error[CODE]: what: what to do, on standard error, with the exit code of the
// table in package fault.
//
// The demo (demo.go) drives the real binary on a throw-away workspace, kills it during its
// work, and fails if anything that was acknowledged is missing.
package cli

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/operation"
	"ramet/internal/operation/session"
)

// Env is the program around a command line: what each group of commands needs of it.
type Env struct {
	Streams
	Background
	System  session.System
	Choice  session.Choice // of a workspace, where the command line makes none
	Servers ServerPorts
	Runs    RunsPorts
	Models  operation.Vendors
	Care    CarePorts
	MCP     MCPPorts
	// Screen is the terminal UI; nil where standard input or output is no terminal.
	// command carries out a command line in this process, on the workspace that is open
	// then, and returns what it prints.
	Screen func(ctx context.Context, s *session.Session, command Command) error
	// Pick lets a person choose; nil where there is no terminal.
	Pick Pick
	// Confined reports whether a confined command of an agent gave the command line.
	Confined bool
}

// Command carries out a command line and returns what it prints.
type Command func(ctx context.Context, args ...string) (string, error)

// Run carries out one command line and returns the exit code.
func Run(ctx context.Context, args []string, e Env) int {
	l := newLine(e, session.New(e.System, session.Choice{}))
	ctx = l.Attended(ctx)
	if e.Servers.Elsewhere != nil {
		l.elsewhere = func(ctx context.Context, start bool) (int, bool, error) {
			return e.Servers.Elsewhere(ctx, l, args, start)
		}
	}
	if e.Servers.Background != nil {
		l.background = func() (BackgroundKernel, error) { return e.Servers.Background(l.Session) }
	}
	l.args = args
	root := newRoot(e, l)
	l.Choice = e.Choice // the flags begin empty
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if cerr := l.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		return 0
	}
	var exit Exited
	if errors.As(err, &exit) {
		return int(exit)
	}
	if code := fault.CodeOf(err); ctx.Err() != nil && (code == fault.Failed || code == fault.Interrupted) {
		err = fault.New(fault.Interrupted, "stopped by a signal")
	}
	err = explainDescriptors(err)
	// Before the flags are parsed nobody knows about --json; then look.
	asJSON := l.JSON || hasFlag(args, "--json")
	(&printer.Printer{Out: e.Stderr, JSON: asJSON, Color: l.Color(e.ErrTerminal)}).Fail(l.Hide(err))
	return fault.Exit(err)
}

func newLine(e Env, s *session.Session) *Line {
	l := &Line{Streams: e.Streams, Background: e.Background, Session: s, confined: e.Confined, vendors: e.Models}
	s.Repaired, s.Made, s.Finished, s.Notice = l.TellRepair, l.TellMade, l.TellFinished, l.Note
	s.Command = within(e, l)
	s.CommandFor = func(ctx context.Context, c session.AgentCommand) int { return runForAgent(ctx, e, l, c) }
	return l
}

func hasFlag(args []string, flag string) bool {
	end := slices.Index(args, "--")
	if end < 0 {
		end = len(args)
	}
	return slices.Contains(args[:end], flag)
}

const about = `Run many LLM agents at once. Agents are durable processes: they fork, mail each other,
are killed with their whole subtree, and continue after a crash exactly where they were.

  ramet                           open the terminal: all agents on one screen (F1: keys)
  ramet exec "why is it flaky?"   run one turn and print the answer
  ramet fork --name clock --prompt "look at clock/" --run
                                  fork a child with its parent's whole conversation
  ramet ps                        list the agents and what they do
  ramet diff clock; ramet merge clock
                                  review its changes; merge them
  ramet serve; ramet web          the same in the browser
  ramet run start --recipe docs   a job with many agents and a durable log
  ramet demo                      a one-minute tour; needs no key

Without a terminal, ramet alone prints this help.

The workspace is that of the current project; --db, RAMET_DB and
--workspace choose another. "ramet help exit-codes" lists the exit codes.`

func openScreen(ctx context.Context, e Env, l *Line) error {
	if err := l.agreeOnVersion(ctx); err != nil {
		return err
	}
	return e.Screen(ctx, l.Session, within(e, l))
}

// newRoot makes the command ramet, with all commands below it.
func newRoot(e Env, l *Line) *cobra.Command {
	version := false
	root := &cobra.Command{
		Use:               "ramet",
		Short:             "An operating environment for LLM agents",
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		Args:              UnknownCommand,
		PersistentPreRunE: l.Prepare,
		RunE: func(c *cobra.Command, _ []string) error {
			if version {
				return l.Print(e.Care.Version())
			}
			if e.Screen == nil || l.JSON {
				return c.Help()
			}
			return openScreen(c.Context(), e, l)
		},
	}
	root.SetIn(e.Stdin)
	root.SetOut(e.Stdout)
	root.SetErr(e.Stderr)
	flags := root.PersistentFlags()
	flags.StringVar(&l.Choice.DB, "db", "", "database: a file, or postgres://user@host/database?schema=NAME")
	flags.StringVar(&l.Choice.Home, "home", "", "ramet's home folder (default $RAMET_HOME, else the XDG data folder + /ramet)")
	flags.StringVar(&l.Choice.Workspace, "workspace", "", "a project's folder, or the name of a known workspace")
	flags.BoolVar(&l.JSON, "json", false, "print JSON")
	root.Flags().BoolVarP(&version, "version", "v", false, "print the version")
	root.SetFlagErrorFunc(BadFlag)
	root.SetHelpCommand(HelpCommand())
	root.SetHelpFunc(showHelp)
	for _, g := range groups(e, l) {
		id := ""
		if g.title != "" {
			id = g.id
			root.AddGroup(&cobra.Group{ID: id, Title: g.title})
		}
		for _, c := range g.commands {
			c.GroupID = id
			root.AddCommand(c)
		}
	}
	root.Long = about
	AddCompletion(root)
	return root
}

type inputKey struct{}

// Given lets a command line that is carried out within the workspace read a text from its
// standard input, which is empty else.
func Given(ctx context.Context, input string) context.Context {
	return context.WithValue(ctx, inputKey{}, input)
}

// within carries out command lines in the workspace that is open.
func within(e Env, l *Line) Command {
	return func(ctx context.Context, args ...string) (string, error) {
		if l.Opened() == nil {
			return "", fault.New(fault.Failed, "the workspace is not open yet")
		}
		var out, warnings bytes.Buffer
		e := e // several may be carried out at a time
		input, _ := ctx.Value(inputKey{}).(string)
		e.Streams = Streams{Stdin: strings.NewReader(input), Stdout: &out, Stderr: &warnings}
		e.Screen = nil
		sub := newLine(e, l.Within())
		chosen := sub.Choice // the flags begin empty
		sub.args = args
		root := newRoot(e, sub)
		sub.Choice = chosen
		root.SetArgs(args)
		if err := root.ExecuteContext(ctx); err != nil {
			return "", l.Hide(err)
		}
		return warnings.String() + out.String(), nil
	}
}

// Tree returns every command, to be read and not run: man pages and completions are made of it
// when a release is built (tools/release).
func Tree() *cobra.Command {
	return newRoot(Env{}, newLine(Env{}, session.New(session.System{}, session.Choice{})))
}

// explainDescriptors gives a failure for want of file descriptors its own words, whatever it met
// first: a configuration or a folder that cannot be opened is not a bad one.
func explainDescriptors(err error) error {
	f, ok := fault.Of(err)
	if !durable.Crowded(err) || ok && f.Hint == durable.CrowdedHint {
		return err
	}
	if ok && strings.HasPrefix(string(f.Code), "PROVIDER_") {
		return f.WithHint(durable.CrowdedHint)
	}
	return fault.New(fault.StorageIO, "%w", err).WithHint(durable.CrowdedHint)
}

type group struct {
	id, title string
	commands  []*cobra.Command
}

// groups makes the commands by group: those that are written by hand, then those of the other operations.
func groups(e Env, l *Line) []group {

	few := func(commands ...*cobra.Command) []*cobra.Command { return commands }
	all := []group{
		{"agents", "Agents:", few(execCommand(l), serveHTTPCommand(l, e.Servers), webCommand(l, e.Servers), acpCommand(l, e.Care.Version), forkAgentCommand(l),
			parent("worktree", "List or remove the worktrees of agents", `List or remove the git worktrees that "ramet fork --worktree" made. To merge the work in
one, use "ramet merge".`), killCommand(l), resumeCommand(e, l), serverCommand(e, l), serviceCommand(l), addAllProjects(e, l, l.Command(&operation.Ps)))},
		{"history", "History:", nil},
		{"files", "Files:", nil},
		{"mail", "Mail:", few(mailCommand(l))},
		{"proof", "Verification and maintenance:", few(verifyStoreCommand(l), keyCommand(l))},
		{"runs", "Runs:", few(runsCommand(l, e.Runs), workerCommand(l, e.Runs), schemaCommand(l, e.Runs.OpenAPI))},
		{"ledger", "Ledger:", few(trackCommand(l))},
		{"models", "Models:", few(authCommand())},
		{"mcp", "MCP:", few(mcpCommand(l, e.MCP))},
		{"settings", "", few(configCommand(l), promptCommand(), doctorCommand(e, l), demoCommand(l), versionCommand(l, e.Care.Version))},
	}
	for i := range all {
		all[i].addOperations(l)
	}
	return all
}

// addOperations adds the commands of operations that have none of their own in the group. Flags and help of all of them
// take a sixth of a short start, so it derives them for the commands that the command line names.
func (g *group) addOperations(l *Line) {
	named := func(name string) int {
		return slices.IndexFunc(g.commands, func(c *cobra.Command) bool { return c.Name() == name })
	}
	for _, o := range operation.All() {
		d := o.Describe()
		if d.Group != g.id || d.Faces&operation.CLI == 0 || named(d.Name) >= 0 {
			continue
		}
		c := l.outlineCommand(o)
		if l.args == nil || slices.ContainsFunc(l.args, func(arg string) bool { return arg == c.Name() || c.HasAlias(arg) }) {
			l.detailCommand(c, o)
		}
		above, name, nested := strings.Cut(d.Name, " ")
		if i := named(above); nested && i >= 0 {
			if own, _, err := g.commands[i].Find([]string{name}); err != nil || own == g.commands[i] {
				g.commands[i].AddCommand(c)
			}
		} else {
			g.commands = append(g.commands, c)
		}
	}
}
