package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/jsonschema"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/kernel"
	"ramet/internal/model/catalog"
	"ramet/internal/model/llm"
	"ramet/internal/operation"
	"ramet/internal/operation/session"
	"ramet/internal/turn/permit"
)

// execInput holds the options of exec.
type execInput struct {
	Fork      bool                `json:"fork,omitempty" help:"run in a new child"`
	Name      *string             `json:"name,omitempty" help:"with {fork}: a name for the child"`
	At        id.Message          `json:"at,omitempty" help:"with {fork}: message id at which the child's context ends"`
	Clean     bool                `json:"clean,omitempty" help:"with {fork} {worktree}: only committed files"`
	Worktree  bool                `json:"worktree,omitempty" help:"with {fork}: give the child its own git worktree and branch"`
	Role      operation.Role      `json:"role,omitempty" alias:"agent" help:"with {fork}: use a definition in .agents/agents or .claude/agents"`
	Fresh     bool                `json:"fresh,omitempty" help:"start with an empty context"`
	Continue  bool                `json:"continue,omitempty" help:"continue without a new prompt"`
	All       bool                `json:"all,omitempty" help:"with {continue}: continue everything that was interrupted"`
	Resume    bool                `json:"resume,omitempty" help:"continue an interrupted task in a new child, forked where it stopped"`
	Model     operation.Model     `json:"model,omitempty" help:"vendor/name of the model (see \"ramet models\")"`
	Driver    operation.Driver    `json:"driver,omitempty" help:"let another program drive the agent from now on: claude, codex, … (see \"ramet drivers\"); {model} is its own word then"`
	Effort    llm.Effort          `json:"effort,omitempty" help:"reasoning effort from now on"`
	Schema    *string             `json:"schema,omitempty" help:"a file with a JSON Schema: the answer is JSON that matches it, or the command fails"`
	Search    bool                `json:"search,omitempty" help:"let the model search the web at its vendor, which charges for it"`
	MaxCost   *string             `json:"max_cost,omitempty" help:"cost limit of this turn and its children, in dollars"`
	MaxTokens *int64              `json:"max_tokens,omitempty" help:"token limit of this turn and its children"`
	Allow     []string            `json:"allow,omitempty" help:"allow calls of a tool: bash, 'bash(go test *)', 'write(docs/**)', 'mcp(SERVER)', 'fork(DRIVER)'; repeats"`
	Images    []string            `json:"image,omitempty" help:"attach an image or a PDF to the prompt; repeats. @FILE in the prompt does the same"`
	Timeout   *operation.Duration `json:"timeout,omitempty" help:"timeout"`
	NoWait    bool                `json:"no_wait,omitempty" help:"don't wait for the tasks of children"`
	Cwd       string              `json:"cwd,omitempty" help:"the folder where tools work, instead of the agent's own"`
	NoTools   bool                `json:"no_tools,omitempty" help:"without tools that access this machine"`
}

// execOperation describes the command, which the command line carries out itself.
var execOperation = operation.Op[execInput, struct{}]{Doc: operation.Doc{Name: "exec", Summary: "Run one turn of an agent; print its answer", Help: `Run one turn of an agent (default: agent 0) without a screen. The prompt is added to
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
configuration. Commands run in the sandbox; the rule bash!(COMMAND) runs one outside.
With permission = "sandbox" they need no rule. The model
learns which calls were denied and continues without them; the exit code is 7 if
every call was denied.

With --schema FILE the answer is JSON that matches a JSON Schema. If it doesn't, the model
is asked once more; then the command fails with OUTPUT_INVALID. With --search the model may
search the web if its vendor can; the answer ends with its sources.

With --driver another program does the work: Claude Code, Codex, or any that speaks the
Agent Client Protocol, with its own tools and login. Its work is recorded in the history,
its questions appear here, and you can stop, kill and fork the agent like any other.

With --json every event is one line of JSON.`}}

func execCommand(l *Line) *cobra.Command {
	c := l.Command(&execOperation)
	c.Use, c.ValidArgsFunction = "exec [AGENT] PROMPT|-", func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return l.complete(agentNames)(c, args, begun)
	}
	c.Flags().Lookup("effort").Usage += ": " + strings.Join(llm.Efforts(), ", ")
	c.Args = func(c *cobra.Command, args []string) error {
		given := func(name string) bool {
			yes, _ := c.Flags().GetBool(name) // what is no yes or no is refused later
			return yes
		}
		switch {
		case given("resume"):
			return CheckArguments(1, 2)(c, args)
		case given("continue") && given("all"):
			return CheckArguments(0, 0)(c, args)
		case given("continue"):
			return CheckArguments(0, 1)(c, args)
		case slashed(args):
			return nil
		}
		return CheckArguments(1, 2)(c, args)
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		in, err := l.Bind(c, &execOperation, args)
		if err != nil {
			return err
		}
		f := in.(*execInput)
		if there, err := l.GoOn(c.Context(), f.NoWait && l.Detach != nil); there {
			return err
		}
		return runExec(c.Context(), l, f, args)
	}
	return c
}

// slashed reports whether the arguments are a command of the user or the project: /name and its arguments.
func slashed(args []string) bool { return len(args) > 1 && strings.HasPrefix(args[0], "/") }

// runExec checks everything that can be checked before anything happens.
func runExec(ctx context.Context, l *Line, f *execInput, args []string) (failed error) {
	prompt, err := f.prompt()
	if err != nil {
		return err
	}
	ref := "0"
	if slashed(args) && !f.Continue && !f.Resume {
		args = []string{strings.Join(args, " ")}
	}
	if len(args) == 2 || (f.Continue || f.Resume) && len(args) == 1 {
		ref = args[0]
	}
	if !f.Continue && (!f.Resume || len(args) == 2) {
		if prompt.Text, err = l.Text(args[len(args)-1]); err != nil {
			return err
		}
		if err := session.CheckPrompt(prompt.Text); err != nil {
			return err
		}
	}
	if f.All && !f.Continue {
		return fault.New(fault.Usage, "--all is for --continue: it continues everything that was interrupted")
	}
	for i, image := range f.Images {
		f.Images[i] = l.path(image)
	}
	if prompt.Files, err = session.Attach(f.Images...); err != nil {
		return err
	}
	if len(prompt.Files) > 0 && prompt.Text == "" {
		return fault.New(fault.Usage, "--image goes with a prompt")
	}
	form := "" // that the answer is to have, for the model
	if f.Schema != nil {
		schema, err := f.form(l)
		if err != nil {
			return err
		}
		prompt.Schema, form = schema.Text(), "\n\n"+schema.Ask()
	}
	terms := &kernel.Terms{NoTools: f.NoTools, Unattended: asker(l) == nil && !f.NoWait}
	if f.Cwd != "" {
		terms.Cwd = l.path(f.Cwd)
	}
	for _, text := range f.Allow {
		rule, err := permit.Parse(text)
		if err != nil {
			return err
		}
		terms.Allow = append(terms.Allow, rule)
	}
	timeout := time.Duration(0)
	if f.Timeout != nil {
		if timeout = time.Duration(*f.Timeout); timeout <= 0 {
			return fault.New(fault.Usage, "--timeout must be longer than nothing")
		}
		limited, cancel := context.WithTimeout(ctx, timeout)
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
	if f.Driver != "" {
		if prompt.Model, err = ws.Programs().Driver(string(f.Driver), string(f.Model)); err != nil {
			return err
		}
	}
	if terms.Cwd != "" {
		if _, err := ws.Folder(a, terms.Cwd); err != nil {
			return err
		}
	}
	w := &watcher{l: l, enough: func() {}}
	if l.Terminal && !l.JSON && form == "" {
		w.live = &live{out: l.Stdout}
	}
	if l.Held() {
		if _, agents := l.Own(); agents && (f.Cwd != "" || len(terms.Allow) > 0) {
			return fault.New(fault.Denied, "a command of an agent has the permissions of that agent: leave out --allow and --cwd")
		}
		if l.Stay != nil {
			l.Stay() // a client that is lost stops nothing
		}
		ws.Turns().Lend(ctx, a.ID)
	} else {
		if err := ws.Start(ctx, session.Kernel{Timeout: timeout, Attended: l.ErrTerminal && !l.JSON, Warn: w.note}); err != nil {
			return err
		}
		defer ws.Stopped()
	}
	prompt.Terms = terms
	if !f.NoWait {
		defer terms.Withdraw()
	}
	if f.All {
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
	if f.Resume {
		if a, err = ws.Agents().Resume(ctx, a); err != nil {
			return err
		}
		prompt.Task = true
	}
	if f.Fork {
		name := ""
		if f.Name != nil {
			name = *f.Name
		}
		if err := ws.Agents().Startable(a, prompt.Model); err != nil {
			return err
		}
		forked, err := ws.Agents().Fork(ctx, session.Fork{Parent: a, Name: name, At: f.At, Worktree: f.Worktree, Clean: f.Clean, Model: prompt.Model, Effort: prompt.Effort, Role: string(f.Role)})
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

// prompt checks the options and returns how the turn is to be run.
func (f *execInput) prompt() (p kernel.Prompt, err error) {
	refuse := func(why string) (kernel.Prompt, error) { return p, fault.New(fault.Usage, "%s", why) }
	p = kernel.Prompt{Fresh: f.Fresh, Again: f.Continue, Search: f.Search, Effort: f.Effort}
	if f.Model != "" && f.Driver == "" {
		if p.Model, err = catalog.Parse(string(f.Model)); err != nil {
			return p, err
		}
	}
	switch {
	case f.Name != nil && !f.Fork:
		return refuse("--name is for --fork: it names the child")
	case !f.Fork && (f.At != 0 || f.Worktree || f.Role != ""):
		return refuse("--at, --worktree and --role are for --fork: they say how the child begins")
	case f.Clean && !f.Worktree:
		return refuse("--clean goes with --fork --worktree: without a worktree the files are shared")
	case f.Resume && (f.Fork || f.Fresh || f.Continue):
		return refuse("--resume continues in a child of its own: don't combine it with --fork, --fresh or --continue")
	case f.Continue && f.Fresh:
		return refuse("--continue keeps the context that --fresh drops")
	case f.MaxTokens != nil && *f.MaxTokens <= 0:
		return refuse("--max-tokens must be more than nothing")
	}
	if f.Name != nil {
		err = agent.CheckName(*f.Name)
	}
	if f.MaxCost != nil && err == nil {
		_, err = parseMoney(*f.MaxCost)
	}
	return p, err
}

func (f *execInput) form(l *Line) (*jsonschema.Schema, error) {
	b, err := os.ReadFile(l.path(*f.Schema))
	if err != nil {
		return nil, fault.New(fault.NotFound, "read the schema: %w", err)
	}
	schema, err := jsonschema.Parse(b)
	if e, ok := fault.Of(err); ok {
		placed := *e
		placed.Message = *f.Schema + ": " + e.Message
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
func (f *execInput) countable(k *kernel.Kernel, a agent.Agent, asked llm.Ref) error {
	if f.MaxCost == nil {
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
func (f *execInput) limit(ctx context.Context, ws *session.Workspace, a agent.Agent, p *kernel.Prompt) error {
	if f.MaxCost == nil && f.MaxTokens == nil {
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
	if f.MaxCost != nil {
		most, err := parseMoney(*f.MaxCost)
		if err != nil {
			return err
		}
		total := spent.Cost + int64(most)
		p.Budget.Cost = &total
	}
	if f.MaxTokens != nil {
		total := spent.Tokens + *f.MaxTokens
		p.Budget.Tokens = &total
	}
	return nil
}

// turn runs it, here or in the kernel that holds the agent, and prints the answer.
func turn(l *Line, ctx context.Context, ws *session.Workspace, a agent.Agent, p kernel.Prompt, f *execInput, w *watcher) error {
	w.follow(ctx, a.ID, &ws.Kernel.Events)
	p.Leaves = f.NoWait
	before, err := ws.Mail().Newest(ctx, a.ID)
	if err != nil {
		return err
	}
	if p.Again {
		before = 0 // what came while nobody went on with it is its own
	}
	ran, err := ws.Turns().Run(ctx, session.Turn{Agent: a.ID, Prompt: p,
		Tasks: !f.NoWait, Said: w.said, Ask: asker(l)})
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
	if !f.NoWait && ctx.Err() == nil { // what was reported to a turn that failed is not lost either
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

// asker asks the user of a terminal what a turn asks that a server runs; nil where there is
// no terminal: then questions wait for an answer over HTTP.
func asker(l *Line) permit.Asker {
	if l.Password == nil || !l.ErrTerminal || l.JSON {
		return nil
	}
	return &lineAsker{l: l, shown: make(chan struct{}, 1)}
}

// lineAsker reads answers line by line. One goroutine reads for all questions, and ends with
// the input, or the process.
type lineAsker struct {
	l     *Line
	once  sync.Once
	lines chan string
	shown chan struct{} // full while a question is shown: the next one waits for its turn on this terminal
}

const question = "permit it? once, agent (and its children), project [RULE], no, or: no because …: "

func (a *lineAsker) Ask(ctx context.Context, q permit.Question) (permit.Verdict, error) {
	select {
	case a.shown <- struct{}{}:
		defer func() { <-a.shown }()
	case <-ctx.Done():
		return permit.Verdict{}, ctx.Err()
	}
	a.once.Do(func() {
		a.lines = make(chan string)
		go func() {
			defer close(a.lines)
			for in := bufio.NewScanner(a.l.Stdin); in.Scan(); {
				a.lines <- in.Text()
			}
		}()
	})
	a.explain(q)
	asking := question
	if q.Says != "" {
		asking = "answer with a number, in your words, or no: "
	}
	for {
		io.WriteString(a.l.Stderr, asking)
		select {
		case said, ok := <-a.lines:
			if !ok {
				return permit.Verdict{}, fault.New(fault.Cancelled, "no answer")
			}
			v, ok := parseAnswer(said)
			if q.Says != "" {
				v, ok = parseWords(q, said)
			}
			if !ok {
				a.l.Note(noAnswer(said, q.Says != ""))
				continue
			}
			if err := q.Check(v); err != nil {
				a.l.Note(err.Error())
				continue
			}
			v.By = history.Actor{Who: a.l.User(), Face: history.CLI}
			return v, nil
		case <-ctx.Done(): // it was answered elsewhere
			return permit.Verdict{}, ctx.Err()
		}
	}
}

// explain shows what would run, what answers would grant, and what cannot be.
func (a *lineAsker) explain(q permit.Question) {
	for _, said := range []string{q.Says, q.Subject, q.Reason, q.Why} {
		if said != "" && said != q.Summary {
			fmt.Fprintf(a.l.Stderr, "  %s\n", text.Line(said, 4000))
		}
	}
	for _, o := range q.Options() {
		if _, proposed := q.Chosen(o.Choice); proposed {
			fmt.Fprintf(a.l.Stderr, "  %s: %s\n", o.Choice, text.Line(o.Text, 400))
		} else if o.Rule+o.No != "" {
			fmt.Fprintf(a.l.Stderr, "  %s: %s\n", o.Choice, text.Line(strings.TrimSpace(o.Rule+" "+o.No), 400))
		}
	}
}

// parseWords reads an answer to a question of the model's own.
func parseWords(q permit.Question, said string) (permit.Verdict, bool) {
	said = strings.TrimSpace(said)
	if _, ok := q.Chosen(permit.Choice(said)); ok {
		return permit.Verdict{Choice: permit.Choice(said)}, true
	}
	if strings.EqualFold(said, "no") {
		return permit.Verdict{Choice: permit.Refuse}, true
	}
	return permit.Verdict{Choice: permit.Because, Words: said}, said != ""
}

// noAnswer asks a person who typed something else for a valid answer: Enter alone decides nothing.
func noAnswer(said string, words bool) string {
	said = strings.ToLower(strings.TrimSpace(said))
	near := text.NearestWord(said, []string{"once", "agent", "project", "no"})
	switch {
	case words:
		return "Enter alone is not an answer"
	case said == "":
		return "Enter alone decides nothing: type once, and Enter, to permit this one call; no refuses it"
	case said == "y" || said == "yes" || said == "ok":
		near = "once"
	case said == "n":
		near = "no"
	}
	out := fmt.Sprintf("%.40q is not an answer", said)
	if near != "" {
		out += fmt.Sprintf("; did you mean %s?", near)
	}
	return out
}

// parseAnswer reads whole words: no letter that begins another line is an answer.
func parseAnswer(said string) (permit.Verdict, bool) {
	word, rest, _ := strings.Cut(strings.TrimSpace(said), " ")
	rest = strings.TrimSpace(rest)
	switch word = strings.ToLower(strings.TrimRight(word, ",")); {
	case word == "once" && rest == "":
		return permit.Verdict{Choice: permit.Once}, true
	case word == "agent" && rest == "":
		return permit.Verdict{Choice: permit.ForAgent}, true
	case word == "project":
		return permit.Verdict{Choice: permit.ForProject, Rule: rest}, true
	case word == "no" && rest == "":
		return permit.Verdict{Choice: permit.Refuse}, true
	case word == "no" && strings.HasPrefix(strings.ToLower(rest), "because "):
		return permit.Verdict{Choice: permit.Because, Words: strings.TrimSpace(rest[len("because "):])}, true
	}
	return permit.Verdict{}, false
}
