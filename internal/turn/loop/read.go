package loop

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"ramet/internal/base/chain"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/core/toolinfo"
	"ramet/internal/model/llm"
)

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
