package acpagent

import (
	"context"
	"errors"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/turn/permit"
)

// asker asks the editor's user. A question of an agent that is no session is that of the nearest
// session above it.
type asker struct{ s *Server }

func (k asker) Ask(ctx context.Context, q permit.Question) (permit.Verdict, error) {
	c, own, err := k.s.above(ctx, q.Agent)
	if err != nil {
		return permit.Verdict{}, err
	}
	if own && q.CallID != "" && q.BeforeCall() {
		c.happen.known(q.CallID) // the editor knows the call before it is asked about it
	}
	r := sdk.RequestPermissionRequest{SessionId: c.id(), ToolCall: asked(q, own), Options: options(q, own)}
	var answer sdk.RequestPermissionResponse
	if err := k.s.conn.Call(ctx, sdk.ClientMethodSessionRequestPermission, r, &answer); err != nil {
		var refused *sdk.RequestError
		if errors.As(err, &refused) {
			return permit.Verdict{}, fault.New(fault.Denied, "the editor cannot ask: %s", refused.Message)
		}
		return permit.Verdict{}, err
	}
	v := permit.Verdict{Choice: permit.Refuse, By: history.Actor{Who: k.s.o.User, Face: history.ACP}}
	chosen := answer.Outcome.Selected
	if chosen == nil {
		return v, nil
	}
	v.Choice = permit.Choice(chosen.OptionId)
	if v.Choice == permit.Because {
		return permit.Verdict{Choice: permit.Refuse, By: v.By}, c.halt(ctx)
	}
	if q.Check(v) != nil {
		v.Choice = permit.Refuse
	}
	if !own || !q.BeforeCall() {
		c.settled(asked(q, own), v.Choice != permit.Refuse)
	}
	return v, nil
}

// above is the session that an agent belongs to, and whether it is that session's own.
func (s *Server) above(ctx context.Context, a id.Agent) (c *conversation, own bool, err error) {
	for own = true; a != ""; own = false {
		if c := s.of(a); c != nil {
			return c, own, nil
		}
		s.opening.Lock()
		d := s.desk
		s.opening.Unlock()
		if d == nil {
			break
		}
		row, err := d.Store.Agent(ctx, a)
		if err != nil {
			return nil, false, err
		}
		a = row.Parent
	}
	return nil, false, fault.New(fault.Denied, "no person is here to ask")
}

// asked returns the question that the editor shows its user.
func asked(q permit.Question, own bool) sdk.ToolCallUpdate {
	call := q.CallID
	if !own || !q.BeforeCall() {
		call = "question-" + q.Agent.Short() + "-" + call
	}
	title, kind := titled(q.Tool, q.Summary), kindOf(q.Tool)
	if q.Says != "" {
		title, kind = text.Line(q.Says, 400), sdk.ToolKindOther
	}
	if !own {
		title = q.Agent.Short() + ": " + title
	}
	status := sdk.ToolCallStatusPending
	out := sdk.ToolCallUpdate{ToolCallId: sdk.ToolCallId(call), Title: &title, Kind: &kind, Status: &status}
	why := q.Why
	if q.Reason != "" {
		why += "\n" + q.Reason
	}
	if q.Says != "" {
		why = q.Says
	}
	if does := q.Does(); does != "" && (!own || q.Whole != "") {
		why = fenced(does) + "\n" + why
	}
	if why != "" {
		out.Content = []sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(why))}
	}
	return out
}

// options are our choices, those that can be chosen, permissions first: editors put the first at
// the hand.
func options(q permit.Question, own bool) []sdk.PermissionOption {
	var yes, no []sdk.PermissionOption
	for _, o := range q.Options() {
		if o.No != "" {
			continue
		}
		one := sdk.PermissionOption{OptionId: sdk.PermissionOptionId(o.Choice), Name: o.Text}
		if o.Rule != "" {
			one.Name += ": " + o.Rule
		}
		switch o.Choice {
		case permit.Refuse:
			one.Kind = sdk.PermissionOptionKindRejectOnce
			no = append(no, one)
		case permit.Because:
			if !own {
				continue // the turn that asks is not that of the session
			}
			one.Kind, one.Name = sdk.PermissionOptionKindRejectOnce, "no, and stop: I say why"
			if q.Says != "" {
				one.Name = "in other words: stop, I say them"
			}
			no = append(no, one)
		case permit.ForAgent, permit.ForProject:
			one.Kind = sdk.PermissionOptionKindAllowAlways
			yes = append(yes, one)
		default:
			one.Kind = sdk.PermissionOptionKindAllowOnce
			yes = append(yes, one)
		}
	}
	return append(yes, no...)
}

// settled reports that a question which is no call of the session's own was answered.
func (c *conversation) settled(q sdk.ToolCallUpdate, yes bool) {
	status := sdk.ToolCallStatusCompleted
	if !yes {
		status = sdk.ToolCallStatusFailed
	}
	c.tell(sdk.StartToolCall(q.ToolCallId, *q.Title, sdk.WithStartKind(*q.Kind), sdk.WithStartStatus(status)))
}

// halt stops the turn that asks. The protocol has no place for words beside a refusal: they come
// with the next prompt, and the model is to do nothing before it has heard them.
func (c *conversation) halt(ctx context.Context) error {
	c.server.asked.Go(func() {
		if err := c.stop(c.server.ctx); err != nil {
			c.server.o.Log("stop: " + err.Error())
		}
	})
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(patience): // it is refused all the same
		return nil
	}
}
