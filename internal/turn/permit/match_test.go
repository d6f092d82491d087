package permit

import (
	"context"
	"slices"
	"strings"
	"testing"

	"ramet/internal/base/id"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

func rules(t *testing.T, texts ...string) []Rule {
	t.Helper()
	var out []Rule
	for _, s := range texts {
		r := testkit.Must(Parse(s))(t)
		out = append(out, r)
	}
	return out
}

func TestCommandLines(t *testing.T) {
	given := rules(t, "bash(go test *)", "bash(go version)", "bash(CGO_ENABLED=* go build *)", "bash(ls -*)",
		"bash(./scripts/*.sh *)", `bash(echo \*)`, "bash(cat * notes)", "write(**)", "bash(printf a*b*c)")
	for line, want := range map[string]bool{
		"go test":                        true,
		"go test ./...":                  true,
		"  go   test\t./... -run X ":     true,
		"go test a | go test b":          true,
		"go test a |& go test b":         true,
		"go test && go version":          true,
		"go test; go test || go test":    true,
		"(go test; go version)":          true,
		"{ go test; }":                   true,
		"! go test":                      true,
		"go test &":                      true,
		"go test\ngo version\n":          true,
		"go test \\\n ./...":             true,
		"go test # rm -rf /":             true,
		"# a comment\ngo test # another": true,
		`"go" test`:                      true,
		`'g'o "te"st`:                    true,
		`g\o test`:                       true,
		"go test ünï":                    true,
		"go test 'a b' \"c d\"":          true,
		"go test '$(rm x)' \\`":          true,
		"go test *.go ~ {a,b}":           true,
		`go test $HOME "${HOME}"`:        true,
		"go test 2>&1":                   true,
		"go test >/dev/null 2>&1":        true,
		"go test &> /dev/null":           true,
		"go test < /dev/null":            true,
		"go test 2>'/dev/null' <&-":      true,
		"CGO_ENABLED=0 go build":         true,
		"CGO_ENABLED= go build ./cmd":    true,
		"ls -la":                         true,
		"./scripts/a.sh":                 true,
		"./scripts/sub/a.sh x y":         true,
		"echo '*'":                       true,
		`echo \*`:                        true,
		"cat a notes":                    true,
		"printf aXbYc":                   true,
		"printf abc":                     true,

		"":                                    false,
		"# go test":                           false,
		"go":                                  false,
		"go tests":                            false,
		"go vet":                              false,
		"go version x":                        false,
		"gо test":                             false, // a Cyrillic letter
		"go\u00a0test":                        false,
		"go\u2003test":                        false,
		"go test\r\nrm x":                     false,
		"go test\x00; rm x":                   false,
		"go test \xff":                        false,
		"go test ./... && rm -rf /":           false,
		"go test || rm x":                     false,
		"go test; rm x":                       false,
		"go test & rm x":                      false,
		"go test | sh":                        false,
		"go test\nrm -rf /":                   false,
		"go test \\\n; rm x":                  false,
		"(go test; rm x)":                     false,
		"{ go test; rm x; }":                  false,
		"( ( ( rm x ) ) ) && go test":         false,
		"go test $(rm x)":                     false,
		`go test "$(rm x)"`:                   false,
		"go test `rm x`":                      false,
		"go test \"`rm x`\"":                  false,
		"go test <(rm x)":                     false,
		"go test >(rm x)":                     false,
		"go test $((a[$(rm x)]))":             false,
		"go test ${x:=y}":                     false,
		"go test ${x:-$(rm x)}":               false,
		"go test ${x[$(rm x)]}":               false,
		"go test ${!x}":                       false,
		"go test ${x@P}":                      false,
		"go test $'a'":                        false,
		"go test $\"a\"":                      false,
		"go test > /etc/passwd":               false,
		"go test >> x":                        false,
		"go test >| x":                        false,
		"go test &> x":                        false,
		"go test >& x":                        false,
		"go test < secret":                    false,
		"go test <> /dev/null":                false,
		"go test > /dev/null/../x":            false,
		"go test > $X":                        false,
		"go test {fd}>/dev/null":              false,
		"go test > /dev/nul*":                 false,
		"> x":                                 false,
		"go test <<EOF\n$(rm x)\nEOF":         false,
		"go test <<'EOF'\nx\nEOF":             false,
		"go test <<< x":                       false,
		"FOO=1 go test":                       false,
		"LD_PRELOAD=x CGO_ENABLED=0 go build": false,
		"CGO_ENABLED=0 LD_PRELOAD=x go build": false,
		"CGO_ENABLED=$(rm x) go build":        false,
		"CGO_ENABLED=$X go build":             false,
		"CGO_ENABLED+=1 go build":             false,
		"CGO_ENABLED=(1) go build":            false,
		"CGO_ENABLED=0":                       false,
		"PATH=/evil; go test":                 false,
		"go build":                            false,
		`"CGO_ENABLED=0" go build`:            false,
		"sudo go test":                        false,
		"env go test":                         false,
		"command go test":                     false,
		"exec go test":                        false,
		"eval go test":                        false,
		"time go test":                        false,
		"coproc go test":                      false,
		`go\ test`:                            false,
		`"go test"`:                           false,
		`"go" "" test`:                        false,
		"alias go=rm; go test":                false,
		"go() { rm x; }; go test":             false,
		"function go { rm x; }; go test":      false,
		"export PATH=/evil; go test":          false,
		"if go test; then go test; fi":        false,
		"for f in x; do go test; done":        false,
		"while go test; do go test; done":     false,
		"case x in *) go test;; esac":         false,
		"[[ -n x ]] && go test":               false,
		"((1)) && go test":                    false,
		"let x=1 && go test":                  false,
		"go $X":                               false,
		"$X test":                             false,
		"g? test":                             false,
		"go te*":                              false,
		"{go,test}":                           false,
		"go test #\\\nrm x":                   false,
		"# a\\\nrm x\ngo test":                false,
		"go test (":                           false,
		"go test '":                           false,
		"go test \\":                          false,
		"go test && ":                         false,
		"ls":                                  false,
		"ls la":                               false,
		"./scripts/../../bin/x.sh":            false,
		"./scripts/a.py":                      false,
		"echo *":                              false,
		"echo x":                              false,
		"cat $X notes":                        false,
		"cat a b notes":                       false,
		"cat notes":                           false,
		"printf ab":                           false,
		"printf acb":                          false,
		strings.Repeat("(", maxLine) + "go test" + strings.Repeat(")", maxLine): false,
	} {
		if got := Permits(given, "bash", line); got != want {
			t.Errorf("%.60q: permitted is %t", line, got)
		}
		if !Permits(rules(t, "bash"), "bash", line) {
			t.Errorf("%.60q is not permitted by bash", line)
		}
		if Permits(rules(t, "write", "edit(**)"), "bash", line) {
			t.Errorf("%.60q is permitted by a rule for files", line)
		}
		if !want {
			testkit.Attack(t, "lines", line)
		}
	}
}

func TestPaths(t *testing.T) {
	given := rules(t, "write(docs/**)", "write(*.md)", "write({a,b}/?.txt)", `write(odd/\*)`, "bash")
	for path, want := range map[string]bool{
		"docs/a": true, "docs/a/b/.c": true, "x.md": true, "a/1.txt": true, "odd/*": true, "docs/ü/x y": true,
		"": false, ".": false, "doc/a": false, "docs2/a": false, "a/x.md": false, "c/1.txt": false, "a/12.txt": false, "odd/x": false,
		"../docs/a": false, "docs/../secret": false, "docs/..": false, "/docs/a": false, "docs//a": false, "./docs/a": false,
		"docs/./a": false, "docs/": false, "docs/\xff": false, "..": false,
	} {
		if got := Permits(given, "write", path); got != want {
			t.Errorf("%q: permitted is %t", path, got)
		}
		if Permits(given, "edit", path) {
			t.Errorf("%q: a rule of write permits edit", path)
		}
	}
	if Permits([]Rule{{}}, "", "x") {
		t.Error("the zero rule permits")
	}
}

// The rule that is proposed is the very command.
func TestProposalsAreTheVeryCommand(t *testing.T) {
	for _, c := range []struct{ tool, subject, want string }{
		{"bash", "go test ./... -run X", "bash(go test ./... -run X)"},
		{"bash", "go vet && go test ./... | grep FAIL", "bash(go vet && go test ./... | grep FAIL)"},
		{"bash", "git log --oneline", "bash(git log --oneline)"},
		{"bash", "git grep x", "bash(git grep x)"},
		{"bash", "docker run x", "bash(docker run x)"},
		{"bash", "gh api user", "bash(gh api user)"},
		{"bash", "npm run build", "bash(npm run build)"},
		{"bash", "make x", "bash(make x)"},
		{"bash", "sort x", "bash(sort x)"},
		{"bash", "uniq x", "bash(uniq x)"},
		{"bash", "rg x", "bash(rg x)"},
		{"bash", "FOO=1 ls x", "bash(FOO=1 ls x)"},
		{"bash", "ls -la x", "bash(ls *)"},
		{"bash", "ls > x", "bash(ls > x)"},
		{"bash", "ls; x", "bash(ls; x)"},
		{"bash", "./ls x", "bash(./ls x)"},
		{"bash", "make 'a (b) * \\ c'", `bash(make 'a \(b\) \* \\ c')`},
		{"bash", "for i in 1 2; do go build $i; done", "bash(for i in 1 2; do go build $i; done)"},
		{"bash", "x $(y)", `bash(x $\(y\))`},
		{"bash", "go vet *.go", ""},
		{"bash", "rm ~", ""},
		{"bash", "echo 'a\nb'", ""},
		{"bash", "a\nb", ""},
		{"bash", strings.Repeat("x", 2000), ""},
		{"write", "docs/[a] (b).md", `write(docs/\[a\] \(b\).md)`},
		{"write", "../x", ""},
		{"edit", "a*b{c}", `edit(a\*b\{c\})`},
		{"strange", "x", ""},
	} {
		got, why := proposeRule(c.tool, c.subject, "", false)
		if c.want == "" && (got != Rule{} || why == "") || c.want != "" && got.String() != c.want {
			t.Errorf("%s %q: %q (%s), want %q", c.tool, c.subject, got, why, c.want)
		}
		if c.want == "" || c.tool != "bash" {
			continue
		}
		for _, other := range []string{c.subject + " x", c.subject + "; rm x", "x; " + c.subject, c.subject + " --output=x", strings.Replace(c.subject, " ", "  ", 1) + " y"} {
			if Permits([]Rule{got}, "bash", other) && !strings.HasSuffix(c.want, " *)") {
				t.Errorf("%s permits %q too", got, other)
			}
		}
	}
	if got, _ := proposeRule("bash", "ls -la", "", true); got.String() != "bash!(ls -la)" {
		t.Errorf("outside: %s", got)
	}
}

// Whatever the line: a command that fits nothing makes the line fit nothing, and what
// is suggested suffices.
func FuzzMatch(f *testing.F) {
	for _, s := range []string{"go test ./...", "a && b", "(a; b)|c", "x $(y) `z`", "a <<E\nb\nE\n", "A=1 b > c", "'a' \"b\" $'c'", "a \\\nb", "f() { a; }"} {
		f.Add(s, "go test *")
	}
	f.Fuzz(func(t *testing.T, line, pattern string) {
		r, err := Parse("bash(" + pattern + ")")
		if err != nil {
			return
		}
		const foreign = "never-a-command-7"
		if !strings.ContainsAny(pattern, "*") && !strings.Contains(pattern, foreign) {
			for _, l := range []string{foreign + "\n" + line, foreign + " && " + line, "(" + foreign + ")\n" + line, foreign + "|" + line} {
				if Permits([]Rule{r}, "bash", l) {
					t.Errorf("%s permits %q", r, l)
				}
			}
		}
		commands, ok := takeApart(line)
		if Permits([]Rule{r}, "bash", line) && r.Pattern != exactPattern(line) {
			if !ok || len(commands) == 0 {
				t.Errorf("%s permits %q, which was not understood", r, line)
			}
			if slices.ContainsFunc(commands, func(words []word) bool { return !parseCommand(r.Pattern).fits(words) }) {
				t.Errorf("%s permits %q", r, line)
			}
			for _, bad := range []string{"`", "$(", "<(", ">(", "<<"} {
				if strings.Contains(line, bad) && !strings.ContainsAny(line, `'"\#`) {
					t.Errorf("%s permits %q", r, line)
				}
			}
		}
		if r, why := proposeRule("bash", line, "", false); why == "" && !Permits([]Rule{r}, "bash", line) {
			t.Errorf("%q does not permit %q", r, line)
		}
		markCommandLine(line)
	})
}

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
		"":                 `rule "": there is no tool "": the tools are: bash, edit, fetch, fork, glob, grep, list, mcp, merge, net, read, write`,
		"*":                `rule "*": there is no tool "*": the tools are: `,
		"bsh(go test)":     `there is no tool "bsh": did you mean "bash"?`,
		"Write(x)":         `there is no tool "Write": did you mean "write"?`,
		" bash":            `there is no tool " bash"`,
		"kill":             `there is no tool "kill"`,
		"bash(go test":     "no closing parenthesis at character 13",
		"bash(go) test":    "something after the closing parenthesis at character 9",
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
		Permits([]Rule{r}, r.Tool, s)
	})
}

// given returns rules of a command line that each agent works for.
func given(t *testing.T, texts ...string) func(context.Context, id.Agent) []Rule {
	all := rules(t, texts...)
	return func(context.Context, id.Agent) []Rule { return all }
}
