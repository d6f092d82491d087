package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

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
