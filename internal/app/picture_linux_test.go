package app_test

import (
	"fmt"
	"html"
	"image/color"
	"regexp"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// What a picture is made of: pixels of a cell, room around the screen, the colours of
// a dark terminal.
const (
	cellWidth, cellHeight = 8.4, 17.0
	margin, bar           = 14.0, 30.0
	ink, paper            = "#d0d7de", "#0d1117"
	fonts                 = `ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace`
)

var palette = []string{"#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4",
	"#6e7681", "#ffa198", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#f0f6fc"}

// picture is the screen as SVG. It changes only when what is shown does.
func picture(t *terminal) string { return windowed(t, frame(t)) }

// windowed is a window around what is drawn.
func windowed(t *terminal, inside string) string {
	var b strings.Builder
	width, height := 2*margin+cellWidth*float64(t.w), bar+margin+cellHeight*float64(t.h)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" font-family="%s" font-size="14">`+"\n",
		width, height, width, height, fonts)
	fmt.Fprintf(&b, `<rect width="%g" height="%g" rx="8" fill="%s"/>`+"\n", width, height, paper)
	for i, c := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		fmt.Fprintf(&b, `<circle cx="%g" cy="15" r="5.5" fill="%s"/>`+"\n", margin+6+18*float64(i), c)
	}
	b.WriteString(inside)
	b.WriteString("</svg>\n")
	return b.String()
}

// frame is what stands on the screen now.
func frame(t *terminal) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for y := range t.h {
		for _, r := range steadied(t.runs(y)) {
			r.draw(&b, y)
		}
	}
	return b.String()
}

// film shows frames one after the other, each for some seconds, again and again.
func film(t *terminal, frames []string, seconds float64) string {
	var b strings.Builder
	for i, f := range frames {
		from, to := float64(i)/float64(len(frames)), float64(i+1)/float64(len(frames))
		values, times := "hidden;visible;hidden", fmt.Sprintf("0;%.4f;%.4f", from, to)
		if i == 0 { // who does not move pictures shows the first
			values, times = "visible;hidden", fmt.Sprintf("0;%.4f", to)
		}
		look := ` visibility="hidden"`
		if i == 0 {
			look = ""
		}
		fmt.Fprintf(&b, `<g%s><animate attributeName="visibility" calcMode="discrete" values="%s" keyTimes="%s" dur="%gs" repeatCount="indefinite"/>`+"\n%s</g>\n",
			look, values, times, seconds*float64(len(frames)), f)
	}
	return windowed(t, b.String())
}

// run is a stretch of cells in one style.
type run struct {
	x, cells int
	text     string
	style    uv.Style
}

// runs are those of a line; the caller holds mu. Words are kept apart, so that they
// stand in their columns in any font.
func (t *terminal) runs(y int) []run {
	var out []run
	for x := 0; x < t.w; x++ {
		c := t.screen.CellAt(x, y)
		if c == nil || c.Width == 0 || strings.TrimSpace(c.Content) == "" && plainStyle(c.Style) {
			continue
		}
		if n := len(out); n > 0 && out[n-1].x+out[n-1].cells == x && out[n-1].style.Equal(&c.Style) {
			out[n-1].text += c.Content
			out[n-1].cells += c.Width
		} else {
			out = append(out, run{x, c.Width, c.Content, c.Style})
		}
	}
	return out
}

// plainStyle says that a space in this style is not seen.
func plainStyle(s uv.Style) bool {
	return s.Bg == nil && s.Underline == 0 && s.Attrs&uv.AttrReverse == 0
}

var (
	ages   = regexp.MustCompile(`\b\d+[smh]$`)
	tokens = regexp.MustCompile(`^\d+\.\dk$`)
)

// steadied hides how long the story took, and how many tokens: the path of its folder
// is among them.
func steadied(runs []run) []run {
	for i := range runs {
		if tokens.MatchString(runs[i].text) {
			runs[i].text = fmt.Sprintf("%*s", runs[i].cells, "3.3k")
		}
		if at := ages.FindStringIndex(runs[i].text); at != nil {
			runs[i].text = runs[i].text[:at[0]] + fmt.Sprintf("%*s", at[1]-at[0], "4s")
		}
	}
	return runs
}

func (r run) draw(b *strings.Builder, y int) {
	fg, bg := inHex(r.style.Fg, ink), inHex(r.style.Bg, "")
	if r.style.Attrs&uv.AttrReverse != 0 {
		if bg == "" {
			bg = paper
		}
		fg, bg = bg, fg
	}
	left, top, wide := margin+cellWidth*float64(r.x), bar+cellHeight*float64(y), cellWidth*float64(r.cells)
	if bg != "" {
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%g" fill="%s"/>`+"\n", left, top, wide, cellHeight, bg)
	}
	look := ""
	if r.style.Attrs&uv.AttrBold != 0 {
		look += ` font-weight="bold"`
	}
	if r.style.Attrs&uv.AttrItalic != 0 {
		look += ` font-style="italic"`
	}
	if r.style.Attrs&uv.AttrFaint != 0 {
		look += ` opacity="0.6"`
	}
	if r.style.Underline != 0 {
		look += ` text-decoration="underline"`
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" textLength="%.1f" fill="%s"%s xml:space="preserve">%s</text>`+"\n",
		left, top+13, wide, fg, look, html.EscapeString(r.text))
}

// inHex is a colour as SVG writes it.
func inHex(c color.Color, none string) string {
	switch c := c.(type) {
	case nil:
		return none
	case ansi.BasicColor:
		return palette[c%16]
	case ansi.IndexedColor:
		if c < 16 {
			return palette[c]
		}
	}
	red, green, blue, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", red>>8, green>>8, blue>>8)
}
