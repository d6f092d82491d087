package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ramet/internal/base/text"
	"ramet/internal/core/trust"
)

// mostNotes limits the notes of a list; a bad server would have as many as tools.
const mostNotes = 20

// listTools asks a server for its tools.
func listTools(ctx context.Context, s Server, session *sdk.ClientSession) (List, error) {
	out := List{Server: s.Name, Fingerprint: s.Fingerprint(), At: time.Now().UTC(), Tools: []Definition{}}
	taken := map[string]bool{}
	left := 0
	note := func(format string, args ...any) {
		if len(out.Notes) < mostNotes {
			out.Notes = append(out.Notes, text.Line(fmt.Sprintf(format, args...), 300))
		} else {
			left++
		}
	}
	init := session.InitializeResult()
	if init == nil || init.Capabilities == nil {
		return out, nil
	}
	out.Resources = init.Capabilities.Resources != nil
	if init.Capabilities.Prompts != nil {
		found, err := listPrompts(ctx, session)
		if err != nil {
			return out, err
		}
		out.Prompts = found
	}
	if init.Capabilities.Tools == nil {
		return out, nil // it has none, and some that are asked all the same never answer
	}
	params, seen := &sdk.ListToolsParams{}, 0
	for pages := 0; ; pages++ {
		page, err := session.ListTools(ctx, params)
		if err != nil {
			return out, err
		}
		for _, t := range page.Tools {
			if seen++; seen > MostTools {
				break
			}
			if t == nil || t.Name == "" {
				note("a tool without a name is left out")
				continue
			}
			schema, what, err := schemaOf(t.InputSchema)
			if err != nil {
				note("tool %q is left out: %v", t.Name, err)
				continue
			}
			if what != "" {
				note("tool %q: %s", t.Name, what)
			}
			if seen := text.Strings(schema, trust.Reveal); !bytes.Equal(seen, schema) || trust.Reveal(t.Name) != t.Name {
				note("tool %q: it has invisible characters, which are spelled out", t.Name)
				schema = seen
			}
			d := Definition{Name: toolName(s.Name, t.Name, taken), Tool: t.Name, Title: text.Line(trust.Reveal(t.Title), 200), Description: boundText(t.Description, mostText), Schema: schema}
			if t.Annotations != nil {
				d.ReadOnly = t.Annotations.ReadOnlyHint
			}
			out.Tools = append(out.Tools, d)
		}
		if params.Cursor = page.NextCursor; params.Cursor == "" || seen > MostTools || pages > MostTools {
			break
		}
	}
	if seen > MostTools {
		note("it has more than %d tools; the others are left out", MostTools)
	}
	if left > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("and %s more", text.Count(left, "note")))
	}
	return out, nil
}

// toolName returns a tool's name as models call it: server__tool, a word of at most 64 characters that
// no other has.
func toolName(server, tool string, taken map[string]bool) string {
	word := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, tool)
	out := server + "__" + word
	if len(out) > 64 || taken[out] || word != tool {
		sum := sha256.Sum256([]byte(tool))
		mark := "_" + hex.EncodeToString(sum[:3])
		for n := 0; ; n++ {
			if n > 0 {
				mark = fmt.Sprintf("_%s_%d", hex.EncodeToString(sum[:3]), n)
			}
			full := server + "__" + word
			out = full[:min(len(full), 64-len(mark))] + mark
			if !taken[out] {
				break
			}
		}
	}
	taken[out] = true
	return out
}

// boundText returns a text of a server with invisible characters spelled out, cut to at most so many bytes.
func boundText(s string, most int) string {
	s = trust.Reveal(strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\uFFFD"))
	if len(s) <= most {
		return s
	}
	return text.Head(s, most) + "…"
}
