package bench

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"ramet/internal/testkit"
)

// module puts the files of a module there, from the module cache of this machine. Where it is
// not in there the task is left out: nothing is fetched.
func (w *world) module(name string) {
	w.Helper()
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", name)
	list.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=mod")
	out, err := list.Output()
	from := strings.TrimSpace(string(out))
	if err != nil || from == "" {
		w.Skipf("the module %s is not in the module cache, and nothing is fetched", name)
	}
	testkit.OK(w, filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, path)
		if err == nil {
			w.put(below, string(body))
		}
		return err
	}))
}

// swap changes a place in a file that must be there.
func (w *world) swap(name, old, new string) {
	w.Helper()
	body, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil || !strings.Contains(string(body), old) {
		w.Skipf("%s of the module in the cache has another form: %v", name, err)
	}
	w.put(name, strings.Replace(string(body), old, new, 1))
}

// broken is a module of somebody else, with one character of it changed.
func broken() tasksTask {
	const good, bad = "(uuid[6] & 0x0f) | 0x40 // Version 4", "(uuid[6] & 0x0f) | 0x50 // Version 4"
	tests := ""
	return tasksTask{name: "broken module", shows: "an error in a module from the module cache is found and mended",
		make: func(w *world) {
			w.module("github.com/google/uuid")
			w.swap("version4.go", good, bad)
			tests = w.has("uuid_test.go")
		},
		prompt: "This is a Go module that makes UUIDs. Its tests fail since somebody changed it: random UUIDs have the wrong version. Find the cause and mend it. Do not change the tests.",
		play: []move{
			{when: "makes UUIDs", calls: []call{{"grep", map[string]any{"pattern": "Version 4", "include": "*.go", "exclude": "*_test.go"}}}},
			{when: "version4.go", calls: []call{read("version4.go"), {"edit", map[string]any{"path": "version4.go", "old_string": bad, "new_string": good}}}},
			{say: "The version bits were those of version 5."},
		},
		solved: func(w *world) []string {
			test := exec.Command("go", "test", "-count=1", "-run", "Random|Version|UUID", ".")
			test.Dir, test.Env = w.dir, append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=mod", "GOWORK=off", "CGO_ENABLED=0")
			out, err := test.CombinedOutput()
			if err != nil {
				w.Logf("go test: %v\n%s", err, out)
			}
			return wrong(map[string]bool{"its tests pass": err == nil, "they are what they were": w.has("uuid_test.go") == tests})
		}}
}

// declared is a question about a larger module of somebody else.
func declared() tasksTask {
	const name = "github.com/jackc/pgx/v5"
	return tasksTask{name: "module", shows: "a declaration is found among those of a module from the module cache",
		make:   func(w *world) { w.module(name) },
		prompt: "This is a Go module. Its package pgconn declares a function CheckConn or, in other versions, a method of *PgConn with that name. Write where, as file:line relative to this folder, into where.txt; the line is that of the word func.",
		play: []move{
			{when: "CheckConn", calls: []call{{"grep", map[string]any{"pattern": `^func .*\bCheckConn\(`, "path": "pgconn", "exclude": "*_test.go"}}}},
			{when: "pgconn.go", calls: []call{bash(`grep -rn --exclude='*_test.go' '^func .*CheckConn(' pgconn | head -n 1 | cut -d : -f 1,2 > where.txt`)}},
			{say: "Found."},
		},
		solved: func(w *world) []string {
			want := declaration(w, "pgconn", "CheckConn")
			return wrong(map[string]bool{"where.txt says " + want: strings.TrimPrefix(w.has("where.txt"), "./") == want})
		}}
}

// declaration is where a function or method is declared in a folder, as file:line.
func declaration(w *world, folder, name string) string {
	w.Helper()
	files := token.NewFileSet()
	found := ""
	all := testkit.Must(filepath.Glob(filepath.Join(w.dir, folder, "*.go")))(w)
	for _, path := range all {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file := testkit.Must(parser.ParseFile(files, path, nil, parser.SkipObjectResolution))(w)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == name {
				found = folder + "/" + filepath.Base(path) + ":" + strconv.Itoa(files.Position(f.Type.Func).Line)
			}
		}
	}
	return found
}
