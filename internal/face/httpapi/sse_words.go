package httpapi

import (
	"ramet/internal/base/text"
	"ramet/internal/operation/public"
	"ramet/internal/turn/loop"
)

// words is the data of an event that tells of words and nothing else, as encode makes it: nearly all events
// are such, some fifty in a second for each agent that writes. Only the words can hold a secret. Not ok:
// it is another event.
func (e *Events) words(one loop.Event) ([]byte, bool) {
	if one.Type != loop.TextDelta && one.Type != loop.ThinkingDelta || len(one.Text) > maxLine/8 {
		return nil, false
	}
	if one.Turn != 0 || one.CallID != "" || one.Tool != "" || one.Ask != "" || one.IsError || one.Entry != nil || one.State != nil ||
		one.Outcome != nil || one.Err != nil || one.Attempt.Number != 0 || len(one.Children) > 0 {
		return nil, false
	}
	if e.o.Hide != nil {
		one.Text = e.o.Hide(one.Text)
	}
	b := append(public.AppendWords(make([]byte, 0, 128+len(one.Text)), one), `,"durable":false}`...)
	if !text.PlainJSON(b) {
		b = []byte(text.JSON(string(b)))
	}
	return b, true
}
