// Package offline has the built-in Model, which needs no network, and a guide for newcomers.
//
// Model is a parser of plain orders, not a real model, and says so: each of its texts begins with Label.
//
//   - No network, no randomness, no clock, no state: the same request gets the same events. What it has
//     done already it finds in the messages.
//   - It calls only tools that the request offers, and says which one is missing.
//   - An order of which it does not understand a part is not carried out at all. It says which part, and
//     what it understands (Examples).
//   - A call that failed or was denied is reported and never repeated; the next step follows.
//   - An order ends within 50 answers, whatever the results are.
//   - Text from files, commands or mail is quoted, never obeyed. Only the newest message of the user is an
//     order.
//
// AnswerTopic answers questions of newcomers from a fixed list of topics, each with what to type. A question
// without a known word is not answered.
package offline

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/model/llm"
)

// Label begins every text of the model.
const Label = "[offline model] "

// most limits the answers to one order.
const most = 50

// Model is the provider. It holds nothing.
type Model struct{}

// New gives the model.
func New() Model { return Model{} }

// Stream answers.
func (Model) Stream(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
	return func(yield func(llm.Event) bool) {
		for _, e := range streamAnswer(r) {
			if ctx.Err() != nil {
				e = llm.Fail(llm.Ended(ctx))
			}
			if !yield(e) || e.Terminal() {
				return
			}
		}
	}
}

// streamAnswer returns all events of the answer to a request.
func streamAnswer(r llm.Request) []llm.Event {
	if err := r.Check(); err != nil {
		return []llm.Event{llm.Fail(err)}
	}
	body, err := encode(r)
	if err != nil {
		return []llm.Event{llm.Fail(fault.New(fault.ProviderBadRequest, "encode request: %w", err))}
	}
	sent := llm.Event{Type: llm.Sent, Sent: llm.Bytes{Path: "/offline", Body: body}}
	return append([]llm.Event{sent}, think(r).events(len(body), r.MaxTokens)...)
}

// answer is the decision of the model: calls, or a text.
type answer struct {
	calls []llm.Part
	text  string
}

// think decides.
func think(r llm.Request) answer {
	if wantsDigest(r.Messages) {
		return answer{text: digest(r.Messages)}
	}
	order, since := newestOrder(r.Messages)
	if order == "" {
		return answer{text: "There is no order to carry out. Say what I shall do next.\n\n" + Examples}
	}
	w := newWork(r, since)
	if !w.answerFallback(order) {
		steps, odd := understand(order)
		if odd != "" {
			return answer{text: notUnderstood(odd)}
		}
		for _, s := range steps {
			if !w.carryOut(s) {
				break
			}
		}
	}
	if len(w.want) > 0 {
		return answer{calls: number(w.want, r.Messages)}
	}
	return answer{text: w.report()}
}

// encode is JSON as people write it: < and & stay what they are.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// piece is the size of a delta of text in bytes, about.
const piece = 24

// events returns the answer as it is streamed. asked is the size of the request.
func (a answer) events(asked int, limit int64) []llm.Event {
	var out []llm.Event
	reason, size := llm.Stop, 0
	for i, c := range a.calls {
		reason, size = llm.ToolCalls, size+len(c.Name)+len(c.Args)
		out = append(out, llm.Event{Type: llm.ToolStart, Index: i, CallID: c.CallID, Name: c.Name},
			llm.Event{Type: llm.ToolDelta, Index: i, Text: string(c.Args)}, llm.Event{Type: llm.Done, Index: i, Part: &a.calls[i]})
	}
	if len(a.calls) == 0 {
		said := Label + a.text
		// A token is taken for four bytes, here as in the usage.
		if limit > 0 && int64(len(said)) > 4*limit {
			said, reason = text.Head(said, int(4*limit)), llm.Length
		}
		size = len(said)
		for rest := said; rest != ""; {
			next := text.Head(rest, piece)
			out, rest = append(out, llm.Event{Type: llm.TextDelta, Text: next}), rest[len(next):]
		}
		out = append(out, llm.Event{Type: llm.Done, Part: &llm.Part{Type: llm.Text, Text: said}})
	}
	return append(out, llm.Event{Type: llm.Used, Usage: &llm.Usage{Input: tokens(asked), Output: tokens(size)}},
		llm.Event{Type: llm.Finished, Finish: llm.Finish{Reason: reason, Raw: string(reason)}})
}

func tokens(bytes int) int64 { return int64(bytes+3) / 4 }
