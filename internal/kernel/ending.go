package kernel

import (
	"context"
	"fmt"
	"slices"

	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/tool"
)

// ending is asked when the model of a turn has said its last word. It is told once that
// others still work for it, and once that letters are unread which it could have read: who
// ends a turn over them loses them, mostly without knowing.
func (p *agentProcess) ending(j *job, box tool.Box) func(context.Context) (string, error) {
	waits := slices.ContainsFunc(box, func(t tool.Tool) bool { return tool.NameOf(t) == "wait" })
	if !waits || j.prompt.Leaves || j.only != nil {
		return nil
	}
	toldWork, toldMail := false, false
	return func(ctx context.Context) (string, error) {
		if ctx.Err() != nil {
			return "", llm.Ended(ctx)
		}
		if open := p.kernel.open(ctx, p.id); len(open) > 0 && !toldWork {
			toldWork, toldMail = true, true
			return p.stillWork(ctx, open), nil
		}
		if toldMail {
			return "", nil
		}
		unread, err := p.kernel.Store.Letters(ctx, p.id, mail.Filter{Unread: true})
		if err != nil || len(unread) == 0 {
			return "", err
		}
		toldMail = true
		return fmt.Sprintf("Your turn is not over: %s unread, from %s. Read with read_mail, or end your turn if you do not need them.",
			text.Count(len(unread), "mail message"), p.kernel.listed(ctx, senders(unread))), nil
	}
}

func (p *agentProcess) stillWork(ctx context.Context, open []id.Agent) string {
	work := "still work"
	if len(open) == 1 {
		work = "still works"
	}
	return "Your turn is not over: " + p.kernel.listed(ctx, open) + " " + work + " for you, and no one would read the results. " +
		`wait for them, or kill what is not needed; wait with then: "wake" lets you end your turn now, and the reports wake you.`
}

// unreadNotice begins a turn while mail waits.
func (p *agentProcess) unreadNotice(ctx context.Context) ([]history.Draft, error) {
	unread, err := p.kernel.Store.Letters(ctx, p.id, mail.Filter{Unread: true})
	if err != nil || len(unread) == 0 {
		return nil, err
	}
	return []history.Draft{loop.Notice(p.waiting(ctx, senders(unread)))}, nil
}

// cutToo begins a turn that goes on alone: those who worked for the agent were interrupted too,
// and nobody goes on with them.
func (p *agentProcess) cutToo(ctx context.Context) ([]history.Draft, error) {
	k := p.kernel
	all, err := k.Store.Agents(ctx, agent.Filter{Brief: true})
	if err != nil {
		return nil, err
	}
	var children []id.Agent
	for _, a := range all {
		if a.Parent == p.id {
			children = append(children, a.ID)
		}
	}
	if len(children) == 0 {
		return nil, nil
	}
	now, err := k.Sources().Look(ctx, false, children...)
	if err != nil {
		return nil, err
	}
	var cut []id.Agent
	for _, a := range all {
		if _, busy := k.busy(a.ID); a.Parent != p.id || busy || now.Of(a).Word != state.Interrupted {
			continue
		}
		task, err := registry.TaskOf(ctx, k.Store, a.ID)
		if err != nil {
			return nil, err
		}
		if task.Then != "" {
			cut = append(cut, a.ID)
		}
	}
	if len(cut) == 0 {
		return nil, nil
	}
	return []history.Draft{loop.Notice("Interrupted too, and idle now: " + k.listed(ctx, cut) + ". Mail from you sets one to work again.")}, nil
}

func senders(letters []mail.Letter) []id.Agent {
	out := make([]id.Agent, len(letters))
	for i, l := range letters {
		if out[i] = l.From; l.From == id.Kernel {
			out[i] = l.About
		}
	}
	return out
}
