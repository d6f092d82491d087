package recipe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/run"
)

// maxPrompt bounds what a prompt becomes with its inputs.
const maxPrompt = 16 << 20

// What placeholders can name.
var (
	functions    = []string{"scope", "param", "input", "failure", "section", "issue"}
	sectionParts = []string{"Name", "Title", "Brief"}
	issueParts   = []string{"ID", "Gate", "Severity", "Code", "Message", "Files", "Line", "Fix"}
)

// RenderData holds the values that fill a prompt.
type RenderData struct {
	Scope   string
	Params  map[string]string
	Failure string     // of the last attempt
	Section *Section   // where the worker is for sections
	Issue   *run.Issue // where it is for an issue
	Inputs  []string   // paths of the item's inputs, for those that end in /**
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

// piece is a part of a prompt: text, a placeholder, or a block with an if or range around other pieces.
type piece struct {
	text            string // the text, or the placeholder as it is written
	line            int    // from 0
	verb            string // empty for text; value, if or range
	name, part, arg string // name.part, or name "arg"
	body, other     []piece
}

// A placeholder names a value: scope, section.Title, param "name", or . for the file of a range.
var placeholderForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(if|range)\s+)?(?:(\.)|([A-Za-z]+)(?:\.([A-Za-z]+))?(?:\s+"([^"\\]*)")?)$`)
})

// maxBlocks limits how deep blocks may lie in each other.
const maxBlocks = 20

// promptError is a mistake in a prompt.
type promptError struct {
	line int // from 0
	what string
}

func (e *promptError) Error() string { return fmt.Sprintf("line %d: %s", e.line+1, e.what) }

// promptScanner splits a prompt into pieces.
type promptScanner struct {
	rest string
	line int
}

// scan reads pieces up to the end of the prompt, or of a block, whose last word (else or end) it returns.
func (s *promptScanner) scan(depth int) (list []piece, last string, err error) {
	for {
		before, after, found := strings.Cut(s.rest, "{{")
		list = append(list, piece{text: before, line: s.line})
		s.line += strings.Count(before, "\n")
		if !found {
			if s.rest = ""; depth > 0 {
				return nil, "", &promptError{s.line, "a block has no {{end}}"}
			}
			return list, "", nil
		}
		inside, after, closed := strings.Cut(after, "}}")
		if !closed {
			return nil, "", &promptError{s.line, "unclosed action: }} is missing"}
		}
		p := piece{text: "{{" + inside + "}}", line: s.line, verb: "value"}
		s.line += strings.Count(inside, "\n")
		s.rest = after
		if inside = strings.TrimSpace(inside); inside == "else" || inside == "end" {
			if depth == 0 {
				return nil, "", &promptError{p.line, "{{" + inside + "}} ends no block"}
			}
			return list, inside, nil
		}
		form := placeholderForm().FindStringSubmatch(inside)
		if form == nil || depth > maxBlocks {
			return nil, "", &promptError{p.line, fmt.Sprintf(`{{%.60s}} is not a placeholder: there are {{scope}}, {{failure}}, {{param "name"}}, {{input "path"}}, {{section.Title}}, {{issue.Message}} and the like, {{if VALUE}}, {{else}}, {{end}} and {{range issue.Files}} with {{.}}`, inside)}
		}
		p.name, p.part, p.arg = form[2]+form[3], form[4], form[5]
		if form[1] != "" {
			p.verb = form[1]
			if p.body, last, err = s.scan(depth + 1); err == nil && last == "else" {
				p.other, last, err = s.scan(depth + 1)
			}
			if err == nil && last != "end" {
				err = &promptError{p.line, "a block has two {{else}}"}
			}
			if err != nil {
				return nil, "", err
			}
		}
		list = append(list, p)
	}
}

// fillPieces writes pieces with their values; dot is the file of the range around them.
func (d RenderData) fillPieces(out *strings.Builder, list []piece, dot string) error {
	for _, p := range list {
		value, files := p.text, []string(nil)
		if p.verb != "" {
			var err error
			if value, files, err = d.value(p, dot); err != nil {
				return err
			}
		}
		body := p.body
		switch {
		case p.verb == "range":
			for _, file := range files {
				if err := d.fillPieces(out, p.body, file); err != nil {
					return err
				}
			}
			if body = p.other; len(files) > 0 {
				continue
			}
		case p.verb == "if" && value == "":
			body = p.other
		case p.verb != "if":
			if out.Len()+len(value) > maxPrompt {
				return fault.New(fault.Failed, "it would have more than %d bytes", maxPrompt).WithHint("name fewer or smaller inputs in it")
			}
			out.WriteString(value)
			continue
		}
		if err := d.fillPieces(out, body, dot); err != nil {
			return err
		}
	}
	return nil
}

// value returns the value of a placeholder as text, and the list of issue.Files.
func (d RenderData) value(p piece, dot string) (text string, files []string, err error) {
	switch p.name {
	case ".":
		return dot, nil, nil
	case "scope":
		return d.Scope, nil, nil
	case "failure":
		return d.Failure, nil, nil
	case "param":
		text, err = d.param(p.arg)
		return text, nil, err
	case "input":
		text, err = d.input(p.arg)
		return text, nil, err
	case "section":
		if d.Section != nil {
			return map[string]string{"Name": d.Section.Name, "Title": d.Section.Title, "Brief": d.Section.Brief}[p.part], nil, nil
		}
	case "issue":
		if i := d.Issue; i != nil {
			return issuePart(*i, p.part), i.Files, nil
		}
	}
	return "", nil, fault.New(fault.InvalidRecipe, "line %d, %s: there is no %s here", p.line+1, p.text, p.name)
}

// issuePart returns a field of an issue as a prompt names it.
func issuePart(i run.Issue, part string) string {
	var at struct {
		Line int `json:"line"`
	}
	line := ""
	if json.Unmarshal(i.Location, &at) == nil && at.Line > 0 {
		line = strconv.Itoa(at.Line)
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	return map[string]string{"ID": i.IssueID, "Gate": i.Gate, "Severity": i.Severity, "Code": text(i.ErrorCode), "Message": i.Message, "Line": line,
		"Fix": text(i.SuggestedFix), "Files": strings.Join(i.Files, ", ")}[part]
}

// Bind gives each parameter its value: the one that was set, else its default. An unknown
// one, or one that is required and not set, is USAGE.
func (r *Recipe) Bind(params map[string]string) (map[string]string, error) {
	var known, lacking []string
	values := map[string]string{}
	for _, p := range r.Parameters {
		known = append(known, p.Name)
		value, set := params[p.Name]
		if !set {
			value = p.Default
		}
		if p.Required && value == "" {
			lacking = append(lacking, p.Name)
		}
		values[p.Name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if !slices.Contains(known, name) {
			return nil, fault.New(fault.Usage, "recipe %s has no parameter %.60q", r.Name, name).WithHint("%s", suggestWord(name, known))
		}
		if value := params[name]; value != "" {
			if err := fault.CheckText(fault.Usage, "parameter "+name, value, 64<<10); err != nil {
				return nil, err
			}
		}
	}
	if len(lacking) > 0 {
		return nil, fault.New(fault.Usage, "recipe %s needs a value for %s", r.Name, strings.Join(lacking, ", ")).
			WithHint("give it with --set %s=…", lacking[0])
	}
	return values, r.checkAsked(values)
}

// Values adds to bound parameters what else names in braces can mean: {sections} and, once
// it is known, {base}, the commit that worktrees begin at.
func (r *Recipe) Values(bound map[string]string, base string) map[string]string {
	list := r.Sections
	if list == nil {
		list = []Section{}
	}
	sections, err := json.Marshal(list)
	if err != nil {
		panic("recipe: sections are texts: " + err.Error())
	}
	values := maps.Clone(bound)
	if values == nil {
		values = map[string]string{}
	}
	values["sections"], values["base"] = string(sections), base
	return values
}

// ItemScopes returns the scopes of a worker's items, in order. The sections are those that the
// run has, and readFile reads a file of the run. A worker for issues has none here: its scope is
// the id of the issue.
func ItemScopes(w Worker, sections []string, readFile func(path string) ([]byte, error)) ([]string, error) {
	switch {
	case w.Each.Once:
		return []string{"all"}, nil
	case w.Each.Sections:
		return checkScopes("the sections", sections)
	case w.Each.From != "":
		data, err := readFile(w.Each.From)
		if err != nil {
			return nil, err
		}
		var list []string
		if err := json.Unmarshal(data, &list); err != nil || list == nil {
			return nil, fault.New(fault.OutputInvalid, "%s is not JSON list of texts, and worker %s has an item for each of them", w.Each.From, w.Name).
				WithHint(`its worker must write ["a","b"]`)
		}
		return checkScopes(w.Each.From, list)
	}
	return slices.Clone(w.Each.List), nil
}

func checkScopes(what string, list []string) ([]string, error) {
	const hint = "a name has 1 to 80 letters, digits, dots, _ and -, and appears once"
	if len(list) > maxScopes {
		return nil, fault.New(fault.OutputInvalid, "%s has %d names", what, len(list)).WithHint("at most %d are allowed", maxScopes)
	}
	seen := make(map[string]bool, len(list))
	for _, name := range list {
		if !ValidScope(name) {
			return nil, fault.New(fault.OutputInvalid, "%s names %.100q", what, name).WithHint(hint)
		}
		if seen[name] {
			return nil, fault.New(fault.OutputInvalid, "%s names %s twice", what, name).WithHint(hint)
		}
		seen[name] = true
	}
	return slices.Clone(list), nil
}

// ExpandPath puts values into the names in braces of a path. A value may be a whole path, or a
// word in one; what comes out is as good a path as one in a recipe.
func ExpandPath(path, scope string, params map[string]string) (string, error) {
	const hint = "give the parameter another value"
	whole := braces().FindString(path) == path
	var odd string
	out, err := expandNames(path, scope, params, func(name, value string) {
		if !whole && (value == "" || strings.ContainsAny(value, "/")) || name == "scope" && !ValidScope(value) {
			odd = name
		}
	})
	if err != nil {
		return "", err
	}
	if odd != "" {
		return "", fault.New(fault.Usage, "in the path %.100q %s would be %.100q, which is not a name of a file", path, odd, valueOf(odd, scope, params)).WithHint(hint)
	}
	if why := badPath(out); why != "" {
		return "", fault.New(fault.Usage, "the path %.100q became %.100q, which %s", path, out, why).WithHint(hint)
	}
	if strings.HasSuffix(out, "/**") && !strings.HasSuffix(path, "/**") {
		return "", fault.New(fault.Usage, "the path %.100q became %.100q, which is not a file", path, out).WithHint(hint)
	}
	return out, nil
}

// ExpandText puts values into the names in braces of a key or a `with` value.
func ExpandText(s, scope string, params map[string]string) (string, error) {
	return expandNames(s, scope, params, func(string, string) {})
}

func valueOf(name, scope string, params map[string]string) string {
	if name == "scope" {
		return scope
	}
	return params[name]
}

func expandNames(s, scope string, params map[string]string, each func(name, value string)) (string, error) {
	var lacking string
	out := braces().ReplaceAllStringFunc(s, func(found string) string {
		name := found[1 : len(found)-1]
		if _, known := params[name]; !known && name != "scope" {
			lacking = name
			return found
		}
		value := valueOf(name, scope, params)
		each(name, value)
		return value
	})
	if lacking != "" {
		return "", fault.New(fault.Usage, "%.100q names {%s}, which has no value here", s, lacking).WithHint("give it with --set %s=…", lacking)
	}
	return out, nil
}

// CheckPaths makes sure that values lead no path of a worker astray.
func (r *Recipe) CheckPaths(values map[string]string) error {
	for _, w := range r.Workers {
		paths := slices.Concat(w.Inputs, w.Patches)
		for _, o := range w.Outputs {
			paths = append(paths, o.Path)
		}
		if w.Worktree != "" {
			paths = append(paths, w.Worktree)
		}
		for _, p := range paths {
			if _, err := ExpandPath(p, "scope", values); err != nil {
				return err
			}
		}
	}
	return nil
}
