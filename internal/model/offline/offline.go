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
	"fmt"
	"iter"
	"strconv"
	"strings"

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

// batch is one earlier answer: its calls, and what came of them.
type batch struct {
	calls   []llm.Part
	results map[string]llm.Part // by call id
}

// goOn asks to continue with the order before.
var goOn = text.Regexp(`(?i)^\s*(?:please\s+)?(?:continue|go on|carry on|resume)[\s.!]*$`)

// summaryHead begins what stands for messages that were compacted.
const summaryHead = "This is a summary of the earlier part of this conversation"

// told matches what the user is made to say and never said: the opening of a
// conversation whose beginning is missing, and results in a text to summarise.
var told = text.Regexp(`^(?:\(conversation continues\)$|\[[a-z_]+ answers\])`)

// newestOrder returns what the user asked for last, and what was answered since. What
// a compaction left of earlier orders is no order.
func newestOrder(all []llm.Message) (order string, since []batch) {
	at := -1
	for i, m := range all {
		text := m.Words()
		if m.Role != llm.User || strings.TrimSpace(text) == "" {
			continue
		}
		switch {
		case told().MatchString(text):
		case strings.Contains(text, digestTitle) || strings.HasPrefix(text, summaryHead):
			at, order = i, ""
		case at >= 0 && order != "" && goOn().MatchString(text):
		default:
			if asked, ok := ordered(text); ok {
				at, order = i, asked
			}
		}
	}
	if at < 0 {
		return "", nil
	}
	owner := map[string]int{} // of a call; ids of other models may come again, and the newest counts
	for _, m := range all[at+1:] {
		if m.Role == llm.Assistant {
			calls := m.Calls()
			for _, c := range calls {
				owner[c.CallID] = len(since)
			}
			since = append(since, batch{calls: calls, results: map[string]llm.Part{}})
		}
		for _, p := range m.Parts {
			if p.Type == llm.ToolResult {
				if i, ok := owner[p.CallID]; ok {
					since[i].results[p.CallID] = p
				}
			}
		}
	}
	return order, since
}

const idPrefix = "off_"

// number gives calls ids that no call in the conversation has.
func number(calls []call, all []llm.Message) []llm.Part {
	n := 0
	for _, m := range all {
		for _, c := range m.Calls() {
			n++
			if k, err := strconv.Atoi(strings.TrimPrefix(c.CallID, idPrefix)); err == nil && k < 1<<30 {
				n = max(n, k) // some may have been compacted away
			}
		}
	}
	out := make([]llm.Part, len(calls))
	for i, c := range calls {
		out[i] = llm.NewCall(fmt.Sprintf("%s%d", idPrefix, n+i+1), c.tool, string(c.json()))
	}
	return out
}

// summarise is in requests to compact a conversation.
const summarise = "Summarise the conversation above"

const (
	digestTitle = "Digest of the conversation so far"
	userSaid    = "- the user said: "
	digestSize  = 4 << 10
)

// wantsDigest reports whether the model is asked to summarise.
func wantsDigest(all []llm.Message) bool {
	last := -1
	for i, m := range all {
		if m.Role == llm.System && strings.Contains(m.Text(), summarise) {
			return true
		}
		if m.Role == llm.User {
			last = i
		}
	}
	return last >= 0 && strings.Contains(all[last].Text(), summarise)
}

// digest counts the messages and gives the first line of each that the user
// wrote.
func digest(all []llm.Message) string {
	var lines []string
	count := 0
	for _, m := range all {
		said := strings.TrimSpace(m.Words())
		if strings.Contains(said, summarise) {
			continue
		}
		count++
		switch {
		case strings.Contains(said, digestTitle): // of an earlier compaction
			for line := range strings.Lines(said) {
				if strings.HasPrefix(line, userSaid) {
					lines = append(lines, strings.TrimRight(line, "\n"))
				}
			}
		case m.Role == llm.User && said != "" && !told().MatchString(said):
			first, _, _ := strings.Cut(said, "\n")
			lines = append(lines, userSaid+text.Line(first, 200))
		}
	}
	out := fmt.Sprintf("%s: %d messages.", digestTitle, count)
	for i, line := range lines {
		more := fmt.Sprintf("\n- and %d more", len(lines)-i)
		if len(Label)+len(out)+len(line)+1+len(more) > digestSize {
			return out + more
		}
		out += "\n" + line
	}
	return out
}
