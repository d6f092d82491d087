package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// Role names the author of a message.
type Role string

// The roles.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool" // the results of tool calls
)

// Message is one turn of a conversation.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
}

// Say returns a message of one text.
func Say(r Role, text string) Message {
	return Message{Role: r, Parts: []Part{{Type: Text, Text: text}}}
}

// Text returns the text parts of a message, joined.
func (m Message) Text() string {
	out := ""
	for _, p := range m.Parts {
		if p.Type == Text {
			out += p.Text
		}
	}
	return out
}

// Words is Text without what was said beside the speaker's own words.
func (m Message) Words() string {
	out := ""
	for _, p := range m.Parts {
		if p.Type == Text && !p.Aside {
			out += p.Text
		}
	}
	return out
}

// Calls returns the tool calls of a message, in order.
func (m Message) Calls() []Part {
	var out []Part
	for _, p := range m.Parts {
		if p.Type == ToolCall {
			out = append(out, p)
		}
	}
	return out
}

// PartType names a kind of part of a message.
type PartType string

// The parts that a message is made of.
const (
	Text       PartType = "text"
	Thinking   PartType = "thinking"
	ToolCall   PartType = "tool_call"
	ToolResult PartType = "tool_result"
	Image      PartType = "image"
	Document   PartType = "document" // a PDF
	Search     PartType = "search"   // what a vendor looked up for the model
)

// Part is one piece of a message.
type Part struct {
	Type      PartType        `json:"type"`
	Aside     bool            `json:"aside,omitempty"`      // text that is not of the speaker, but about the place and the moment
	Text      string          `json:"text,omitempty"`       // text, thinking, tool_result; search: what was looked for
	CallID    string          `json:"call_id,omitempty"`    // tool_call, tool_result
	Name      string          `json:"name,omitempty"`       // tool_call, tool_result; of an image or a document its file's
	Args      json.RawMessage `json:"args,omitempty"`       // tool_call; always a JSON object
	IsError   bool            `json:"is_error,omitempty"`   // tool_result
	MediaType string          `json:"media_type,omitempty"` // image, document
	Data      []byte          `json:"data,omitempty"`       // image, document

	// Malformed holds the arguments of a tool call as the model sent them when that was
	// no JSON object, or only the beginning of one. Args is {} then, so that every
	// vendor takes the message back; such a call must not be run.
	Malformed string `json:"malformed,omitempty"`

	// Sources are the pages on which a text rests, as the vendor names them.
	Sources []Source `json:"sources,omitempty"`

	// Signature and Opaque are the vendor's: they go back to Origin unchanged, and
	// to nobody else. A call has an Origin too: there its id is known.
	Signature string          `json:"signature,omitempty"`
	Opaque    json.RawMessage `json:"opaque,omitempty"`
	Origin    string          `json:"origin,omitempty"`
}

// Source is a page that a text rests on.
type Source struct {
	URL   string `json:"url"`
	Title string `json:"title,omitempty"`
	Quote string `json:"quote,omitempty"` // of the page
}

// Sources returns those of a message, each page once, in order.
func (m Message) Sources() []Source {
	var out []Source
	seen := map[string]bool{}
	for _, p := range m.Parts {
		for _, s := range p.Sources {
			if !seen[s.URL] {
				out = append(out, s)
			}
			seen[s.URL] = true
		}
	}
	return out
}

// Listed returns a list of pages for people; empty where there are none.
func Listed(sources []Source) string {
	if len(sources) == 0 {
		return ""
	}
	out := "\n\nSources:"
	for i, s := range sources {
		title := cmp.Or(s.Title, s.URL)
		out += fmt.Sprintf("\n%d. [%s](%s)", i+1, strings.NewReplacer("[", "(", "]", ")", "\n", " ").Replace(title), s.URL)
	}
	return out
}

// NewCall makes a tool call of the arguments as a model sent them.
func NewCall(id, name, args string) Part {
	p := Part{Type: ToolCall, CallID: id, Name: name, Args: json.RawMessage("{}")}
	if args == "" { // how vendors write a call without arguments
		return p
	}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(args), &object) != nil || object == nil {
		p.Malformed = args
		return p
	}
	p.Args = json.RawMessage(args)
	return p
}

// Result answers a tool call.
func Result(call Part, text string, isError bool) Part {
	return Part{Type: ToolResult, CallID: call.CallID, Name: call.Name, Text: text, IsError: isError}
}

// MostPDF is the size of a document: it is sent with every request.
const MostPDF = 10 << 20

// PicturePart returns an image or a document as a part of a message, and what it is in a few words. An
// error is a sentence without a subject.
func PicturePart(name string, data []byte) (part Part, said string, err error) {
	if PictureType(data) == PDF {
		if err := checkPDF(data); err != nil {
			return part, "", err
		}
		return Part{Type: Document, Name: name, MediaType: PDF, Data: data}, fmt.Sprintf("PDF, %d bytes", len(data)), nil
	}
	i, err := FitPicture(data)
	if err != nil {
		return part, "", err
	}
	return Part{Type: Image, Name: name, MediaType: i.MediaType, Data: i.Data}, i.String(), nil
}

// checkPDF refuses what every vendor would.
func checkPDF(data []byte) error {
	switch {
	case len(data) > MostPDF:
		return fmt.Errorf("is a PDF of %d bytes, more than the %d MiB that are sent", len(data), MostPDF>>20)
	case bytes.Contains(data, []byte("/Encrypt")):
		return fmt.Errorf("is a PDF with a password, which cannot be read")
	case !bytes.Contains(data[max(0, len(data)-2048):], []byte("%%EOF")):
		return fmt.Errorf("is a PDF whose end is missing")
	}
	return nil
}

// ended is the last line of a command's output that says how it ended; we may have said
// something behind it.
var ended = text.Regexp(`\[exit code -?\d+\]\s*(\n\[ramet\] [^\n]*\s*)?$`)

// Failure returns a result for protocols that have no other place for saying that it is one of a
// failure. What a command printed stays as it was printed where its end says so by itself.
func (p Part) Failure() string {
	if !p.IsError || ended().MatchString(p.Text) {
		return p.Text
	}
	return "error: " + p.Text
}

// Tool is something that a model may call.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"` // JSON Schema of the arguments, an object
}

// Effort names how hard a model should think. Empty leaves it to the vendor.
type Effort string

// The efforts. A model that does not know one gets the nearest it has.
const (
	Off     Effort = "none"
	Minimal Effort = "minimal"
	Low     Effort = "low"
	Medium  Effort = "medium"
	High    Effort = "high"
	XHigh   Effort = "xhigh"
	Max     Effort = "max"

	// Usual goes back to what is usual: it says as much as nothing.
	Usual Effort = "default"
)

var ladder = []Effort{Off, Minimal, Low, Medium, High, XHigh, Max}

// ParseEffort reads an effort; empty is none said.
func ParseEffort(s string) (Effort, error) {
	if e := Effort(s); e == "" || e == Usual || slices.Contains(ladder, e) {
		return e, nil
	}
	return "", fault.New(fault.InvalidConfig, "%.40q is not an effort", s).
		WithHint("%s", text.NearestHint(s, Efforts(), "one of "+strings.Join(Efforts(), ", ")))
}

// Efforts returns the words that ParseEffort reads.
func Efforts() []string {
	out := []string{string(Usual)}
	for _, e := range ladder {
		out = append(out, string(e))
	}
	return out
}

// Or returns the effort where something was said, else the other one.
func (e Effort) Or(other Effort) Effort {
	if e == "" || e == Usual {
		return other
	}
	return e
}

// Request is a request to a model.
type Request struct {
	Model string `json:"model"` // the vendor's name for it
	// Messages may be the beginning of later requests too, also of others that ask at the same time: the
	// receiver does not change them.
	Messages    []Message `json:"messages"`
	Tools       []Tool    `json:"tools,omitempty"`
	Untold      []string  `json:"-"`                     // tools that would be carried out too; vendors are not told of them
	MaxTokens   int64     `json:"max_tokens,omitempty"`  // of the answer; 0 is what the model allows
	Temperature *float64  `json:"temperature,omitempty"` // nil leaves it to the vendor
	Effort      Effort    `json:"effort,omitempty"`
	// CacheAfter lists messages, by index, up to which the request will be sent
	// again: vendors that cache on demand are told so. Tools count as standing
	// before the first message.
	CacheAfter []int `json:"cache_after,omitempty"`
	// CacheHour: what is marked will be sent again later than in a few minutes, and
	// is worth to be kept for an hour where the vendor can.
	CacheHour bool `json:"cache_hour,omitempty"`
	// CacheKey is the same for all requests that begin alike; vendors that spread
	// requests over machines send those of one key to the same.
	CacheKey string `json:"cache_key,omitempty"`
	// Schema is a JSON Schema that the answer is to fit. Vendors that can hold a model
	// to one are told it, in as many words as they know; who asks must see for himself
	// whether the answer fits.
	Schema json.RawMessage `json:"schema,omitempty"`
	// NoCalls: the model is to answer now, and to call nothing.
	NoCalls bool `json:"no_calls,omitempty"`
	// Search lets the model search the web at its vendor, where it can.
	Search bool `json:"search,omitempty"`
}

// Check refuses what no vendor would take, before anything is sent.
func (r Request) Check() error {
	bad := func(format string, args ...any) error {
		return fault.New(fault.ProviderBadRequest, "ask model: "+format, args...)
	}
	if r.Model == "" {
		return bad("no model is named")
	}
	if len(r.Messages) == 0 {
		return bad("there is no message")
	}
	for i, m := range r.Messages {
		switch m.Role {
		case System, User, Assistant, ToolRole:
		default:
			return bad("message %d has the role %.20q", i, m.Role)
		}
		for j := range m.Parts {
			if p := &m.Parts[j]; p.Type == ToolCall && !isJSON(p.Args) {
				return bad("message %d: the arguments of call %.40q are no JSON", i, p.CallID)
			}
		}
	}
	for _, t := range r.Tools {
		if t.Name == "" || !isJSON(t.Schema) {
			return bad("tool %.40q has no name or no JSON schema", t.Name)
		}
	}
	return nil
}

// isJSON calls json.Valid, in a third of its time: the arguments of all calls of a conversation are looked at
// with each request.
func isJSON(text []byte) bool {
	return jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}
