package testkit_test

import (
	"bytes"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

// areas lists the folders directly under internal/, from the top of the program to its ground. An area
// imports only areas below it, and its own packages. Tests may import anything.
var areas = []struct{ name, holds string }{
	{"app", "composition: names stores, vendors and faces together"},
	{"face", "command line, terminal, page, HTTP, MCP and ACP servers"},
	{"operation", "verbs, public JSON shapes, the client of a kernel"},
	{"runner", "orchestrator of runs, workers, queues, gates, forges"},
	{"telemetry", "views of runs and turns, their store and export"},
	{"kernel", "live agents, leases, mail delivery, the tools for processes"},
	{"driver", "other programs' agents and sessions, the gateway to vendors"},
	{"tools", "bash, files, fetch, MCP client, skills, questions, hooks' programs"},
	{"turn", "one turn: loop, tool port, permissions, hooks"},
	{"run", "events and states of runs, log forms, recipes, run folders"},
	{"files", "states of folders, restore, trash, worktrees, git"},
	{"store", "ports over SQL; SQLite and PostgreSQL"},
	{"ledger", "sub-agents that other programs spawned"},
	{"core", "agent, history, mail, registry, trust, settings: rules"},
	{"model", "vendors, decorators, catalog, credentials"},
	{"launch", "starts other programs, confined"},
	{"base", "faults, ids, texts, hashes, durable files, secrets"},
	{"testkit", "what only tests use"},
}

// outside lists the modules that base packages without files or processes may use besides the standard library.
var outside = map[string]string{
	"ramet/internal/base/id":    "",
	"ramet/internal/base/fault": "",
	"ramet/internal/base/text":  "github.com",
	"ramet/internal/base/chain": "github.com/go-json-experiment/json",
	"ramet/internal/base/shape": "github.com/go-json-experiment/json",
}

// namers lists the packages that only the ones named may import.
var namers = map[string]string{
	"ramet/internal/store/sqlite":    "ramet/internal/app",
	"ramet/internal/store/postgres":  "ramet/internal/app",
	"ramet/internal/run/ndjson":      "ramet/internal/app",
	"ramet/internal/run/sqllog":      "ramet/internal/app",
	"ramet/internal/model/anthropic": "ramet/internal/model/dial",
	"ramet/internal/model/responses": "ramet/internal/model/dial",
	"ramet/internal/model/chat":      "ramet/internal/model/dial",
	"ramet/internal/model/gemini":    "ramet/internal/model/dial",
	"ramet/internal/model/offline":   "ramet/internal/model/dial",
	"ramet/internal/model/dial":      "ramet/internal/app",
	"ramet/internal/tools/local":     "ramet/internal/app",
	"ramet/recipes/docs":             "ramet/internal/app",
	"ramet/internal/app":             "ramet/cmd/ramet",
}

// mostInit is how many allocations one package may add to every start. The count is the
// same on every machine; the benchmark of starts measures the time.
const mostInit = 4000

func TestAreasImportOnlyAreasBelowThem(t *testing.T) {
	for _, fault := range checkImports(importsOf(t, "../..")) {
		t.Error(fault)
	}
}

func TestImportRulesRefuse(t *testing.T) {
	const in = "ramet/internal/"
	for _, c := range []struct{ from, to, want string }{
		{in + "base/id", "time", ""},
		{in + "base/id", in + "base/fault", ""},
		{in + "base/id", "github.com/google/uuid", "standard library"},
		{in + "base/id", in + "core/agent", "below"},
		{in + "base/chain", "github.com/go-json-experiment/json/jsontext", ""},
		{in + "core/agent", in + "base/id", ""},
		{in + "core/agent", in + "store", "below"},
		{in + "store/sqlite", in + "core/registry", ""},
		{in + "store/sqlite", in + "store/postgres", "only ramet/internal/app"},
		{in + "face/cli", in + "store/sqlite", "only ramet/internal/app"},
		{in + "face/cli", in + "app", "only ramet/cmd/ramet"},
		{in + "face/cli", in + "model/catalog", ""},
		{in + "app", in + "store/sqlite", ""},
		{in + "app", in + "testkit/probe", "tests"},
		{in + "kernel", in + "testkit", "tests"},
		{in + "testkit/storetest", in + "store", ""},
		{in + "turn/loop", in + "kernel", "below"},
		{in + "model/anthropic", in + "model/chat", "only ramet/internal/model/dial"},
		{in + "app", "ramet/cmd/ramet", "nothing imports cmd"},
		{in + "run/recipe", "ramet/recipes", ""},
		{in + "run/recipe", "ramet/recipes/docs", "only ramet/internal/app"},
		{"ramet/recipes/docs", in + "files/git", ""},
		{"ramet/recipes/docs", in + "runner", "recipes"},
		{in + "stranger", "time", "no area"},
		{"ramet/cmd/ramet", in + "app", ""},
		{"ramet/cmd/ramet", in + "face/cli", "cmd"},
		{"ramet/cmd/ramet", "github.com/spf13/cobra", "cmd"},
	} {
		got := strings.Join(checkImports(map[string][]string{c.from: {c.to}}), "\n")
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s imports %s: got %q, want %q", c.from, c.to, got, c.want)
		}
	}
}

// checkImports returns the imports that break a rule.
func checkImports(imports map[string][]string) []string {
	var faults []string
	for _, from := range slices.Sorted(maps.Keys(imports)) {
		if within(from, "ramet/internal") && areaRank(from) < 0 {
			faults = append(faults, fmt.Sprintf("%s is in no area: see the table in internal/testkit/house_test.go", from))
			continue
		}
		for _, to := range imports[from] {
			if why := forbidden(from, to); why != "" {
				faults = append(faults, fmt.Sprintf("%s imports %s: %s", from, to, why))
			}
		}
	}
	return faults
}

// forbidden returns why a package may not import another, or "".
func forbidden(from, to string) string {
	first, _, _ := strings.Cut(to, "/")
	if standard := first != "ramet" && !strings.Contains(first, "."); standard {
		return ""
	}
	inCmd := within(from, "ramet/cmd")
	fromRank, toRank := areaRank(from), areaRank(to)
	fromTests, toTests := within(from, "ramet/internal/testkit"), within(to, "ramet/internal/testkit")
	switch {
	case within(to, "ramet/cmd"):
		return "nothing imports cmd"
	case inCmd && to != "ramet/internal/app":
		return "cmd imports only ramet/internal/app and the standard library"
	case inCmd:
		return ""
	case fromTests:
		return ""
	case namers[to] != "" && from != namers[to]:
		return "only " + namers[to] + " and tests may import it"
	case first != "ramet":
		if allowed, ruled := outside[from]; ruled && (allowed == "" || !within(to, allowed)) {
			return "it uses only the standard library and " + allowed
		}
		return ""
	case toTests:
		return "only tests import testkit, and a ramet with the tag of package probe"
	case within(from, "ramet/recipes"):
		if within(to, "ramet/recipes") || toRank >= areaRank("ramet/internal/files") {
			return ""
		}
		return "programs of recipes import files and the areas below"
	case within(to, "ramet/recipes"):
		return ""
	case fromRank > toRank:
		return "an area imports only areas below it"
	}
	return ""
}

// within reports whether a path is the folder or lies below it.
func within(p, folder string) bool { return p == folder || strings.HasPrefix(p, folder+"/") }

// areaRank returns the place of a package's area in the table, or -1.
func areaRank(p string) int {
	for i, a := range areas {
		if within(p, "ramet/internal/"+a.name) {
			return i
		}
	}
	return -1
}

// importsOf reads what each package of the module imports outside its tests,
// on every operating system. It reads the files itself, because go test sees
// the files that a test opens, and not those of a go list that it runs: this
// way a cached result is never older than the source.
func importsOf(t *testing.T, root string) map[string][]string {
	t.Helper()
	imports := map[string][]string{}
	testkit.OK(t, filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && file != root {
			_, nested := os.Stat(filepath.Join(file, "go.mod"))
			if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "node_modules" || nested == nil {
				return filepath.SkipDir
			}
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(file)
		if err != nil || bytes.HasPrefix(source, []byte("//go:build rametprobe\n")) {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ImportsOnly)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		from := path.Join("ramet", filepath.ToSlash(folder))
		imports[from] = slices.Grow(imports[from], len(parsed.Imports))
		for _, spec := range parsed.Imports {
			to, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			imports[from] = append(imports[from], to)
		}
		return nil
	}))
	for from, to := range imports {
		slices.Sort(to)
		imports[from] = slices.Compact(to)
	}
	return imports
}

var initLine = regexp.MustCompile(`(?m)^init (\S+) @\S+ ms, \S+ ms clock, \d+ bytes, (\d+) allocs$`)

// The program is looked at as it is released: what is in it, and what it does before main.
func TestNoPackageSlowsDownEveryStart(t *testing.T) {
	// The build below reads the source where go test does not see it; here it
	// does.
	importsOf(t, "../..")
	for _, file := range []string{"../../go.mod", "../../go.sum"} {
		testkit.Must(os.ReadFile(file))(t)
	}

	binary := filepath.Join(t.TempDir(), "ramet")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-ldflags=-w", "-o", binary, "ramet/cmd/ramet")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	// Who calls a method by a name that is known when the program runs only, makes the linker keep
	// all exported methods of all types: reflect's own search for them is there then, too.
	symbols, err := exec.CommandContext(t.Context(), "go", "tool", "nm", binary).Output()
	if err != nil || !bytes.Contains(symbols, []byte(" main.main\n")) {
		t.Fatalf("go tool nm: %v, %d bytes", err, len(symbols))
	}
	if bytes.Contains(symbols, []byte(" reflect.(*rtype).MethodByName\n")) {
		t.Error("something calls methods by name (text/template does), and the program has every method of every type: go build -ldflags=-dumpdep ./cmd/ramet 2>&1 | grep ReflectMethod says who")
	}
	start := exec.CommandContext(t.Context(), binary, "version")
	start.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var stderr bytes.Buffer
	start.Stderr = &stderr
	if err := start.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", start, err, stderr.Bytes())
	}
	inits := initLine.FindAllStringSubmatch(stderr.String(), -1)
	if len(inits) == 0 {
		t.Fatalf("the trace names no package:\n%s", stderr.Bytes())
	}
	for _, init := range inits {
		name := init[1]
		allocs := testkit.Must(strconv.Atoi(init[2]))(t)
		if allocs > mostInit {
			t.Errorf("init of %s makes %d allocations at every start, more than %d: pin another version, or import it later", name, allocs, mostInit)
		}
	}
}
