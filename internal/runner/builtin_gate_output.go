package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/charmbracelet/x/ansi"

	"ramet/internal/base/text"
	"ramet/internal/launch/sandbox"
	"ramet/internal/run/recipe"
)

// What is kept of the output of a command, and what of it is reported.
const (
	keptHead   = 256 << 10
	keptTail   = 8 << 10
	toldTail   = 2000 // runes
	toldLine   = 500
	mostIssues = 50
	mostLines  = 200
)

// complaints makes issues of a command that failed: one for each file and rule that lines
// name, else one with the end of the output.
func (g *BuiltinGates) complaints(gate recipe.Gate, site Site, tree string, out *text.EndsBuffer, result sandbox.Result) []Issue {
	severity := Severity(gate.Severity)
	switch severity {
	case Info, Warn, Error, Blocker:
	default:
		severity = Error
	}
	clean := func(b []byte) string {
		s := strings.ToValidUTF8(string(b), "\uFFFD")
		s = g.redactor().All(text.Safe(ansi.Strip(s)))
		// Places of this machine would make another issue of the same one.
		return boxes().ReplaceAllString(strings.ReplaceAll(strings.ReplaceAll(s, tree+string(filepath.Separator), ""), tree, "."), "$$TMPDIR")
	}
	head, tail, missing := out.Kept()
	if issues := placedIssues(gate.Name, severity, tree, clean(head), missing > 0); len(issues) > 0 {
		return issues
	}
	if missing == 0 {
		tail = append(head, tail...)
	}
	end := clean(tail)
	i := Issue{Gate: gate.Name, Severity: severity, Code: "GATE_FAILED", Files: changedFiles(site), Rule: Whole,
		Message: endedHow(result) + tailOf(strings.TrimSpace(end))}
	if result.ExitCode == 126 || result.ExitCode == 127 {
		i.Files, i.Fix = nil, "install the program that the gate needs, or correct its command" // no page is to blame
	}
	return []Issue{i}
}

// placedIssues reads the lines that name a place: one issue for each file and rule, which
// lists all its lines. Words do not distinguish issues: a gate may find others each time.
func placedIssues(gate string, severity Severity, tree, printed string, missed bool) []Issue {
	var issues []Issue
	at := map[string]int{}
	lines := 0
	for line := range strings.Lines(printed) {
		i, ok := parsePlace(gate, severity, tree, strings.TrimRight(line, "\n"))
		if !ok {
			continue
		}
		if lines++; lines > mostLines {
			missed = true
			break
		}
		key := i.Files[0] + "\x00" + i.Rule
		if n, known := at[key]; known {
			issues[n].Message += fmt.Sprintf("\nline %d: %s", i.Line, i.Message)
			continue
		}
		if len(issues) == mostIssues {
			missed = true
			continue
		}
		at[key] = len(issues)
		issues = append(issues, i)
	}
	if missed && len(issues) > 0 {
		issues[len(issues)-1].Fix = "there are more complaints: fix these first"
	}
	return issues
}

// ruleForm finds the name of the rule that a checker broke off at: a word before a colon, a
// code such as E501, or a name in brackets at the end.
var ruleForm = text.Regexp(`^([A-Za-z][A-Za-z_/-]*):\s|^([A-Z]{1,5}[0-9]{2,5})\b|[\[(]([A-Za-z][A-Za-z0-9_/.-]{1,60})[\])]$`)

// codeForm is a rule that is a code: a gate that writes PAGE_MISSING: gives its issues that code.
var codeForm = text.Regexp(`^[A-Z]+(_[A-Z]+)+$`)

// ruleOf is the rule that a complaint names; empty: none.
func ruleOf(message string) string {
	m := ruleForm().FindStringSubmatch(message)
	if m == nil {
		return ""
	}
	return m[1] + m[2] + m[3]
}

func endedHow(r sandbox.Result) string {
	if r.Signal != 0 {
		return fmt.Sprintf("the command was ended by signal %d", int(r.Signal))
	}
	return fmt.Sprintf("the command ended with exit code %d", r.ExitCode)
}

func tailOf(s string) string {
	if s == "" {
		return " and printed nothing"
	}
	if runes := []rune(s); len(runes) > toldTail {
		s = "…" + string(runes[len(runes)-toldTail:])
	}
	return ":\n" + s
}

var (
	boxes = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(regexp.QuoteMeta(os.TempDir()) + `/ramet-box-[0-9]+/tmp`)
	})
	// path:line: message, and with a column.
	placeForm = text.Regexp(`^\s*(?:\./)?([^\s:][^:]*):([0-9]{1,9})(?::[0-9]{1,9})?:?\s+(\S.*)$`)
)

// parsePlace reads a line that names a place in the tree.
func parsePlace(gate string, severity Severity, tree, line string) (Issue, bool) {
	m := placeForm().FindStringSubmatch(line)
	if m == nil {
		return Issue{}, false
	}
	name := filepath.ToSlash(filepath.Clean(m[1]))
	if !filepath.IsLocal(m[1]) {
		return Issue{}, false
	}
	rule := ruleOf(text.Line(m[3], toldLine))
	code := "GATE_FAILED"
	if codeForm().MatchString(rule) {
		code = rule // of a file that is missing, too
	} else if info, err := os.Lstat(filepath.Join(tree, m[1])); err != nil || !info.Mode().IsRegular() {
		return Issue{}, false
	}
	n, err := strconv.Atoi(m[2])
	if err != nil {
		return Issue{}, false
	}
	return Issue{Gate: gate, Severity: severity, Code: code, Message: text.Line(m[3], toldLine), Files: []string{name}, Line: n, Rule: rule}, true
}
