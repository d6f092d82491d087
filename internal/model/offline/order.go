package offline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"ramet/internal/base/text"
)

// kind names how the calls of a step follow each other.
type kind int

const (
	saying   kind = iota // no calls: it says something
	together             // all in one answer
	inTurn               // one after the other, as long as they work
	forking              // all in one answer, then the children's mail
	waiting              // one, then the letter
)

// step is a part of an order that was understood.
type step struct {
	kind    kind
	calls   []call
	text    string // of saying
	leave   bool   // forking: do not wait
	shell   bool   // a command line without quotes, which may continue
	anyMail bool   // it waits for or reads whatever letter comes
}

func oneCall(tool, act string, args map[string]any) []step {
	return []step{{kind: together, calls: []call{{tool, args, act}}}}
}

// The sizes of orders that it tries to understand.
const (
	maxOrder  = 8 << 10
	maxNested = 3 // forks of forks
)

var (
	separator = text.Regexp(`(?i)\s*(?:[;\n]|[.!?]\s|,?\s+(?:and\s+)?then\s)\s*`)
	bullet    = text.Regexp(`^\s*(?:[-*•]|\d{1,3}[.)])\s+`)
	polite    = text.Regexp(`(?i)^(?:(?:please|hello|hi|hey|ok|okay|well|now|first|next|also|finally|then|and|afterwards|kindly|just|thanks|thank you|(?:can|could|would|will) you|i want you to|i would like you to|i'd like you to|you (?:should|must|shall)|let us|let's)(?:[\s,:!.]+|$))+`)
	thanks    = text.Regexp(`(?i)[\s,]+(?:please|for me|thanks|thank you)$`)
	joint     = text.Regexp(`(?i)(?:,\s+(?:and\s+)?|\s+and\s+)`)
	// readIt reads what a wait or a fork has read already.
	readIt = text.Regexp(`(?i)^reads? (?:it|them|that)(?: all)?$`)
)

// understand makes steps of an order. odd is a part that it does not understand;
// then there are no steps.
func understand(order string) (steps []step, odd string) { return understandAt(order, 0) }

func understandAt(order string, depth int) (steps []step, odd string) {
	if depth > maxNested || len(order) > maxOrder || strings.ContainsFunc(order, isMark) {
		return nil, order
	}
	p := parser{depth: depth}
	parts := splitOrder(p.protect(order))
	if len(parts) == 0 {
		return nil, "help"
	}
	if len(parts) > most {
		return nil, order
	}
	for i := 0; i < len(parts); i++ {
		s := parts[i].text
		// The items of a list under a fork are its tasks.
		if forkHead().MatchString(s) && strings.HasSuffix(s, ":") {
			for i+1 < len(parts) && parts[i+1].bullet {
				i++
				s += " one " + parts[i].text + ","
			}
			s = strings.TrimSuffix(s, ",")
		}
		if n := len(steps) - 1; n >= 0 && steps[n].kind >= forking && readIt().MatchString(s) {
			continue
		}
		got := p.parse(s)
		// A semicolon may be the shell's, or be in a list of tasks.
		for i+1 < len(parts) && p.continues(s, parts[i+1], got) {
			i++
			s += parts[i].before + parts[i].raw
			got = p.parse(s)
		}
		if got == nil {
			return nil, p.restore(parts[i].text)
		}
		steps = append(steps, got...)
	}
	if len(steps) == 0 {
		return nil, order
	}
	return dropRepeatedReads(steps), ""
}

// part is a piece of an order that may be a step.
type part struct {
	text   string
	raw    string // before it was tidied
	before string // separates it from the one before
	bullet bool   // it is an item of a list
}

// splitOrder cuts an order at whatever may separate steps.
func splitOrder(order string) []part {
	var out []part
	add := func(s, before string) {
		p := part{text: s, raw: s, before: before}
		if at := bullet().FindStringIndex(s); at != nil {
			p.text, p.bullet = s[at[1]:], true
		}
		if p.text = tidyOrder(p.text); p.text != "" {
			out = append(out, p)
		}
	}
	start, before := 0, "\n"
	for from := 0; from < len(order); {
		at := separator().FindStringIndex(order[from:])
		if at == nil {
			break
		}
		i, j := at[0]+from, at[1]+from
		if !isSeparator(order, start, i, j) {
			from = i + 1
			continue
		}
		add(order[start:i], before)
		start, from, before = j, j, order[i:j]
	}
	add(order[start:], before)
	return out
}

// isSeparator reports whether a full stop is the end of a sentence: not the folder "."
// and not the number of an item. A quoted block after a colon belongs to it.
func isSeparator(s string, start, i, j int) bool {
	if strings.HasSuffix(strings.TrimSpace(s[:i]), ":") && strings.IndexFunc(s[j:], isMark) == 0 {
		return false
	}
	if !strings.ContainsAny(s[i:i+1], ".!?") {
		// There may be space in front of it; then it is a word of its own.
		sep := strings.TrimSpace(s[i:j])
		return sep == "" || !strings.ContainsAny(sep[:1], ".!?")
	}
	return i > start && !strings.ContainsAny(s[i-1:i], " \t\n") && strings.Trim(s[start:i], " \t0123456789") != ""
}

// tidyOrder removes what makes an order polite, and the full stop.
func tidyOrder(s string) string {
	for {
		t := strings.TrimSpace(s)
		t = t[len(polite().FindString(t)):]
		if n := len(t) - 1; n > 0 && strings.ContainsAny(t[n:], ".!?,") && !strings.ContainsAny(t[n-1:n], ". \t/*?") {
			t = t[:n]
		}
		t = strings.TrimSuffix(t, thanks().FindString(t))
		if t == s {
			return t
		}
		s = t
	}
}

// parser understands the parts of one order.
type parser struct {
	quotes
	depth int // how many forks are around it
}

// parse understands one part, which may be several steps joined with "and" or commas; nil: it does not.
func (p parser) parse(s string) []step {
	if forkHead().MatchString(s) {
		return p.parseFork(s)
	}
	parts := joint().Split(s, -1)
	out := []step{}
	for _, one := range parts {
		got := p.parseOne(one)
		if got == nil {
			return p.parseOne(s)
		}
		out = append(out, got...)
	}
	return out
}

func (p parser) parseOne(s string) []step {
	s = imperative(s)
	if forkHead().MatchString(s) {
		return p.parseFork(s)
	}
	if line, quoted := p.literal(s); quoted && strings.HasPrefix(p.restore(s), "`") {
		return runCommand(line, false)
	}
	verb, rest, _ := strings.Cut(s, " ")
	rest = strings.TrimSpace(rest)
	for _, r := range rules()[strings.ToLower(strings.TrimSuffix(verb, ":"))] {
		if m := r.pattern().FindStringSubmatch(rest); m != nil {
			if got := r.steps(p, m); got != nil {
				return got
			}
		}
	}
	return nil
}

// imperative makes an order of a description: "reads a" becomes "read a".
func imperative(s string) string {
	s = tidyOrder(s)
	verb, rest, more := strings.Cut(s, " ")
	for _, end := range []string{"es", "s"} {
		base, ok := strings.CutSuffix(strings.ToLower(verb), end)
		if ok && (rules()[base] != nil || base == "fork" || base == "spawn") {
			if more {
				base += " "
			}
			return base + rest
		}
	}
	return s
}

// continues reports whether the next part belongs to the one before it.
func (p parser) continues(s string, next part, got []step) bool {
	if forkHead().MatchString(s) {
		at := perChild().FindStringIndex(next.text)
		return at != nil && at[0] == 0
	}
	return strings.Contains(next.before, ";") && len(got) == 1 && got[0].shell && p.parse(next.text) == nil
}

// dropRepeatedReads leaves out steps that another one carries out anyway: after forking,
// and after waiting, the letters are read.
func dropRepeatedReads(steps []step) []step {
	var out []step
	for _, s := range steps {
		if n := len(out) - 1; n >= 0 && s.anyMail {
			last := out[n].kind
			if last == forking && !out[n].leave || last == waiting && s.kind != waiting {
				continue
			}
		}
		out = append(out, s)
	}
	return out
}

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

// quotePairs are the pairs of quotes around literal text, longest first.
var quotePairs = [][2]string{{"```", "```"}, {"`", "`"}, {`"`, `"`}, {"“", "”"}, {"«", "»"}, {"'", "'"}}

// quotes replaces the quoted texts of an order by marks while it is parsed, so that no rule looks into them.
type quotes []quotation

type quotation struct{ raw, inner string }

// A mark is one rune of Unicode's private use: the first one for the first quoted text.
const (
	firstMark = '\uE000'
	lastMark  = '\uF8FF'
)

func isMark(r rune) bool { return r >= firstMark && r <= lastMark }

// protect replaces what is quoted in s by marks.
func (q *quotes) protect(s string) string {
	var b strings.Builder
	for at := 0; at < len(s); {
		if end, inner, ok := findQuote(s, at); ok && firstMark+rune(len(*q)) <= lastMark {
			b.WriteRune(firstMark + rune(len(*q)))
			*q = append(*q, quotation{s[at:end], inner})
			at = end
			continue
		}
		b.WriteByte(s[at])
		at++
	}
	return b.String()
}

// restore puts the quoted texts back, with their quotes.
func (q quotes) restore(s string) string {
	var b strings.Builder
	for _, r := range s {
		if i := int(r - firstMark); isMark(r) && i < len(q) {
			b.WriteString(q[i].raw)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// literal returns the text between the quotes if all of s is quoted, else s as it was written.
func (q quotes) literal(s string) (inner string, quoted bool) {
	s = strings.TrimSpace(s)
	r, size := utf8.DecodeRuneInString(s)
	if !isMark(r) || size != len(s) || int(r-firstMark) >= len(q) {
		return q.restore(s), false
	}
	one := q[r-firstMark]
	if strings.HasPrefix(one.raw, "```") { // its first line may name a language
		if first, rest, lines := strings.Cut(one.inner, "\n"); lines && !strings.ContainsAny(strings.TrimSpace(first), " \t") {
			return rest, true
		}
	}
	return one.inner, true
}

// plain returns the text of literal alone.
func (q quotes) plain(s string) string {
	inner, _ := q.literal(s)
	return inner
}

// findQuote finds the quoted text that begins at a byte of s.
func findQuote(s string, at int) (end int, inner string, ok bool) {
	for _, pair := range quotePairs {
		if !strings.HasPrefix(s[at:], pair[0]) {
			continue
		}
		from := at + len(pair[0])
		if pair[0] == "'" && !canOpen(s, at) {
			return 0, "", false
		}
		for to, tries := from, 0; tries < 20; to, tries = to+1, tries+1 { // apostrophes may be many
			n := strings.Index(s[to:], pair[1])
			if n < 0 {
				break
			}
			if to += n; pair[0] != "'" || canClose(s, to+1) {
				return to + len(pair[1]), s[from:to], true
			}
		}
	}
	return 0, "", false
}

// canOpen and canClose tell a single quote from an apostrophe.
func canOpen(s string, at int) bool {
	r, _ := utf8.DecodeLastRuneInString(s[:at])
	return at == 0 || unicode.IsSpace(r) || strings.ContainsRune("(:,=", r)
}

func canClose(s string, after int) bool {
	r, _ := utf8.DecodeRuneInString(s[after:])
	return after == len(s) || unicode.IsSpace(r) || strings.ContainsRune(").,;:!?", r)
}
