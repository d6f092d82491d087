package recipe

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"ramet/internal/base/fault"
)

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
			line := ""
			if i.Line > 0 {
				line = strconv.Itoa(i.Line)
			}
			return map[string]string{"ID": i.ID, "Gate": i.Gate, "Severity": i.Severity, "Code": i.Code, "Message": i.Message, "Line": line, "Fix": i.Fix,
				"Files": strings.Join(i.Files, ", ")}[p.part], i.Files, nil
		}
	}
	return "", nil, fault.New(fault.InvalidRecipe, "line %d, %s: there is no %s here", p.line+1, p.text, p.name)
}
