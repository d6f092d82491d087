package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/driver/foreign"
	"ramet/internal/operation"
	"ramet/internal/operation/session"
	"ramet/internal/run/recipe"
	"ramet/internal/turn/permit"
)

// derivedFrom is the annotation of a command that has the name of its operation.
const derivedFrom = "operation"

// Command derives the command of an operation: usage, flags, help, completion.
func (l *Line) Command(o operation.Operation) *cobra.Command {
	c := l.outlineCommand(o)
	l.detailCommand(c, o)
	return c
}

// outlineCommand derives what lists of commands show of an operation's command.
func (l *Line) outlineCommand(o operation.Operation) *cobra.Command {
	d := o.Describe()
	return &cobra.Command{Use: d.Name[strings.LastIndexByte(d.Name, ' ')+1:], Short: d.Summary,
		Aliases: strings.Fields(d.Aliases), Annotations: map[string]string{derivedFrom: d.Name},
		RunE: func(c *cobra.Command, args []string) error {
			in, err := l.Bind(c, o, args)
			if err != nil {
				return err
			}
			return l.Do(c, o, in)
		}}
}

// detailCommand derives the rest of an operation's command.
func (l *Line) detailCommand(c *cobra.Command, o operation.Operation) {
	least, most, places := 0, 0, []operation.Param{}
	offered := operation.Offered(o, operation.CLI)
	for _, p := range offered {
		if !p.IsPositional(operation.CLI) {
			if p.Value != "" && p.Required(operation.CLI) {
				c.Use += " --" + p.Flag() + " " + p.Value
			}
			continue
		}
		places = append(places, p)
		word := p.Metavar
		if p.Type == reflect.TypeFor[operation.Text]() {
			word += "|-"
		}
		if p.Required(operation.CLI) {
			least++
		} else {
			word = "[" + word + "]"
		}
		most++
		if p.Type.Kind() == reflect.Slice { // it is the last one
			most = math.MaxInt
			if !strings.HasSuffix(p.Metavar, "…") {
				word += "…"
			}
		}
		c.Use += " " + word
	}
	c.Long, c.Args = operation.Expand(o, operation.CLI, o.Describe().Help), CheckArguments(least, most)
	c.ValidArgsFunction = func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return l.completer(&places[min(len(args), len(places)-1)])(c, args, begun)
	}
	l.addFlags(c, o, offered)
}

func (l *Line) addFlags(c *cobra.Command, o operation.Operation, offered []operation.Param) {
	aliases := map[string]string{}
	for _, p := range offered {
		if p.IsPositional(operation.CLI) {
			continue
		}
		help := operation.Expand(o, operation.CLI, p.Help)
		switch p.Type {
		case reflect.TypeFor[operation.Text]():
			help += " (- reads standard input)"
		case reflect.TypeFor[operation.Duration]():
			help += ", such as 90s or 10m"
		}
		if p.Required(operation.CLI) {
			help += " (required)"
		}
		flag := c.Flags().VarPF(&words{kind: cmp.Or(p.Value, flagKind(p.Type)), preset: p.Default(operation.CLI)}, p.Flag(), p.Short, help)
		if p.Type.Kind() == reflect.Bool {
			flag.NoOptDefVal = "true"
		}
		c.RegisterFlagCompletionFunc(p.Flag(), func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			return l.completer(&p)(c, args, begun)
		})
		for _, alias := range p.Aliases {
			aliases[alias] = p.Flag()
		}
	}
	if one := strings.Fields(o.Describe().OneOf); one != nil {
		c.MarkFlagsMutuallyExclusive(one...)
	}
	c.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if real, ok := aliases[name]; ok {
			name = real
		}
		return pflag.NormalizedName(name)
	})
}

// words is a flag that keeps what was typed. It is parsed after all flags are known, because pflag
// hides the errors of values.
type words struct {
	given        []string
	kind, preset string
}

func (w *words) Set(word string) error { w.given = append(w.given, word); return nil }
func (w *words) Type() string          { return w.kind }
func (w *words) String() string {
	if len(w.given) > 0 {
		return w.given[len(w.given)-1]
	}
	return w.preset
}

// flagKind is the type of a flag's value as help shows it.
func flagKind(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[id.Message](), reflect.TypeFor[operation.Size]():
		return "string"
	case reflect.TypeFor[operation.Duration]():
		return "duration"
	}
	switch t.Kind() {
	case reflect.Float64:
		return "float64"
	case reflect.Bool:
		return "bool"
	case reflect.Int, reflect.Int64:
		return "int"
	case reflect.Slice, reflect.Map:
		return "strings"
	}
	return "string"
}

// Bind fills the input of an operation from a command line.
func (l *Line) Bind(c *cobra.Command, o operation.Operation, args []string) (any, error) {
	in := o.New()
	for _, p := range operation.Offered(o, operation.CLI) {
		var given []string
		if p.IsPositional(operation.CLI) {
			n := min(1, len(args))
			if p.Type.Kind() == reflect.Slice {
				n = len(args)
			}
			given, args = args[:n], args[n:]
		} else if flag := c.Flags().Lookup(p.Flag()); flag.Changed {
			given = flag.Value.(*words).given
		}
		if p.Required(operation.CLI) && !p.IsPositional(operation.CLI) && strings.Join(given, "") == "" {
			return nil, fault.New(fault.Usage, "%s: --%s is missing", o.Describe().Name, p.Flag()).WithHint("give %s", p.Help)
		}
		if p.Type.Kind() != reflect.Slice && p.Type.Kind() != reflect.Map && len(given) > 1 {
			given = given[len(given)-1:] // the last one counts, as in every shell
		}
		for _, word := range given {
			if p.Type == reflect.TypeFor[operation.Text]() {
				text, err := l.Text(word)
				if err != nil {
					return nil, err
				}
				word = text
			}
			if p.Type == reflect.TypeFor[operation.Path]() && word != "" && word != "-" && !filepath.IsAbs(word) {
				word = filepath.Join(l.Dir, word)
			}
			if err := p.Set(in, word); err != nil {
				err = operation.Explain(o, operation.CLI, err)
				if e, ok := errors.AsType[*operation.FieldError](err); ok && e.Malformed {
					e.Fault.Message = c.CommandPath() + ": " + e.Fault.Message
					e.Fault.Hint = describeValue(flagKind(p.Type), word)
				}
				return nil, err
			}
		}
	}
	return in, operation.SetDefaults(o, operation.CLI, in)
}

// Do carries out an operation and prints its output.
func (l *Line) Do(c *cobra.Command, o operation.Operation, in any) error {
	l.Reads = l.Reads || o.Describe().Effect == operation.Reads
	if brief, ok := in.(operation.TextInput); ok && !l.JSON {
		brief.ForText()
	}
	return operation.Explain(o, operation.CLI, l.carryOut(c.Context(), l.client(), o, in))
}

// client returns a client that carries out operations in this process.
func (l *Line) client() operation.Local {
	return operation.Local{Open: l.Open, Runs: l.OpenRuns, Own: l.Own, Ports: operation.Ports{Session: l.Session, Ledger: l.OpenLedger, Vendors: l.vendors,
		Tell: func(line string) { fmt.Fprintln(l.Stderr, line) }, Yes: l.Yes, Secret: l.secret}}
}

// carryOut asks a person if the input wants it, calls the operation and prints its output.
func (l *Line) carryOut(ctx context.Context, client operation.Client, o operation.Operation, in any) error {
	if err := l.confirm(ctx, client, o, in); err != nil {
		return err
	}
	out, err := client.Call(ctx, o, in)
	if part := (operation.Incomplete{}); err != nil && !errors.As(err, &part) {
		return err
	}
	if !l.JSON {
		for _, note := range o.ListNotes(in, out) {
			l.Note(operation.Expand(o, operation.CLI, note))
		}
	}
	result := o.Result(operation.CLI, in, out)
	if stream, ok := result.JSON.(printer.Stream); ok {
		name, parts := stream.Parts()
		return printLines(l, l.Stdout, name, parts)
	}
	if failed := l.Print(result); err == nil {
		err = failed
	}
	return err
}

// confirm asks a person at a terminal what the input leaves undecided.
func (l *Line) confirm(ctx context.Context, client operation.Client, o operation.Operation, in any) error {
	asks, ok := in.(operation.Confirmer)
	if !ok || l.Password == nil || l.JSON || !asks.Undecided() {
		return nil
	}
	asks.SetDryRun(true)
	plan, err := client.Call(ctx, o, in)
	asks.SetDryRun(false)
	if err != nil {
		return err
	}
	question := ""
	about := printer.Result{Write: func(w *printer.Writer) { question = o.Question(w, plan) }}
	(&printer.Printer{Out: l.Stderr, Color: l.Color(l.ErrTerminal), Now: l.Now}).Print(about)
	if question == "" {
		return nil
	}
	return asks.Decide(l.Yes(question), plan)
}

// completer returns the completion of a field by its type.
func (l *Line) completer(p *operation.Param) cobra.CompletionFunc {
	if few := p.Words(); few != nil {
		return cobra.FixedCompletions(few, cobra.ShellCompDirectiveNoFileComp)
	}
	switch p.Type {
	case reflect.TypeFor[operation.AgentRef](), reflect.TypeFor[[]operation.AgentRef]():
		return l.complete(agentNames)
	case reflect.TypeFor[operation.Path]():
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	case reflect.TypeFor[operation.Model]():
		return l.complete(usableModels)
	case reflect.TypeFor[operation.Driver]():
		return l.complete(driverNames)
	case reflect.TypeFor[operation.Recipe]():
		return cobra.FixedCompletions(recipe.EmbeddedNames(), cobra.ShellCompDirectiveDefault)
	case reflect.TypeFor[operation.Pairs]():
		if p.Name == "limits" {
			return cobra.FixedCompletions(limitNames(), cobra.ShellCompDirectiveNoSpace)
		}
	case reflect.TypeFor[operation.Mode]():
		return cobra.FixedCompletions(permit.ModeNames()[:len(permit.Modes())], cobra.ShellCompDirectiveNoFileComp)
	case reflect.TypeFor[operation.Label]():
		return l.complete(markLabels)
	case reflect.TypeFor[operation.TrashRef]():
		return l.complete(trashItems)
	case reflect.TypeFor[operation.TrackedID]():
		return l.completeTracked
	case reflect.TypeFor[operation.SettingKey]():
		return cobra.FixedCompletions(settingKeys(), cobra.ShellCompDirectiveNoFileComp)
	case reflect.TypeFor[operation.KeyOwner]():
		return cobra.FixedCompletions(keyOwners(), cobra.ShellCompDirectiveNoFileComp)
	case reflect.TypeFor[operation.ForeignProgram]():
		return cobra.FixedCompletions(foreign.Programs(), cobra.ShellCompDirectiveDefault)
	case reflect.TypeFor[operation.ExportTarget]():
		return cobra.FixedCompletions(foreign.Writes(), cobra.ShellCompDirectiveNoFileComp)
	case reflect.TypeFor[operation.PromptName]():
		return cobra.FixedCompletions(session.PromptNames(), cobra.ShellCompDirectiveNoFileComp)
	}
	return cobra.NoFileCompletions
}
