package kit

import (
	"cmp"
	"fmt"
	"path"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"ramet/internal/base/text"
	"ramet/internal/model/llm"
)

// mostFront bounds the front matter, which is read by a parser that follows references.
const mostFront = 64 << 10

// front describes what stands before a text between two lines of three dashes, by key; values are
// texts, or lists of them.
type front map[string][]string

// splitFront takes a file apart. A file without front matter is all body.
func splitFront(data string) (front, string, error) {
	data = strings.TrimPrefix(strings.ToValidUTF8(data, "\uFFFD"), "\ufeff")
	data = strings.ReplaceAll(data, "\r\n", "\n")
	rest, ok := strings.CutPrefix(data, "---\n")
	if !ok {
		return front{}, data, nil
	}
	head, body, ok := strings.Cut("\n"+rest, "\n---\n")
	if !ok {
		if head, ok = strings.CutSuffix("\n"+rest, "\n---"); !ok {
			return nil, "", fmt.Errorf("its front matter does not end: there is no second line with ---")
		}
	}
	if len(head) > mostFront {
		return nil, "", fmt.Errorf("its front matter has more than %d bytes", mostFront)
	}
	f, err := parseFront(head)
	return f, body, err
}

// parseFront reads YAML. What others write is often none, such as a description with a colon
// in it; then each line is a key and its text.
func parseFront(head string) (front, error) {
	out := front{}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(head), &doc); err != nil || len(doc.Content) > 0 && doc.Content[0].Kind != yaml.MappingNode {
		return plainFront(head)
	}
	if len(doc.Content) == 0 {
		return out, nil
	}
	top := doc.Content[0]
	for i := 0; i+1 < len(top.Content); i += 2 {
		key, value := strings.ToLower(top.Content[i].Value), top.Content[i+1]
		switch value.Kind {
		case yaml.ScalarNode:
			if value.Tag != "!!null" {
				out[key] = []string{value.Value}
			}
		case yaml.SequenceNode:
			out[key] = []string{}
			for _, one := range value.Content {
				if one.Kind == yaml.ScalarNode {
					out[key] = append(out[key], one.Value)
				}
			}
		}
	}
	return out, nil
}

func plainFront(head string) (front, error) {
	out := front{}
	last := ""
	for line := range strings.Lines(head) {
		key, value, ok := strings.Cut(strings.TrimRight(line, "\n"), ":")
		switch {
		case strings.TrimSpace(line) == "":
		case ok && key == strings.TrimSpace(key) && key != "" && !strings.ContainsAny(key, " \t\"'{}[]"):
			last = strings.ToLower(key)
			out[last] = []string{strings.Trim(strings.TrimSpace(value), `"'`)}
		case last != "":
			out[last][0] = strings.TrimSpace(out[last][0] + " " + strings.TrimSpace(line))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("its front matter is not YAML, and has no lines with a key and a colon")
	}
	return out, nil
}

// text returns the value of the first key that has one.
func (f front) text(keys ...string) string {
	for _, k := range keys {
		if v := f[k]; len(v) > 0 {
			return strings.TrimSpace(strings.Join(v, " "))
		}
	}
	return ""
}

// list returns a list of words: of YAML, or with commas or spaces between them, but for those in
// parentheses. nil: the key is not there.
func (f front) list(keys ...string) []string {
	for _, k := range keys {
		v, ok := f[k]
		if !ok {
			continue
		}
		out := []string{}
		for _, one := range v {
			for _, word := range text.SplitOutside(one, ", \t\n", "()") {
				if word = strings.Trim(word, `"'`); word != "" {
					out = append(out, word)
				}
			}
		}
		return out
	}
	return nil
}

func (f front) yes(key string) bool {
	switch strings.ToLower(f.text(key)) {
	case "true", "yes", "on":
		return true
	}
	return false
}

// Lengths as the published format of skills has them.
const (
	mostName        = 64
	mostDescription = 1024
)

var nameForm = text.Regexp(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// ParseSkill reads a SKILL.md that lies in a folder of this name. What is against the format
// and can be used all the same is a remark.
func ParseSkill(folder, data string) (s Skill, err error) {
	f, body, err := splitFront(data)
	if err != nil {
		return s, err
	}
	s = Skill{Name: f.text("name"), Description: f.text("description"), License: f.text("license"), Compatibility: f.text("compatibility"),
		Allowed: f.list("allowed-tools", "allowed_tools"), Body: strings.TrimSpace(body)}
	remark := func(format string, args ...any) { s.Remarks = append(s.Remarks, fmt.Sprintf(format, args...)) }
	switch {
	case s.Description == "":
		return s, fmt.Errorf("it has no description, so a model would not know when to use it")
	case s.Body == "":
		return s, fmt.Errorf("it has no text")
	}
	if s.Name == "" {
		s.Name = folder
		remark("it has no name; that of its folder is used")
	}
	s.Name = text.Line(s.Name, mostName)
	switch {
	case !nameForm().MatchString(s.Name):
		remark("its name %q is not of a-z, 0-9 and single -", s.Name)
	case s.Name != folder:
		remark("its name is %s, its folder %s", s.Name, folder)
	}
	if len(s.Description) > mostDescription {
		remark("its description has %d bytes, more than %d", len(s.Description), mostDescription)
		s.Description = text.Line(s.Description, mostDescription)
	}
	return s, nil
}

// ParseRole reads the definition of an agent from a file of this name.
func ParseRole(file, data string) (Role, error) {
	f, body, err := splitFront(data)
	if err != nil {
		return Role{}, err
	}
	r := Role{Name: f.text("name"), Description: f.text("description"), Tools: f.list("tools"), Model: f.text("model"), Context: f.text("context"),
		Worktree: f.yes("worktree") || f.text("isolation") == "worktree", Prompt: strings.TrimSpace(body)}
	r.Name = cmp.Or(r.Name, strings.TrimSuffix(path.Base(file), ".md"))
	r.Name = text.Line(r.Name, mostName)
	switch {
	case r.Prompt == "":
		return r, fmt.Errorf("it has no text")
	case r.Context != "" && r.Context != "inherit" && r.Context != "none":
		return r, fmt.Errorf("context is inherit or none, not %.40q", r.Context)
	}
	r.Driver = text.Line(f.text("driver"), mostName)
	r.Effort, _ = llm.ParseEffort(f.text("effort")) // another program's word for it is none of ours
	r.Budget, err = parseBudget(f.text("budget"))
	return r, err
}

// ParseCommand reads a command from a file below a folder of commands.
func ParseCommand(file, data string) (Command, error) {
	f, body, err := splitFront(data)
	if err != nil {
		return Command{}, err
	}
	c := Command{Name: strings.ReplaceAll(strings.TrimSuffix(file, ".md"), "/", ":"), Description: f.text("description"), Hint: f.text("argument-hint"),
		Allowed: f.list("allowed-tools", "allowed_tools"), Model: f.text("model"), Body: strings.TrimSpace(body)}
	if c.Body == "" {
		return c, fmt.Errorf("it has no text")
	}
	if strings.ContainsAny(c.Name, " \t\n") || text.Line(c.Name, 200) != c.Name {
		return c, fmt.Errorf("a command's name has no spaces and no control characters")
	}
	if c.Description == "" {
		first, _, _ := strings.Cut(c.Body, "\n")
		c.Description = text.Line(strings.TrimLeft(first, "# "), 100)
	}
	return c, nil
}

var placeholder = text.Regexp(`\$(ARGUMENTS|[1-9])`)

// Fill returns the prompt of a command with arguments: $ARGUMENTS is all of them, $1 the first. A
// command that names none gets them at its end.
func (c Command) Fill(args string) string {
	args = strings.TrimSpace(args)
	given := splitFields(args)
	named := false
	out := placeholder().ReplaceAllStringFunc(c.Body, func(p string) string {
		named = true
		if p == "$ARGUMENTS" {
			return args
		}
		if n, err := strconv.Atoi(p[1:]); err == nil && n <= len(given) {
			return given[n-1]
		}
		return ""
	})
	if !named && args != "" {
		out += "\n\n" + args
	}
	return out
}

// splitFields returns the words of arguments; quotes hold words together.
func splitFields(s string) []string {
	var out []string
	var b strings.Builder
	quote, open := rune(0), false
	end := func() {
		if open {
			out = append(out, b.String())
		}
		b.Reset()
		open = false
	}
	for _, r := range s {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, open = r, true
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			end()
		default:
			b.WriteRune(r)
			open = true
		}
	}
	end()
	return out
}

// Shell is a command line that is in a prompt, to be replaced by what it prints.
type Shell struct {
	Start, End int
	Line       string
}

var shellForm = text.Regexp("!`([^`\n]+)`")

// Shells returns the command lines of a command's own text, written !`LINE`. Arguments bring none.
func Shells(body string) []Shell {
	var out []Shell
	for _, m := range shellForm().FindAllStringSubmatchIndex(body, -1) {
		out = append(out, Shell{m[0], m[1], body[m[2]:m[3]]})
	}
	return out
}

// Words returns the words of a line; quotes hold some together.
func Words(line string) []string { return splitFields(line) }
