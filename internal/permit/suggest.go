package permit

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// Programs whose second word says what they do. Of any other program only the very
// command is suggested: rm x * would permit more than rm x.
var verbed = strings.Fields("bundle cargo composer deno docker dotnet gem gh git go gradle helm just kubectl make mvn npm pip pnpm poetry rake rustup swift terraform uv yarn")

var verb = regexp.MustCompile(`^[a-z][a-z0-9:_-]*$`)

// suggest proposes rules that together would permit a call and little else; none
// where only a rule without a pattern would do.
func suggest(rules []Rule, tool, subject string) []Rule {
	if tool != shell {
		if !slices.Contains(tools, tool) || !fs.ValidPath(subject) || subject == "." {
			return nil
		}
		return kept([]Rule{{tool, escape(subject, `\*?[]{}()`)}}, tool, subject)
	}
	commands, ok := takeApart(subject)
	if !ok {
		return nil
	}
	var out []Rule
	var allowed []command
	for _, r := range rules {
		if r.Tool == shell && r.Pattern != "" {
			allowed = append(allowed, parseCommand(r.Pattern))
		}
	}
	for _, words := range commands {
		if anyFits(allowed, words) {
			continue
		}
		r := Rule{shell, pattern(words)}
		allowed = append(allowed, parseCommand(r.Pattern))
		out = append(out, r)
	}
	return kept(out, tool, subject, rules...)
}

// kept gives back only rules that can be written down and do permit the call.
func kept(proposed []Rule, tool, subject string, with ...Rule) []Rule {
	for _, r := range proposed {
		if again, err := Parse(r.String()); err != nil || again != r {
			return nil
		}
	}
	if !permits(slices.Concat(with, proposed), tool, subject) {
		return nil
	}
	return proposed
}

// pattern is that of one command.
func pattern(words []word) string {
	var rest string
	first := slices.IndexFunc(words, func(w word) bool { return !w.assign })
	if first >= 0 && len(words) > first+1 && slices.Contains(verbed, words[first].text) && verb.MatchString(words[first+1].text) {
		words, rest = words[:first+2], " *"
	}
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = escape(w.text, `\* ()`)
	}
	return strings.Join(parts, " ") + rest
}

func escape(s, special string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune(special, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
