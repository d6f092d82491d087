// Command english measures and checks the English of names, comments and messages.
//
//	english count          prints the shares of one-word names and of comments that define by "what" or "who"
//	english list [FOLDER]  prints every place below a folder, such as internal/store, that breaks a rule
//	english check [REV]    fails if a line changed since REV breaks a rule, or any message in a clean folder
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
	"slices"
	"strconv"
	"strings"
	"unicode"
)

func main() {
	var err error
	switch {
	case len(os.Args) == 2 && os.Args[1] == "count":
		err = count(os.Stdout.WriteString)
	case len(os.Args) >= 2 && len(os.Args) <= 3 && os.Args[1] == "list":
		err = list(os.Args[2:])
	case len(os.Args) >= 2 && len(os.Args) <= 3 && os.Args[1] == "check":
		err = check(os.Args[2:])
	default:
		err = fmt.Errorf("usage: english count | english list [FOLDER] | english check [REV]")
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

// checkedFolders have the code of the program.
var checkedFolders = []string{"internal", "recipes", "cmd"}

// notCleanYet lists the folders in which only changed messages have to be clean. It only gets shorter.
var notCleanYet = []string{"internal/face", "internal/operation", "internal/kernel", "internal/runner", "internal/turn", "internal/tools", "internal/driver",
	"internal/model", "internal/launch", "internal/files", "internal/run", "internal/ledger", "internal/telemetry", "internal/app", "internal/testkit", "recipes"}

// walk calls do for every Go file below folders of the checkout that is no test, with its path in the checkout.
func walk(root string, folders []string, do func(file string) error) error {
	for _, top := range folders {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			return do(filepath.ToSlash(file))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// count prints the shares over all Go files that are no tests.
func count(print func(string) (int, error)) error {
	root, err := repository()
	if err != nil {
		return err
	}
	functions, oneWord, methods, oneWordMethods, comments, defining := 0, 0, 0, 0, 0, 0
	err = walk(root, checkedFolders, func(file string) error {
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, decl := range parsed.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			one := toInt(wordsIn(f.Name.Name) == 1)
			if f.Recv == nil {
				functions++
				oneWord += one
			} else {
				methods++
				oneWordMethods += one
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

// rule is a pattern that comments or messages must not have, with a phrase that has it.
type rule struct {
	pattern *regexp.Regexp
	example string
	better  string
}

func newRule(pattern, example, better string) rule {
	return rule{regexp.MustCompile(`(?i)` + pattern), example, better}
}

// commentRules are for comments of code.
var commentRules = []rule{
	{definesByWhat, "// near is what does", `begin with the name and a verb: "Wrap breaks s into lines", "near reports whether …"`},
	newRule(`\b(nobody|somebody|whoever)\b`, "nobody reads it", "processes are not people: name the caller, client or goroutine"),
	newRule(`\b(says|tells) whether\b`, "it says whether a file exists", `"reports whether"`),
	newRule(`\bis told (of|what|when|to)\b`, "the caller is told of it", `"receives", "is notified"`),
	newRule(`\bfor always\b|\bat rest\b|\bgoes on\b|\bstands in\b`, "the turn goes on", `"forever", "idle", "continues", "is in"`),
}

// messageRules are for what people and models read: string literals with several words.
var messageRules = []rule{
	newRule(`\b(nobody|somebody|whoever)\b`, "nobody says in which project it is", "name the program or person"),
	newRule(`\bfor always\b|\bat rest\b|\bgoes on\b`, "Enter goes on", `"always", "idle", "continues"`),
	newRule(`\ba model that thinks\b|\bthose below it\b|\bwhat it is to do\b`, "this agent and those below it", `"a real model", "its children", "its task"`),
	newRule(`\bas a letter\b|\bletters? (from|to|between)\b|\b(read|write|delete|unread) (a )?letters?\b`, "its report comes as a letter", `"mail"`),
	newRule(`\bhow things stand\b|\bas it stands\b|\bis no command\b`, "it is sent as it stands", `"unchanged", "the state", "unknown command"`),
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
		found, err := checkFile(filepath.Join(root, file))
		if err != nil {
			return err
		}
		for _, f := range found {
			if lines[f.line] {
				fmt.Printf("%s:%s\n", file, f)
				broken++
			}
		}
	}
	err = walk(root, checkedFolders, func(file string) error {
		if slices.ContainsFunc(notCleanYet, func(folder string) bool { return strings.HasPrefix(file, folder+"/") }) {
			return nil
		}
		found, err := checkFile(filepath.Join(root, file))
		for _, f := range found {
			if f.message && !changed[file][f.line] {
				fmt.Printf("%s:%s\n", file, f)
				broken++
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	if broken > 0 {
		return fmt.Errorf("%d places break the rules of plain English", broken)
	}
	return nil
}

// list prints every place below a folder that breaks a rule, and the functions there whose name is one word.
func list(args []string) error {
	root, err := repository()
	if err != nil {
		return err
	}
	folders := checkedFolders
	if len(args) == 1 {
		folders = args
	}
	return walk(root, folders, func(file string) error {
		found, err := checkFile(filepath.Join(root, file))
		for _, f := range found {
			fmt.Printf("%s:%s\n", file, f)
		}
		return err
	})
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

// finding is a place that breaks a rule.
type finding struct {
	line    int
	text    string
	message bool // people or models read it; else it is a comment
}

func (f finding) String() string { return fmt.Sprintf("%d: %s", f.line, f.text) }

// checkFile returns the places of a file that break a rule.
func checkFile(file string) (found []finding, err error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	complain := func(pos token.Pos, text string, message bool, rules []rule) {
		for _, r := range rules {
			if bad := r.pattern.FindString(text); bad != "" {
				found = append(found, finding{set.Position(pos).Line, fmt.Sprintf("%q: %s", bad, r.better), message})
			}
		}
	}
	for _, group := range parsed.Comments {
		for _, c := range group.List {
			complain(c.Pos(), c.Text, false, commentRules)
		}
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.FuncDecl:
			if n.Doc != nil && !beginsWell(n.Name.Name, n.Doc.List[0].Text) {
				found = append(found, finding{set.Position(n.Doc.Pos()).Line, fmt.Sprintf("the comment of %s: begin with the name and a verb: %q", n.Name.Name, n.Name.Name+" returns …"), false})
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING && strings.Contains(n.Value, " ") {
				complain(n.Pos(), n.Value, true, messageRules)
			}
		}
		return true
	})
	return found, nil
}

// beginsWell reports whether the comment of a function begins with its name, followed by a word that is no copula.
func beginsWell(name, comment string) bool {
	rest, ok := strings.CutPrefix(comment, "// "+name+" ")
	verb, _, _ := strings.Cut(rest, " ")
	return strings.HasPrefix(comment, "//go:") || ok && verb != "is" && verb != "are"
}
