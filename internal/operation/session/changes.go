package session

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/operation/public"
	"ramet/internal/turn/loop"
)

// changes remembers what worktrees hold. git takes its time, so it is asked beside those who
// look, one worktree after the other, and of one that is worked in not without a pause.
type changes struct {
	mu    sync.Mutex
	known map[id.Agent]changedAt
	asked bool // somebody asks git
}

type changedAt struct {
	head id.Message // of the agent, when it was looked
	at   time.Time
	public.HomeChange
}

// changePause lies between two looks at one worktree.
const changePause = 3 * time.Second

// of returns the known changes. What is out of date is looked up, and then told of.
func (c *changes) of(ctx context.Context, w *Workspace, living []agent.Agent) map[id.Agent]public.HomeChange {
	out := map[id.Agent]public.HomeChange{}
	k, _, err := w.Trees.Keeper(ctx)
	if err != nil {
		return out
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var stale []agent.Agent
	for _, a := range living {
		if !k.Holds(a.Cwd) {
			continue
		}
		had, ok := c.known[a.ID]
		if ok && had.Branch != "" {
			out[a.ID] = had.HomeChange
		}
		if !ok || had.head != a.Head {
			stale = append(stale, a)
		}
	}
	if len(stale) > 0 && !c.asked {
		c.asked = true
		go c.look(context.WithoutCancel(ctx), w, stale)
	}
	return out
}

// look asks git about worktrees.
func (c *changes) look(ctx context.Context, w *Workspace, stale []agent.Agent) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, a := range stale {
		c.mu.Lock()
		wait := changePause - time.Since(c.known[a.ID].at)
		c.mu.Unlock()
		if wait > 0 {
			time.Sleep(wait)
		}
		now := changedAt{head: a.Head, at: time.Now()}
		if work, ok, err := w.Trees.Look(ctx, a); err == nil && ok {
			now.HomeChange = public.HomeChange{Branch: work.Branch, Files: len(work.Files)}
			now.Added, now.Removed = countInsertions(work.Stat)
		}
		c.mu.Lock()
		if c.known == nil {
			c.known = map[id.Agent]changedAt{}
		}
		c.known[a.ID] = now
		c.mu.Unlock()
	}
	c.mu.Lock()
	c.asked = false
	c.mu.Unlock()
	w.Elsewhere.Publish(loop.Event{Type: loop.Became})
}

var statWords = text.Regexp(`(\d+) (insertion|deletion)`)

// countInsertions reads git's short statistics.
func countInsertions(stat string) (added, removed int) {
	for _, m := range statWords().FindAllStringSubmatch(stat, -1) {
		n, _ := strconv.Atoi(m[1])
		if m[2] == "insertion" {
			added = n
		} else {
			removed = n
		}
	}
	return added, removed
}

// Changed returns the changes of an agent as a patch: those in its worktree that its parent's folder
// has not, or, where it has none, what became of its files since its last turn began.
func (w Files) Changed(ctx context.Context, of id.Agent) (string, error) {
	a, err := w.ws.Store.Agent(ctx, of)
	if err != nil {
		return "", err
	}
	if tree, ok, err := w.ws.Trees.Of(ctx, a); err != nil || ok {
		if err != nil {
			return "", err
		}
		return tree.keep.Diff(ctx, tree.Tree, tree.Home, "")
	}
	changed, err := w.DiffFiles(ctx, a, 0, 0)
	if fault.Is(err, fault.NotFound) {
		return "", nil
	}
	var out strings.Builder
	for _, c := range changed {
		if out.WriteString(c.Diff); c.Diff == "" {
			fmt.Fprintf(&out, "%s: %s\n", c.Path, c.Note)
		}
	}
	return out.String(), err
}
