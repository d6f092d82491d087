package offline

import (
	"fmt"
	"strings"

	"ramet/internal/base/text"
)

// How much of a result is quoted.
const (
	quotedLines = 12
	letterLines = 24 // of a letter, which may quote too
	quotedWidth = 160
)

// Examples lists orders that the model understands.
const Examples = "I understand plain orders, such as:\n\n" +
	"- run `go test ./...`\n" +
	"- list the files; read README.md; search for TODO in *.go; find *.md\n" +
	"- write \"hello\" to a.txt; replace hello with goodbye in a.txt\n" +
	"- fork two children: one reads a.txt and one runs `ls`\n" +
	"- send ada \"hello\"; wait for mail; check my mail; read my mail\n" +
	"- list the agents; kill ada; exit\n\n" +
	"Join steps with \"then\". For a real model, `ramet auth set VENDOR` takes a key."

func notUnderstood(odd string) string {
	if asksForHelp().MatchString(odd) {
		return "I am the model that is built into ramet, without network and without a mind of my own.\n\n" + Examples
	}
	if answer, ok := MeantTopic(odd); ok {
		return answer
	}
	return fmt.Sprintf("I do not understand %q, so I did nothing.\n\n%s", text.Line(odd, 120), Examples)
}

var asksForHelp = text.Regexp(`(?i)^(?:help|what (?:can|do) you .*|who are you|what are you)\W*$`)

var deniedWord = text.Regexp(`(?i)\bdenied\b|\bnot (?:permitted|allowed)\b|\bUNTRUSTED\b`)

// tell reports a call.
func (w *work) tell(o outcome) {
	said := quote(o)
	switch {
	case o.failed && deniedWord().MatchString(o.text):
		w.say("Denied: I was not permitted to %s.%s", o.act, said)
	case o.failed:
		w.say("Failed: I could not %s.%s", o.act, said)
	case said == "":
		w.say("%s.", past(o.act))
	default:
		w.say("%s:%s", past(o.act), said)
	}
}

// quote returns the first lines of a result, as a block of its own.
func quote(o outcome) string {
	body, limit := o.text, quotedLines
	if o.tool == "read_mail" {
		limit = letterLines
		body = strings.ReplaceAll(body, Label, "") // of another offline model; one label is enough
	}
	body = strings.TrimRight(body, "\n\r\t ")
	if strings.TrimSpace(body) == "" {
		return ""
	}
	lines := strings.Split(body, "\n")
	more := len(lines) - limit
	if more > 0 {
		lines = lines[:limit]
	}
	var b strings.Builder
	b.WriteString("\n")
	for _, line := range lines {
		b.WriteString(strings.TrimRight("\n    "+oneLine(line), " "))
	}
	if more > 0 {
		fmt.Fprintf(&b, "\n    … and %d more lines", more)
	}
	return b.String()
}

// oneLine returns a line, made safe and cut; its indentation stays.
func oneLine(line string) string {
	line = strings.ReplaceAll(strings.TrimRight(line, "\r"), "\t", "    ")
	rest := strings.TrimLeft(line, " ")
	indent := min(len(line)-len(rest), quotedWidth/2)
	return strings.Repeat(" ", indent) + text.Line(rest, quotedWidth)
}

var pasts = map[string]string{"run": "Ran", "read": "Read", "write": "Wrote", "send": "Sent"}

// past describes what was done: "run `ls`" becomes "Ran `ls`".
func past(act string) string {
	verb, rest, _ := strings.Cut(act, " ")
	done := pasts[verb]
	if done == "" {
		done = strings.ToUpper(verb[:1]) + strings.TrimSuffix(verb[1:], "e") + "ed"
	}
	return done + " " + rest
}
