package offline

import (
	"strings"

	"ramet/internal/base/text"
)

// part is a piece of an order that may be a step.
type part struct {
	text   string
	raw    string // before it was tidied
	before string // what separates it from the one before
	bullet bool   // it is an item of a list
}

var (
	separator = text.Regexp(`(?i)\s*(?:[;\n]|[.!?]\s|,?\s+(?:and\s+)?then\s)\s*`)
	bullet    = text.Regexp(`^\s*(?:[-*•]|\d{1,3}[.)])\s+`)
	polite    = text.Regexp(`(?i)^(?:(?:please|hello|hi|hey|ok|okay|well|now|first|next|also|finally|then|and|afterwards|kindly|just|thanks|thank you|(?:can|could|would|will) you|i want you to|i would like you to|i'd like you to|you (?:should|must|shall)|let us|let's)(?:[\s,:!.]+|$))+`)
	thanks    = text.Regexp(`(?i)[\s,]+(?:please|for me|thanks|thank you)$`)
)

// split cuts an order at whatever may separate steps, outside of quotes.
func split(order string) []part {
	hidden := mask(order)
	var out []part
	start, before := 0, "\n"
	for from := 0; from < len(order); {
		at := separator().FindStringIndex(hidden[from:])
		if at == nil {
			break
		}
		i, j := at[0]+from, at[1]+from
		if !separates(hidden, start, i, j) {
			from = i + 1
			continue
		}
		out = add(out, order[start:i], before)
		start, from, before = j, j, order[i:j]
	}
	return add(out, order[start:], before)
}

// separates reports whether a full stop is the end of a sentence: not the folder "."
// and not the number of an item. A quoted block after a colon belongs to it.
func separates(s string, start, i, j int) bool {
	if j < len(s) && s[j] == 0 && strings.HasSuffix(strings.TrimSpace(s[:i]), ":") {
		return false
	}
	if !strings.ContainsAny(s[i:i+1], ".!?") {
		// There may be space in front of it; then it stands alone.
		sep := strings.TrimSpace(s[i:j])
		return sep == "" || !strings.ContainsAny(sep[:1], ".!?")
	}
	return i > start && !strings.ContainsAny(s[i-1:i], " \t\n") && strings.Trim(s[start:i], " \t0123456789") != ""
}

func add(out []part, s, before string) []part {
	p := part{text: s, raw: s, before: before}
	if at := bullet().FindStringIndex(p.text); at != nil {
		p.text, p.bullet = p.text[at[1]:], true
	}
	if p.text = tidy(p.text); p.text == "" {
		return out
	}
	return append(out, p)
}

// tidy takes away what makes an order polite, and the full stop.
func tidy(s string) string {
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

// understand makes steps of an order. odd is a part that it does not understand;
// then there are no steps.
func understand(order string) (steps []step, odd string) { return understandAt(order, 0) }

// The sizes of what it tries to understand.
const (
	maxOrder  = 8 << 10
	maxNested = 3 // forks of forks
)

// readIt reads what a wait or a fork has read already.
var readIt = text.Regexp(`(?i)^reads? (?:it|them|that)(?: all)?$`)

func understandAt(order string, depth int) (steps []step, odd string) {
	if depth > maxNested || len(order) > maxOrder {
		return nil, order
	}
	parts := split(order)
	if len(parts) == 0 {
		return nil, "help"
	}
	if len(parts) > most {
		return nil, order
	}
	for i := 0; i < len(parts); i++ {
		p := parts[i].text
		// The items of a list under a fork are its tasks.
		if forkHead().MatchString(p) && strings.HasSuffix(p, ":") {
			for i+1 < len(parts) && parts[i+1].bullet {
				i++
				p += " one " + parts[i].text + ","
			}
			p = strings.TrimSuffix(p, ",")
		}
		if n := len(steps) - 1; n >= 0 && steps[n].kind >= forking && readIt().MatchString(p) {
			continue
		}
		got := parse(p, depth)
		// A semicolon may be the shell's, or stand in a list of tasks.
		for i+1 < len(parts) && continues(p, parts[i+1], got, depth) {
			i++
			p += parts[i].before + parts[i].raw
			got = parse(p, depth)
		}
		if got == nil {
			return nil, parts[i].text
		}
		steps = append(steps, got...)
	}
	if len(steps) == 0 {
		return nil, order
	}
	return settle(steps), ""
}

var another = text.Regexp(`(?i)^(?:one|another|the (?:other|first|second|third|last)(?: one)?)\s`)

// continues reports whether what follows belongs to the part before it.
func continues(p string, next part, got []step, depth int) bool {
	switch {
	case forkHead().MatchString(p):
		return another().MatchString(next.text)
	case !strings.Contains(next.before, ";") || len(got) != 1 || !got[0].shell:
		return false
	}
	return parse(next.text, depth) == nil
}

// settle leaves out steps that another one carries out anyway: after forking,
// and after waiting, the letters are read.
func settle(steps []step) []step {
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
