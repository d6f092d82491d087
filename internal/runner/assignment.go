package runner

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/run/recipe"
)

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
	fmt.Fprintf(&b, "[ramet] You are a worker of the recipe %s: item %s, attempt %d of %d%s. No person watches, and no questions can be asked.\n",
		r.Recipe.Name, item, number, max(most, number), describeTimeout(t.Timeout))
	if t.Driver != "" {
		b.WriteString(describeConfinement(t.Tools))
	} else if len(t.Tools) == 0 {
		b.WriteString("You have no tools: all that you need is in this message.\n")
	} else {
		fmt.Fprintf(&b, "Your tools: %s.%s\n", strings.Join(t.Tools, ", "), describeSandbox(t.Tools))
	}
	b.WriteString("Deliver:\n")
	for _, o := range t.Outputs {
		b.WriteString("- " + r.delivery(o) + "\n")
	}
	if l := r.limits; makesPatch(t) && (l.Files > 0 || l.LinesPerFile > 0) {
		fmt.Fprintf(&b, "Limits of the run:%s%s.\n", describeLimit(l.Files, "files changed"), describeLimit(l.LinesPerFile, "lines in a file"))
	}
	b.WriteString(r.refusal(e, t.Prompt))
	return b.String()
}

// describeConfinement describes what a program may use.
func describeConfinement(tools []string) string {
	out := "You are confined: you write only in your folder.\n"
	if tools != nil {
		out += "Of what you ask for you are permitted: " + strings.Join(append(slices.Clone(tools), "reading"), ", ") + ".\n"
	}
	return out
}

func describeTimeout(limit time.Duration) string {
	if limit <= 0 {
		return ""
	}
	return ", at most " + limit.String()
}

func describeLimit(n int, what string) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" at most %d %s", n, what)
}

func describeSandbox(tools []string) string {
	for _, t := range tools {
		if t == "bash" {
			return " Commands of bash are confined: they write only in your folder, and have no network."
		}
	}
	return ""
}

func makesPatch(t Task) bool {
	for _, o := range t.Outputs {
		if o.Patch {
			return true
		}
	}
	return false
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
			cut := maxRefused
			for !utf8.RuneStart(answer[cut]) {
				cut--
			}
			answer = answer[:cut] + "\n[…]"
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
