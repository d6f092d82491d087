package history

import (
	"encoding/json"
	"fmt"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"ramet/internal/base/chain"
	"ramet/internal/model/llm"
)

// PartType classifies a part of a message.
type PartType string

// The parts a message is made of.
const (
	Text       PartType = "text"
	Thinking   PartType = "thinking"
	ToolCall   PartType = "tool_call"
	Result     PartType = "tool_result"
	Facts      PartType = "facts" // of the place and the moment, in front of what the user says
	Image      PartType = "image"
	Document   PartType = "document" // a PDF
	Search     PartType = "search"   // what a vendor looked up for the model
	BlobCutoff          = 8 << 10    // larger texts, images and documents are stored as blobs
)

// IsData reports whether the content of such a part is in Data.
func (t PartType) IsData() bool { return t == Image || t == Document }

// Part is one piece of a message. The Data of an image or a document, and the Text of
// anything else, of more than BlobCutoff bytes is in a blob: then Blob
// names it, and the field is empty until the part is filled.
type Part struct {
	Type      PartType        `json:"type"`
	Text      string          `json:"text,omitempty"`
	Signature string          `json:"signature,omitempty"` // thinking
	CallID    string          `json:"call_id,omitempty"`   // tool_call, tool_result
	Name      string          `json:"name,omitempty"`      // tool_call, tool_result; of an image or a document its file's
	Args      json.RawMessage `json:"args,omitempty"`      // tool_call
	IsError   bool            `json:"is_error,omitempty"`  // tool_result
	MediaType string          `json:"media_type,omitempty"`
	Data      []byte          `json:"data,omitempty"` // image, document
	Blob      *chain.Hash     `json:"blob,omitempty"`
	Size      int64           `json:"size,omitempty"` // bytes in the blob

	Malformed string          `json:"malformed,omitempty"` // tool_call: arguments that are no JSON object
	Opaque    json.RawMessage `json:"opaque,omitempty"`    // what the vendor keeps in a part, unread
	Origin    string          `json:"origin,omitempty"`    // the protocol that reads Signature and Opaque
	Show      string          `json:"show,omitempty"`      // tool_result: the answer for people, where it differs
	Sources   []llm.Source    `json:"sources,omitempty"`   // text, search: the pages that it rests on
	Memo      json.RawMessage `json:"memo,omitempty"`      // an object that is kept in the history for tools, and no model sees
}

// Blob is a large piece of content, keyed by the hash of its bytes.
type Blob struct {
	Hash chain.Hash
	Data []byte
}

// Encode gives the stored form of parts: one JSON array, nothing for no parts,
// and the blobs that it names.
func Encode(parts []Part) ([]byte, []Blob, error) {
	if len(parts) == 0 {
		return []byte{}, nil, nil
	}
	var blobs []Blob
	out := make([]Part, len(parts))
	for i, p := range parts {
		big := []byte(nil)
		switch {
		case p.Blob != nil:
			return nil, nil, fmt.Errorf("encode parts: part %d is a reference already", i)
		case p.Type.IsData() && len(p.Data) > BlobCutoff: // as Fill puts it back
			big, p.Data = p.Data, nil
		case !p.Type.IsData() && len(p.Text) > BlobCutoff:
			big, p.Text = []byte(p.Text), ""
		}
		if big != nil {
			h := chain.Sum(big)
			p.Blob, p.Size = &h, int64(len(big))
			blobs = append(blobs, Blob{h, big})
		}
		out[i] = p
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return nil, nil, fmt.Errorf("encode parts: %w", err)
	}
	return []byte(strings.TrimSuffix(b.String(), "\n")), blobs, nil
}

// RedactedText stands where content was deleted.
const RedactedText = "[redacted]"

// Parts decodes the content. Parts that are in blobs name them; Fill gets
// them.
func (e Entry) Parts() ([]Part, error) {
	if e.Content == nil {
		return []Part{{Type: Text, Text: RedactedText}}, nil
	}
	if len(e.Content) == 0 {
		return nil, nil
	}
	var parts []Part
	if err := jsonv2.Unmarshal(e.Content, &parts); err != nil {
		return nil, damagedEntry(e, "content is not readable: %v", err)
	}
	return parts, nil
}

// Fill puts the contents of blobs back into their parts.
func Fill(parts []Part, read func(chain.Hash) ([]byte, error)) error {
	for i := range parts {
		p := &parts[i]
		if p.Blob == nil {
			continue
		}
		data, err := read(*p.Blob)
		if err != nil {
			return err
		}
		if p.Type.IsData() {
			p.Data = data
		} else {
			p.Text = string(data)
		}
		p.Blob, p.Size = nil, 0
	}
	return nil
}

// Plain returns what a person reads of a message: its texts and results, calls in
// short, and the pages that it rests on; thinking is left out.
func Plain(parts []Part) string {
	var out []string
	var sources []llm.Source
	for i, p := range parts {
		sources = append(sources, p.Sources...)
		switch p.Type {
		case Text, Result:
			// A text that rests on pages comes in pieces, each with its own.
			if i > 0 && parts[i-1].Type == Text && p.Type == Text && len(p.Sources)+len(parts[i-1].Sources) > 0 {
				out[len(out)-1] += p.Text
				continue
			}
			out = append(out, p.Text)
		case Search:
			if p.Text != "" {
				out = append(out, fmt.Sprintf("[web search %s]", p.Text))
			}
		case ToolCall:
			out = append(out, fmt.Sprintf("[%s %s]", p.Name, p.Args))
		case Image, Document:
			out = append(out, p.About())
		}
	}
	if len(sources) == 0 {
		return strings.Join(out, "\n")
	}
	return strings.Join(out, "\n") + llm.Listed(llm.Message{Parts: []llm.Part{{Sources: sources}}}.Sources())
}

// About returns an image or a document in a few words.
func (p Part) About() string {
	what := string(p.Type)
	if p.Name != "" {
		what += " " + p.Name + ","
	}
	return fmt.Sprintf("[%s %s, %d bytes]", what, p.MediaType, max(p.Size, int64(len(p.Data))))
}
