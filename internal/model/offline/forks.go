package offline

import (
	"fmt"
	"strconv"
	"strings"

	"ramet/internal/base/text"
)

// mostChildren limits the children that one step forks.
const mostChildren = 8

var (
	forkHead    = text.Regexp(`(?i)^(?:forks?|(?:spawns?|starts?|creates?|makes?)\s+(?:off\s+)?(?:(?:a|an|one|two|three|four|five|six|seven|eight|some|\d+)\s+)?(?:new\s+)?(?:child|children|agents?|helpers?|workers?|sub-?agents?))(?:[\s:,]|$)`)
	forkVerb    = text.Regexp(`(?i)^(?:forks?|spawns?|starts?|creates?|makes?)\b(?:\s+off\b)?(?:\s+yourself\b)?\s*`)
	counted     = text.Regexp(`(?i)^(an?|one|two|three|four|five|six|seven|eight|\d{1,6})\b\s*`)
	noun        = text.Regexp(`(?i)^(?:(?:new|more|other|child|small)\s+)*(?:child|children|kids?|agents?|helpers?|workers?|sub-?agents?|times)\b\s*`)
	named       = text.Regexp(`(?i)^,?\s*(?:named|called|with the names?)\s+([a-z][a-z0-9._-]*(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+)[a-z][a-z0-9._-]*)*)`)
	ownTree     = text.Regexp(`(?i)^,?\s*(?:each\s+)?(?:in|with)\s+(?:its|their|an?|his|her)?\s*(?:own\s+)?(?:git\s+)?worktrees?\b`)
	noContext   = text.Regexp(`(?i)^,?\s*(?:without|with\s+no)\s+(?:any\s+|my\s+|the\s+)?(?:context|history)\b`)
	unwaited    = text.Regexp(`(?i)(?:,?\s*(?:and|but)\s+(?:do\s+not|don't)\s+wait(?:\s+for\s+(?:it|them))?|,?\s+in\s+the\s+background|,?\s+without\s+waiting(?:\s+for\s+(?:it|them))?)$`)
	forTask     = text.Regexp(`(?i)^[\s:,]*(?:(?:to|that|which|who|each\s+to|and\s+(?:let|have|make)\s+(?:it|them|each)|and\s+(?:ask|tell)\s+(?:it|them|each)\s+to|with\s+the\s+(?:task|prompt|order))\b[\s:,]*)?`)
	perChild    = text.Regexp(`(?i)(?:^|[\s,;]+(?:and\s+)?)(?:one|another|the\s+(?:other|first|second|third|fourth|last)(?:\s+one)?)\s+(?:(?:child|of\s+them|to|should|shall|must|that|which|who)\s+)*`)
	thirdPerson = text.Regexp(`(?i)^(run|read|list|show|open|print|write|save|create|make|replace|change|find|send|tell|wait|check|kill|fork|say|answer|exit|quit|grep|scan|execute|put|mail|spawn|start)s\b`)
	searches    = text.Regexp(`(?i)^searches\b`)
)

var numbers = map[string]int{"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}

// ready is the order of a child that was given none.
const ready = "say I am ready"

// parseFork understands how many children are to be forked, under which names, and
// what each shall do.
func parseFork(s string, depth int) []step {
	out := step{kind: forking}
	if tail := unwaited().FindString(mask(s)); tail != "" {
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
	tasks := tasksOf(rest[len(forTask().FindString(rest)):], count, depth)
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
			act += " named " + name(names[i])
		}
		out.calls = append(out.calls, call{"fork", one, fmt.Sprintf("%s to %s", act, name(tasks[min(i, len(tasks)-1)]))})
	}
	return []step{out}
}

// tasksOf finds what the children shall do: one order for all, or one for each.
// nil: it is not understood.
func tasksOf(s string, count, depth int) []string {
	s = strings.TrimSpace(s)
	if s == "" {
		return []string{ready}
	}
	// Prompts in quotes are taken as they are: a child may be another model.
	if quoted, between := allQuoted(s); len(quoted) > 0 && strings.Trim(joint().ReplaceAllString(" "+between+" ", ""), " ,") == "" && s[0] != '`' {
		return quoted
	}
	var tasks []string
	hidden := mask(s)
	if at := perChild().FindAllStringIndex(hidden, -1); at != nil && at[0][0] == 0 {
		for i, a := range at {
			end := len(s)
			if i+1 < len(at) {
				end = at[i+1][0]
			}
			tasks = append(tasks, s[a[1]:end])
		}
	} else if parts := joined(s); count > 1 && len(parts) == count {
		tasks = parts // if each of them is an order
		for _, p := range parts {
			if parse(imperative(p), depth+1) == nil {
				tasks = []string{s}
				break
			}
		}
	} else {
		tasks = []string{s}
	}
	for i, t := range tasks {
		tasks[i] = imperative(t)
		if steps, _ := understandAt(tasks[i], depth+1); steps == nil {
			return nil
		}
	}
	return tasks
}

// imperative makes an order of what somebody does: reads, runs.
func imperative(s string) string {
	s = tidy(s)
	s = searches().ReplaceAllString(s, "search")
	return thirdPerson().ReplaceAllString(s, "$1")
}
