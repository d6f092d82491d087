package storetest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
)

// Tree is a drawing that was read.
type Tree struct {
	Agents []*TreeAgent // in the order of the lines
}

// TreeAgent is one line.
type TreeAgent struct {
	Name   string
	Parent *TreeAgent // nil for the root
	Fork   *TreeStep  // what it was forked at; nil: before the parent's first entry
	Twin   bool       // made by the same fork as the agent before it
	Steps  []*TreeStep

	line, nameAt, nameEnd int
}

// ForkID is the fork_message_id as the sources have it, 0 for a fork before
// the parent's first entry.
func (a *TreeAgent) ForkID() id.Message {
	if a.Fork == nil {
		return 0
	}
	return a.Fork.ID
}

// TreeStep is one entry of the drawing.
type TreeStep struct {
	ID         id.Message
	Agent      *TreeAgent
	Kind       history.Kind
	Label      string     // of a mark, and of a rewind by label
	Target     id.Message // of a rewind
	First, End id.Message // of a compact

	at, end int // columns
}

// Name returns the entry's name in the drawing.
func (s *TreeStep) Name() string { return "m" + s.ID.String() }

var (
	stepForm = regexp.MustCompile(`^(?:m(\d+)=)?(?:m(\d+)|([a-z_]+)(?:\(([^()]*)\))?)$`)
	nameForm = regexp.MustCompile(`^(.*?)(?:^|\s)\(([a-z][a-z0-9._-]*)\)$`)
	idForm   = regexp.MustCompile(`^m(\d+)$`)
	spanForm = regexp.MustCompile(`^m(\d+)\.\.m(\d+)$`)
)

// ParseTree reads a drawing.
func ParseTree(drawing string) (*Tree, error) {
	t := &Tree{}
	for n, line := range strings.Split(drawing, "\n") {
		line = strings.TrimLeft(line, "\t") // the indentation of the source
		if strings.Trim(line, " │") == "" {
			continue
		}
		if err := t.line(n, []rune(line)); err != nil {
			return nil, fmt.Errorf("drawing, line %d: %w", n+1, err)
		}
	}
	if len(t.Agents) == 0 {
		return nil, fmt.Errorf("drawing: it is empty")
	}
	for _, a := range t.Agents {
		for _, s := range a.Steps {
			if err := s.resolve(); err != nil {
				return nil, fmt.Errorf("drawing, line %d, %s: %w", a.line+1, s.Name(), err)
			}
		}
	}
	return t, nil
}

func (t *Tree) line(n int, line []rune) error {
	a := &TreeAgent{line: n}
	at := 0
	for at < len(line) && (line[at] == ' ' || line[at] == '│') {
		at++
	}
	corner := line[at]
	switch {
	case len(t.Agents) == 0:
	case corner == '└' || corner == '├':
		if err := t.hang(a, at); err != nil {
			return err
		}
		at++
	case corner == '&':
		before := t.Agents[len(t.Agents)-1]
		if before.Parent == nil {
			return fmt.Errorf("&─ joins a fork, and there is none above")
		}
		a.Parent, a.Fork, a.Twin = before.Parent, before.Fork, true
		at++
	default:
		return fmt.Errorf("want └─, ├─ or &─ before %q", string(line[at:]))
	}
	t.Agents = append(t.Agents, a)
	for at < len(line) {
		if line[at] == '─' || line[at] == ' ' {
			at++
			continue
		}
		end := at
		for end < len(line) && line[end] != '─' {
			end++
		}
		if err := t.word(a, string(line[at:end]), at); err != nil {
			return err
		}
		at = end
	}
	if a.Name == "" {
		return fmt.Errorf("the agent has no name: end the line with (name)")
	}
	for _, other := range t.Agents[:len(t.Agents)-1] {
		if other.Name == a.Name {
			return fmt.Errorf("two agents are called %s", a.Name)
		}
	}
	return nil
}

// hang finds what stands above a corner.
func (t *Tree) hang(a *TreeAgent, column int) error {
	for i := len(t.Agents) - 1; i >= 0; i-- {
		up := t.Agents[i]
		if column >= up.nameAt && column < up.nameEnd {
			a.Parent = up
			return nil
		}
		for _, s := range up.Steps {
			if column >= s.at && column < s.end {
				a.Parent, a.Fork = up, s
				return nil
			}
		}
	}
	return fmt.Errorf("nothing stands above the corner in column %d", column+1)
}

// word takes what stands between two ─: an entry, a name, or both.
func (t *Tree) word(a *TreeAgent, word string, at int) error {
	text := strings.TrimRight(word, " ")
	if len(t.Agents) == 1 && a.Name == "" { // the root's name has no brackets
		a.Name, a.nameAt, a.nameEnd = text, at, at+len(text)
		return nil
	}
	if m := nameForm.FindStringSubmatch(text); m != nil {
		if a.Name != "" {
			return fmt.Errorf("the agent has two names")
		}
		a.Name, a.nameEnd = m[2], at+len([]rune(text))
		a.nameAt = a.nameEnd - len(m[2]) - 2
		if text = strings.TrimRight(m[1], " "); text == "" {
			return nil
		}
	}
	return t.step(a, text, at)
}

func (t *Tree) step(a *TreeAgent, text string, at int) error {
	m := stepForm.FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("%q is not an entry", text)
	}
	s := &TreeStep{Agent: a, at: at, end: at + len([]rune(text))}
	number, arg := m[1]+m[2], m[4]
	switch word := m[3]; {
	case m[1] != "" && m[2] != "":
		return fmt.Errorf("%q has two numbers", text)
	case m[2] != "":
		s.Kind = history.User
	case word == "kill":
		s.Kind = history.Killed
	case word == "clear" && arg != "":
		own := idForm.FindStringSubmatch(arg)
		if own == nil || number != "" {
			return fmt.Errorf("%q: clear takes its own id", text)
		}
		s.Kind, number = history.Clear, own[1]
	default:
		s.Kind, s.Label = history.Kind(word), arg
		if err := s.argument(arg); err != nil {
			return fmt.Errorf("%q: %w", text, err)
		}
	}
	s.ID = t.largest(a) + 1
	if number != "" {
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return err
		}
		s.ID = id.Message(n)
	}
	for _, other := range t.Agents {
		for _, o := range other.Steps {
			if o.ID == s.ID {
				return fmt.Errorf("%s appears twice", s.Name())
			}
		}
	}
	left := a.ForkID()
	if len(a.Steps) > 0 {
		left = a.Steps[len(a.Steps)-1].ID
	}
	if s.ID <= left {
		return fmt.Errorf("%s stands behind m%d: ids ascend along a lineage", s.Name(), left)
	}
	a.Steps = append(a.Steps, s)
	return nil
}

func (s *TreeStep) argument(arg string) error {
	known := false
	for _, k := range history.Kinds() {
		known = known || k == s.Kind
	}
	switch {
	case !known || s.Kind == history.Killed:
		return fmt.Errorf("there is no such entry")
	case s.Kind == history.Compact:
		m := spanForm.FindStringSubmatch(arg)
		if m == nil {
			return fmt.Errorf("compact wants (m1..m3)")
		}
		first, _ := strconv.ParseInt(m[1], 10, 64)
		end, _ := strconv.ParseInt(m[2], 10, 64)
		s.First, s.End, s.Label = id.Message(first), id.Message(end), ""
	case s.Kind == history.Rewind:
		if m := idForm.FindStringSubmatch(arg); m != nil {
			n, _ := strconv.ParseInt(m[1], 10, 64)
			s.Target, s.Label = id.Message(n), ""
		}
	case s.Kind != history.Mark && arg != "":
		return fmt.Errorf("it takes no argument")
	}
	return nil
}

// largest is the id that an entry without number follows.
func (t *Tree) largest(a *TreeAgent) id.Message {
	if len(a.Steps) > 0 {
		return a.Steps[len(a.Steps)-1].ID
	}
	var n id.Message
	for _, other := range t.Agents {
		for _, s := range other.Steps {
			n = max(n, s.ID)
		}
	}
	return n
}

// resolve finds the mark that a rewind by label means: the newest to its left,
// in its own line or an ancestor's, behind the last clear.
func (s *TreeStep) resolve() error {
	if s.Kind != history.Rewind || s.Target != 0 {
		return nil
	}
	before := s.ID
	for a := s.Agent; a != nil; a = a.Parent {
		for i := len(a.Steps) - 1; i >= 0; i-- {
			o := a.Steps[i]
			switch {
			case o.ID >= before:
			case o.Kind == history.Clear:
				return fmt.Errorf("no mark %q behind the clear", s.Label)
			case o.Kind == history.Mark && (s.Label == "" || s.Label == o.Label):
				s.Target = o.ID
				return nil
			}
		}
		before = a.ForkID() + 1
	}
	return fmt.Errorf("no mark %q", s.Label)
}
