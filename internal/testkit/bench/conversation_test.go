package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ramet/internal/core/agent"
	"ramet/internal/core/history"
)

// The fixture is a conversation of a coding agent about this repository: what
// it reads are files and searches of the repository, listings of Go's standard
// library, edits and test runs. It was made by
//
//	go test ./internal/testkit/bench -run TestConversation -update
//
// and is committed, so that the figure does not change with the sources.
const conversation = "testdata/conversation.jsonl"

var update = flag.Bool("update", false, "make "+conversation+" anew")

// said is one line of the fixture.
type said struct {
	Kind  history.Kind   `json:"kind"`
	Parts []history.Part `json:"parts"`
}

// bytes counts what was said, without any encoding.
func (s said) bytes() (n int) {
	for _, p := range s.Parts {
		n += len(p.Text) + len(p.Signature) + len(p.Args) + len(p.Data)
	}
	return n
}

func loadConversation(tb testing.TB) []said {
	tb.Helper()
	f, err := os.Open(conversation)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var out []said
	dec := json.NewDecoder(bufio.NewReader(f))
	for dec.More() {
		var s said
		if err := dec.Decode(&s); err != nil {
			tb.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

// Stored, a conversation takes little more room than what was said; each entry
// is written as it comes, in a transaction of its own.
func BenchmarkDatabaseSize(b *testing.B) {
	onBoth(b, func(b *testing.B, e engine) {
		lines := loadConversation(b)
		var stored, content float64
		for b.Loop() {
			s, place := e.make(b)
			speaker := must[agent.Agent](b)(s.Zero(b.Context())).ID
			content = 0
			for _, l := range lines {
				if _, err := s.Append(b.Context(), speaker, agent.Passing(), history.Draft{Kind: l.Kind, Parts: l.Parts}); err != nil {
					b.Fatal(err)
				}
				content += float64(l.bytes())
			}
			stored = e.size(b, place)
		}
		name := e.name + ": database bytes / content bytes of the fixture conversation"
		if e.name == "SQLite" {
			atMost(b, name, "", stored/content, 1.3)
		} else {
			shown(b, name, "", stored/content)
		}
		shown(b, e.name+": content of the fixture conversation", "bytes", content)
	})
}

// size is the room that a workspace takes.
func (e engine) size(b *testing.B, place string) float64 {
	b.Helper()
	if e.name == "SQLite" {
		return float64(settle(b, place))
	}
	var n float64
	check(b, e.bare(b, place).QueryRowContext(b.Context(), `SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c
		WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace`).Scan(&n))
	return n
}

// The fixture is what its comment says: hundreds of entries of all the sizes
// that agents see.
func TestConversation(t *testing.T) {
	if *update {
		if err := os.WriteFile(conversation, converse(t), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	lines := loadConversation(t)
	results, small, large := 0, 1<<30, 0
	for i, l := range lines {
		if l.Kind != history.ToolResult {
			continue
		}
		if i == 0 || lines[i-1].Kind == history.User {
			t.Errorf("line %d: a result of no call", i+1)
		}
		results++
		small, large = min(small, l.bytes()), max(large, l.bytes())
	}
	if len(lines) < 300 || results < 100 || small > 50 || large < 200<<10 {
		t.Errorf("%d entries, %d results of %d to %d bytes", len(lines), results, small, large)
	}
}

// teller makes up the conversation.
type teller struct {
	t     *testing.T
	rand  *rand.Rand
	out   bytes.Buffer
	calls int
	files map[string]string // source files of the repository, by path
	paths []string
}

func converse(t *testing.T) []byte {
	tell := &teller{t: t, rand: rand.New(rand.NewPCG(1, 2)), files: map[string]string{}}
	tell.read()
	tell.say(history.System, history.Part{Type: history.Text, Text: "You are a coding agent. Read before you edit, run the tests after you edit, and say briefly what you did."})
	library := tell.library()
	tell.ask("Before we begin: which packages does the standard library have on this machine, and how large are their files?")
	tell.call("ls", map[string]any{"path": "src", "recursive": true}, cut(library, 200<<10+321))
	tell.answer("The listing is long; the packages that matter here are database/sql, encoding/json, iter, slices and testing/synctest.")
	for i, path := range tell.paths {
		if tell.out.Len() > 1_300_000 {
			break
		}
		tell.topic(path, i)
		if i%15 == 7 {
			from := tell.rand.IntN(len(library) / 2)
			tell.call("bash", map[string]any{"command": fmt.Sprintf("find src -name '*.go' | sed -n '%d,$p' | head -c %d", from, 20<<10+i*300)},
				cut(library[from:], 20<<10+i*300))
		}
	}
	return tell.out.Bytes()
}

func cut(s string, n int) string { return strings.ToValidUTF8(s[:min(n, len(s))], "") }

func (tell *teller) read() {
	root := "../../.."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		// Not this package, and no made-up secrets, which scanners would find.
		if err == nil && d.IsDir() && (d.Name() == "bench" || d.Name() == "secret" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		tell.files[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		tell.t.Fatal(err)
	}
	for path := range tell.files {
		if !strings.HasSuffix(path, "_test.go") {
			tell.paths = append(tell.paths, path)
		}
	}
	slices.Sort(tell.paths)
	tell.rand.Shuffle(len(tell.paths), func(i, j int) { tell.paths[i], tell.paths[j] = tell.paths[j], tell.paths[i] })
}

// library lists the files of Go's standard library.
func (tell *teller) library() string {
	var b strings.Builder
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		tell.t.Fatal(err)
	}
	root := filepath.Join(strings.TrimSpace(string(goroot)), "src")
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		fmt.Fprintf(&b, "-rw-r--r-- %8d src/%s\n", info.Size(), filepath.ToSlash(name))
		return nil
	})
	if err != nil {
		tell.t.Fatal(err)
	}
	return b.String()
}

func (tell *teller) say(k history.Kind, parts ...history.Part) {
	enc := json.NewEncoder(&tell.out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(said{k, parts}); err != nil {
		tell.t.Fatal(err)
	}
}

func (tell *teller) ask(s string) { tell.say(history.User, history.Part{Type: history.Text, Text: s}) }

func (tell *teller) answer(s string) {
	tell.say(history.Assistant, history.Part{Type: history.Text, Text: s})
}

// call is a tool call with a word before it, sometimes a thought, and its result.
func (tell *teller) call(tool string, args map[string]any, result string, words ...string) {
	tell.calls++
	id := fmt.Sprintf("call_%06d", tell.calls)
	var parts []history.Part
	if tell.rand.IntN(3) == 0 {
		signature := make([]byte, 160)
		for i := range signature {
			signature[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[tell.rand.IntN(64)]
		}
		parts = append(parts, history.Part{Type: history.Thinking, Signature: string(signature),
			Text: fmt.Sprintf("I should look at the result of %s first; the names in it decide what to change next, and whether the tests need a new case.", tool)})
	}
	if len(words) > 0 {
		parts = append(parts, history.Part{Type: history.Text, Text: strings.Join(words, " ")})
	}
	text, err := json.Marshal(args)
	if err != nil {
		tell.t.Fatal(err)
	}
	tell.say(history.Assistant, append(parts, history.Part{Type: history.ToolCall, CallID: id, Name: tool, Args: text})...)
	tell.say(history.ToolResult, history.Part{Type: history.Result, CallID: id, Name: tool, Text: result})
}

// topic is one request about one file: read, search, edit, test, answer.
func (tell *teller) topic(path string, n int) {
	source := tell.files[path]
	parsed, err := parser.ParseFile(token.NewFileSet(), path, source, parser.ParseComments)
	if err != nil {
		tell.t.Fatal(err)
	}
	name, doc := parsed.Name.Name, parsed.Doc.Text()
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Doc.Text() != "" {
			name, doc = f.Name.Name, f.Doc.Text()
			if tell.rand.IntN(3) == 0 {
				break
			}
		}
	}
	folder := filepath.ToSlash(filepath.Dir(path))
	tell.ask([]string{
		fmt.Sprintf("Have a look at %s in %s. Is the error path right, and does a test cover it?", name, path),
		fmt.Sprintf("%s in %s reads well, but I do not see what happens when the context is cancelled in the middle. Please check, and fix it if it is wrong.", name, path),
		fmt.Sprintf("Please explain %s (%s) to me in three sentences, then see who calls it.", name, path),
	}[n%3])
	tell.call("read_file", map[string]any{"path": path}, numbered(source), "I read the file first.")
	found := tell.grep(name)
	tell.call("grep", map[string]any{"pattern": name, "path": "."}, found, fmt.Sprintf("Now who uses %s:", name))
	if n%3 != 2 {
		lines := strings.Split(source, "\n")
		from := tell.rand.IntN(max(1, len(lines)-8))
		old := strings.Join(lines[from:min(len(lines), from+6)], "\n")
		tell.call("edit_file", map[string]any{"path": path, "old": old, "new": old + "\n\t// " + strings.ReplaceAll(strings.TrimSpace(cut(doc, 120)), "\n", " ")},
			"edited: 1 replacement, 1 line added", "The order matters there; a comment should say so.")
		tell.call("bash", map[string]any{"command": "go vet ./" + folder + " && go test -count=1 ./" + folder},
			fmt.Sprintf("ok  \tramet/%s\t0.%03ds\n", folder, tell.rand.IntN(900)+10))
	}
	tell.answer(fmt.Sprintf("%s does what its comment says: %s\n\nIt is used in %d places. I found nothing that loses an error: each caller wraps it "+
		"with its own verb and returns it. A cancelled context ends the loop at the next row, and the transaction is rolled back.",
		name, strings.Join(strings.Fields(doc), " "), strings.Count(found, "\n")))
}

func numbered(source string) string {
	var b strings.Builder
	for i, line := range strings.Split(strings.TrimSuffix(source, "\n"), "\n") {
		fmt.Fprintf(&b, "%6d\t%s\n", i+1, line)
	}
	return b.String()
}

func (tell *teller) grep(word string) string {
	var b strings.Builder
	for _, path := range slices.Sorted(func(yield func(string) bool) {
		for path := range tell.files {
			if !yield(path) {
				return
			}
		}
	}) {
		for i, line := range strings.Split(tell.files[path], "\n") {
			if strings.Contains(line, word) && b.Len() < 12<<10 {
				fmt.Fprintf(&b, "%s:%d:%s\n", path, i+1, line)
			}
		}
	}
	return b.String()
}
