package acpagent

import (
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"ramet/internal/base/text"
	"ramet/internal/core/history"
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
