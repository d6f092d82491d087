package recipe

import (
	"bytes"
	"strconv"
	"strings"
	"text/template/parse"

	"ramet/internal/fault"
	"ramet/internal/late"
	"ramet/internal/text"
)

// maxPrompt bounds what a prompt becomes with its inputs.
const maxPrompt = 16 << 20

// functions are what prompts can call. Of those that text/template brings along only
// harmless ones are let in: none that repeats or pads.
var (
	ownFunctions = []string{"scope", "param", "input", "failure", "section", "issue"}
	functions    = late.Value[[]string]{Make: func() []string { return append([]string{"and", "or", "not", "eq", "ne", "len"}, ownFunctions...) }}
	sectionParts = []string{"Name", "Title", "Brief"}
	issueParts   = []string{"ID", "Gate", "Severity", "Code", "Message", "Files", "Line", "Fix"}
)

// Issue is what a prompt can say about the issue that is being mended.
type Issue struct {
	ID       string
	Gate     string
	Severity string
	Code     string
	Message  string
	Files    []string
	Line     int
	Fix      string // a suggestion
}

// RenderData is what a prompt is filled with.
type RenderData struct {
	Scope   string
	Params  map[string]string
	Failure string   // of the last attempt
	Section *Section // where the worker is for sections
	Issue   *Issue   // where it is for an issue
	Inputs  []string // paths of the item's inputs, for those that end in /**
	Read    func(path string) ([]byte, error)
}

// Render is a worker's prompt for one item. An input that cannot be read is an error.
func Render(w Worker, d RenderData) (string, error) {
	prompt, err := fill(w.Prompt, d)
	if err == nil {
		return prompt, nil
	}
	if f, ok := fault.Of(err); ok {
		return "", fault.New(f.Code, "prompt of worker %s, scope %s: %w", w.Name, d.Scope, f)
	}
	return "", fault.New(fault.InvalidRecipe, "prompt of worker %s, scope %s: %s", w.Name, d.Scope, text.Line(err.Error(), 300))
}

// param is the value of a parameter.
func (d RenderData) param(name string) (string, error) {
	value, known := d.Params[name]
	if !known {
		return "", fault.New(fault.Usage, "parameter %.60q has no value", name)
	}
	return value, nil
}

// input is the content of a file, or of all below a folder.
func (d RenderData) input(path string) (string, error) {
	path, err := Expand(path, d.Scope, d.Params)
	if err != nil {
		return "", err
	}
	read := func(path string) ([]byte, error) {
		if d.Read == nil {
			return nil, fault.New(fault.NotFound, "no input %s", path)
		}
		return d.Read(path)
	}
	if !strings.HasSuffix(path, "/**") {
		data, err := read(path)
		return string(data), err
	}
	var all bytes.Buffer
	for _, one := range d.Inputs {
		if !Covers(path, one) {
			continue
		}
		data, err := read(one)
		if err != nil {
			return "", err
		}
		all.WriteString("==> " + one + " <==\n")
		all.Write(data)
		if !bytes.HasSuffix(data, []byte("\n")) {
			all.WriteByte('\n')
		}
	}
	if all.Len() == 0 {
		return "", fault.New(fault.NotFound, "no input below %s", path)
	}
	return all.String(), nil
}

var templateLine = late.Regexp(`^template: [^:]*:([0-9]+):(?:[0-9]+:)? ?`)

// template looks at a prompt without filling it.
func (p *parser) template(s *sheet, what string) {
	t := parse.New("prompt")
	t.Mode = parse.SkipFuncCheck // our own check knows what was meant
	trees := map[string]*parse.Tree{}
	if _, err := t.Parse(s.Prompt, "", "", trees); err != nil {
		line, message := 0, err.Error()
		if found := templateLine.Get().FindStringSubmatch(message); found != nil {
			n, _ := strconv.Atoi(found[1])
			line, message = n-1, message[len(found[0]):]
		}
		p.say(s.prompt+line, "prompt of %s: %s: correct the braces", what, text.Line(message, 200))
		return
	}
	c := &templateCheck{parser: p, sheet: s, what: what}
	for _, tree := range trees {
		if tree.Name != "prompt" {
			p.say(s.prompt, "prompt of %s defines a template %.60q: write it where it is needed", what, tree.Name)
		} else if tree.Root != nil {
			c.list(tree.Root, false)
		}
	}
}
