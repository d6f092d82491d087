package kit

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"ramet/internal/base/text"
	"ramet/internal/model/llm"
)

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
