package kernel

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/turn/loop"
)

// facts returns what is known of a finished task, for the end of its report: a report is a claim, these are facts. It
// first commits the changes in the worktree of a task that succeeded.
func (p *agentProcess) facts(ctx context.Context, a agent.Agent, j *job, o loop.Outcome, err error) string {
	if !o.Began {
		return ""
	}
	out := []string{"[ramet] " + text.Count(o.Steps, "request") + lasted(time.Since(j.began)) + "."}
	if last := p.lastCommand(a); last != "" {
		out = append(out, "Last command: "+last+".")
	}
	if p.kernel.Trees != nil {
		out = append(out, p.treeFacts(ctx, a, err == nil)...)
	}
	return strings.Join(out, " ")
}

// lastCommand is the last command that the agent ran, and how it ended.
func (p *agentProcess) lastCommand(a agent.Agent) string {
	if p.talk == nil {
		return ""
	}
	raw, result, ok := p.talk.LastCall("bash", a.Genesis)
	var args struct {
		Command string `json:"command"`
	}
	if !ok || json.Unmarshal(raw, &args) != nil || args.Command == "" {
		return ""
	}
	how := "exit 0"
	if result.IsError {
		how = "it failed"
		for line := range strings.Lines(result.Text) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "[exit code ") {
				how = "exit " + strings.TrimSuffix(strings.TrimPrefix(line, "[exit code "), "]")
			}
		}
	}
	return text.Line(args.Command, 120) + " (" + how + ")"
}

// treeFacts describes the changes in the agent's worktree.
func (p *agentProcess) treeFacts(ctx context.Context, a agent.Agent, well bool) []string {
	look := p.kernel.Trees.Look
	if well {
		look = p.kernel.Trees.Keep
	}
	w, ok, err := look(ctx, a)
	switch {
	case err != nil:
		return []string{"Its worktree could not be read: " + text.Line(err.Error(), 200) + "."}
	case !ok:
		return nil
	case len(w.Files) == 0 && w.Commits == 0:
		return []string{"It changed no file in its worktree."}
	}
	ahead := fmt.Sprintf("Branch %s, %s ahead", w.Branch, text.Count(w.Commits, "commit"))
	if w.Stat != "" { // else all that it left is new, and not committed
		ahead += ": " + w.Stat + " (" + names(w.Files) + ")"
	}
	out := []string{ahead + "."}
	if len(w.Dirty) > 0 {
		out = append(out, "Not committed: "+names(w.Dirty)+".")
	}
	return append(out, fmt.Sprintf("diff(%q) shows it, merge(%q) brings it to you.", a.Label(), a.Label()))
}

// names lists files, but not many.
func names(files []string) string {
	const most = 8
	if len(files) > most {
		return strings.Join(files[:most], ", ") + fmt.Sprintf(" and %d more", len(files)-most)
	}
	return strings.Join(files, ", ")
}

// restoreTree makes the worktree of an agent anew that a merge removed.
func (p *agentProcess) restoreTree(ctx context.Context, a agent.Agent) error {
	if p.kernel.Trees == nil || a.IsZero() {
		return nil
	}
	up, ok, err := p.kernel.ancestor(ctx, a)
	if err != nil || !ok {
		return err
	}
	return p.kernel.Trees.Restore(ctx, a, up)
}

// here returns the parts before the user's prompt: the facts, if they differ from those the agent knows.
func (p *agentProcess) here(j *job) []history.Part {
	if j.facts == nil {
		return nil
	}
	facts := j.facts()
	if facts == "" || !j.prompt.Fresh && p.talk.Aside() == facts {
		return nil
	}
	return []history.Part{{Type: history.Facts, Text: facts}}
}

// lasted returns the duration of a task, or "" if it is too short to mention.
func lasted(d time.Duration) string {
	if d < 10*time.Second {
		return ""
	}
	return ", " + d.Round(time.Second).String()
}
