package acpagent

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/operation/session"
	"ramet/internal/turn/loop"
)

// telling records the part of a turn that an editor has received, as far as later updates depend on it.
type telling struct {
	mu      sync.Mutex
	said    bool // something of the message that is being written
	thought bool
	output  map[string]*output // of calls that print
}

// output holds the output of a call and the time of the last update.
type output struct {
	text string
	at   time.Time
}

const (
	mostOutput  = 8 << 10 // of what a call prints, while it runs
	outputEvery = 200 * time.Millisecond
)

// show tells the editor of one thing that happened to the session's agent.
func (c *conversation) show(e loop.Event) {
	t := &c.telling
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.Type {
	case loop.TextDelta:
		t.said = true
		c.tell(sdk.UpdateAgentMessageText(e.Text))
	case loop.ThinkingDelta:
		t.thought = true
		c.tell(sdk.UpdateAgentThoughtText(e.Text))
	case loop.Recorded:
		c.recorded(*e.Entry)
	case loop.CallStarted:
		c.tell(sdk.UpdateToolCall(sdk.ToolCallId(e.CallID), sdk.WithUpdateStatus(sdk.ToolCallStatusInProgress), sdk.WithUpdateTitle(titled(e.Tool, e.Text))))
	case loop.CallOutput:
		c.printed(e)
	case loop.CallEnded:
		delete(t.output, e.CallID)
	case loop.Note, loop.Compacting:
		c.remark(e.Text)
	case loop.Retrying:
		c.remark("the model did not answer; asking again")
	case loop.Spent:
		c.tellUsage(e)
	}
}

// remark tells something that neither the model nor its user said.
func (c *conversation) remark(what string) {
	if what = strings.TrimSpace(what); what != "" {
		c.tell(sdk.UpdateAgentThoughtText("[ramet] " + text.Line(what, 1000) + "\n\n"))
	}
}

// recorded tells of an entry that is durable now: what was not told of it while it was made.
func (c *conversation) recorded(e history.Entry) {
	one, err := c.History().ReadEntry(c.server.ctx, e)
	if err != nil {
		c.server.o.Log(err.Error())
		return
	}
	t := &c.telling
	switch {
	case e.Kind == history.Assistant || e.Kind == history.Interrupted:
		said, thought := t.said, t.thought
		t.said, t.thought = false, false
		c.spoken(one, said, thought, false)
	case (e.Kind == history.User || e.Kind == history.Notice) && c.busy():
		// the editor has its user's words
	case e.Kind == history.Note && one.About.Driver == nil:
		// it was told as it happened
	default:
		c.entry(one, false)
	}
}

// printed sends the output of a call so far, but not for every piece.
func (c *conversation) printed(e loop.Event) {
	t := &c.telling
	if t.output == nil {
		t.output = map[string]*output{}
	}
	o := t.output[e.CallID]
	if o == nil {
		o = &output{}
		t.output[e.CallID] = o
	}
	if o.text += e.Text; len(o.text) > mostOutput {
		o.text = strings.ToValidUTF8(o.text[len(o.text)-mostOutput:], "")
	}
	if now := time.Now(); now.Sub(o.at) >= outputEvery {
		o.at = now
		c.tell(sdk.UpdateToolCall(sdk.ToolCallId(e.CallID), sdk.WithUpdateContent([]sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(fenced(o.text)))})))
	}
}

// tellUsage sends the size of the context.
func (c *conversation) tellUsage(e loop.Event) {
	a, err := c.Store.Agent(c.server.ctx, c.agent)
	if err != nil {
		return
	}
	m, err := c.Models().Model(a, noModel)
	if err != nil || m.Context == 0 {
		return
	}
	u := e.Usage
	c.tell(sdk.SessionUpdate{UsageUpdate: &sdk.SessionUsageUpdate{SessionUpdate: "usage_update",
		Size: int(m.Context), Used: int(u.Input + u.CacheRead + u.CacheWrite + u.Output)}})
}

// mostReplayed limits the entries that a load sends, newest first.
const mostReplayed = 10000

// replay sends the editor the conversation so far: all that was said, also where the model has a summary
// instead, but not what was rewound.
func (c *conversation) replay(ctx context.Context) error {
	var pages [][]session.Entry // newest first
	total, more := 0, true
	before := id.Message(0)
	for more && total < mostReplayed {
		p, err := c.History().Page(ctx, c.agent, session.Span{Before: before, Limit: 500})
		if err != nil {
			return err
		}
		if len(p.Entries) == 0 {
			break
		}
		pages, total = append(pages, p.Entries), total+len(p.Entries)
		before, more = p.Entries[0].ID, p.More
	}
	slices.Reverse(pages)
	all := standing(slices.Concat(pages...))
	if more && total >= mostReplayed {
		c.remark("this is the end of a long conversation; `ramet log` shows all of it")
	}
	c.telling.mu.Lock()
	defer c.telling.mu.Unlock()
	for _, e := range all {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.entry(e, true)
	}
	return nil
}

// standing leaves out what was rewound.
func standing(all []session.Entry) []session.Entry {
	back := id.Message(0) // what is newer than this was rewound; 0: nothing was
	var out []session.Entry
	for _, e := range slices.Backward(all) {
		if back != 0 && e.ID > back {
			continue
		}
		back = 0
		if e.Kind == history.Rewind {
			if to, err := id.ParseMessage(e.About.Target); err == nil {
				back = to
			}
			continue
		}
		out = append(out, e)
	}
	slices.Reverse(out)
	return out
}

// entry tells an entry whole; past says that it is a replay.
func (c *conversation) entry(e session.Entry, past bool) {
	switch e.Kind {
	case history.User, history.Notice:
		if said := history.Plain(e.Parts); strings.TrimSpace(said) != "" {
			c.tell(sdk.UpdateUserMessageText(said))
		}
		for _, p := range e.Parts {
			if p.Type == history.Image && len(p.Data) > 0 {
				c.tell(sdk.UpdateUserMessage(sdk.ImageBlock(base64.StdEncoding.EncodeToString(p.Data), p.MediaType)))
			}
		}
	case history.Assistant, history.Interrupted:
		c.spoken(e, false, false, past)
	case history.ToolResult:
		for _, p := range e.Parts {
			if p.Type == history.Result {
				c.answered(p)
			}
		}
	case history.Compact:
		c.remark("the conversation so far was summed up for the model")
	case history.Command:
		if e.About.Command == history.ModeCommand && !past {
			c.tell(sdk.SessionUpdate{CurrentModeUpdate: &sdk.SessionCurrentModeUpdate{SessionUpdate: "current_mode_update", CurrentModeId: sdk.SessionModeId(e.About.Mode)}})
		}
	case history.Note:
		c.remark(history.Plain(e.Parts))
	}
}

// spoken sends the model's text and calls, except those sent already.
func (c *conversation) spoken(e session.Entry, said, thought, past bool) {
	for _, p := range e.Parts {
		switch {
		case p.Type == history.Thinking && !thought && strings.TrimSpace(p.Text) != "":
			c.tell(sdk.UpdateAgentThoughtText(p.Text))
		case p.Type == history.Text && !said && strings.TrimSpace(p.Text) != "":
			c.tell(sdk.UpdateAgentMessageText(p.Text))
		case p.Type == history.ToolCall:
			c.calls(p, past)
		}
	}
	if e.Kind == history.Interrupted && past {
		c.remark("interrupted")
	}
}
