package tui

import (
	"strings"

	"ramet/internal/face/tui/markdown"
)

// growing lays out a text that grows at its end: what cannot change any more is laid
// out once, and nothing that was said is copied for a word more.
type growing struct {
	text   strings.Builder
	laying laying
}

// add puts a piece to the end and returns all of it.
func (g *growing) add(piece string) string {
	g.text.WriteString(piece)
	return g.text.String()
}

// laying is how far the text was laid out.
type laying struct {
	layout layout
	stream *markdown.Stream
	taken  int // bytes
	laid   []string
	stable int // how many lines of laid change no more
}

// lines are the lines of the text, and an empty one behind them. They are good until
// lines is called again.
func (g *laying) lines(body string, w int, theme markdown.Theme) []string {
	if l := (layout{width: w, theme: theme}); g.stream == nil || g.layout != l || g.taken > len(body) {
		*g = laying{layout: l, stream: markdown.NewStream(w, theme)}
	}
	g.stream.Write(body[g.taken:])
	g.taken = len(body)
	lines := g.stream.Lines()
	g.laid = g.laid[:g.stable]
	for _, l := range lines[g.stable:] {
		g.laid = append(g.laid, l.Text)
	}
	g.stable = g.stream.Stable()
	g.laid = append(g.laid, "")
	return g.laid
}

// marked lays out a text that is whole.
func marked(body string, w int, theme markdown.Theme) []string {
	lines := markdown.Render(body, w, theme)
	out := make([]string, len(lines), len(lines)+1)
	for i, l := range lines {
		out[i] = l.Text
	}
	return append(out, "")
}

// layout is what the lines of a block depend on.
type layout struct {
	width, size int
	open, done  bool
	decided     bool
	shade       string
	theme       markdown.Theme
}
