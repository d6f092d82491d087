package cli

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/files"
	"ramet/internal/operation/session"
	"ramet/internal/store/database"
)

// UnknownCommand refuses what is no command below c, and says which one was
// probably meant.
func UnknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	err := fault.New(fault.Usage, "unknown command %.80q", args[0])
	if near := text.NearestWord(args[0], names); near != "" && (c.HasParent() || guesses[args[0]] == "") {
		return err.WithHint("did you mean `%s %s`?", c.CommandPath(), near)
	}
	if advice := guesses[args[0]]; advice != "" && !c.HasParent() {
		return err.WithHint("%s", advice)
	}
	return err.WithHint("`%s --help` lists the commands", c.CommandPath())
}

// CheckArguments demands between least and most positional arguments.
func CheckArguments(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return fault.New(fault.Usage, "%s: an argument is missing", c.CommandPath()).WithHint("usage: %s", c.UseLine())
		case len(args) > most:
			hint := "usage: " + c.UseLine()
			if takesText(c) {
				hint += "; put a text of several words in quotes"
			}
			return fault.New(fault.Usage, "%s: unexpected argument %.80q", c.CommandPath(), args[most]).WithHint("%s", hint)
		}
		return nil
	}
}

func takesText(c *cobra.Command) bool { return strings.Contains(c.Use, "TEXT") }

// BadFlag returns a fault for a wrong flag.
func BadFlag(c *cobra.Command, err error) error {
	path := c.CommandPath()
	if value, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return fault.New(fault.Usage, "%s: %.80q is not a value for --%s", path, value.GetValue(), value.GetFlag().Name).
			WithHint("%s", describeValue(value.GetFlag().Value.Type(), value.GetValue()))
	}
	f := fault.New(fault.Usage, "%s: %w", path, err)
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return f.WithHint("see `%s --help`", path)
	}
	var names []string
	c.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	if near := text.NearestWord(unknown.GetSpecifiedName(), names); len(unknown.GetSpecifiedName()) > 1 && near != "" {
		return f.WithHint("did you mean --%s?", near)
	}
	if takesText(c) {
		return f.WithHint("see `%s --help`; put -- in front of a text that begins with -", path)
	}
	return f.WithHint("see `%s --help`", path)
}

// describeValue returns a hint about the values of a kind of flag.
func describeValue(kind, value string) string {
	switch kind {
	case "duration":
		if _, err := strconv.ParseFloat(value, 64); err == nil {
			return fmt.Sprintf("it takes a time with its unit: %ss is seconds, %sm minutes", value, value)
		}
		return "it takes a time with its unit, such as 90s or 10m"
	case "bool":
		return "it takes true or false"
	case "int", "int64", "uint", "float64", "intSlice":
		return "it takes a number"
	}
	return "it takes a text"
}

// Prepare is done before every command.
func (l *Line) Prepare(c *cobra.Command, args []string) error {
	if err := c.ValidateFlagGroups(); err != nil {
		return BadFlag(c, err)
	}
	l.Reads = reading[c.CommandPath()]
	if err := NotEmpty(c, args); err != nil {
		return err
	}
	if l.Hold != nil {
		l.Choice.Home = "" // a kernel has one home
	}
	if l.confined {
		if err := l.refuseConfined(c); err != nil {
			return err
		}
	}
	if name := strings.TrimPrefix(c.CommandPath(), "ramet "); slices.Contains(persons, name) {
		if err := l.Person(name); err != nil {
			return err
		}
	}
	c.SetContext(database.CheckUpgrades(c.Context(), l.agreeOnVersion))
	return l.carryElsewhere(c)
}

// NotEmpty refuses --db "" and its like: they come from variables that are not
// set, and must not lead to another workspace than the one that was meant.
func NotEmpty(c *cobra.Command, _ []string) error {
	for _, name := range []string{"db", "home", "workspace"} {
		if flag := c.Flags().Lookup(name); flag != nil && flag.Changed && flag.Value.String() == "" {
			return fault.New(fault.Usage, "--%s is empty", name).WithHint("give it a value, or leave it out")
		}
	}
	return nil
}

// HelpCommand is cobra's, but it does not answer a question about a command
// that does not exist.
func HelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND|exit-codes]",
		Short: "Help about any command",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == "exit-codes" {
				_, err := fmt.Fprintln(c.OutOrStdout(), exitCodes())
				return err
			}
			topic, rest, err := c.Root().Find(args)
			if err != nil {
				return err
			}
			if err := UnknownCommand(topic, rest); err != nil {
				return err
			}
			topic.InitDefaultHelpFlag()
			return topic.Help()
		},
	}
}

// exitCodes returns the table of exit codes.
func exitCodes() string {
	var b strings.Builder
	b.WriteString("Exit codes: 0 ok")
	last := 0
	for _, row := range fault.Table() {
		before := ", "
		if row.Exit != last {
			before = fmt.Sprintf("\n%5d  ", row.Exit)
		}
		b.WriteString(before + string(row.Code))
		last = row.Exit
	}
	return b.String()
}

func showHelp(c *cobra.Command, _ []string) {
	fmt.Fprintf(c.OutOrStdout(), "%s\n\n%s", cmp.Or(strings.TrimSpace(c.Long), c.Short), c.UsageString())
}

// reading are the commands that change nothing: a database that was named and is not
// there is not made for them. What completes arguments does not make one either.
var reading = map[string]bool{"ramet mail": true,
	"ramet read": true, "ramet verify": true, "ramet doctor": true,
	"ramet gc": true, "ramet worktree list": true,
	"ramet __complete": true, "ramet __completeNoDesc": true}

// persons lists the commands that an agent may not carry out. Others decide it by their arguments.
var persons = []string{"serve", "web"}

// TellFinished prints that a restore of files was finished that another process had begun.
func (l *Line) TellFinished(d files.RestoreDone) { l.Note(d.Finished()) }

// TellMade prints that a database was made.
func (l *Line) TellMade(db string) {
	fmt.Fprintf(l.Stderr, "made %s: a new workspace\n", text.Line(db, 400))
}

// Advice that several words share.
const (
	endAdvice    = "`ramet kill AGENT` ends an agent, `ramet mail --delete N` deletes mail, `ramet run rm ID` removes a run"
	openAdvice   = "`ramet` alone opens the terminal, `ramet web` the page of a running server"
	answerAdvice = "questions are answered in the terminal (`ramet`), or on the page (`ramet web`)"
	startAdvice  = "nothing has to be set up: `ramet` opens the terminal, `ramet fork --name NAME` makes an agent"
)

// guesses has words that people try as commands, with advice on which command does it. Words that mean one
// command are its aliases instead (operation.Doc).
var guesses = map[string]string{
	"status":    "`ramet ps` lists the agents, `ramet server status` shows the background kernel, `ramet doctor` checks the installation",
	"stop":      "`ramet interrupt AGENT` stops a turn, `ramet kill AGENT` ends an agent, `ramet server stop` stops the background kernel",
	"attach":    openAdvice,
	"open":      openAdvice,
	"ui":        openAdvice,
	"login":     "`ramet auth set VENDOR` stores a key, `ramet mcp login SERVER` logs in at an MCP server",
	"delete":    endAdvice,
	"rm":        endAdvice,
	"new":       startAdvice,
	"init":      startAdvice,
	"sessions":  "`ramet resume` lists your projects, `ramet ps` the agents of this one, `ramet import` imports sessions of other programs",
	"update":    "`ramet models update` updates the table of models; to update ramet itself, install the new version in its place",
	"approve":   answerAdvice,
	"answer":    answerAdvice,
	"questions": answerAdvice,
	"model":     "`ramet models` lists them, `ramet config set model VENDOR/NAME` sets the default, /model in the terminal changes an agent's",
}

// lineAlone replaces what the script for bash uses of the package bash-completion, where that is not
// installed: macOS and many images have none, and each Tab would print an error.
//
//go:embed alone.bash
var lineAlone string

// AddCompletion adds the commands that print scripts for shells, which refuse
// arguments as all others do.
func AddCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		c.Args = UnknownCommand
		c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		for _, shell := range c.Commands() {
			shell.Args = CheckArguments(0, 0)
			if shell.Name() == "bash" {
				print := shell.RunE
				shell.RunE = func(c *cobra.Command, args []string) error {
					if _, err := io.WriteString(c.OutOrStdout(), lineAlone); err != nil {
						return err
					}
					return print(c, args)
				}
			}
		}
	}
}

// completeWithin limits the time to complete names for a shell: less than a command waits for
// a server that is away.
const completeWithin = 2 * time.Second

// complete completes with words of the workspace, which may depend on the arguments before.
func (l *Line) complete(words func(context.Context, *session.Workspace, []string) ([]string, error)) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(c.Context(), completeWithin)
		defer cancel()
		ws, err := l.Open(ctx)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		out, err := words(ctx, ws, args)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// usableModels lists the models that can be used.
func usableModels(_ context.Context, ws *session.Workspace, _ []string) (out []string, _ error) {
	for _, m := range ws.Models().Usable() {
		out = append(out, m.Ref.String())
	}
	return out, nil
}

// driverNames lists the programs that can drive agents, and ramet itself.
func driverNames(ctx context.Context, ws *session.Workspace, _ []string) (out []string, _ error) {
	for _, d := range ws.Programs().Drivers(ctx, false).Drivers {
		out = append(out, d.Name)
	}
	return append(out, session.Own), nil
}

// markLabels lists the labels of the marks of an agent, which is the first argument.
func markLabels(ctx context.Context, ws *session.Workspace, args []string) ([]string, error) {
	a, err := agent.Find(ctx, ws.Store, args[0])
	if err != nil {
		return nil, err
	}
	return ws.Agents().Labels(ctx, a.ID)
}

// trashItems lists the ids of items in the trash.
func trashItems(ctx context.Context, ws *session.Workspace, _ []string) (out []string, _ error) {
	all, err := ws.Care().ShowTrash(ctx)
	for _, i := range all.Items {
		out = append(out, i.ID+"\t"+text.Name(i.Path))
	}
	return out, err
}

// agentNames lists the names and ids of agents.
func agentNames(ctx context.Context, ws *session.Workspace, _ []string) (out []string, _ error) {
	list, err := ws.Store.Agents(ctx, agent.Filter{Brief: true})
	for _, a := range list {
		name := cmp.Or(a.Name, string(a.ID))
		if a.IsZero() {
			name = "0"
		}
		out = append(out, name)
	}
	return out, err
}
