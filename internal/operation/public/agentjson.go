package public

import (
	"strconv"

	"ramet/internal/core/agent"
	"ramet/internal/core/state"
)

// AppendNow appends the JSON form of FormatNow(a, n), with what is known of the program that drives the
// agent: the same bytes as encoding/json writes, straight from the row. Lists have thousands.
func AppendNow(b []byte, a *agent.Agent, n *state.Now, driven *Driven) ([]byte, error) {
	now := n.Of(*a)
	b = quote(append(b, `{"uuid":`...), string(a.ID))
	b = orNull(append(b, `,"name":`...), a.Name)
	b = orNull(append(b, `,"parent_uuid":`...), string(a.Parent))
	b = append(b, `,"fork_message_id":`...)
	if a.IsZero() {
		b = append(b, `null`...)
	} else {
		b = strconv.AppendInt(b, int64(a.ForkMessage), 10)
	}
	b = field(b, "status", string(a.Status))
	b = orNull(append(b, `,"end_reason":`...), a.EndReason)
	b = append(appendStamp(append(b, `,"created_at":"`...), a.CreatedAt), `","ended_at":`...)
	if a.EndedAt.IsZero() {
		b = append(b, `null`...)
	} else {
		b = append(appendStamp(append(b, '"'), a.EndedAt), '"')
	}
	b = strconv.AppendInt(append(b, `,"depth":`...), int64(a.Depth), 10)
	b = strconv.AppendInt(append(b, `,"own_messages":`...), a.Own, 10)
	b = strconv.AppendInt(append(b, `,"total_messages":`...), a.Total, 10)
	b = strconv.AppendInt(append(b, `,"unread_mail":`...), a.Unread, 10)
	b = strconv.AppendInt(append(b, `,"head_message_id":`...), int64(a.Head), 10)
	b = orNull(append(b, `,"provider":`...), a.Provider)
	b = orNull(append(b, `,"model":`...), a.Model)
	b, err := appendDriven(b, a.Driver(), driven)
	if err != nil {
		return nil, err
	}
	b = append(orNull(append(b, `,"cwd":`...), a.Cwd), `,"lease":`...)
	b = append(appendLease(b, a.Lease), `,"activity":`...)
	b = appendState(orNull(b, activity(n.Held(a.ID))), now)
	b = strconv.AppendInt(append(b, `,"spent":{"tokens":`...), a.Spent.Tokens, 10)
	b = strconv.AppendInt(append(b, `,"cost_nano_usd":`...), a.Spent.Cost, 10)
	b = appendLimit(append(b, `},"budget":{"tokens":`...), a.Budget.Tokens)
	b = appendLimit(append(b, `,"cost_nano_usd":`...), a.Budget.Cost)
	return append(b, `}}`...), nil
}

// appendDriven appends the fields of an agent that another program drives; nothing, if none does.
func appendDriven(b []byte, name string, d *Driven) ([]byte, error) {
	if name != "" {
		b = field(b, "driver", name)
	}
	if d == nil {
		return b, nil
	}
	driven, err := plainJSON(d)
	return append(append(b, `,"driven":`...), driven...), err
}

func appendLease(b []byte, l agent.Lease) []byte {
	if l.Owner == "" {
		return append(b, `null`...)
	}
	b = quote(append(b, `{"owner":`...), l.Owner)
	b = strconv.AppendInt(append(b, `,"epoch":`...), l.Epoch, 10)
	return append(appendStamp(append(b, `,"until":"`...), l.Until), `"}`...)
}

func appendState(b []byte, s state.State) []byte {
	b = quote(append(b, `,"state":{"word":`...), string(s.Word))
	b = orNull(append(b, `,"detail":`...), s.Detail)
	if s.Commands != "" {
		b = field(b, "commands", s.Commands)
	}
	return append(b, '}')
}

// orNull appends a string, or null for none.
func orNull(b []byte, s string) []byte {
	if s == "" {
		return append(b, `null`...)
	}
	return quote(b, s)
}

// appendLimit appends a number, or null.
func appendLimit(b []byte, l agent.Limit) []byte {
	n, ok := l.Get()
	if !ok {
		return append(b, `null`...)
	}
	return strconv.AppendInt(b, n, 10)
}
