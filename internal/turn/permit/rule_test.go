package permit

import (
	"strings"
	"testing"

	"ramet/internal/base/fault"
)

func TestRulesAreReadAndWritten(t *testing.T) {
	for _, s := range []string{
		"bash", "write", "edit", "read", "glob", "grep", "list",
		"bash(go test *)", "bash(FOO=1 go test)", `bash(echo \(\*\) a\ b)`, "bash(./run)", "bash(make ü*)",
		"write(docs/**)", "edit(**)", "write({a,b}/[a-c]?.md)", `write(\(x\))`,
	} {
		r, err := Parse(s)
		if err != nil || r.String() != s {
			t.Errorf("%s: %q, %v", s, r, err)
		}
	}
}

func TestWrongRulesSayWhereAndWhat(t *testing.T) {
	for s, want := range map[string]string{
		"":                 `rule "": there is no tool "": the tools are: bash, edit, fetch, fork, glob, grep, list, mcp, merge, read, write`,
		"*":                `rule "*": there is no tool "*": the tools are: `,
		"bsh(go test)":     `there is no tool "bsh": did you mean "bash"?`,
		"Write(x)":         `there is no tool "Write": did you mean "write"?`,
		" bash":            `there is no tool " bash"`,
		"kill":             `there is no tool "kill"`,
		"bash(go test":     "no closing parenthesis at character 13",
		"bash(go) test":    "something behind the closing parenthesis at character 9",
		"bash(a(b)":        "a parenthesis without a backslash at character 7",
		`bash(a\)`:         "no closing parenthesis at character 9",
		`bash(ü \\\)`:      "no closing parenthesis at character 12",
		"bash()":           "no pattern at character 6",
		"bash( )":          "no pattern at character 6",
		"bash(*)":          "names no command",
		"bash(A=1 *)":      "names no command",
		"bash(A=1)":        "names no command",
		"bash(go\ttest)":   "a character that no pattern can have at character 8",
		"bash(go\u00a0x)":  "white space other than a blank at character 8",
		"write(a[b)":       "a bracket, brace or backslash that is not closed at character 8",
		"write(ü/{a,b)":    "a bracket, brace or backslash that is not closed at character 9",
		"write(a/../b)":    "an empty, . or .. part of a path at character 9",
		"write(/etc/**)":   "a path that is not relative to the workspace at character 7",
		"write(a//b)":      "an empty, . or .. part of a path at character 9",
		"write(./a)":       "an empty, . or .. part of a path at character 7",
		"write(a\x00)":     "a character that no pattern can have at character 8",
		"write(\xff)":      "a character that no pattern can have at character 7",
		"write(\x1b[2Jab)": "a character that no pattern can have at character 7",
		"bash(" + strings.Repeat("a", maxPattern+1) + ")": "a pattern that is too long",
	} {
		_, err := Parse(s)
		if !fault.Is(err, fault.InvalidConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\n got %v\nwant %s", s, err, want)
		}
	}
}

func TestListsOfRules(t *testing.T) {
	rules, err := ParseAll(` bash(go test *); write(docs/**) ;; bash(echo ;\);) ; edit ;`)
	if err != nil || len(rules) != 4 || rules[0].Pattern != "go test *" || rules[2].Pattern != `echo ;\);` || rules[3] != (Rule{Tool: "edit"}) {
		t.Errorf("%q, %v", rules, err)
	}
	if none, err := ParseAll(" ; "); err != nil || none != nil {
		t.Errorf("%q, %v", none, err)
	}
	if _, err := ParseAll("bash; wrte(x)"); !fault.Is(err, fault.InvalidConfig) || !strings.Contains(err.Error(), `did you mean "write"?`) {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"bash", "bash(go test *)", `write(\(x\))`, "write({a,b}/**)", "bash(((", `edit([\]])`, "bash(A=* b *)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := Parse(s)
		if err != nil {
			if !fault.Is(err, fault.InvalidConfig) || strings.ContainsAny(err.Error(), "\x1b\n\r\x00") {
				t.Errorf("%q", err)
			}
			return
		}
		if r.String() != s {
			t.Errorf("%q is written %q", s, r)
		}
		list, err := ParseAll(s + ";" + s)
		if err != nil || len(list) != 2 || list[0] != r || list[1] != r {
			t.Errorf("%q in a list: %q, %v", s, list, err)
		}
		permits([]Rule{r}, r.Tool, s)
	})
}
