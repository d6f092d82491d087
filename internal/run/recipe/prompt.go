package recipe

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// maxPrompt bounds what a prompt becomes with its inputs.
const maxPrompt = 16 << 20

// What placeholders can name.
var (
	functions    = []string{"scope", "param", "input", "failure", "section", "issue"}
	sectionParts = []string{"Name", "Title", "Brief"}
	issueParts   = []string{"ID", "Gate", "Severity", "Code", "Message", "Files", "Line", "Fix"}
)

// Issue holds the fields of an issue that a prompt can name.
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

// RenderData holds the values that fill a prompt.
type RenderData struct {
	Scope   string
	Params  map[string]string
	Failure string   // of the last attempt
	Section *Section // where the worker is for sections
	Issue   *Issue   // where it is for an issue
	Inputs  []string // paths of the item's inputs, for those that end in /**
	Read    func(path string) ([]byte, error)
}

// RenderPrompt returns a worker's prompt for one item. An input that cannot be read is an error.
func RenderPrompt(w Worker, d RenderData) (string, error) {
	var out strings.Builder
	pieces, _, err := (&promptScanner{rest: w.Prompt}).scan(0)
	if err == nil {
		err = d.fillPieces(&out, pieces, "")
	}
	if err == nil {
		return out.String(), nil
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
	path, err := ExpandPath(path, d.Scope, d.Params)
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
		if !CoversPath(path, one) {
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

// checkPrompt reports the mistakes of a prompt without filling it.
func (p *parser) checkPrompt(s *workerLines, what string) {
	pieces, _, err := (&promptScanner{rest: s.Prompt}).scan(0)
	if wrong, ok := err.(*promptError); ok {
		p.say(s.prompt+wrong.line, "prompt of %s: %s", what, wrong.what)
		return
	}
	p.checkPieces(s, what, pieces, false)
}

// checkPieces checks placeholders; dot is true inside a range.
func (p *parser) checkPieces(s *workerLines, what string, list []piece, dot bool) {
	for _, one := range list {
		if one.verb == "" {
			continue
		}
		if wrong := p.checkPlaceholder(s, one, dot); wrong != "" {
			p.say(s.prompt+one.line, "prompt of %s %s", what, wrong)
		}
		p.checkPieces(s, what, one.body, dot || one.verb == "range")
		p.checkPieces(s, what, one.other, dot)
	}
}

// checkPlaceholder returns what is wrong with a placeholder, or nothing.
func (p *parser) checkPlaceholder(s *workerLines, one piece, dot bool) string {
	parts := map[string][]string{"section": sectionParts, "issue": issueParts}[one.name]
	switch {
	case one.verb == "range" && (one.name != "issue" || one.part != "Files"):
		return "ranges over something else than issue.Files: take it out"
	case one.name == "." && !dot:
		return "uses . where it has no meaning: use one of " + strings.Join(functions, ", ")
	case one.name == ".":
		return ""
	case !slices.Contains(functions, one.name):
		return fmt.Sprintf("calls %.60s, which is not a function: %s", one.name, suggestWord(one.name, functions))
	case one.name == "section" && !s.Each.Sections:
		return "uses section, and the worker is not for sections: add `each: sections`, or take it out"
	case one.name == "issue" && !s.Each.Issue:
		return "uses issue, and the worker is not for an issue: add `each: issue`, or take it out"
	case !slices.Contains(parts, one.part) && (parts != nil || one.part != ""):
		return fmt.Sprintf("uses %.60s.%.60s, which is not a part: %s", one.name, one.part, suggestWord(one.part, parts))
	case one.name != "param" && one.name != "input":
		if one.arg != "" {
			return fmt.Sprintf("gives %s an argument, which takes none: take it out", one.name)
		}
		return ""
	case one.arg == "":
		return fmt.Sprintf(`gives %s something else than one name in quotes: write %[1]s "name"`, one.name)
	case one.name == "input":
		if !slices.ContainsFunc(s.Inputs, func(in string) bool { return in == one.arg || CoversPath(in, one.arg) }) {
			return fmt.Sprintf("uses the input %.100q, which is none of the worker's: add it to inputs", one.arg)
		}
		return ""
	}
	var known []string
	for _, parameter := range p.recipe.Parameters {
		known = append(known, parameter.Name)
	}
	if !slices.Contains(known, one.arg) {
		return fmt.Sprintf("names the parameter %.60q, which is none: %s", one.arg, suggestWord(one.arg, known))
	}
	return ""
}
