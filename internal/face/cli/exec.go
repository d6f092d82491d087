package cli

import (
	"context"
	"errors"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/jsonschema"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/kernel"
	"ramet/internal/model/catalog"
	"ramet/internal/model/llm"
	"ramet/internal/operation"
	"ramet/internal/operation/session"
	"ramet/internal/turn/permit"
)

type execFlags struct {
	fork, fresh, noWait, resume, all, again, noTools, worktree, clean bool

	name, at, model, driver, effort, schema, maxCost, cwd, role string

	search bool

	point         id.Message // what at says
	maxTokens     int64
	allow, images []string
	timeout       time.Duration
}

func execCommand(l *Line) *cobra.Command {
	var f execFlags
	c := &cobra.Command{
		Use:   "exec [AGENT] PROMPT|-",
		Short: "Run one turn of an agent; print its answer",
		Long: `Run one turn of an agent (default: agent 0) without a screen. The prompt is added to
its history; the model answers and calls tools until it is done. The answer goes to
standard output, progress to standard error. PROMPT - reads standard input.
/NAME ARGUMENTS runs a command that you or the project define (.agents/commands,
.claude/commands).

If the background kernel runs, the turn runs there, with the permissions of this
command. Questions appear here, if this is a terminal, and in every open terminal, page
and editor of the project. If there is none, the call is refused at once.

The command waits for the tasks of children that the turn forks; with --no-wait they
continue in the background. Reports that the agent did not read are printed, and the
exit code is 9 (UNREAD): exec --continue lets it read them. After a crash,
exec --continue --all continues everything that was interrupted.

Tools that only read need no approval. Commands and writes need a rule:
--allow bash, --allow 'bash(go test *)', --allow 'write(docs/**)', or allow in your
configuration; with permission = "sandbox" they run inside the sandbox. The model
learns which calls were denied and continues without them; the exit code is 7 if
every call was denied.

With --schema FILE the answer is JSON that matches a JSON Schema. If it doesn't, the model
is asked once more; then the command fails with OUTPUT_INVALID. With --search the model may
search the web if its vendor can; the answer ends with its sources.

With --driver another program does the work: Claude Code, Codex, or any that speaks the
Agent Client Protocol, with its own tools and login. Its work is recorded in the history,
its questions appear here, and you can stop, kill and fork the agent like any other.

With --json every event is one line of JSON.`,
		Args:              execArgs(l, &f),
		ValidArgsFunction: l.CompleteAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			if f.noWait && l.Detach != nil {
				if there, err := l.GoOn(c.Context(), true); there {
					return err
				}
			}
			return runExec(l, c, f, args)
		},
	}
	flags := c.Flags()
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "agent" {
			name = "role"
		}
		return pflag.NormalizedName(name)
	})
	flags.BoolVar(&f.fork, "fork", false, "run in a new child")
	flags.StringVar(&f.name, "name", "", "with --fork: a name for the child")
	flags.StringVar(&f.at, "at", "", "with --fork: message id at which the child's context ends")
	flags.BoolVar(&f.clean, "clean", false, "with --fork --worktree: only what is committed")
	flags.BoolVar(&f.worktree, "worktree", false, "with --fork: give the child files of its own, a git worktree and a branch")
	flags.StringVar(&f.role, "role", "", "with --fork: make the child by a definition of .agents/agents or .claude/agents")
	flags.BoolVar(&f.fresh, "fresh", false, "start with an empty context")
	flags.BoolVar(&f.resume, "continue", false, "continue without a new prompt")
	flags.BoolVar(&f.all, "all", false, "with --continue: continue everything that was interrupted")
	flags.BoolVar(&f.again, "resume", false, "continue an interrupted task in a new child, forked where it stopped")
	flags.StringVar(&f.model, "model", "", "vendor/name of the model (see \"ramet models\")")
	flags.StringVar(&f.driver, "driver", "", "let another program drive the agent from now on: claude, codex, … (see \"ramet drivers\"); --model is its own word then")
	flags.StringVar(&f.effort, "effort", "", "how hard the model thinks from now on: "+strings.Join(llm.Efforts(), ", "))
	flags.StringVar(&f.schema, "schema", "", "a file with a JSON Schema: the answer is JSON that fits it, or the command fails")
	flags.BoolVar(&f.search, "search", false, "let the model search the web at its vendor, which charges for it")
	flags.StringVar(&f.maxCost, "max-cost", "", "the most that this turn and its children may cost, in dollars")
	flags.Int64Var(&f.maxTokens, "max-tokens", 0, "the most tokens that this turn and its children may use")
	flags.StringArrayVar(&f.allow, "allow", nil, "permit calls of a tool: bash, 'bash(go test *)', 'write(docs/**)', 'mcp(SERVER)', 'fork(DRIVER)'; repeats")
	flags.StringArrayVar(&f.images, "image", nil, "an image or a PDF that goes with the prompt; repeats. @FILE in the prompt does the same")
	flags.DurationVar(&f.timeout, "timeout", 0, "the longest that it may take, such as 90s or 10m")
	flags.BoolVar(&f.noWait, "no-wait", false, "do not wait for the tasks of children")
	flags.StringVar(&f.cwd, "cwd", "", "the folder where tools work, instead of the agent's own")
	flags.BoolVar(&f.noTools, "no-tools", false, "without the tools that touch this machine")
	c.RegisterFlagCompletionFunc("model", l.CompleteModels)
	c.RegisterFlagCompletionFunc("driver", l.CompleteDrivers)
	c.RegisterFlagCompletionFunc("effort", cobra.FixedCompletions(llm.Efforts(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func execArgs(l *Line, f *execFlags) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case f.again:
			return CheckArguments(1, 2)(c, args)
		case f.resume && f.all:
			return CheckArguments(0, 0)(c, args)
		case f.resume:
			return CheckArguments(0, 1)(c, args)
		case slashed(args):
			return nil
		}
		return CheckArguments(1, 2)(c, args)
	}
}

// slashed reports whether the arguments are a command of the user or the project: /name and its arguments.
func slashed(args []string) bool { return len(args) > 1 && strings.HasPrefix(args[0], "/") }

// runExec checks everything that can be checked before anything happens.
func runExec(l *Line, c *cobra.Command, f execFlags, args []string) (failed error) {
	prompt, err := f.prompt(c)
	if err != nil {
		return err
	}
	ref := "0"
	if slashed(args) && !f.resume && !f.again {
		args = []string{strings.Join(args, " ")}
	}
	if len(args) == 2 || (f.resume || f.again) && len(args) == 1 {
		ref = args[0]
	}
	if !f.resume && (!f.again || len(args) == 2) {
		if prompt.Text, err = l.Text(args[len(args)-1]); err != nil {
			return err
		}
		if err := session.CheckPrompt(prompt.Text); err != nil {
			return err
		}
	}
	if f.all && !f.resume {
		return fault.New(fault.Usage, "--all is for --continue: it continues everything that was interrupted")
	}
	for i, image := range f.images {
		f.images[i] = l.path(image)
	}
	if prompt.Files, err = session.Attach(f.images...); err != nil {
		return err
	}
	if len(prompt.Files) > 0 && prompt.Text == "" {
		return fault.New(fault.Usage, "--image goes with a prompt")
	}
	form := "" // that the answer is to have, for the model
	if c.Flags().Changed("schema") {
		schema, err := f.form(l)
		if err != nil {
			return err
		}
		prompt.Schema, form = schema.Text(), "\n\n"+schema.Ask()
	}
	terms := &kernel.Terms{NoTools: f.noTools, Unattended: asker(l) == nil && !f.noWait}
	if f.cwd != "" {
		terms.Cwd = l.path(f.cwd)
	}
	for _, text := range f.allow {
		rule, err := permit.Parse(text)
		if err != nil {
			return err
		}
		terms.Allow = append(terms.Allow, rule)
	}
	ctx := c.Context()
	if c.Flags().Changed("timeout") {
		if f.timeout <= 0 {
			return fault.New(fault.Usage, "--timeout must be longer than nothing")
		}
		limited, cancel := context.WithTimeout(ctx, f.timeout)
		defer cancel()
		defer func() { failed = overdue(limited, failed) }()
		ctx = limited
	}
	ws, a, err := l.Find(ctx, ref)
	if err != nil {
		return err
	}
	if err := agent.NeedLiving(a); err != nil {
		return err
	}
	if c.Flags().Changed("driver") {
		if prompt.Model, err = ws.Programs().Driver(f.driver, f.model); err != nil {
			return err
		}
	}
	if terms.Cwd != "" {
		if _, err := ws.Folder(a, terms.Cwd); err != nil {
			return err
		}
	}
	w := watch(l)
	if l.Terminal && !l.JSON && form == "" {
		w.live = &live{out: l.Stdout}
	}
	if l.Held() {
		if _, agents := l.Own(); agents && (f.cwd != "" || len(terms.Allow) > 0) {
			return fault.New(fault.Denied, "a command of an agent has the permissions of that agent: leave out --allow and --cwd")
		}
		if l.Stay != nil {
			l.Stay() // a client that is lost stops nothing
		}
		ws.Turns().Lend(ctx, a.ID)
	} else {
		if err := ws.Start(ctx, session.Kernel{Timeout: f.timeout, Attended: l.ErrTerminal && !l.JSON, Warn: w.note}); err != nil {
			return err
		}
		defer ws.Stopped()
	}
	prompt.Terms = terms
	if !f.noWait {
		defer terms.Withdraw()
	}
	if f.all {
		return continueAll(l, ctx, ws, terms, w)
	}
	if err := ws.Prompts().Word(ctx, a, &prompt); err != nil {
		return err
	}
	if prompt.Text != "" {
		prompt.Text += form
	}
	if err := f.countable(ws.Kernel, a, prompt.Model); err != nil {
		return err
	}
	if len(prompt.Files) > 0 {
		if err := ws.Models().CheckSees(ctx, a.ID, prompt.Model); err != nil {
			return err
		}
	}
	if f.again {
		if a, err = ws.Agents().Resume(ctx, a); err != nil {
			return err
		}
		prompt.Task = true
	}
	if f.fork {
		if err := ws.Agents().Startable(a, prompt.Model); err != nil {
			return err
		}
		forked, err := ws.Agents().Fork(ctx, session.Fork{Parent: a, Name: f.name, At: f.point, Worktree: f.worktree, Clean: f.clean, Model: prompt.Model, Effort: prompt.Effort, Role: f.role})
		if err != nil {
			return err
		}
		a = forked.Child
	}
	if err := f.limit(ctx, ws, a, &prompt); err != nil {
		return err
	}
	return turn(l, ctx, ws, a, prompt, f, w)
}

// overdue says of what ended because the time of the command was over, wherever that was, that
// it was.
func overdue(limited context.Context, err error) error {
	if !errors.Is(err, context.DeadlineExceeded) || limited.Err() == nil || fault.CodeOf(err) != fault.Failed {
		return err
	}
	return fault.New(fault.TimedOut, "the time allowed ran out: %w", err).WithHint("give it more with --timeout")
}

// prompt reads the flags that say how the turn is to be run.
func (f *execFlags) prompt(c *cobra.Command) (kernel.Prompt, error) {
	p := kernel.Prompt{Fresh: f.fresh, Again: f.resume, Search: f.search}
	var err error
	if c.Flags().Changed("model") && !c.Flags().Changed("driver") {
		if p.Model, err = catalog.Parse(f.model); err != nil {
			return p, err
		}
	}
	if c.Flags().Changed("effort") {
		if p.Effort, err = operation.ParseEffort(f.effort); err != nil {
			return p, err
		}
	}
	if c.Flags().Changed("name") {
		if !f.fork {
			return p, fault.New(fault.Usage, "--name is for --fork: it names the child")
		}
		if err := agent.CheckName(f.name); err != nil {
			return p, err
		}
	}
	if !f.fork && (c.Flags().Changed("at") || f.worktree || f.role != "") {
		return p, fault.New(fault.Usage, "--at, --worktree and --role are for --fork: they say how the child begins")
	}
	if f.clean && !f.worktree {
		return p, fault.New(fault.Usage, "--clean goes with --fork --worktree: without a worktree the files are shared")
	}
	if c.Flags().Changed("at") {
		if f.point, err = id.ParseMessage(f.at); err != nil {
			return p, err
		}
	}
	if f.again && (f.fork || f.fresh || f.resume) {
		return p, fault.New(fault.Usage, "--resume continues in a child of its own: don't combine it with --fork, --fresh or --continue")
	}
	if f.resume && f.fresh {
		return p, fault.New(fault.Usage, "--continue keeps the context that --fresh drops")
	}
	if c.Flags().Changed("max-tokens") && f.maxTokens <= 0 {
		return p, fault.New(fault.Usage, "--max-tokens must be more than nothing")
	}
	if c.Flags().Changed("max-cost") {
		_, err = parseMoney(f.maxCost)
	}
	return p, err
}

func (f execFlags) form(l *Line) (*jsonschema.Schema, error) {
	b, err := os.ReadFile(l.path(f.schema))
	if err != nil {
		return nil, fault.New(fault.NotFound, "read the schema: %w", err)
	}
	schema, err := jsonschema.Parse(b)
	if e, ok := fault.Of(err); ok {
		placed := *e
		placed.Message = f.schema + ": " + e.Message
		return nil, &placed
	}
	return schema, err
}

func parseMoney(s string) (llm.Money, error) {
	dollars, err := strconv.ParseFloat(strings.TrimPrefix(s, "$"), 64)
	if err != nil || !(dollars > 0) || dollars > 1e6 {
		return 0, fault.New(fault.Usage, "--max-cost %.40q is not an amount", s).WithHint("write dollars, such as 0.50")
	}
	return llm.Money(math.Round(dollars * 1e9)), nil
}

// countable refuses a limit on money where nobody knows what the model costs: it
// would never be reached.
func (f execFlags) countable(k *kernel.Kernel, a agent.Agent, asked llm.Ref) error {
	if f.maxCost == "" {
		return nil
	}
	m, err := k.Model(a, asked)
	if err != nil {
		return nil // whoever runs the turn will say so
	}
	v, err := catalog.Find(m.Ref.Vendor)
	if err != nil {
		return nil // a script, which costs nothing
	}
	if _, known := v.Price(m.Ref.Name); known {
		return nil
	}
	return fault.New(fault.Usage, "--max-cost can't be enforced: the price of %s is unknown", m.Ref).
		WithHint("limit it with --max-tokens")
}

// limit turns what this turn may spend into what the agent may have spent in all. What is set aside for calls
// from before counts as spent: it is no part of what this turn may, also where their process died and it stays so.
// Without a limit, one that an earlier turn left is lifted.
func (f execFlags) limit(ctx context.Context, ws *session.Workspace, a agent.Agent, p *kernel.Prompt) error {
	if f.maxCost == "" && f.maxTokens == 0 {
		if !a.Budget.IsZero() {
			p.Budget = &history.Budget{}
		}
		return nil
	}
	held, err := ws.Store.Held(ctx, a.ID)
	if err != nil {
		return err
	}
	spent, err := ws.Store.Spent(ctx, a.ID)
	if err != nil {
		return err
	}
	spent = spent.Plus(held)
	p.Budget = &history.Budget{}
	if f.maxCost != "" {
		most, err := parseMoney(f.maxCost)
		if err != nil {
			return err
		}
		total := spent.Cost + int64(most)
		p.Budget.Cost = &total
	}
	if f.maxTokens > 0 {
		total := spent.Tokens + f.maxTokens
		p.Budget.Tokens = &total
	}
	return nil
}

// turn runs it, here or in the kernel that holds the agent, and prints the answer.
func turn(l *Line, ctx context.Context, ws *session.Workspace, a agent.Agent, p kernel.Prompt, f execFlags, w *watcher) error {
	w.follow(ctx, a.ID, &ws.Kernel.Events)
	p.Leaves = f.noWait
	before, err := ws.Mail().Newest(ctx, a.ID)
	if err != nil {
		return err
	}
	if p.Again {
		before = 0 // what came while nobody went on with it is its own
	}
	ran, err := ws.Turns().Run(ctx, session.Turn{Agent: a.ID, Prompt: p,
		Tasks: !f.noWait, Said: w.said, Ask: asker(l)})
	w.end()
	if l.Held() && ctx.Err() != nil { // as if this process ended, and its children with it
		err = errors.Join(err, ws.Turns().StopBelow(context.WithoutCancel(ctx), a.ID))
	}
	if !ran.Began {
		return err
	}
	outcome := ran.Outcome
	if err == nil && outcome.Denied > 0 && outcome.Worked == 0 {
		// There is an answer all the same, perhaps why it could not be done.
		err = errors.Join(w.early(outcome), fault.New(fault.Denied, "every call that the model made was denied (%d)", outcome.Denied).
			WithHint("permit what it needs with --allow; standard error says which"))
	}
	if !f.noWait && ctx.Err() == nil { // what was reported to a turn that failed is not lost either
		lost := printUnread(ctx, ws, a, before, outcome, w, err == nil)
		if err == nil || !fault.Is(lost, fault.Unread) {
			err = errors.Join(err, lost)
		}
	}
	err = errors.Join(w.answer(outcome, err), err)
	if l.Leave == nil || ran.Turn == nil {
		return err
	}
	// The user has the answer. The children go on in the background.
	if err != nil {
		l.Fail(err)
	}
	l.Leave(fault.Exit(err))
	return ran.Turn.Tasks(context.WithoutCancel(ctx))
}
