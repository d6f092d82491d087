package public

import "strconv"

// AppendTo appends the JSON form of an agent: the same bytes as encoding/json writes, in a fraction of
// the time. Lists have thousands.
func (a Agent) AppendTo(b []byte) ([]byte, error) {
	b = append(quote(append(b, `{"uuid":`...), string(a.UUID)), `,"name":`...)
	b = append(orNull(b, a.Name), `,"parent_uuid":`...)
	b = append(orNull(b, a.ParentUUID), `,"fork_message_id":`...)
	b = appendInt(b, a.ForkMessageID)
	b = field(b, "status", a.Status)
	b = append(orNull(append(b, `,"end_reason":`...), a.EndReason), `,"created_at":`...)
	b = append(quote(b, a.CreatedAt), `,"ended_at":`...)
	b = append(orNull(b, a.EndedAt), `,"depth":`...)
	b = strconv.AppendInt(b, int64(a.Depth), 10)
	b = strconv.AppendInt(append(b, `,"own_messages":`...), a.OwnMessages, 10)
	b = strconv.AppendInt(append(b, `,"total_messages":`...), a.TotalMessages, 10)
	b = strconv.AppendInt(append(b, `,"unread_mail":`...), a.UnreadMail, 10)
	b = strconv.AppendInt(append(b, `,"head_message_id":`...), int64(a.HeadMessageID), 10)
	b = orNull(append(b, `,"provider":`...), a.Provider)
	b = orNull(append(b, `,"model":`...), a.Model)
	if a.Driver != nil {
		b = field(b, "driver", *a.Driver)
	}
	if a.Driven != nil {
		driven, err := plainJSON(a.Driven)
		if err != nil {
			return nil, err
		}
		b = append(append(b, `,"driven":`...), driven...)
	}
	b = append(orNull(append(b, `,"cwd":`...), a.Cwd), `,"lease":`...)
	b = append(a.Lease.appendTo(b), `,"activity":`...)
	b = a.State.appendTo(orNull(b, a.Activity))
	b = strconv.AppendInt(append(b, `,"spent":{"tokens":`...), a.Spent.Tokens, 10)
	b = strconv.AppendInt(append(b, `,"cost_nano_usd":`...), a.Spent.Cost, 10)
	b = appendInt(append(b, `},"budget":{"tokens":`...), a.Budget.Tokens)
	b = appendInt(append(b, `,"cost_nano_usd":`...), a.Budget.Cost)
	return append(b, `}}`...), nil
}

func (l *Lease) appendTo(b []byte) []byte {
	if l == nil {
		return append(b, `null`...)
	}
	b = quote(append(b, `{"owner":`...), l.Owner)
	b = strconv.AppendInt(append(b, `,"epoch":`...), l.Epoch, 10)
	return append(field(b, "until", l.Until), '}')
}

// appendTo appends the field of a state; nothing, if there is none.
func (s *State) appendTo(b []byte) []byte {
	if s == nil {
		return b
	}
	b = quote(append(b, `,"state":{"word":`...), s.Word)
	b = orNull(append(b, `,"detail":`...), s.Detail)
	if s.Commands != nil {
		b = field(b, "commands", *s.Commands)
	}
	return append(b, '}')
}

// orNull appends a string, or null.
func orNull[T ~string](b []byte, s *T) []byte {
	if s == nil {
		return append(b, `null`...)
	}
	return quote(b, string(*s))
}

// appendInt appends a number, or null.
func appendInt[T ~int64](b []byte, n *T) []byte {
	if n == nil {
		return append(b, `null`...)
	}
	return strconv.AppendInt(b, int64(*n), 10)
}
