package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/text"
	"ramet/internal/operation"
	"ramet/internal/run"
	"ramet/internal/run/recipe"
)

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

func progressOf(l *Line, n run.Snapshot, _ *recipe.Recipe) *progress {
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
