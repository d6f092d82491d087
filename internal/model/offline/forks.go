package offline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ramet/internal/base/text"
)

// mostChildren limits the children that one step forks.
const mostChildren = 8

var (
	forkHead  = text.Regexp(`(?i)^(?:forks?|(?:spawns?|starts?|creates?|makes?)\s+(?:off\s+)?(?:(?:a|an|one|two|three|four|five|six|seven|eight|some|\d+)\s+)?(?:new\s+)?(?:child|children|agents?|helpers?|workers?|sub-?agents?))(?:[\s:,]|$)`)
	forkVerb  = text.Regexp(`(?i)^(?:forks?|spawns?|starts?|creates?|makes?)\b(?:\s+off\b)?(?:\s+yourself\b)?\s*`)
	counted   = text.Regexp(`(?i)^(an?|one|two|three|four|five|six|seven|eight|\d{1,6})\b\s*`)
	noun      = text.Regexp(`(?i)^(?:(?:new|more|other|child|small)\s+)*(?:child|children|kids?|agents?|helpers?|workers?|sub-?agents?|times)\b\s*`)
	named     = text.Regexp(`(?i)^,?\s*(?:named|called|with the names?)\s+([a-z][a-z0-9._-]*(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+)[a-z][a-z0-9._-]*)*)`)
	ownTree   = text.Regexp(`(?i)^,?\s*(?:each\s+)?(?:in|with)\s+(?:its|their|an?|his|her)?\s*(?:own\s+)?(?:git\s+)?worktrees?\b`)
	noContext = text.Regexp(`(?i)^,?\s*(?:without|with\s+no)\s+(?:any\s+|my\s+|the\s+)?(?:context|history)\b`)
	unwaited  = text.Regexp(`(?i)(?:,?\s*(?:and|but)\s+(?:do\s+not|don't)\s+wait(?:\s+for\s+(?:it|them))?|,?\s+in\s+the\s+background|,?\s+without\s+waiting(?:\s+for\s+(?:it|them))?)$`)
	forTask   = text.Regexp(`(?i)^[\s:,]*(?:(?:to|that|which|who|each\s+to|and\s+(?:let|have|make)\s+(?:it|them|each)|and\s+(?:ask|tell)\s+(?:it|them|each)\s+to|with\s+the\s+(?:task|prompt|order))\b[\s:,]*)?`)
	perChild  = text.Regexp(`(?i)(?:^|[\s,;]+(?:and\s+)?)(?:one|another|the\s+(?:other|first|second|third|fourth|last)(?:\s+one)?)\s+(?:(?:child|of\s+them|to|should|shall|must|that|which|who)\s+)*`)
)

var numbers = map[string]int{"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}

// ready is the order of a child that was given none.
const ready = "say I am ready"

// parseFork understands how many children are to be forked, under which names, and
// what each shall do.
func (p parser) parseFork(s string) []step {
	out := step{kind: forking}
	if tail := unwaited().FindString(s); tail != "" {
		out.leave = true
		s = strings.TrimSpace(s[:len(s)-len(tail)])
	}
	rest := s[len(forkVerb().FindString(s)):]
	count := 0
	if m := counted().FindStringSubmatch(rest); m != nil {
		count = numbers[strings.ToLower(m[1])]
		if count == 0 {
			count, _ = strconv.Atoi(m[1])
			if count == 0 {
				return nil
			}
		}
		rest = rest[len(m[0]):]
	}
	rest = rest[len(noun().FindString(rest)):]
	args := map[string]any{}
	var names []string
	for again := true; again; {
		again = false
		if m := named().FindStringSubmatch(rest); m != nil && names == nil {
			names = strings.Fields(strings.ToLower(joint().ReplaceAllString(m[1], " ")))
			end := len(m[0])
			if count < 2 { // what follows is no second name
				names = names[:1]
				end = strings.Index(m[0], m[1]) + len(names[0])
			}
			rest, again = rest[end:], true
		}
		if m := ownTree().FindString(rest); m != "" {
			args["worktree"], rest, again = true, rest[len(m):], true
		}
		if m := noContext().FindString(rest); m != "" {
			args["context"], rest, again = "none", rest[len(m):], true
		}
	}
	tasks := p.tasksOf(rest[len(forTask().FindString(rest)):], count)
	if tasks == nil {
		return nil
	}
	count = max(count, len(tasks), len(names))
	if count > mostChildren {
		return []step{{kind: saying, text: fmt.Sprintf("I fork at most %d children at once, so I forked none.", mostChildren)}}
	}
	for i := range count {
		one := map[string]any{"prompt": tasks[min(i, len(tasks)-1)]}
		for k, v := range args {
			one[k] = v
		}
		act := "fork a child"
		if i < len(names) {
			one["name"] = names[i]
			act += " named " + showName(names[i])
		}
		out.calls = append(out.calls, call{"fork", one, fmt.Sprintf("%s to %s", act, showName(tasks[min(i, len(tasks)-1)]))})
	}
	return []step{out}
}

// tasksOf finds what the children shall do: one order for all, or one for each.
// nil: it is not understood.
func (p parser) tasksOf(s string, count int) []string {
	s = strings.TrimSpace(s)
	if s == "" {
		return []string{ready}
	}
	// Prompts in quotes are used as they are: a child may be another model.
	if quoted := p.allQuoted(s); quoted != nil {
		return quoted
	}
	tasks := []string{s}
	if at := perChild().FindAllStringIndex(s, -1); at != nil && at[0][0] == 0 {
		tasks = nil
		for i, a := range at {
			end := len(s)
			if i+1 < len(at) {
				end = at[i+1][0]
			}
			tasks = append(tasks, s[a[1]:end])
		}
	} else if parts := joint().Split(s, -1); count > 1 && len(parts) == count &&
		!slices.ContainsFunc(parts, func(one string) bool { return p.parse(imperative(one)) == nil }) {
		tasks = parts
	}
	for i, t := range tasks {
		tasks[i] = p.restore(imperative(t))
		if steps, _ := understandAt(tasks[i], p.depth+1); steps == nil {
			return nil
		}
	}
	return tasks
}

// allQuoted returns the texts of a list of nothing but quoted texts; nil if it is none, or begins with a command.
func (p parser) allQuoted(s string) (out []string) {
	for _, one := range joint().Split(s, -1) {
		inner, quoted := p.literal(one)
		if !quoted || out == nil && strings.HasPrefix(p.restore(one), "`") {
			return nil
		}
		out = append(out, inner)
	}
	return out
}
