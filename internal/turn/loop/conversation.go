package loop

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"ramet/internal/base/chain"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/core/toolinfo"
	"ramet/internal/model/llm"
)

// NewConversation reads a context. blob reads large contents, also later.
func NewConversation(ctx context.Context, c *history.Context, blob func(context.Context, chain.Hash) ([]byte, error)) (*Conversation, error) {
	out := &Conversation{blob: blob, shaped: c.Outline.Shaped(), last: c.Outline.Shaped()}
	short := c.Outline.Short()
	for _, e := range c.Messages {
		it, err := readEntry(ctx, e, blob)
		if err != nil {
			return nil, err
		}
		if short[it.id] && it.kind != history.Compact {
			it = shortenItem(it)
		}
		out.push(it)
		out.last = max(out.last, it.id)
	}
	return out, nil
}

// Add takes entries that were just appended. It returns false when one of them
// changed what others mean (as history.Context.Extend does): then the conversation
// is stale, and Replay makes a new one.
func (c *Conversation) Add(ctx context.Context, entries ...history.Entry) (bool, error) {
	for _, e := range entries {
		switch {
		case e.Kind.Reaches():
			it, err := readEntry(ctx, e, c.blob)
			if err != nil {
				return false, err
			}
			c.push(it)
		case e.Kind == history.Clear:
			*c = Conversation{blob: c.blob, shaped: e.ID}
		case e.Kind == history.Rewind && c.returns(e):
			c.shaped = e.ID
		case e.Kind == history.Rewind || e.Kind == history.Compact || e.Kind == history.Redact:
			return false, nil
		}
		c.last = max(c.last, e.ID)
	}
	return true, nil
}

// Last returns the newest entry that it knows of, whether that is a message or not.
func (c *Conversation) Last() id.Message { return c.last }

// State reports whether something waits for an answer.
func (c *Conversation) State() State {
	if c.state.open {
		return Open
	}
	return Idle
}

// Messages returns the conversation as a request has it. The slice is the caller's, the
// parts are not.
func (c *Conversation) Messages() []llm.Message { return c.first(c.outs()) }

// first returns a list of the first n messages that are settled, with what is not settled when these are all.
func (c *Conversation) first(n int) []llm.Message {
	out := make([]llm.Message, n, n+4)
	for _, s := range c.segments() {
		copy(out[min(s.outFirst, n):], s.out)
	}
	if n < c.outs() {
		return out
	}
	return c.withOpen(out)
}

// withOpen returns a list and, behind it, what is not settled.
func (c *Conversation) withOpen(out []llm.Message) []llm.Message {
	if c.group == nil {
		return out
	}
	begun := c.state.begun
	out, begun = appendMessage(out, begun, c.group.message)
	out, begun = appendMessage(out, begun, c.group.answer())
	for _, m := range c.group.after {
		out, begun = appendMessage(out, begun, m)
	}
	return out
}

// LastCall returns the newest call of a tool behind an entry that has a result, and that result.
func (c *Conversation) LastCall(tool string, after id.Message) (args json.RawMessage, result llm.Part, ok bool) {
	for i := c.Len() - 1; i >= 0 && c.at(i).id > after; i-- {
		for _, p := range c.at(i).message.Parts {
			switch {
			case !ok && p.Type == llm.ToolResult && p.Name == tool:
				result, ok = p, true
			case ok && p.Type == llm.ToolCall && p.CallID == result.CallID:
				return p.Args, result, true
			}
		}
	}
	return nil, result, false
}

// BeforeCalls returns the newest entry before the model's last message; false: nothing stands
// before it.
func (c *Conversation) BeforeCalls() (id.Message, bool) {
	for i := c.Len() - 1; i > 0; i-- {
		if c.at(i).kind == history.Assistant {
			return c.at(i - 1).id, true
		}
	}
	return 0, false
}

// returns reports whether a rewind changes nothing: the context ends where it leads to.
func (c *Conversation) returns(e history.Entry) bool {
	m, err := e.Decode()
	if err != nil || c.group != nil || c.loose {
		return false
	}
	to, err := id.ParseMessage(m.Target)
	n := c.Len()
	return err == nil && c.shaped <= to && n > 0 && c.at(n-1).id <= to
}

// Aside returns the newest facts that are in the conversation; empty: none do.
func (c *Conversation) Aside() string {
	for _, s := range c.segments() {
		for i := len(s.items) - 1; i >= 0; i-- {
			parts := s.items[i].message.Parts
			for j := range parts {
				if parts[j].Aside {
					return parts[j].Text
				}
			}
		}
	}
	return ""
}

// Newest returns the newest message of a role, as a request has it; false if there is none.
func (c *Conversation) Newest(r llm.Role) (llm.Message, bool) {
	lists := [][]llm.Message{c.withOpen(nil)}
	for _, s := range c.segments() {
		lists = append(lists, s.out)
	}
	for _, list := range lists {
		for _, m := range slices.Backward(list) {
			if m.Role == r {
				return m, true
			}
		}
	}
	return llm.Message{}, false
}

// summaryHead introduces a summary to the model.
const summaryHead = "This is a summary of the earlier part of this conversation:\n\n"

// roles are the roles of entries. A summary and a notice stand where the user speaks.
var roles = map[history.Kind]llm.Role{
	history.System: llm.System, history.User: llm.User, history.Assistant: llm.Assistant,
	history.ToolResult: llm.ToolRole, history.Compact: llm.User, history.Notice: llm.User,
}

// readEntry makes an item of an entry. Parts that do not belong into a message of its
// role, and blank ones, are left out: some vendor would refuse them.
func readEntry(ctx context.Context, e history.Entry, blob func(context.Context, chain.Hash) ([]byte, error)) (item, error) {
	it := item{id: e.ID, kind: e.Kind, first: e.ID, end: e.ID, message: llm.Message{Role: roles[e.Kind]}}
	parts, err := e.Parts()
	if err != nil {
		return it, err
	}
	err = history.Fill(parts, func(h chain.Hash) ([]byte, error) { return blob(ctx, h) })
	if err != nil {
		return it, err
	}
	if e.Kind == history.Compact {
		if it.first, it.end, err = replacedRange(e); err != nil {
			return it, err
		}
		parts = []history.Part{{Type: history.Text, Text: summaryHead + history.Plain(parts)}}
	}
	list := make([]llm.Part, 0, len(parts))
	for i := range parts {
		if parts[i].Memo != nil {
			it.memo = parts[i].Memo
		}
		if list = append(list, llm.Part{}); !convertPart(&list[len(list)-1], it.message.Role, &parts[i]) {
			list = list[:len(list)-1]
		}
	}
	if e.Kind == history.Assistant {
		list = sayableParts(list)
	}
	it.message.Parts = list[:len(list):len(list)]
	return it, nil
}

// replacedRange returns what a summary stands for.
func replacedRange(e history.Entry) (first, end id.Message, err error) {
	m, err := e.Decode()
	if err != nil {
		return 0, 0, err
	}
	if first, err = id.ParseMessage(m.StartID); err != nil {
		return 0, 0, err
	}
	end, err = id.ParseMessage(m.EndID)
	return first, end, err
}

// convertPart writes a part in the words of models, and reports whether it may be in a message of the
// role. Parts are large, and there are many: they are not handed on by value.
func convertPart(out *llm.Part, r llm.Role, p *history.Part) bool {
	*out = llm.Part{Type: llm.PartType(p.Type), Text: p.Text, CallID: p.CallID, Name: p.Name, Args: p.Args,
		IsError: p.IsError, MediaType: p.MediaType, Data: p.Data, Malformed: p.Malformed,
		Signature: p.Signature, Opaque: p.Opaque, Origin: p.Origin, Sources: p.Sources}
	switch p.Type {
	case history.Text:
		signed := r == llm.Assistant && (p.Signature != "" || p.Opaque != nil)
		return signed || strings.TrimSpace(p.Text) != ""
	case history.Facts:
		out.Type, out.Aside = llm.Text, true
		return r == llm.User && strings.TrimSpace(p.Text) != ""
	case history.Image, history.Document:
		return (r == llm.User || r == llm.ToolRole) && len(p.Data) > 0
	case history.Thinking, history.Search:
		return r == llm.Assistant
	case history.ToolCall:
		out.Name = importedName(p.Name)
		if !bytes.HasPrefix(bytes.TrimLeft(p.Args, " \t\r\n"), []byte("{")) {
			out.Args = json.RawMessage("{}")
		}
		return r == llm.Assistant
	case history.Result:
		return r == llm.ToolRole
	}
	return false
}

// sayableParts returns the parts of an answer up to the last that is no thought: vendors
// refuse an answer that ends in one. Without a text or a call it is none.
func sayableParts(parts []llm.Part) []llm.Part {
	n, substance := 0, false
	for i := range parts {
		if p := &parts[i]; p.Type != llm.Thinking && p.Type != llm.Search {
			n = i + 1
			substance = substance || p.Type == llm.ToolCall || strings.TrimSpace(p.Text) != ""
		}
	}
	if !substance {
		return nil
	}
	return parts[:n]
}

// importedName returns a tool's name as vendors accept it: a model may have called something
// by a name that no tool could have. What other programs call our tools has our name: in an
// imported conversation a model continues calling what it called before.
func importedName(name string) string {
	if own := toolinfo.FindForeign(name); own != nil {
		return own.Name
	}
	ok := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
	}
	if name != "" && len(name) <= 64 && strings.IndexFunc(name, func(c rune) bool { return !ok(c) }) < 0 {
		return name
	}
	name = strings.Map(func(c rune) rune {
		if ok(c) {
			return c
		}
		return '_'
	}, name)
	if name == "" {
		return "unnamed"
	}
	return name[:min(64, len(name))]
}

// imageSize estimates an image in bytes of text: vendors charge by area,
// and about this much for a large one.
const imageSize = 5000

// documentSize estimates a document in bytes of text: text and images of its pages; it is not
// known how many there are.
func documentSize(p *llm.Part) int64 { return imageSize + int64(len(p.Data))/4 }

// sizeOf returns how much a model has to read, about.
func sizeOf(m llm.Message) int64 {
	n := 16
	for i := range m.Parts {
		p := &m.Parts[i]
		n += 16 + len(p.Text) + len(p.Args) + len(p.Name) + len(p.Signature) + len(p.Opaque)
		switch p.Type {
		case llm.Image:
			n += imageSize
		case llm.Document:
			n += int(documentSize(p))
		}
	}
	return int64(n)
}

// numberCallID makes an id of a call differ from all others.
func numberCallID(name string, n ...int) string {
	name = cmp.Or(name, "call")
	for _, i := range n {
		name += "_" + strconv.Itoa(i)
	}
	return name
}
