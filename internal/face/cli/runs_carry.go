package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/model/catalog"
	"ramet/internal/operation"
	"ramet/internal/operation/public"
	"ramet/internal/run"
	"ramet/internal/run/recipe"
	"ramet/internal/run/rundir"
	"ramet/internal/runner"
	"ramet/internal/store/database"
)

// carryOutRun carries out a run whose log is open, and shows how it goes.
func carryOutRun(l *Line, ports RunsPorts, ctx context.Context, f *operation.CarryOptions, store *rundir.Store, x *rundir.Session, wishes run.Wishes) error {
	config, err := store.Config(x.RunID)
	if err != nil {
		return err
	}
	r, err := ReadStartedRecipe(x.RunID, config)
	if err != nil {
		return err
	}
	if err := mergeLimits(&r.Limits, f.Limits); err != nil {
		return err
	}
	params, err := r.Bind(config.Set)
	if err != nil {
		return err
	}
	wishes.LooksUp = r.LooksUp
	plan, err := run.PlanResume(x.Now(), store.Disk(x.RunID), wishes)
	if err != nil {
		return err
	}
	if f.Model != "" {
		if _, err := catalog.Parse(string(f.Model)); err != nil {
			return err
		}
		config.Model = string(f.Model)
	}
	ws, err := l.Open(ctx)
	if err != nil {
		return err
	}
	shared := database.IsPostgres(ws.Place.DB)
	if f.Leave && !shared {
		return fault.New(fault.Usage, "--leave-work: no other host can take work from %s", ws.Place.DB).
			WithHint("use --db postgres://…")
	}
	p := progressOf(l, x.Now())
	job := Job{Store: store, Session: x, Recipe: r, Params: params, Model: config.Model, Plan: plan, NoCache: f.NoCache || config.NoCache,
		Leave: f.Leave, Watch: p.see, Warn: p.note}
	if l.Leave != nil && f.Detach {
		l.Print(madeRun(store, x))
		l.Leave(0)
		f.Detach = false // once is enough, should it have to go on
	}
	err = ports.Carry(ctx, ws, job)
	p.end()
	if err != nil {
		return err
	}
	return l.Print(runEnd(store, x.Now()))
}

func madeRun(store *rundir.Store, x *rundir.Session) public.RunMade {
	return public.RunMade{RunID: x.RunID, Path: store.Dir(x.RunID), State: string(x.CurrentState())}
}

type ended struct {
	RunID     string    `json:"run_id"`
	State     run.State `json:"run_state"`
	Path      string    `json:"path"`
	URL       *string   `json:"url"`
	Bundle    *string   `json:"bundle"`
	Items     int       `json:"items"`
	Artifacts int       `json:"artifacts"`
	Nothing   bool      `json:"nothing_to_change"` // the pull request would have been empty, and was not opened
}

func runEnd(store *rundir.Store, n run.Snapshot) ended {
	d := ended{RunID: n.RunID, State: n.RunState, Path: store.Dir(n.RunID), Items: len(n.WorkItems), Artifacts: len(n.Artifacts)}
	if n.PR != nil {
		d.URL, d.Bundle = n.PR.URL, n.PR.Bundle
	}
	d.Nothing = n.RunState == run.Done && n.PR == nil && proposesNothing(store, n)
	return d
}

// proposesNothing reports whether the worker of the pull request found nothing to propose.
func proposesNothing(store *rundir.Store, n run.Snapshot) bool {
	files, err := store.OpenFiles(n.RunID)
	if err != nil {
		return false
	}
	defer files.Close()
	for _, a := range n.Artifacts {
		if a.SchemaID != "pr" {
			continue
		}
		var pr struct {
			Paths []string `json:"affected_paths"`
		}
		if data, err := files.Read(a.Path); err == nil && json.Unmarshal(data, &pr) == nil && len(pr.Paths) == 0 {
			return true
		}
	}
	return false
}

func (d ended) Text(w *printer.Writer) {
	w.Line("run %s is %s: %d items, %d artifacts in %s", d.RunID, string(d.State), d.Items, d.Artifacts, d.Path)
	switch {
	case d.URL != nil:
		w.Line("pull request: %s", *d.URL)
	case d.Nothing:
		w.Line("nothing to change: no pull request was opened")
	case d.Bundle != nil:
		w.Line("pull request as files: %s", filepath.Join(d.Path, *d.Bundle))
	}
}

// limitFields returns the limits of a run by their names.
func limitFields(l *recipe.Limits) map[string]any {
	return map[string]any{"parallel": &l.Parallel, "attempts": &l.Attempts, "fix_attempts": &l.FixAttempts, "fix_rounds": &l.FixRounds,
		"calls": &l.Calls, "tokens": &l.Tokens, "files": &l.Files, "lines_per_file": &l.LinesPerFile, "cost_usd": &l.CostUSD, "runtime": &l.Runtime}
}

func limitNames() []string { return slices.Sorted(maps.Keys(limitFields(&recipe.Limits{}))) }

// setLimit parses the value of a limit.
func setLimit(field any, value string) (err error) {
	below := false
	switch field := field.(type) {
	case *time.Duration:
		*field, err = time.ParseDuration(value)
		below = *field < 0
	case *float64:
		if *field, err = strconv.ParseFloat(value, 64); err == nil && (math.IsNaN(*field) || math.IsInf(*field, 0)) {
			return errors.New("no amount") // never reached
		}
		below = *field < 0
	default:
		n, failed := strconv.ParseInt(value, 10, 32)
		reflect.ValueOf(field).Elem().SetInt(n)
		below, err = n < 0, failed
	}
	if err == nil && below {
		err = errors.New("below 0")
	}
	return err
}

func mergeLimits(l *recipe.Limits, given operation.Pairs) error {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value := given[name]
		pair := name + "=" + value
		field, ok := limitFields(l)[name]
		if !ok {
			hint := "limits: " + strings.Join(limitNames(), ", ")
			if near := text.NearestWord(name, limitNames()); near != "" {
				hint = "did you mean " + near + "?"
			}
			return fault.New(fault.Usage, "--limit %.60q: there is no such limit", pair).WithHint("%s", hint)
		}
		if err := setLimit(field, value); err != nil {
			return fault.New(fault.Usage, "--limit %.60q: %v", pair, err).WithHint("give %s=NUMBER; runtime is a duration such as 90m; 0 is no limit", name)
		}
	}
	return nil
}

// locateRepository makes a path absolute, so that a run can be resumed from elsewhere; a URL
// stays what it is.
func locateRepository(l *Line, flag, value string) (string, error) {
	if value == "" || strings.Contains(value, "://") || scpLike(value) {
		return value, nil
	}
	path := value
	if !filepath.IsAbs(path) {
		path = filepath.Join(l.Dir, path)
	}
	if _, err := os.Stat(path); err != nil {
		return "", fault.New(fault.NotFound, "%s %.200q: there is no such folder", flag, value).
			WithHint("give the path or the URL of a git repository; nothing was started")
	}
	return path, nil
}

// scpLike reports whether an address has the form host:path.
func scpLike(s string) bool {
	host, _, ok := strings.Cut(s, ":")
	return ok && !strings.ContainsAny(host, `/\`) && len(host) > 1
}

// How long a run whose server is out of reach tries to go on by itself, and how long it rests
// in between.
const (
	outlastTime  = 2 * time.Minute
	outlastPause = time.Second
)

// outlast repeats do while a server is out of reach that this process has met, for outlastTime, and when the run's own
// agent ended though the run was not cancelled. A server that was never met fails at once: the address may be wrong.
func outlast(ctx context.Context, l *Line, kind rundir.Kind, do func() error) error {
	for until := time.Now().Add(outlastTime); ; {
		err := do()
		switch {
		case errors.Is(err, runner.ErrAgentEnded):
			l.Note("the run continues with another agent: " + err.Error())
		case fault.Is(err, fault.StorageUnreachable) && metAt(kind) && time.Now().Before(until):
			l.Note("the run continues when the database is there: " + err.Error())
		default:
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(outlastPause):
		}
	}
}

func metAt(kind rundir.Kind) bool {
	if !kind.Remote() {
		return false
	}
	pg, err := database.ParsePostgres(string(kind))
	return err == nil && database.Met(pg)
}

// carryOn carries out a run, and resumes it when its server was out of reach. It closes
// the session.
func carryOn(l *Line, ports RunsPorts, ctx context.Context, f *operation.CarryOptions, store *rundir.Store, x *rundir.Session, wishes run.Wishes) error {
	id, kind := x.RunID, x.Kind
	return outlast(ctx, l, kind, func() (err error) {
		if x == nil {
			if x, err = store.OpenSession(ctx, id, kind); err != nil {
				return err
			}
		}
		defer func() { err, x = errors.Join(err, x.Close()), nil }()
		if x.CurrentState() == run.Done {
			return l.Print(runEnd(store, x.Now()))
		}
		err = carryOutRun(l, ports, ctx, f, store, x, wishes)
		wishes = run.Wishes{}
		return err
	})
}

// progress shows how a run goes: on a terminal one line that changes, below what is worth
// keeping; elsewhere a line for each thing that happens. It goes to standard error.
type progress struct {
	out   io.Writer
	live  bool
	quiet bool
	now   func() time.Time
	begun time.Time

	mu       sync.Mutex
	state    run.State
	units    map[string]bool // attempts of one unit count once; true: it is done
	done     int             // of the units
	sections map[string]run.SectionState
	gate     string
	issues   map[string]bool
	calls    int
	dollars  float64
	shown    time.Time
	drawn    bool
	over     chan struct{} // closed at the end
}

func progressOf(l *Line, n run.Snapshot) *progress {
	p := &progress{out: l.Stderr, live: l.ErrTerminal && !l.JSON, quiet: l.JSON, now: l.Now, begun: l.Now(), state: n.RunState,
		units: map[string]bool{}, sections: map[string]run.SectionState{}, issues: map[string]bool{}, over: make(chan struct{})}
	for _, w := range n.WorkItems {
		p.unit(w.Worker+":"+w.ScopeKey, w.Status == run.Completed)
	}
	for name, st := range n.SectionStates {
		p.sections[name] = st
	}
	if p.live {
		go p.tick()
	}
	return p
}

func (p *progress) unit(name string, done bool) {
	switch was := p.units[name]; {
	case done && !was:
		p.done++
	case was && !done:
		p.done--
	}
	p.units[name] = done
}

// tick keeps the time going while nothing happens.
func (p *progress) tick() {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		select {
		case <-p.over:
			return
		case <-second.C:
			p.mu.Lock()
			p.draw()
			p.mu.Unlock()
		}
	}
}

// happened holds the fields of payloads that are shown.
type happened struct {
	ID      string        `json:"work_item_id"`
	Worker  string        `json:"worker"`
	Scope   string        `json:"scope_key"`
	Attempt int64         `json:"attempt"`
	New     string        `json:"new_state"`
	Section string        `json:"section"`
	Gate    string        `json:"gate"`
	OK      bool          `json:"ok"`
	Issues  []string      `json:"issues"`
	IssueID string        `json:"issue_id"`
	Error   run.ItemError `json:"error"`
	Retry   bool          `json:"retryable"`
	Issue   struct {
		ID       string   `json:"issue_id"`
		Gate     string   `json:"gate"`
		Severity string   `json:"severity"`
		Message  string   `json:"message"`
		Files    []string `json:"files"`
	} `json:"issue"`
	Cost   float64 `json:"api_cost_usd"`
	URL    string  `json:"url"`
	Bundle string  `json:"bundle"`
	Code   string  `json:"code"`
	Text   string  `json:"message"`
}

func (p *progress) see(events ...run.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range events {
		var t happened
		json.Unmarshal(e.Payload, &t) // the log checked its form; what is not shown may differ
		line := p.take(e.Type, t)
		switch {
		case p.quiet:
		case line != "":
			p.keep(line)
		case p.live && p.now().Sub(p.shown) > 80*time.Millisecond:
			p.draw()
		}
	}
}

// take counts an event and gives the line that tells of it.
func (p *progress) take(kind run.Type, t happened) string {
	item := shortItem(t.ID)
	switch kind {
	case run.RunStateChanged:
		p.state = run.State(t.New)
		return "state   " + t.New
	case run.WorkItemQueued:
		p.unit(t.Worker+":"+t.Scope, false)
		if t.Attempt > 1 {
			return fmt.Sprintf("again   %s, attempt %d", item, t.Attempt)
		}
	case run.WorkItemFinished:
		p.unit(unitOf(t.ID), true)
		if !p.live {
			return "done    " + item
		}
	case run.WorkItemFailed:
		return fmt.Sprintf("failed  %s: %s: %s", item, t.Error.Code, t.Error.Message)
	case run.SectionStateChanged:
		p.sections[t.Section] = run.SectionState(t.New)
	case run.GateRunStarted:
		p.gate = t.Gate
	case run.GateRunFinished:
		p.gate = ""
		if t.OK {
			return "gate    " + t.Gate + ": ok"
		}
		return fmt.Sprintf("gate    %s: %d issues", t.Gate, len(t.Issues))
	case run.IssueOpened:
		p.issues[t.Issue.ID] = true
		return fmt.Sprintf("issue   %s: %s: %s%s", t.Issue.Gate, t.Issue.Severity, t.Issue.Message, operation.FormatFiles(t.Issue.Files))
	case run.IssueResolved:
		delete(p.issues, t.IssueID)
		return "mended  " + t.IssueID
	case run.LLMCallStarted:
		p.calls++
	case run.LLMCallFinished:
		p.dollars += t.Cost
	case run.PullRequestOpened:
		return "opened  " + t.URL + t.Bundle
	case run.RunFailed:
		return "FAILED  " + t.Code + ": " + t.Text
	}
	return ""
}

// shortItem leaves out the run of an item's id.
func shortItem(id string) string {
	_, rest, _ := strings.Cut(id, ":")
	return rest
}

// unitOf leaves out the attempt too.
func unitOf(id string) string {
	parts := strings.SplitN(id, ":", 4)
	if len(parts) < 4 {
		return id
	}
	return parts[1] + ":" + parts[3]
}

func (p *progress) note(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.quiet {
		p.keep("note    " + s)
	}
}

func (p *progress) keep(line string) {
	p.wipe()
	fmt.Fprintln(p.out, text.Line(line, 400))
	if p.live {
		p.draw()
	}
}

const wipeLine = "\r\x1b[K"

func (p *progress) wipe() {
	if p.drawn {
		fmt.Fprint(p.out, wipeLine)
		p.drawn = false
	}
}

func (p *progress) draw() {
	select {
	case <-p.over:
		return
	default:
	}
	line := fmt.Sprintf("%s  items %d/%d", p.state, p.done, len(p.units))
	if len(p.sections) > 0 {
		drafted := 0
		for _, st := range p.sections {
			if st == run.Drafted || st == run.Merged || st == run.Validated {
				drafted++
			}
		}
		line += fmt.Sprintf("  sections %d/%d", drafted, len(p.sections))
	}
	if p.gate != "" {
		line += "  gate " + p.gate
	}
	if len(p.issues) > 0 {
		line += fmt.Sprintf("  issues %d", len(p.issues))
	}
	line += fmt.Sprintf("  calls %d  $%.4f  %s", p.calls, p.dollars, p.now().Sub(p.begun).Round(time.Second))
	fmt.Fprint(p.out, wipeLine+text.Line(line, 79))
	p.shown, p.drawn = p.now(), true
}

func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.over)
	p.wipe()
}
