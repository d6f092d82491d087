package offline

import (
	"strings"

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
