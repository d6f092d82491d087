package bench

import (
	"fmt"
	"html"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// panel is one picture of how cost grows: lines over a number of things.
type panel struct {
	title string
	lines []*grown
}

// grown is what one thing took, in milliseconds, in ascending order of n.
type grown struct {
	name string
	at   []struct {
		n  int
		ms float64
	}
}

func (p *panel) add(name string, n int, ms float64) {
	i := slices.IndexFunc(p.lines, func(l *grown) bool { return l.name == name })
	if i < 0 {
		i = len(p.lines)
		p.lines = append(p.lines, &grown{name: name})
	}
	p.lines[i].at = append(p.lines[i].at, struct {
		n  int
		ms float64
	}{n, ms})
}

// tables are the figures of all panels, in Markdown.
func tables(panels []panel) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# How cost grows\n\nMilliseconds on SQLite, the fastest of several times, on %d cores (%s), made by `make bench` (BenchmarkGrowth);\n"+
		"the picture is [growth.svg](growth.svg). A turn has ten messages in its context, the others lie behind a clear; an item has its share\n"+
		"of the start and the end of its run.\n", runtime.NumCPU(), runtime.Version())
	for _, p := range panels {
		if len(p.lines) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n| %s |", p.title)
		rule := "\n|---|"
		for _, a := range p.lines[0].at {
			fmt.Fprintf(&b, " %s |", grouped(a.n))
			rule += "---|"
		}
		b.WriteString(rule)
		for _, l := range p.lines {
			fmt.Fprintf(&b, "\n| %s |", l.name)
			for _, a := range l.at {
				fmt.Fprintf(&b, " %.3g |", a.ms)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// grouped is a number as it is read: 1,000,000.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}

// What a picture measures, in its own units.
const (
	panelWide, panelHigh = 420, 320
	plotLeft, plotTop    = 52, 34
	plotWide, plotHigh   = 350, 200
)

var colors = []string{"#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1", "#9c755f"}

// drawn is all panels as SVG, beside each other, both axes in powers of ten.
func drawn(panels []panel) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11" role="img" aria-label="How cost grows">`+"\n",
		panelWide*len(panels), panelHigh)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="#ffffff"/>`+"\n")
	for i, p := range panels {
		fmt.Fprintf(&b, `<g transform="translate(%d 0)">`+"\n", i*panelWide)
		p.draw(&b)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (p panel) draw(b *strings.Builder) {
	text := func(x, y float64, anchor, color, words string) {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s">%s</text>`+"\n", x, y, anchor, color, html.EscapeString(words))
	}
	text(plotLeft, plotTop-14, "start", "#222222", "ms by "+p.title)
	least, most, low, high := p.bounds()
	x := func(n int) float64 { return plotLeft + plotWide*share(math.Log10(float64(n)), least, most) }
	y := func(ms float64) float64 { return plotTop + plotHigh*(1-share(math.Log10(ms), low, high)) }
	for e := low; e <= high; e++ {
		at := y(math.Pow(10, e))
		fmt.Fprintf(b, `<path d="M%d %.1fh%d" stroke="#dddddd"/>`+"\n", plotLeft, at, plotWide)
		text(plotLeft-6, at+4, "end", "#555555", fmt.Sprintf("%g", math.Pow(10, e)))
	}
	for e := least; e <= most; e++ {
		n := int(math.Round(math.Pow(10, e)))
		text(x(n), plotTop+plotHigh+16, "middle", "#555555", grouped(n))
	}
	for i, l := range p.lines {
		color := colors[i%len(colors)]
		var points strings.Builder
		for _, a := range l.at {
			fmt.Fprintf(&points, "%.1f,%.1f ", x(a.n), y(a.ms))
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="2.5" fill="%s"/>`+"\n", x(a.n), y(a.ms), color)
		}
		fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"/>`+"\n", strings.TrimSpace(points.String()), color)
		text(plotLeft+float64(i%2)*plotWide/2, plotTop+plotHigh+38+float64(i/2)*15, "start", color, strings.ReplaceAll(l.name, "`", ""))
	}
}

// bounds are the powers of ten between which everything lies.
func (p panel) bounds() (least, most, low, high float64) {
	least, low, most, high = math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, l := range p.lines {
		for _, a := range l.at {
			n, ms := math.Log10(float64(a.n)), math.Log10(a.ms)
			least, most = min(least, math.Floor(n)), max(most, math.Ceil(n))
			low, high = min(low, math.Floor(ms)), max(high, math.Ceil(ms))
		}
	}
	return least, most, low, high
}

// share is where v lies between two bounds, 0 to 1.
func share(v, from, to float64) float64 {
	if from == to {
		return 0.5
	}
	return (v - from) / (to - from)
}

func TestChart(t *testing.T) {
	p := panel{title: "things & more"}
	for _, n := range tens(1, 1000) {
		p.add("flat", n, 1)
		p.add("`steep`", n, float64(n))
	}
	table, picture := tables([]panel{p}), drawn([]panel{p})
	for _, want := range []string{"| things & more | 1 | 10 | 100 | 1,000 |", "| flat | 1 | 1 | 1 | 1 |", "| `steep` | 1 | 10 | 100 | 1e+03 |"} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
	// A line that is flat has one height, one that is steep goes from corner to corner.
	for _, want := range []string{`points="52.0,234.0 168.7,234.0 285.3,234.0 402.0,234.0"`, `points="52.0,234.0 168.7,167.3 285.3,100.7 402.0,34.0"`, "things &amp; more"} {
		if !strings.Contains(picture, want) {
			t.Errorf("no %q in\n%s", want, picture)
		}
	}
}
