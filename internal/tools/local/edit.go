package local

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"ramet/internal/base/text"
	"ramet/internal/turn/tool"
)

type editArgs struct {
	Path string
	change
	Edits []change
}

// change is one replacement.
type change struct {
	Old string `json:"old_string"`
	New string `json:"new_string"`
	All bool   `json:"replace_all"`
}

func (l *Local) edit() tool.Tool {
	return l.remember(withArguments(l.runEdit), tool.Describe("edit", tool.Spec{
		Args:    editShape,
		Subject: l.subject, Summary: l.summary("edit"), Preview: l.previewEdit,
	}))
}

// changes returns what a call asks for.
func (a editArgs) changes() ([]change, error) {
	switch {
	case len(a.Edits) > 0 && (a.Old != "" || a.New != ""):
		return nil, sentenceError("Give old_string and new_string, or edits, not both. Nothing was changed.")
	case len(a.Edits) > 0:
		return a.Edits, nil
	case a.Old == "":
		return nil, sentenceError("old_string is missing: what is to be replaced? Nothing was changed.")
	}
	return []change{a.change}, nil
}

func (l *Local) runEdit(_ context.Context, c tool.Call, args editArgs) (tool.Answer, error) {
	changes, err := args.changes()
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
	if err := s.permitted(c); err != nil {
		return tool.Answer{}, err
	}
	before, stale, err := l.known(s)
	if err != nil {
		return tool.Answer{}, err
	}
	d := newDraft(string(before))
	for i, one := range changes {
		if stale && one.All {
			err = sentenceError("it has changed since it was read, so that replace_all might change what you have not seen. Read it again")
		} else {
			err = d.apply(one)
		}
		if err != nil {
			where := ""
			if len(changes) > 1 {
				where = fmt.Sprintf(" edit %d of %d:", i+1, len(changes))
			}
			if stale {
				err = sentenceError("%w (It has changed since it was read.)", err)
			}
			return tool.Answer{}, sentenceError("%s:%s %w Nothing was changed.", showPath(s.rel), where, err)
		}
	}
	after := d.text()
	if len(after) > largest {
		return tool.Answer{}, sentenceError("That would make more than %d MiB. Use bash.", largest>>20)
	}
	seen, _ := l.sight(s.rel)
	if err := l.replace(s, before, []byte(after)); err != nil {
		return tool.Answer{}, err
	}
	said := fmt.Sprintf("Edited %s.", showPath(s.rel))
	if d.places > 1 {
		said = fmt.Sprintf("Edited %s in %d places.", showPath(s.rel), d.places)
	}
	answer := tool.Answer{Show: diffForPeople(s.rel, string(before), after)}
	if stale { // what else changed was not seen: write must not undo it
		l.sawSum(s.rel, seen)
		said += " Note: it had changed since you saw it, elsewhere; those changes are kept."
	} else {
		answer.Memo = l.sawMemo(s.rel)
	}
	answer.Text = said + " Now:\n" + d.excerpt()
	return answer, nil
}

// known returns the content of a file that the conversation has seen; stale says that it was
// another then.
func (l *Local) known(s *handle) (content []byte, stale bool, err error) {
	content, err = s.content()
	if err != nil {
		return nil, false, err
	}
	sum, ok := l.sight(s.rel)
	switch {
	case !ok:
		return nil, false, sentenceError("%s was not read yet. Read it first (the lines that you want to change are enough).", showPath(s.rel))
	case s.info.Mode().Perm()&0o200 == 0:
		return nil, false, sentenceError("%s is read-only.", showPath(s.rel))
	}
	return content, sum != sha256.Sum256(content), nil
}

const (
	mostDiffed = 1 << 20  // bytes that are compared line by line
	mostShown  = 64 << 10 // bytes of a diff
)

// diffForPeople returns what changed, for people.
func diffForPeople(rel, before, after string) string {
	if len(before)+len(after) > mostDiffed {
		return fmt.Sprintf("%s: %s before, %s now", showPath(rel), sizeOf(before), sizeOf(after))
	}
	from, to := "a/"+showPath(rel), "b/"+showPath(rel)
	if before == "" {
		from = "/dev/null"
	}
	d := text.Safe(udiff.Unified(from, to, before, after))
	if len(d) > mostShown {
		d = string(text.WholeRunes([]byte(d[:mostShown]))) + "\n[the rest of the changes is not shown]\n"
	}
	return d
}

// previewEdit returns the patch that an edit would make if it were carried out now.
func (l *Local) previewEdit(call json.RawMessage) string {
	args, err := parseArguments[editArgs](call)
	if err != nil {
		return ""
	}
	changes, err := args.changes()
	if err != nil {
		return ""
	}
	before, rel, ok := l.standing(args.Path)
	d := newDraft(before)
	for _, one := range changes {
		ok = ok && d.apply(one) == nil
	}
	if patch := wholePatch(rel, before, d.text()); ok && patch != "" {
		return patch
	}
	return describeChanges(changes...)
}

// previewWrite returns the patch of a write.
func (l *Local) previewWrite(call json.RawMessage) string {
	args, err := parseArguments[writeArgs](call)
	if err != nil {
		return ""
	}
	before, rel, ok := l.standing(args.Path)
	if patch := wholePatch(rel, before, args.Content); ok && patch != "" {
		return patch
	}
	return describeChanges(change{New: args.Content})
}

// describeChanges returns changes as a patch without places, for a call that would be refused, and for a patch that is too
// long: the person who permits the call must see all of it.
func describeChanges(changes ...change) string {
	var out strings.Builder
	out.WriteString(tool.PatchWithoutPlaces)
	for _, c := range changes {
		for i, side := range []string{c.Old, c.New} {
			for line := range strings.Lines(text.Safe(side)) {
				out.WriteString("-+"[i:i+1] + strings.TrimSuffix(line, "\n") + "\n")
			}
		}
	}
	return out.String()
}

// standing returns what a file holds now: nothing, where there is none yet.
func (l *Local) standing(path string) (content, rel string, ok bool) {
	s, err := l.find(path, toName)
	if err != nil {
		return "", "", false
	}
	defer s.close()
	if s.info == nil {
		return "", s.rel, true
	}
	b, err := s.content()
	return string(b), s.rel, err == nil
}

// wholePatch returns a patch, or nothing where it is too long.
func wholePatch(rel, before, after string) string {
	if len(before)+len(after) > mostDiffed {
		return ""
	}
	if d := text.Safe(udiff.Unified("a/"+showPath(rel), "b/"+showPath(rel), before, after)); len(d) <= mostShown {
		return d
	}
	return ""
}

// lineNumbers returns the numbers of the lines in which a text begins, at most ten of them.
func lineNumbers(body, old string) string {
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

const (
	mostCompared = 5000 // lines in which a similar one is looked for
	mostNear     = 12   // lines of a similar place that are shown
)

// nearestPlace shows the place that is most like what was looked for.
func nearestPlace(body, old string) string {
	wanted := trimLines(strings.Split(strings.Trim(old, "\n"), "\n"))
	if strings.Join(wanted, "") == "" {
		return " It consists of spaces and line ends only."
	}
	lines := strings.Split(body, "\n")
	plain := trimLines(lines[:min(len(lines), mostCompared)])
	if at, like := mostAlike(plain, wanted); like*2 > len(wanted) || like == len(wanted) {
		var out strings.Builder
		end := min(at+len(wanted), len(lines))
		for n := at; n < min(end, at+mostNear); n++ {
			out.WriteString(numberedLine(n+1, lines[n]))
		}
		why := "Nearest, with differences"
		if like == len(wanted) {
			why = "But for spaces and tabs it is"
		}
		if d := dosLines(lines[at:end], at+1); d != "" && strings.Contains(strings.ReplaceAll(body, "\r\n", "\n"), strings.ReplaceAll(old, "\r\n", "\n")) {
			why = fmt.Sprintf("But for the line ends, of which the file has two kinds (\\r\\n in lines %s, \\n in others; write them so, or replace within a line), it is", d)
		}
		return fmt.Sprintf(" %s in lines %d to %d:\n%s", why, at+1, end, out.String())
	}
	if near := text.NearestWord(firstWord(wanted), plain); near != "" {
		for n, line := range plain {
			if line == near {
				return fmt.Sprintf(" Most like its first line is line %d: %q.", n+1, lines[n])
			}
		}
	}
	return " Read the file again to see what does."
}

// dosLines returns the numbers of lines that end as in DOS, which is not to be seen where they are shown.
func dosLines(lines []string, first int) string {
	var out []string
	for i, l := range lines {
		if strings.HasSuffix(l, "\r") && len(out) < mostNear {
			out = append(out, fmt.Sprint(first+i))
		}
	}
	return strings.Join(out, ", ")
}

// mostAlike finds the place where most lines are the same, and counts these.
func mostAlike(lines, wanted []string) (at, like int) {
	for i := range lines {
		n := 0
		for j, w := range wanted {
			if i+j < len(lines) && lines[i+j] == w {
				n++
			} else if j > 8 && n == 0 {
				break
			}
		}
		if n > like && strings.Join(lines[i:min(len(lines), i+len(wanted))], "") != "" {
			at, like = i, n
		}
	}
	return at, like
}

func trimLines(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.Join(strings.Fields(l), " ")
	}
	return out
}

// firstWord returns the first line that says something.
func firstWord(lines []string) string {
	for _, l := range lines {
		if l != "" {
			return l
		}
	}
	return ""
}
