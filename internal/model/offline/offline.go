// Package offline has the models that need no network: the built-in Model, a guide for newcomers, and
// ScriptModel, which follows a file.
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
//
// # Scripts
//
// A script holds one JSON object a line; empty lines and lines that begin with # are skipped. Each object is
// one reply, and a request gets the first reply that matches and was not used up:
//
//	{"steps": [STEP, …]}                  used once, in the order of the file
//	{"when": "TEXT", "steps": […]}        only for a request whose last message contains TEXT
//	{"repeat": true, "steps": […]}        used as often as it matches
//
// A STEP is one of:
//
//	{"text": "…"}                         a piece of text; adjacent pieces are one part
//	{"thinking": "…", "signature": "…"}   a piece of thinking; a signature ends the part
//	{"call": "NAME", "args": {…}, "id": "…"}   a tool call; the id defaults to call_N
//	{"call": "NAME", "raw": "{\"cut"}     with these arguments, byte for byte
//	{"usage": {"input": 1, …}}            as llm.Usage
//	{"wait": "NAME"}                      until the gate of that name opens
//	{"error": "CODE", "message": "…", "again": true, "after_ms": 10}
//	{"cut": true}                         the stream ends here: STREAM_CUT
//	{"finish": "length"}                  the reason; defaults to stop or tool_calls
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
		p := player{ctx: ctx, yield: yield}
		if err := r.Check(); err != nil {
			p.emit(llm.Fail(err))
			return
		}
		body, err := encode(r)
		if err != nil {
			p.emit(llm.Fail(fault.New(fault.ProviderBadRequest, "encode request: %w", err)))
			return
		}
		p.emit(llm.Event{Type: llm.Sent, Sent: llm.Bytes{Path: "/offline", Body: body}})
		if !p.gone {
			p.play(think(r).steps(len(body), r.MaxTokens))
		}
	}
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

// steps returns the answer as it is streamed. asked is the size of the request.
func (a answer) steps(asked int, limit int64) []scriptStep {
	var out []scriptStep
	reason, size := llm.Stop, 0
	if len(a.calls) > 0 {
		reason = llm.ToolCalls
		for _, c := range a.calls {
			out = append(out, scriptStep{Call: c.Name, ID: c.CallID, Raw: new(string(c.Args))})
			size += len(c.Name) + len(c.Args)
		}
	} else {
		said := Label + a.text
		// A token is taken for four bytes, here as in the usage.
		if limit > 0 && int64(len(said)) > 4*limit {
			said, reason = text.Head(said, int(4*limit)), llm.Length
		}
		size = len(said)
		for said != "" {
			next := text.Head(said, piece)
			out, said = append(out, scriptStep{Text: &next}), said[len(next):]
		}
	}
	return append(out, scriptStep{Usage: &llm.Usage{Input: tokens(asked), Output: tokens(size)}}, scriptStep{Finish: reason})
}

func tokens(bytes int) int64 { return int64(bytes+3) / 4 }
