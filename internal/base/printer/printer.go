// Package printer shows results: one datum, two printers. A command makes a
// value that marshals to its public JSON shape and can also write itself as
// text; the user's flags decide which is shown. Nothing that comes from
// outside reaches a terminal raw: texts pass through text.Safe here.
package printer

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// Datum is a result that can show itself to people. Its JSON form is what
// encoding/json makes of it.
type Datum interface {
	Text(w *Writer)
}

// Stream is a value of many parts that are read while they are printed: on the command line each is a
// line of its own, elsewhere they are a list of this name.
type Stream interface {
	Parts() (name string, parts iter.Seq2[Part, error])
}

// Part prints one of them. A nil Part is the point at which a reader waits for more: what came before it is shown.
type Part func(*Printer) error

// Result is a datum whose JSON form is another value.
type Result struct {
	JSON  any
	Write func(w *Writer) // nil: people see JSON too
}

// Text implements Datum.
func (r Result) Text(w *Writer) { r.Write(w) }

// lister is a value that can be long: its JSON form is an object with one list, which is written element by element.
type lister interface {
	List() (name string, elements iter.Seq[any])
}

// Compact returns the JSON form of a value, one with a list or a Stream too, without white space between its parts.
func Compact(v any) ([]byte, error) {
	if s, ok := v.(Stream); ok {
		return compactStream(s)
	}
	list, ok := v.(lister)
	if !ok {
		return Marshal(v)
	}
	name, elements := list.List()
	out := append(strconv.AppendQuote([]byte{'{'}, name), ":["...)
	between := ""
	for e := range elements {
		one, err := Marshal(e)
		if err != nil {
			return nil, err
		}
		out = append(append(out, between...), one...)
		between = ","
	}
	return append(out, "]}"...), nil
}

func compactStream(s Stream) ([]byte, error) {
	name, parts := s.Parts()
	var b bytes.Buffer
	fmt.Fprintf(&b, "{%q:[", name)
	for part, err := range parts {
		if err != nil {
			return nil, err
		}
		if part == nil {
			continue
		}
		if err := part(&Printer{Out: &b, JSON: true}); err != nil {
			return nil, err
		}
		b.Bytes()[b.Len()-1] = ',' // the end of its line
	}
	return append(bytes.TrimSuffix(b.Bytes(), []byte(",")), "]}"...), nil
}

var marshalOptions = jsonv2.JoinOptions(jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false))

// Marshal encodes a value as json.Marshal does, but without HTML escapes.
func Marshal(v any, options ...jsonv2.Options) ([]byte, error) {
	return jsonv2.Marshal(v, append([]jsonv2.Options{marshalOptions}, options...)...)
}

// Printer writes results to one place in one form.
type Printer struct {
	Out   io.Writer
	JSON  bool
	Color func() bool      // nil: never. It is asked when something would have colour
	Now   func() time.Time // for ages
}

// Print shows one datum: an indented JSON value, or text.
func (p *Printer) Print(d Datum) error {
	var value any = d
	result, ok := d.(Result)
	if ok {
		value = result.JSON
	}
	if !p.JSON && !(ok && result.Write == nil) {
		return p.text(d)
	}
	if list, ok := value.(lister); ok {
		return p.list(list)
	}
	return p.encode(value, true)
}

// PrintLine shows one of many data: a JSON value on a line of its own, or text.
func (p *Printer) PrintLine(d Datum) error {
	if p.JSON {
		return p.encode(d, false)
	}
	return p.text(d)
}

func (p *Printer) encode(d any, lines bool) error {
	var options []jsonv2.Options
	if lines {
		options = append(options, jsontext.WithIndent("  "))
	}
	out, err := Marshal(d, options...)
	if err != nil {
		return err
	}
	_, err = io.WriteString(p.Out, text.JSON(string(append(out, '\n')))) // JSON keeps some codes that a terminal obeys
	return err
}

// list prints one element a line, and has one in memory at a time.
func (p *Printer) list(l lister) error {
	out := bufio.NewWriterSize(p.Out, 64<<10)
	name, elements := l.List()
	fmt.Fprintf(out, "{\n  %q: [", name)
	between, end := "\n    ", "]\n}\n"
	var line bytes.Buffer
	enc := jsontext.NewEncoder(&line, marshalOptions)
	for e := range elements {
		line.Reset()
		if err := jsonv2.MarshalEncode(enc, e); err != nil {
			return err
		}
		out.WriteString(between)
		out.WriteString(strings.TrimSuffix(text.JSON(line.String()), "\n"))
		between, end = ",\n    ", "\n  ]\n}\n"
	}
	out.WriteString(end)
	return out.Flush()
}

func (p *Printer) text(d Datum) error {
	w := &Writer{color: p.Color, now: p.Now()}
	d.Text(w)
	_, err := io.WriteString(p.Out, w.b.String())
	return err
}

// Fail shows an error, as {"error":{…}} or as error[CODE]: … on one line.
func (p *Printer) Fail(err error) {
	f, ok := fault.Of(err)
	if !ok {
		f = &fault.Error{Code: fault.CodeOf(err), Message: err.Error()}
	}
	var hint *string
	if f.Hint != "" {
		hint = &f.Hint
	}
	if p.JSON {
		p.encode(failure{failed{f.Code, f.Message, hint}}, false)
		return
	}
	w := &Writer{color: p.Color}
	fmt.Fprintf(p.Out, "%s %s\n", w.style(red, fmt.Sprintf("error[%s]:", f.Code)), text.Line(f.Error(), 4096))
}

// failure is the public shape of an error.
type failure struct {
	Error failed `json:"error"`
}

type failed struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
	Hint    *string    `json:"hint"` // null if it is unknown what to do
}

// Writer collects text. Its methods make texts from outside safe.
type Writer struct {
	b     strings.Builder
	color func() bool
	now   time.Time
}

const (
	bold = "1"
	dim  = "2"
	red  = "31"
)

func (w *Writer) style(code, s string) string {
	if w.color == nil || !w.color() {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Bold marks what matters, on a colour terminal.
func (w *Writer) Bold(s string) Styled { return Styled(w.style(bold, text.Safe(s))) }

// Dim steps back, on a colour terminal.
func (w *Writer) Dim(s string) Styled { return Styled(w.style(dim, text.Safe(s))) }

// Line writes a formatted line. Strings among the arguments are made safe.
func (w *Writer) Line(format string, args ...any) {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = text.Safe(s)
		}
	}
	fmt.Fprintf(&w.b, format+"\n", args...)
}

// Styled is text that was made safe already and may hold colour.
type Styled string

// Block writes a text of several lines, each indented.
func (w *Writer) Block(indent, s string) {
	w.b.Grow(len(s))
	for line := range strings.Lines(text.Safe(s)) {
		w.b.WriteString(indent)
		w.b.WriteString(strings.TrimSuffix(line, "\n"))
		w.b.WriteByte('\n')
	}
}

// Table writes rows in aligned columns; the first row is the head. The last
// column is not padded.
func (w *Writer) Table(rows [][]string) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			row[i] = text.Single(cell)
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	for n, row := range rows {
		line := tableRow(widths, row)
		if n == 0 {
			line = w.style(dim, line)
		}
		w.b.WriteString(line + "\n")
	}
}

// tableRow joins the cells of a row.
func tableRow(widths []int, row []string) string {
	var b strings.Builder
	for i, cell := range row {
		b.WriteString(cell)
		b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
	}
	return strings.TrimRight(b.String(), " ")
}

// Age returns how long ago something was, in one unit.
func (w *Writer) Age(t time.Time) string { return text.Age(w.now.Sub(t)) }
