package cli

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ramet/internal/agent"
	"ramet/internal/control"
	"ramet/internal/fault"
	"ramet/internal/history"
	"ramet/internal/id"
	"ramet/internal/llm"
	"ramet/internal/llm/catalog"
	"ramet/internal/loop"
	"ramet/internal/permit"
	"ramet/internal/printer"
	"ramet/internal/proc"
	"ramet/internal/registry"
)

// execFlags are the flags of exec.
type execFlags struct {
	fork, fresh, noWait, resume, again, noTools bool

	name, model, maxCost, cwd string
	maxTokens                 int64
	allow                     []string
	timeout                   time.Duration
}

func (s *session) execCommand() *cobra.Command {
	var f execFlags
	c := &cobra.Command{
		Use:   "exec [AGENT] PROMPT|-",
		Short: "Run one turn of an agent; print its answer",
		Long: `Run one turn of an agent (agent 0 if none is named) without a screen: the prompt
goes into its history, the model answers and calls tools until it is done. The
answer goes to standard output, progress to standard error. PROMPT - reads
standard input.

If ` + "`ramet serve`" + ` holds the workspace, the turn runs there, with that process's permissions;
what it asks is asked here, if this is a terminal, and on the page.

Children that the turn forks go on until their tasks are done, and the command waits
for them; with --no-wait they go on in the background.

Tools that read run unasked. Commands and writes run only if a rule permits them:
--allow bash, --allow 'bash(go test *)', --allow 'write(docs/**)', or allow in your
configuration; or, with permission = "sandbox", inside the sandbox. What is denied
the model is told, and it goes on without; exit 7 if nothing else could be done.

With --json every event is one line of JSON.

` + exitHelp(),
		Args:              s.execArgs(&f),
		ValidArgsFunction: s.completeAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			if f.noWait && s.Leave == nil && s.Detach != nil {
				code, err := s.Detach(c.Context())
				if err == nil && code != 0 {
					err = exited(code)
				}
				return err
			}
			return s.exec(c, f, args)
		},
	}
	flags := c.Flags()
	flags.BoolVar(&f.fork, "fork", false, "run in a new child")
	flags.StringVar(&f.name, "name", "", "with --fork: a name for the child")
	flags.BoolVar(&f.fresh, "fresh", false, "begin behind a clear, without the context so far")
	flags.BoolVar(&f.resume, "continue", false, "go on with what is there, without a new prompt")
	flags.BoolVar(&f.again, "resume", false, "go on with an interrupted task in a new child, forked where it stopped")
	flags.StringVar(&f.model, "model", "", "vendor/name of the model (see `ramet models`)")
	flags.StringVar(&f.maxCost, "max-cost", "", "the most that this turn and its children may cost, in dollars")
	flags.Int64Var(&f.maxTokens, "max-tokens", 0, "the most tokens that this turn and its children may use")
	flags.StringArrayVar(&f.allow, "allow", nil, "permit calls of a tool: bash, 'bash(go test *)', 'write(docs/**)'; repeats")
	flags.DurationVar(&f.timeout, "timeout", 0, "the longest that it may take, such as 90s or 10m")
	flags.BoolVar(&f.noWait, "no-wait", false, "do not wait for the tasks of children")
	flags.StringVar(&f.cwd, "cwd", "", "the folder where tools work, instead of the agent's own")
	flags.BoolVar(&f.noTools, "no-tools", false, "without the tools that touch this machine")
	c.RegisterFlagCompletionFunc("model", cobra.NoFileCompletions)
	return c
}

func (s *session) execArgs(f *execFlags) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case f.again:
			return arguments(1, 2)(c, args)
		case f.resume:
			return arguments(0, 1)(c, args)
		}
		return arguments(1, 2)(c, args)
	}
}

// exec checks everything that can be checked before anything happens.
func (s *session) exec(c *cobra.Command, f execFlags, args []string) error {
	prompt, err := f.prompt(c)
	if err != nil {
		return err
	}
	ref := "0"
	if len(args) == 2 || (f.resume || f.again) && len(args) == 1 {
		ref = args[0]
	}
	if !f.resume && (!f.again || len(args) == 2) {
		if prompt.Text, err = s.text(args[len(args)-1]); err != nil {
			return err
		}
		if _, err := history.Say(history.User, prompt.Text); err != nil {
			return err
		}
		if strings.TrimSpace(prompt.Text) == "" {
			return fault.New(fault.InvalidText, "the prompt is blank").WithHint("say something, or --continue")
		}
	}
	request := KernelRequest{Cwd: f.cwd, NoTools: f.noTools, Timeout: f.timeout}
	for _, text := range f.allow {
		rule, err := permit.Parse(text)
		if err != nil {
			return err
		}
		request.Allow = append(request.Allow, rule)
	}
	ctx := c.Context()
	if c.Flags().Changed("timeout") {
		if f.timeout <= 0 {
			return fault.New(fault.Usage, "--timeout must be longer than nothing")
		}
		limited, cancel := context.WithTimeout(ctx, f.timeout)
		defer cancel()
		ctx = limited
	}
	ws, a, err := s.find(ctx, ref)
	if err != nil {
		return err
	}
	if err := agent.NeedLiving(a); err != nil {
		return err
	}
	w := s.watch()
	request.Warn = w.note
	k, err := s.kernel(ctx, request)
	if err != nil {
		return err
	}
	defer k.Close()
	if err := f.countable(k, a, prompt.Model); err != nil {
		return err
	}
	if f.again {
		if a, err = s.resume(ctx, ws, a); err != nil {
			return err
		}
		prompt.Task = true
	}
	if f.fork {
		if err := startable(k, a, prompt.Model); err != nil {
			return err
		}
		if a, err = s.forkFor(ctx, ws, a, f.name); err != nil {
			return err
		}
	}
	if err := f.limit(ctx, ws, a, &prompt); err != nil {
		return err
	}
	return s.turn(ctx, ws, k, a, prompt, f, w)
}

// prompt reads the flags that say how the turn is to be run.
func (f execFlags) prompt(c *cobra.Command) (proc.Prompt, error) {
	p := proc.Prompt{Fresh: f.fresh}
	var err error
	if c.Flags().Changed("model") {
		if p.Model, err = llm.ParseRef(f.model); err != nil {
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
	if f.again && (f.fork || f.fresh || f.resume) {
		return p, fault.New(fault.Usage, "--resume goes on in a child of its own: --fork, --fresh and --continue do not go with it")
	}
	if f.resume && f.fresh {
		return p, fault.New(fault.Usage, "--continue goes on with the context that --fresh would leave behind")
	}
	if c.Flags().Changed("max-tokens") && f.maxTokens <= 0 {
		return p, fault.New(fault.Usage, "--max-tokens must be more than nothing")
	}
	if c.Flags().Changed("max-cost") {
		_, err = parseMoney(f.maxCost)
	}
	return p, err
}

// parseMoney reads an amount in dollars.
func parseMoney(s string) (llm.Money, error) {
	dollars, err := strconv.ParseFloat(strings.TrimPrefix(s, "$"), 64)
	if err != nil || !(dollars > 0) || dollars > 1e6 {
		return 0, fault.New(fault.Usage, "--max-cost %.40q is no amount", s).WithHint("write dollars, such as 0.50")
	}
	return llm.Money(math.Round(dollars * 1e9)), nil
}

// startable says why no turn could begin, before a child is made for one.
func startable(k *Kernel, a agent.Agent, asked llm.Ref) error {
	if _, err := k.Model(a, asked); err != nil {
		return err
	}
	if _, err := k.Tools(a); err != nil {
		return err
	}
	_, err := k.System(a)
	return err
}

// countable refuses a limit on money where nobody knows what the model costs: it
// would never be reached.
func (f execFlags) countable(k *Kernel, a agent.Agent, asked llm.Ref) error {
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
	return fault.New(fault.Usage, "--max-cost cannot hold: nobody knows what %s costs", m.Ref).
		WithHint("limit it with --max-tokens")
}

// forkFor makes the child in which the turn runs; where a kernel holds the
// parent, that kernel makes it.
func (s *session) forkFor(ctx context.Context, ws Workspace, parent agent.Agent, name string) (agent.Agent, error) {
	fork := registry.Fork{Parent: parent.ID, Claim: agent.Passing(), Children: []registry.Child{{ID: id.NewAgent(), Name: name}}}
	born, err := s.forkThrough(ctx, ws, parent, fork)
	if err != nil {
		return agent.Agent{}, err
	}
	return born[0], nil
}

// forkThrough forks, if need be through the kernel that holds the parent.
func (s *session) forkThrough(ctx context.Context, ws Workspace, parent agent.Agent, f registry.Fork) ([]agent.Agent, error) {
	var born []agent.Agent
	err := s.through(ctx, ws, parent.ID, func() (err error) {
		born, err = ws.Fork(ctx, f)
		return err
	}, func(k *control.Client) (err error) {
		born, err = k.Fork(ctx, f, false)
		return err
	})
	return born, err
}

// limit turns what this turn may spend into what the agent may have spent in all.
// Without a limit, one that an earlier turn left is lifted.
func (f execFlags) limit(ctx context.Context, ws Workspace, a agent.Agent, p *proc.Prompt) error {
	if f.maxCost == "" && f.maxTokens == 0 {
		if !a.Budget.IsZero() {
			p.Budget = &history.Budget{}
		}
		return nil
	}
	spent, err := ws.Spent(ctx, a.ID)
	if err != nil {
		return err
	}
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
func (s *session) turn(ctx context.Context, ws Workspace, k *Kernel, a agent.Agent, p proc.Prompt, f execFlags, w *watcher) error {
	w.follow(ctx, a.ID, &k.Events)
	var here *proc.Turn
	var outcome loop.Outcome
	var leased bool
	server, err := s.serving(ctx, f, w)
	if err != nil {
		w.end()
		return err
	}
	err = s.through(ctx, ws, a.ID, func() (err error) {
		if server != nil { // once: if it cannot either, whoever holds the agent is asked
			outcome, err = server.Exec(ctx, a.ID, p, !f.noWait, s.asked(ctx, server, w))
			leased, server = fault.Is(err, fault.Leased), nil
			return err
		}
		here, outcome, err = s.runHere(ctx, k, a, p, f, w)
		leased = fault.Is(err, fault.Leased)
		return err
	}, func(other *control.Client) (err error) {
		here, leased = nil, false
		if len(f.allow) > 0 {
			w.note("the agent is held by a running kernel: its permissions hold, not --allow")
		}
		outcome, err = other.Exec(ctx, a.ID, p, !f.noWait, s.asked(ctx, other, w))
		return err
	})
	w.end()
	if leased { // nothing was run anywhere
		return err
	}
	if err == nil && outcome.Denied > 0 && outcome.Worked == 0 {
		// There is an answer all the same, perhaps why it could not be done.
		err = errors.Join(w.early(outcome), fault.New(fault.Denied, "every call that the model made was denied (%d)", outcome.Denied).
			WithHint("permit what it needs with --allow; standard error says which"))
	}
	err = errors.Join(w.answer(outcome, err), err)
	if s.Leave == nil || here == nil {
		return err
	}
	// The user has the answer. The children go on in the background.
	if err != nil {
		(&printer.Printer{Out: s.Stderr, JSON: s.json, Color: s.color(s.ErrTerminal)}).Fail(s.hide(err))
	}
	s.Leave(fault.Exit(err))
	return here.Tasks(context.WithoutCancel(ctx))
}

// runHere runs it in our own kernel. Children that it forked are waited for,
// unless the user does not want to.
func (s *session) runHere(ctx context.Context, k *Kernel, a agent.Agent, p proc.Prompt, f execFlags, w *watcher) (*proc.Turn, loop.Outcome, error) {
	turn, err := k.Exec(ctx, a.ID, p)
	if err != nil {
		return nil, loop.Outcome{}, err
	}
	outcome, err := turn.Wait()
	if err == nil && !f.noWait {
		err = errors.Join(w.early(outcome), turn.Tasks(ctx))
	}
	return turn, outcome, err
}
