package local

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"ramet/internal/nearest"
	"ramet/internal/shape"
	"ramet/internal/tool"
)

//go:embed edit.md
var editDoc string

type editArgs struct {
	Path string
	Old  string `json:"old_string"`
	New  string `json:"new_string"`
	All  bool   `json:"replace_all"`
}

func (l *Local) edit() tool.Tool {
	return &one{run: l.runEdit, spec: tool.Spec{
		Name: "edit", Description: editDoc, Access: tool.Writes,
		Args: shape.Object(
			shape.Must("path", shape.Text(1).With("the file, relative to the workspace")),
			shape.Must("old_string", shape.Text(1).With("what to replace")),
			shape.Must("new_string", shape.Text(0).With("what to put in its place")),
			shape.May("replace_all", shape.Bool().With("replace it everywhere in the file")),
		),
		Subject: l.subject, Summary: l.summary("edit"),
	}}
}

func (l *Local) runEdit(_ context.Context, c tool.Call) (tool.Answer, error) {
	args, err := parse[editArgs](c.Args)
	if err != nil {
		return tool.Answer{}, err
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	s, err := l.find(args.Path, toWrite)
	if err != nil {
		return tool.Answer{}, err
	}
	defer s.close()
	before, err := l.unchanged(s)
	if err != nil {
		return tool.Answer{}, err
	}
	after, n, err := substitute(string(before), args.Old, args.New, args.All)
	if err != nil {
		return tool.Answer{}, complain("%s: %w", show(s.rel), err)
	}
	if len(after) > largest {
		return tool.Answer{}, complain("That would make more than %d MiB. Use bash.", largest>>20)
	}
	if err := l.replace(s, []byte(after)); err != nil {
		return tool.Answer{}, err
	}
	text := fmt.Sprintf("Edited %s.", show(s.rel))
	if n > 1 {
		text = fmt.Sprintf("Edited %s in %d places.", show(s.rel), n)
	}
	return tool.Answer{Text: text, Show: diff(s.rel, string(before), after)}, nil
}

// bom is the mark that some programs put in front of UTF-8.
const bom = "\uFEFF"

// substitute replaces a text, and counts. A mark at the beginning stays there. Where
// every line ends as in DOS, the texts may be written with plain ends, as they
// are shown, and the file keeps its own.
func substitute(file, old, new string, all bool) (string, int, error) {
	body, marked := strings.CutPrefix(file, bom)
	dos := strings.Contains(body, "\r\n") && strings.Count(body, "\r\n") == strings.Count(body, "\n")
	if dos {
		plain := strings.NewReplacer("\r\n", "\n")
		body, old, new = plain.Replace(body), plain.Replace(old), plain.Replace(new)
	}
	n := strings.Count(body, old)
	switch {
	case old == "":
		return "", 0, complain("old_string is empty. Use write for a new file.")
	case old == new:
		return "", 0, complain("old_string and new_string are the same.")
	case n == 0:
		return "", 0, complain("old_string does not stand in the file.%s", nearby(body, old))
	case n > 1 && !all:
		return "", 0, complain("old_string stands in the file %d times, in lines %s. Add lines around it, or set replace_all.", n, places(body, old))
	}
	body = strings.ReplaceAll(body, old, new)
	if dos {
		body = strings.ReplaceAll(body, "\n", "\r\n")
	}
	if marked {
		body = bom + body
	}
	return body, n, nil
}

// places are the numbers of the lines in which a text begins, at most ten of them.
func places(body, old string) string {
	var lines []string
	line, from := 1, 0
	for len(lines) < 10 {
		i := strings.Index(body[from:], old)
		if i < 0 {
			return strings.Join(lines, ", ")
		}
		line += strings.Count(body[from:from+i], "\n")
		lines = append(lines, fmt.Sprint(line))
		line += strings.Count(old, "\n")
		from += i + len(old)
	}
	return strings.Join(lines, ", ") + ", …"
}

// mostCompared bounds the search for a similar line.
const mostCompared = 5000

// nearby says which line is most like the first one that was looked for.
func nearby(body, old string) string {
	wanted := ""
	for line := range strings.Lines(old) {
		if wanted = strings.TrimSpace(line); wanted != "" {
			break
		}
	}
	if wanted == "" {
		return " It consists of spaces and line ends only."
	}
	var candidates []string
	at := map[string]int{}
	n := 0
	for line := range strings.Lines(body) {
		if n++; n > mostCompared {
			break
		}
		trimmed := strings.TrimSpace(line)
		if trimmed == wanted {
			return fmt.Sprintf(" Line %d is like its first line, but for spaces or what follows: %q", n, strings.TrimRight(line, "\r\n"))
		}
		if _, ok := at[trimmed]; !ok && len(trimmed) < 2*len(wanted) {
			at[trimmed] = n
			candidates = append(candidates, trimmed)
		}
	}
	if near := nearest.Word(wanted, candidates); near != "" {
		return fmt.Sprintf(" Most like its first line is line %d: %q", at[near], near)
	}
	return " Read the file again to see what does."
}
