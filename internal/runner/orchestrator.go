package runner

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/run"
	"ramet/internal/run/recipe"
)

var _ Orchestrator = (*Run)(nil)

// current finds a current attempt. The caller holds mu.
func (r *Run) current(itemID string, wanted ...run.Status) (*attempt, error) {
	e := r.byID[itemID]
	switch {
	case r.over || r.stopped != nil && e != nil && e.status == run.Pending:
		return nil, fault.New(fault.Fenced, "work item %s: the run doesn't continue here", itemID)
	case e == nil || !slices.Contains(wanted, e.status):
		return nil, fault.New(fault.Fenced, "work item %s is not current", itemID)
	}
	return e, nil
}

// Claim writes WORK_ITEM_STARTED.
func (r *Run) Claim(ctx context.Context, itemID, host string) (Attempt, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, err := r.current(itemID, run.Pending, run.InProgress)
	if err != nil {
		return Attempt{}, err
	}
	if e.status == run.InProgress && e.host != host {
		return Attempt{}, fault.New(fault.Fenced, "work item %s is done by %s", itemID, e.host)
	}
	it, err := r.item(e)
	if err != nil {
		// It cannot be done: it fails without having been started.
		if ferr := r.settle(ctx, e, nil, &Failure{Code: string(fault.CodeOf(err)), Message: err.Error()}); ferr != nil {
			return Attempt{}, ferr
		}
		return Attempt{}, fault.New(fault.Fenced, "work item %s cannot be done: %v", itemID, err)
	}
	if e.status == run.Pending {
		e.status, e.host = run.InProgress, host
		if err := r.append(ctx, itemRecord(itemID, run.WorkItemStarted, run.Started{WorkItemID: itemID})); err != nil {
			return Attempt{}, err
		}
	}
	return it, nil
}

// item puts together all that an attempt needs.
func (r *Run) item(e *attempt) (Attempt, error) {
	w, ok := r.worker(e.worker)
	if !ok {
		return Attempt{}, fault.New(fault.InvalidRecipe, "the recipe has no worker %s", e.worker)
	}
	t := r.task(w, e)
	if w.Prompt != "" {
		prompt, err := r.prompt(w, e, r.Folder.Read)
		if err != nil {
			return Attempt{}, err
		}
		t.Prompt = prompt
		t.Assignment = r.assignment(w, e, t)
	}
	return Attempt{ID: e.id, RunID: r.RunID, Worker: e.worker, Scope: e.scope, Number: e.number, Agent: r.Agent, Inputs: e.inputs, Task: t, Parallel: r.limits.Parallel}, nil
}

// task returns the task of an item, without its prompt.
func (r *Run) task(w recipe.Worker, e *attempt) Task {
	t := Task{Uses: w.Uses, Command: w.Command, Tools: w.Tools, Model: r.model(w), Effort: w.Effort, Timeout: w.Timeout, External: w.External, With: map[string]string{}}
	if w.Prompt != "" {
		if t.Driver = recipe.DriverOf(t.Model); t.Driver != "" {
			t.Left = r.left()
		}
	}
	// An answer that led to nothing would be given again, and so lead to nothing.
	t.Fresh = r.NoCache || r.anew || w.Each.Issue || e.code != "" && e.code != string(fault.Interrupted)
	for k, v := range w.With {
		t.With[k] = r.expand(v, e.scope)
	}
	if w.External {
		t.Key, t.Lookup = r.expand(w.Key, e.scope), w.Lookup
	}
	for _, o := range w.Outputs {
		t.Outputs = append(t.Outputs, Output{Path: r.expand(o.Path, e.scope), Schema: o.Schema, Patch: o.Patch, Answer: o.Answer, Empty: o.Patch && w.Any})
		if form, ok := r.Recipe.Schema(o.Schema); ok && o.Answer && w.Prompt != "" {
			t.Form = form.JSON()
		}
	}
	if w.Worktree != "" {
		t.Tree = &Tree{Bundle: r.expand(w.Worktree, e.scope), Commit: r.values["base"], Patches: r.patches(w, e)}
		if commit := r.begins[t.Tree.Bundle]; commit != "" {
			t.Tree.Commit = commit
		}
	}
	if role, ok := r.Recipe.Agents[w.Agent]; ok && w.Prompt != "" {
		t.Role = &role
	}
	return t
}

// model is the one of a worker: its own, which may be a parameter, else that of the run.
func (r *Run) model(w recipe.Worker) string {
	if own := w.Asks(r.values); own != "" {
		return own
	}
	return r.Model
}

// patches are the inputs of an item that are applied to its worktree first.
func (r *Run) patches(w recipe.Worker, e *attempt) []string {
	var out []string
	for _, in := range e.inputs {
		for _, p := range w.Patches {
			p = r.expand(p, e.scope)
			folder, all := strings.CutSuffix(p, "/**")
			if in.Path == p || all && strings.HasPrefix(in.Path, folder+"/") {
				out = append(out, in.Path)
			}
		}
	}
	return out
}

func (r *Run) prompt(w recipe.Worker, e *attempt, read func(string) ([]byte, error)) (string, error) {
	data := recipe.RenderData{Scope: e.scope, Params: r.values, Read: read}
	for _, in := range e.inputs {
		data.Inputs = append(data.Inputs, in.Path)
	}
	if e.code != "" && e.code != string(fault.Interrupted) && e.code != run.Invalidated {
		data.Failure = e.failure
	}
	if w.Each.Sections {
		section, ok := r.Recipe.Section(e.scope)
		if !ok {
			section = recipe.Section{Name: e.scope, Title: e.scope}
		}
		data.Section = &section
	}
	if w.Each.Issue {
		i := r.issues[e.scope]
		data.Issue = &i
	}
	return recipe.RenderPrompt(w, data)
}

// Fetch reads an input of an item and compares its hash with the log.
func (r *Run) Fetch(_ context.Context, itemID, sum string) ([]byte, error) {
	r.mu.Lock()
	e, err := r.current(itemID, run.InProgress)
	var found string
	if err == nil {
		for _, in := range e.inputs {
			if in.SHA256 == sum {
				found = in.Path
			}
		}
	}
	r.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if found == "" {
		return nil, fault.New(fault.NotFound, "work item %s has no input %s", itemID, sum)
	}
	data, err := r.Folder.Read(found)
	if err == nil && chain.Sum(data).String() != sum {
		err = fault.New(fault.Conflict, "%s is not what work item %s was queued for", found, itemID).
			WithHint("it was changed; resume the run, and what depends on it is done again")
	}
	return data, err
}

// reports are the events that workers may write.
var reports = []run.Type{run.LLMCallStarted, run.LLMCallFinished, run.LLMCallFailed, run.LLMCacheHit}

// Report writes an event of a model call, within the budget.
func (r *Run) Report(ctx context.Context, itemID string, p Report) error {
	if !slices.Contains(reports, p.Type) {
		return fault.New(fault.InvalidEvent, "a worker does not write %s", p.Type)
	}
	if p.Evidence != nil {
		if err := r.keep(*p.Evidence); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e, err := r.current(itemID, run.InProgress)
	if err != nil {
		return err
	}
	if e.reported[p.ID] {
		return nil
	}
	if p.Type == run.LLMCallStarted {
		if err := r.afford(); err != nil {
			r.stopLocked(err)
			return err
		}
	}
	record := run.Request{Type: p.Type, Payload: p.Payload, SpanID: SpanOf(itemID + " " + callID(p.Payload)), ParentSpan: SpanOf(itemID)}
	if err := r.append(ctx, record); err != nil {
		return err
	}
	if e.reported == nil {
		e.reported = map[string]bool{}
	}
	e.reported[p.ID] = true
	r.spent.add(p.Type, p.Payload)
	return nil
}

// keep writes an evidence file, before the event that it belongs to.
func (r *Run) keep(b Blob) error {
	if !strings.HasPrefix(b.Path, run.EvidenceFolder) || path.Clean(b.Path) != b.Path {
		return fault.New(fault.InvalidEvent, "evidence does not belong at %.80q", b.Path)
	}
	staged, err := r.Folder.Stage(b.Path, b.Data)
	if err != nil {
		return err
	}
	return staged.Commit()
}

// Deliver makes the outputs durable, gives them their names, and writes that the item is
// finished; or that it failed, and whether it is tried again.
func (r *Run) Deliver(ctx context.Context, itemID string, res Result, f *Failure) error {
	var staged []run.Staged
	defer func() {
		for _, s := range staged {
			s.Discard()
		}
	}()
	r.mu.Lock()
	e, err := r.current(itemID, run.InProgress)
	r.mu.Unlock()
	if err != nil {
		return err
	}
	if f != nil && (f.Code == string(fault.Killed) || f.Code == string(fault.DeadAgent)) && r.Ended != nil {
		if why := r.Ended(ctx); why != nil {
			r.Stop(why)
		}
	}
	if f == nil {
		if err := r.accept(e.item, res); err != nil {
			f = &Failure{Code: string(fault.CodeOf(err)), Message: errorMessage(err), Retryable: true, Answer: r.answered(e.item, res)}
		}
	}
	if f == nil {
		for _, b := range res.Files {
			s, err := r.Folder.Stage(b.Path, b.Data)
			if err != nil {
				r.Stop(err)
				return err
			}
			staged = append(staged, s)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, err = r.current(itemID, run.InProgress); err != nil {
		return err // overtaken while the files were written
	}
	if f != nil {
		return r.settle(ctx, e, nil, f)
	}
	if err := r.sweep(e.item, res); err != nil {
		r.stopLocked(err)
		return err
	}
	for _, s := range staged {
		if err := s.Commit(); err != nil {
			r.stopLocked(err)
			return err
		}
	}
	staged = nil
	for _, b := range res.Files {
		r.hashes[b.Path] = chain.Sum(b.Data).String()
	}
	return r.settle(ctx, e, &res, nil)
}

func errorMessage(err error) string {
	if f, ok := fault.Of(err); ok {
		return f.Message
	}
	return err.Error()
}

// answered is the answer among the files of a result, if it has one.
func (r *Run) answered(u item, res Result) string {
	w, _ := r.worker(u.worker)
	for _, o := range w.Outputs {
		for _, b := range res.Files {
			if o.Answer && w.Prompt != "" && r.expand(o.Path, u.scope) == b.Path {
				return string(b.Data)
			}
		}
	}
	return ""
}

// sweep takes away what an earlier attempt left in folders that the item fills, and this one
// does not give. The caller holds mu.
func (r *Run) sweep(u item, res Result) error {
	w, _ := r.worker(u.worker)
	given := map[string]bool{}
	for _, b := range res.Files {
		given[b.Path] = true
	}
	for _, o := range w.Outputs {
		folder, all := strings.CutSuffix(r.expand(o.Path, u.scope), "/**")
		if !all {
			continue
		}
		files, err := r.Folder.Below(folder)
		if err != nil {
			return err
		}
		for _, file := range files {
			if given[file] {
				continue
			}
			if err := r.Folder.Remove(file); err != nil {
				return err
			}
			delete(r.hashes, file)
		}
	}
	return nil
}

// accept checks that a result is what was promised, in its form.
func (r *Run) accept(u item, res Result) error {
	w, _ := r.worker(u.worker)
	used := map[string]bool{}
	for _, o := range w.Outputs {
		want := r.expand(o.Path, u.scope)
		folder, all := strings.CutSuffix(want, "/**")
		n := 0
		for _, b := range res.Files {
			if b.Path != want && !(all && strings.HasPrefix(b.Path, folder+"/") && path.Clean(b.Path) == b.Path) {
				continue
			}
			n++
			used[b.Path] = true
			if o.Schema != "" && r.Form != nil {
				if err := r.Form(o.Schema, b.Data); err != nil {
					return fault.New(fault.OutputInvalid, "%s: %s", b.Path, errorMessage(err))
				}
			}
		}
		if n == 0 && (!all || w.Uses == "") {
			return fault.New(fault.OutputInvalid, "it did not make %s", want)
		}
	}
	for _, b := range res.Files {
		if !used[b.Path] {
			return fault.New(fault.OutputInvalid, "it made %.120s, which it did not promise", b.Path)
		}
	}
	return r.refuseActing(res)
}

// refuseActing refuses files that would act in the run's folder, which is a part of the user's
// project: a repository with a program in its configuration, settings of an editor.
func (r *Run) refuseActing(res Result) error {
	if r.Acting == nil {
		return nil
	}
	paths := make([]string, 0, len(res.Files))
	for _, b := range res.Files {
		paths = append(paths, b.Path)
	}
	found := r.Acting(paths, func(path string) bool {
		if _, ok := r.Folder.Hash(path); ok {
			return true
		}
		below, err := r.Folder.Below(path)
		return err == nil && len(below) > 0
	})
	if found != "" {
		return fault.New(fault.OutputInvalid, "%.120s has a name that other programs execute or obey unasked: give it another one", found)
	}
	return nil
}

// assignment returns the text after the prompt of every agent that works for a run: what it is,
// what it has, and what it must deliver. The id of the run is not in it: the same question in
// another run has the same answer.
func (r *Run) assignment(w recipe.Worker, e *attempt, t Task) string {
	var b strings.Builder
	item := e.worker
	if !w.Each.Once {
		item += " " + e.scope
	}
	number, most := e.tries+1, r.attempts(w)
	if w.Each.Issue {
		number = r.fixed[e.scope] + 1
	}
	within := ""
	if t.Timeout > 0 {
		within = ", at most " + t.Timeout.String()
	}
	fmt.Fprintf(&b, "[ramet] You are a worker of the recipe %s: item %s, attempt %d of %d%s. No person watches, and no questions can be asked.\n",
		r.Recipe.Name, item, number, max(most, number), within)
	tools := strings.Join(t.Tools, ", ")
	switch {
	case t.Driver != "":
		b.WriteString("You are confined: you write only in your folder.\n")
		if t.Tools != nil {
			b.WriteString("Of what you ask for you are permitted: " + strings.TrimPrefix(tools+", reading", ", ") + ".\n")
		}
	case len(t.Tools) == 0:
		b.WriteString("You have no tools: all that you need is in this message.\n")
	case slices.Contains(t.Tools, "bash"):
		b.WriteString("Your tools: " + tools + ". Commands of bash are confined: they write only in your folder, and have no network.\n")
	default:
		b.WriteString("Your tools: " + tools + ".\n")
	}
	b.WriteString("Deliver:\n")
	for _, o := range t.Outputs {
		b.WriteString("- " + r.delivery(o) + "\n")
	}
	if l := r.limits; slices.ContainsFunc(t.Outputs, func(o Output) bool { return o.Patch }) && (l.Files > 0 || l.LinesPerFile > 0) {
		fmt.Fprintf(&b, "Limits of the run:%s%s.\n", describeLimit(l.Files, "files changed"), describeLimit(l.LinesPerFile, "lines in a file"))
	}
	b.WriteString(r.refusal(e, t.Prompt))
	return b.String()
}

func describeLimit(n int, what string) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" at most %d %s", n, what)
}

// delivery describes one output for the prompt.
func (r *Run) delivery(o Output) string {
	form := r.form(o.Schema)
	folder, all := strings.CutSuffix(o.Path, "/**")
	switch {
	case o.Patch && o.Empty:
		return "changes of the files in your folder, which ramet takes as a patch when you stop. Do not commit. If nothing needs to change, change nothing, and say why."
	case o.Patch:
		return "changes of the files in your folder, which ramet takes as a patch when you stop. Do not commit. An attempt that changes nothing is refused."
	case o.Answer:
		return "as your last message " + form.answer + "; it becomes " + o.Path + "." + form.schema
	case all:
		return "files below " + folder + "/ in your folder, at least one, each " + form.file + "." + form.schema
	}
	return "the file " + o.Path + " in your folder, " + form.file + fmt.Sprintf(", at most %d MiB.", maxOutputMiB) + form.schema
}

// maxOutputMiB limits the size of an output.
const maxOutputMiB = 64

// described is a form in words.
type described struct{ answer, file, schema string }

func (r *Run) form(name string) described {
	s, ok := r.Recipe.Schema(name)
	switch {
	case !ok:
		return described{answer: "nothing but the content", file: "with any content"}
	case s.Format == "markdown":
		return described{answer: "nothing but the content, in Markdown, without a code fence around it", file: "in Markdown"}
	case s.Format == "text":
		return described{answer: "nothing but the text", file: "a text in UTF-8"}
	}
	d := described{answer: "nothing but one JSON value, without a code fence and without a word around it", file: "one JSON value"}
	if text := s.JSON(); len(text) > 2 {
		d.schema = " It must fit this JSON Schema:\n<schema>\n" + string(text) + "\n</schema>"
	}
	return d
}

// maxRefused limits the part of a refused answer that is shown.
const maxRefused = 8 << 10

// refusal describes the failure of the attempt before, and its answer.
func (r *Run) refusal(e *attempt, prompt string) string {
	if e.code == "" || e.code == string(fault.Interrupted) || e.code == run.Invalidated || e.failure == "" {
		return ""
	}
	out := ""
	if !strings.Contains(prompt, e.failure) { // a prompt may have said so
		out = "The attempt before this one was refused: " + e.failure + "\n"
	}
	if answer := e.answer; answer != "" {
		if len(answer) > maxRefused {
			answer = text.Head(answer, maxRefused) + "\n[…]"
		}
		out += "It had answered:\n<answer>\n" + answer + "\n</answer>\n"
	}
	return out
}

// attempts returns how often an item of a worker is tried.
func (r *Run) attempts(w recipe.Worker) int {
	switch {
	case w.Attempts > 0:
		return w.Attempts
	case w.Each.Issue:
		return r.limits.FixAttempts
	}
	return r.limits.Attempts
}
