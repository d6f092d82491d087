package wire

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/model/llm"
)

// Parts builds a message out of pieces and keeps the order: parts may grow side
// by side, but each is handed out as Done after those before it.
type Parts struct {
	Origin string // goes with signatures and opaque data
	list   []*part
	next   int // the first that is not handed out
	events []llm.Event
}

type part struct {
	llm.Part
	text strings.Builder
	done bool
}

// Open begins a part and gives its index.
func (p *Parts) Open(kind llm.PartType) int {
	p.list = append(p.list, &part{Part: llm.Part{Type: kind}})
	return len(p.list) - 1
}

// OpenCall begins a tool call.
func (p *Parts) OpenCall(id, name string) int {
	i := p.Open(llm.ToolCall)
	p.list[i].CallID, p.list[i].Name = id, name
	p.emit(llm.Event{Type: llm.ToolStart, Index: i, CallID: id, Name: name})
	return i
}

// Add is the next piece of a part.
func (p *Parts) Add(i int, piece string) {
	if piece == "" || p.list[i].done {
		return
	}
	p.list[i].text.WriteString(piece)
	kind := llm.TextDelta
	switch p.list[i].Type {
	case llm.Thinking:
		kind = llm.ThinkingDelta
	case llm.ToolCall:
		kind = llm.ToolDelta
	}
	p.emit(llm.Event{Type: kind, Index: i, Text: piece})
}

// Len returns how many bytes of a part came so far.
func (p *Parts) Len(i int) int { return p.list[i].text.Len() }

// Sign adds to the signature of a part.
func (p *Parts) Sign(i int, signature string) { p.list[i].Signature += signature }

// Note sets what is written of a part that is not shown while it grows.
func (p *Parts) Note(i int, text string) {
	p.list[i].text.Reset()
	p.list[i].text.WriteString(text)
}

// Cite adds a page on which a text rests.
func (p *Parts) Cite(i int, s llm.Source) {
	if s.URL != "" {
		p.list[i].Sources = append(p.list[i].Sources, s)
	}
}

// Keep sets the opaque data of a part.
func (p *Parts) Keep(i int, data []byte) { p.list[i].Opaque = append([]byte(nil), data...) }

// Done marks a part as whole.
func (p *Parts) Done(i int) {
	p.list[i].done = true
	for p.next < len(p.list) && p.list[p.next].done {
		p.hand(p.next)
		p.next++
	}
}

// DoneAll marks all parts as whole.
func (p *Parts) DoneAll() {
	for i := range p.list {
		p.Done(i)
	}
}

// Last returns the index of the last text or call, -1 if there is none.
func (p *Parts) Last() int {
	for i := len(p.list) - 1; i >= 0; i-- {
		if p.list[i].Type == llm.Text || p.list[i].Type == llm.ToolCall {
			return i
		}
	}
	return -1
}

// Calls reports whether there is a tool call.
func (p *Parts) Calls() bool {
	return slices.ContainsFunc(p.list, func(one *part) bool { return one.Type == llm.ToolCall })
}

func (p *Parts) hand(i int) {
	one := p.list[i]
	out := one.Part
	if out.Type == llm.ToolCall {
		out = llm.NewCall(out.CallID, out.Name, one.text.String())
		out.Signature, out.Opaque = one.Signature, one.Opaque
	} else {
		out.Text = one.text.String()
	}
	signed := out.Signature != "" || out.Opaque != nil
	if out.Type != llm.ToolCall && out.Text == "" && !signed && out.Sources == nil {
		return // nothing was in it
	}
	if signed || out.Type != llm.Text { // a thought is nobody else's, nor is the id of a call
		out.Origin = p.Origin
	}
	p.emit(llm.Event{Type: llm.Done, Index: i, Part: &out})
}

func (p *Parts) emit(e llm.Event) { p.events = append(p.events, e) }

// Take gives the events since the last Take. They are good until the next one begins.
func (p *Parts) Take() []llm.Event {
	out := p.events
	if p.events = out[:0]; cap(out) > keptRoom {
		p.events = nil
	}
	return out
}

// keptRoom is for how many events the room is used again: most are words, which come alone.
const keptRoom = 8

// Rest returns what is left of a total that a vendor counted without some parts of it, which
// some vendors count apart and some within. A total below zero stays one: it is no count,
// and refused as such.
func Rest(total int64, parts ...int64) int64 {
	if total < 0 {
		return total
	}
	for _, n := range parts {
		total -= n
	}
	return max(0, total)
}

// mostTokens is more than any call takes. What it would cost is still a number.
const mostTokens = 1 << 32

// Plausible reports whether what a vendor counted can be a count: less than nothing would be booked as a
// gain, and more than can be booked ends a turn whose answer is there. wrong is the number that cannot.
func Plausible(u llm.Usage) (wrong int64, ok bool) {
	for _, n := range []int64{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning} {
		if n < 0 || n > mostTokens {
			return n, false
		}
	}
	return 0, true
}

// counted passes on what is in the protocol: an impossible count is not.
func (c *Client) counted(yield func(llm.Event) bool) func(llm.Event) bool {
	return func(e llm.Event) bool {
		if e.Type == llm.Used {
			if wrong, ok := Plausible(*e.Usage); !ok {
				yield(llm.Fail(c.garbled("it says that the answer took %d tokens", wrong)))
				return false
			}
		}
		return yield(e)
	}
}

// Said is a failure in a vendor's words. As an error of a Decoder it becomes the
// fault that fits.
type Said struct {
	Kind string // type, code and status, whichever there are, with spaces
	Text string

	param  string // the member of the request that it is about
	found  bool
	page   bool // something else than an error of the protocol
	status int
	after  time.Duration
}

// Error returns the text.
func (s *Said) Error() string { return s.Text }

// ParseSaid reads the error of an event in mid-stream, be it wrapped in "error"
// or not.
func ParseSaid(data []byte) *Said {
	s := parseError(data)
	return &s
}

// parseError reads the forms in which servers write errors:
//
//	{"error": {"type", "code", "status", "message"}}, also within a list
//	{"error": "text"}, {"message": "text"}, {"detail": "text"}
func parseError(body []byte) Said {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Type    string          `json:"type"`
		Code    any             `json:"code"`
	}
	if json.Unmarshal(body, &outer) != nil {
		return Said{}
	}
	inner := outer.Error
	if len(inner) == 0 && outer.Message != "" {
		inner = body
	}
	if len(inner) == 0 {
		inner = outer.Detail
	}
	if len(inner) == 0 || string(inner) == "null" {
		return Said{}
	}
	var said struct {
		Type, Message, Status string
		Param                 any
		Code                  any
		Details               []struct {
			Reason     string `json:"reason"`
			RetryDelay string `json:"retryDelay"`
		}
	}
	out := Said{found: true}
	if json.Unmarshal(inner, &out.Text) == nil {
		return out
	}
	if json.Unmarshal(inner, &said) != nil {
		out.Text = string(inner)
		return out
	}
	words := []string{said.Type, said.Status}
	switch code := said.Code.(type) {
	case string:
		words = append(words, code)
	case float64:
		if code >= 400 && code < 600 {
			out.status = int(code)
		}
	}
	for _, d := range said.Details {
		words = append(words, d.Reason)
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil && wait > 0 {
			out.after = wait
		}
	}
	out.param, _ = said.Param.(string)
	out.Text, out.Kind = said.Message, strings.Join(strings.Fields(strings.Join(words, " ")), " ")
	return out
}

// tooLong are pieces of what vendors say of a context that does not fit.
var tooLong = []string{
	"context_length_exceeded", "prompt is too long", "exceed context limit", "maximum context length",
	"exceeds the maximum number of tokens", "exceed_context_size", "exceeds the available context size",
	"context window", "request_too_large", "input is too long",
}

// classify makes the fault that fits what a vendor said.
func (c *Client) classify(s Said) error {
	kind, all := strings.ToLower(s.Kind), strings.ToLower(s.Kind+" "+s.Text)
	// A text may quote the request; only a context that is too long is told in
	// nothing but words.
	is := func(words ...string) bool { return containsAny(kind, words) }
	code, again, hint := fault.ProviderOverloaded, true, "repeat it later"
	switch {
	case s.status == http.StatusRequestEntityTooLarge, s.status != 429 && containsAny(all, tooLong):
		code, again, hint = fault.ProviderContext, false, "compact the context, or take a model with a larger one"
	case s.status == 401, s.status == 402, s.status == 403,
		is("authentication_error", "permission_error", "invalid_api_key", "api_key_invalid", "unauthenticated", "permission_denied"):
		code, again, hint = fault.ProviderAuth, false, "check the key: `ramet auth list` says where it comes from, `ramet auth set VENDOR` replaces it"
	case is("insufficient_quota"):
		code, again, hint = fault.ProviderRateLimit, false, "the account has no credit left"
	case s.status == 429, s.status == 0 && is("rate_limit", "resource_exhausted"):
		code, hint = fault.ProviderRateLimit, "wait, or use another model"
	case s.status == 404 && s.page:
		code, again, hint = fault.ProviderProtocol, false, "check the base URL: something else may answer there"
	case s.status == 404, s.status < 500 && is("not_found", "model_not_found"):
		code, again, hint = fault.ProviderNotFound, false, "`ramet models` lists the known ones"
	case s.status >= 400 && s.status < 500, s.status == 0 && is("invalid_request", "invalid_argument", "invalid_prompt"):
		code, again, hint = fault.ProviderBadRequest, false, ""
	}
	why := &llm.Failure{Status: s.status, Kind: s.Kind, Param: s.param, Again: again, After: s.after, Says: c.hide(describeAnswer(s))}
	f := fault.New(code, "%s at %s: %w", c.Vendor, c.place(), why)
	if hint != "" {
		f = f.WithHint("%s", strings.ReplaceAll(hint, "VENDOR", c.Vendor))
	}
	return f
}

func containsAny(s string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}

func describeAnswer(s Said) string {
	out := cmp.Or(text.Line(s.Text, 400), "it gives no reason")
	if s.page {
		out = "no error of its protocol came with it"
	}
	switch {
	case s.status != 0 && s.Kind != "":
		return fmt.Sprintf("status %d, %s: %s", s.status, text.Line(s.Kind, 80), out)
	case s.status != 0:
		return fmt.Sprintf("status %d: %s", s.status, out)
	case s.Kind != "":
		return fmt.Sprintf("%s: %s", text.Line(s.Kind, 80), out)
	}
	return out
}

// retryAfter returns how long a server asks us to wait: in milliseconds, in seconds,
// or until a date.
func retryAfter(h http.Header, otherwise time.Duration) time.Duration {
	const most = 24 * time.Hour
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return min(time.Duration(min(ms, 1e9))*time.Millisecond, most)
	}
	value := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(value, 64); err == nil && s > 0 {
		return min(time.Duration(min(s, 1e6)*float64(time.Second)), most)
	}
	if at, err := http.ParseTime(value); err == nil {
		now := time.Now()
		if sent, err := http.ParseTime(h.Get("Date")); err == nil {
			now = sent // its clock, not ours
		}
		return min(max(at.Sub(now), 0), most)
	}
	return otherwise
}

// Found reports whether there was an error to read at all.
func (s *Said) Found() bool { return s.found }
