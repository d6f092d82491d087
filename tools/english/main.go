// Command english measures and checks the English of names, comments and messages.
//
//	english count        prints the shares of one-word names and of comments that define by "what" or "who"
//	english check [REV]  fails if a line changed since REV has a comment or message that breaks a rule
//
// Without REV, check compares with the revision in tools/english/base.txt, from which on changed lines have to
// be clean.
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

func main() {
	var err error
	switch {
	case len(os.Args) == 2 && os.Args[1] == "count":
		err = count(os.Stdout.WriteString)
	case len(os.Args) >= 2 && len(os.Args) <= 3 && os.Args[1] == "check":
		err = check(os.Args[2:])
	default:
		err = fmt.Errorf("usage: english count | english check [REV]")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// repository returns the folder of the checkout.
func repository() (string, error) {
	out, err := exec.Command("git", "-c", "safe.directory=*", "rev-parse", "--show-toplevel").Output()
	return strings.TrimSpace(string(out)), err
}

var definesByWhat = regexp.MustCompile(`^//\s*[A-Za-z_]\w*\s+(is|are|says|tells)\s+(what|who|whose|whether|where|why|how|that)\b`)

// count prints the shares over all Go files that are no tests.
func count(print func(string) (int, error)) error {
	root, err := repository()
	if err != nil {
		return err
	}
	functions, oneWord, methods, oneWordMethods, comments, defining := 0, 0, 0, 0, 0, 0
	for _, top := range []string{"internal", "recipes", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			if err != nil {
				return err
			}
			for _, decl := range parsed.Decls {
				f, ok := decl.(*ast.FuncDecl)
				if !ok {
					continue
				}
				one := wordsIn(f.Name.Name) == 1
				if f.Recv == nil {
					functions++
					oneWord += toInt(one)
				} else {
					methods++
					oneWordMethods += toInt(one)
				}
			}
			for _, group := range parsed.Comments {
				comments++
				defining += toInt(definesByWhat.MatchString(group.List[0].Text))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	share := func(part, whole int) float64 { return 100 * float64(part) / float64(max(whole, 1)) }
	_, err = print(fmt.Sprintf("one-word functions: %.0f %% of %d; with methods: %.0f %% of %d; comments that define by what or who: %.0f %% of %d\n",
		share(oneWord, functions), functions, share(oneWord+oneWordMethods, functions+methods), functions+methods, share(defining, comments), comments))
	return err
}

func toInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// wordsIn counts the words of a name in camel case; runs of capitals such as HTTP are one word.
func wordsIn(name string) int {
	n := 0
	previous := '_'
	for _, r := range name {
		if unicode.IsUpper(r) && !unicode.IsUpper(previous) || n == 0 {
			n++
		}
		previous = r
	}
	return n
}

// rule is a pattern that comments or messages must not have.
type rule struct {
	pattern *regexp.Regexp
	better  string
}

// commentRules are for comments of code; messageRules for string literals with several words.
var commentRules = []rule{
	{definesByWhat, `begin with the name and a verb: "Wrap breaks s into lines", "near reports whether …"`},
	{regexp.MustCompile(`(?i)\b(nobody|somebody|whoever)\b`), "processes are not people: name the caller, client or goroutine"},
	{regexp.MustCompile(`(?i)\b(says|tells) whether\b`), `"reports whether"`},
	{regexp.MustCompile(`(?i)\bis told (of|what|when|to)\b`), `"receives", "is notified"`},
	{regexp.MustCompile(`(?i)\bfor always\b|\bat rest\b|\bgoes on\b|\bstands in\b`), `"forever", "idle", "continues", "is in"`},
}

var messageRules = []rule{
	{regexp.MustCompile(`(?i)\b(nobody|somebody|whoever)\b`), "say which program or person"},
	{regexp.MustCompile(`(?i)\bfor always\b|\bat rest\b|\ba model that thinks\b|\bthose below it\b|\bwhat it is to do\b`), `"always", "idle", "a real model", "its children", "its task"`},
	{regexp.MustCompile(`(?i)\bgoes on\b`), `"continues"`},
}

var (
	diffFile = regexp.MustCompile(`^\+\+\+ b/(.+)$`)
	diffHunk = regexp.MustCompile(`^@@ -\S+ \+(\d+)(?:,(\d+))? @@`)
)

// check prints the rules that changed lines break.
func check(args []string) error {
	root, err := repository()
	if err != nil {
		return err
	}
	base := ""
	if len(args) == 1 {
		base = args[0]
	} else {
		text, err := os.ReadFile(filepath.Join(root, "tools/english/base.txt"))
		if err != nil {
			return err
		}
		base = strings.TrimSpace(string(text))
		// A shallow clone lacks it: then only the last commit is checked.
		for _, rev := range []string{base, "HEAD~1", "HEAD"} {
			if exec.Command("git", "-c", "safe.directory=*", "-C", root, "cat-file", "-e", rev+"^{commit}").Run() == nil {
				base = rev
				break
			}
		}
	}
	changed, err := changedLines(root, base)
	if err != nil {
		return err
	}
	broken := 0
	for file, lines := range changed {
		found, err := checkFile(filepath.Join(root, file), lines)
		if err != nil {
			return err
		}
		for _, f := range found {
			fmt.Printf("%s:%s\n", file, f)
			broken++
		}
	}
	if broken > 0 {
		return fmt.Errorf("%d changed lines break the rules of plain English", broken)
	}
	return nil
}

// changedLines returns the lines of Go files, tests apart, that are new since a revision. Moved files count as
// far as they changed.
func changedLines(root, base string) (map[string]map[int]bool, error) {
	cmd := exec.Command("git", "-c", "safe.directory=*", "-C", root, "diff", "-M", "-U0", "--no-color", base, "--", "*.go", ":!*_test.go", ":!tools")
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git diff %s: %w: %s", base, err, complaint.String())
	}
	changed := map[string]map[int]bool{}
	file := ""
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSuffix(line, "\n")
		if m := diffFile.FindStringSubmatch(line); m != nil {
			file = m[1]
			changed[file] = map[int]bool{}
		}
		if m := diffHunk.FindStringSubmatch(line); m != nil && changed[file] != nil {
			from, _ := strconv.Atoi(m[1])
			n, _ := strconv.Atoi(cmp.Or(m[2], "1"))
			for i := range n {
				changed[file][from+i] = true
			}
		}
	}
	return changed, nil
}

// checkFile returns the broken rules in some lines of a file, as "LINE: text".
func checkFile(file string, lines map[int]bool) (found []string, err error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	complain := func(pos token.Pos, text string, rules []rule) {
		at := set.Position(pos).Line
		if !lines[at] {
			return
		}
		for _, r := range rules {
			if bad := r.pattern.FindString(text); bad != "" {
				found = append(found, fmt.Sprintf("%d: %q: %s", at, bad, r.better))
			}
		}
	}
	for _, group := range parsed.Comments {
		for _, c := range group.List {
			complain(c.Pos(), c.Text, commentRules)
		}
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if _, ok := n.(*ast.ImportSpec); ok {
			return false
		}
		if b, ok := n.(*ast.BasicLit); ok && b.Kind == token.STRING && strings.Contains(b.Value, " ") {
			complain(b.Pos(), b.Value, messageRules)
		}
		return true
	})
	return found, nil
}
