package acpagent

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/operation/session"
)

// mostReplayed limits the entries that a load sends, newest first.
const mostReplayed = 10000

// replay tells the editor the conversation so far: what was said, also where a summary stands in
// its place for the model, and not what was rewound.
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
