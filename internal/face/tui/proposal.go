package tui

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"ramet/internal/core/history"
	"ramet/internal/face/tui/markdown"
)

// proposal is what a call would write, as far as its arguments say so.
type proposal struct {
	Content string `json:"content"`
	replacement
	Edits []replacement `json:"edits"`
}

type replacement struct {
	Old string `json:"old_string"`
	New string `json:"new_string"`
}

// change draws what a call would write: with the numbers of the file's lines where the tool told
// them, else what its arguments say.
func (m *root) change(q *asked, w int) []string {
	if q.Tool != "write" && q.Tool != "edit" {
		return nil
	}
	if q.Patch != "" {
		return patchOf(q.Patch, w, m.theme)
	}
	for _, e := range slices.Backward(m.now.entries) {
		if e.Kind != history.Assistant {
			continue
		}
		for _, p := range e.Parts {
			var args proposal
			b := m.now.calls[p.CallID]
			if p.Type != history.ToolCall || p.Name != q.Tool || q.CallID != "" && p.CallID != q.CallID || b == nil || b.done || json.Unmarshal(p.Args, &args) != nil ||
				!strings.Contains(b.about, path.Base(q.Subject)) {
				continue
			}
			return args.draw(q.Subject, w, m.theme)
		}
		return nil
	}
	return nil
}

// patchOf draws a patch without its head, which names the file once more. Nothing is cut.
func patchOf(patch string, w int, theme markdown.Theme) (out []string) {
	lines := strings.Split(strings.TrimRight(clean(patch), "\n"), "\n")
	for i, l := range patched(lines, theme) {
		if !strings.HasPrefix(lines[i], "--- ") && !strings.HasPrefix(lines[i], "+++ ") || i > 1 {
			out = append(out, pieces(l, w, true)...)
		}
	}
	return out
}

// draw shows each replacement as a patch does. Nothing is cut: one answers for all of it.
func (c proposal) draw(file string, w int, theme markdown.Theme) []string {
	all := c.Edits
	if len(all) == 0 {
		all = []replacement{{c.Old, c.New + c.Content}}
	}
	var out []string
	for i, r := range all {
		if i > 0 {
			out = append(out, faint.of("⋯"))
		}
		p := patch{theme: theme, before: markdown.CodeOf(file), then: markdown.CodeOf(file)}
		gone, come := linesOf(r.Old), linesOf(r.New)
		head := shared(gone, come, func(s []string, i int) string { return s[i] })
		tail := shared(gone[head:], come[head:], func(s []string, i int) string { return s[len(s)-1-i] })
		for _, l := range folded(" ", gone[:head], w) {
			out = append(out, p.same(l))
		}
		out = append(out, p.replaced(folded("-", gone[head:len(gone)-tail], w), folded("+", come[head:len(come)-tail], w))...)
		for _, l := range folded(" ", gone[len(gone)-tail:], w) {
			out = append(out, p.same(l))
		}
	}
	return out
}

// linesOf are the lines of a text, harmless.
func linesOf(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(clean(s), "\n"), "\n")
}

// shared is how many lines both have, counted from one end.
func shared(a, b []string, at func([]string, int) string) (n int) {
	for n < min(len(a), len(b)) && at(a, n) == at(b, n) {
		n++
	}
	return n
}

// folded are lines with their sign, broken where they are too long.
func folded(sign string, lines []string, w int) (out []string) {
	for _, l := range lines {
		for _, piece := range wrap(l, w-2) {
			out = append(out, sign+" "+piece)
		}
	}
	return out
}
