package house

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
)

// rooms are the places of packages under internal/. A package lives in the
// room that names the first part of its path, or more of it: adapters stand
// beside the port that they serve, but not in its room. Its own code (not its
// tests) may import its own subpackages, the rooms listed, and code from outside
// ramet.
var rooms = []struct{ name, packages, mayImport string }{
	{"words", "id chain fault text late toolinfo step nearest guide shape jsonschema llm bus soak waittest", "words"},
	{"domain", "agent history mail ledger run telemetry command files", "words texts"},
	{"launch", "launch sandbox", "words launch"}, // how other programs are started
	{"gates", "check markdown", "words gates"},   // what built-in gates look at: files and Markdown
	{"registry", "registry state", "words domain"},
	{"between", "telemetry/follow", "words domain"}, // two domains; neither knows the other
	{"engine", "tool loop permit proc gateway tool/process tool/recall tool/talk runner hook driver", "words domain registry engine models"},
	{"models", "llm/wire llm/anthropic llm/responses llm/chat llm/gemini llm/script llm/retry llm/queue llm/record llm/dial llm/roster llm/live llm/signed llm/google llm/structured llm/resume llm/sight llm/offline llm/llmtest", "words launch models"},
	{"shared", "durable reflink stir fixedseed run/group database seal secret credential config environ printer prompt workspace rundir worktree git forge pgtest mounttest soak ledger/file trust picture files/content files/restore files/trash instruct kit foreign transcript", "words launch domain registry shared"},
	{"queues", "runner/memqueue runner/riverqueue runner/queuetest runner/post", "words domain engine shared queues"},
	{"crew", "runner/crew runner/builtin", "words launch domain registry engine shared tools gates crew"},
	{"tools", "tool/local tool/fetch tool/mcp tool/skill hook/program files/scan files/past driver/acp driver/preset driver/offers", "words launch domain registry engine shared tools"},
	{"store", "store", "words domain registry shared store"},
	{"logs", "run/ndjson run/sqllog run/logtest", "words domain shared"},
	{"records", "telemetry/store telemetry/outbox telemetry/otlp", "words domain between shared records"},
	{"public", "public home", "words domain registry engine public"},
	{"kernels", "control", "words domain registry engine shared public kernels"},
	{"person", "session", "words launch domain registry engine shared tools store public kernels person"},
	{"operations", "operation", "words launch domain registry engine shared store public kernels person"},
	{"edges", "cli demo tui httpapi web turnlog mcpserver acpagent", "words launch domain registry between engine shared store records public kernels person operations edges"},
	{"composition", "app", "words launch domain registry between engine models tools shared store logs records queues crew public kernels person operations edges recipes composition"},
	{"house", "house bench", ""},
	{"texts", "recipes", ""},                                   // the recipes that are built in, as files
	{"recipes", "recipes/docs", "words launch shared recipes"}, // programs of theirs, which commands call
}

// outside is what words may use besides the standard library.
var outside = map[string]string{
	"chain": "github.com/go-json-experiment/json",
	"shape": "github.com/go-json-experiment/json",
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

func TestEveryPackageStaysInItsRoom(t *testing.T) {
	for _, fault := range check(importsOf(t, "../../..")) {
		t.Error(fault)
	}
}

func TestTheRulesBite(t *testing.T) {
	const in = "ramet/internal/"
	for _, c := range []struct{ from, to, want string }{
		{in + "id", "time", ""},
		{in + "id", in + "fault", ""},
		{in + "id", "github.com/google/uuid", "words"},
		{in + "id", in + "agent", "words"},
		{in + "chain", "github.com/go-json-experiment/json/jsontext", ""},
		{in + "fault", "github.com/go-json-experiment/json", "words"},
		{in + "agent", in + "id", ""},
		{in + "agent", in + "agent/agenttest", ""},
		{in + "agent", in + "mail", "domain"},
		{in + "mail", in + "durable", "domain"},
		{in + "registry", in + "agent", ""},
		{in + "registry", in + "store", "registry"},
		{in + "store/sqlite", in + "registry", ""},
		{in + "store/sqlite", in + "store/schema", ""},
		{in + "store/sqlite", in + "store/postgres", "only ramet/internal/app"},
		{in + "store/postgres", in + "store/sqlite", "only ramet/internal/app"},
		{in + "store/schema", in + "cli", "store"},
		{in + "cli", in + "store/sqlite", "only ramet/internal/app"},
		{in + "cli", in + "app", "edges"},
		{in + "app", in + "store/sqlite", ""},
		{in + "run/ndjson", in + "run", ""},
		{in + "run/ndjson", in + "run/group", ""},
		{in + "run/ndjson", in + "durable", ""},
		{in + "run/ndjson", in + "run/sqllog", "only ramet/internal/app"},
		{in + "run/ndjson", in + "store", "logs"},
		{in + "run/recipe", in + "durable", "domain"},
		{in + "ledger", in + "durable", "domain"},
		{in + "ledger", in + "ledger/ordered", ""},
		{in + "ledger", in + "ledger/file", "domain"},
		{in + "ledger/file", in + "durable", ""},
		{in + "ledger/file", in + "ledger", ""},
		{in + "run", in + "run/group", "domain"},
		{in + "rundir", in + "run/ndjson", "only ramet/internal/app"},
		{in + "app", in + "run/ndjson", ""},
		{in + "llm", in + "fault", ""},
		{in + "llm", in + "llm/wire", "words"},
		{in + "llm/catalog", in + "llm", ""},
		{in + "llm/anthropic", in + "llm/wire", ""},
		{in + "llm/anthropic", in + "llm/chat", "only ramet/internal/model/dial"},
		{in + "llm/chat", in + "history", "models"},
		{in + "llm/dial", in + "llm/chat", ""},
		{in + "cli", in + "llm/dial", "only ramet/internal/app"},
		{in + "cli", in + "llm/catalog", ""},
		{in + "app", in + "cli", ""},
		{in + "demo", in + "store/postgres", "only ramet/internal/app"},
		{in + "app", "ramet/cmd/ramet", "nothing imports cmd"},
		{in + "run/recipe", "ramet/recipes", ""},
		{in + "run/recipe", "ramet/recipes/docs", "only ramet/internal/app"},
		{in + "runner/builtin", "ramet/recipes/docs/evidence", "crew"},
		{in + "app", "ramet/recipes/docs", ""},
		{"ramet/recipes/docs", in + "git", ""},
		{"ramet/recipes/docs", in + "runner", "recipes"},
		{in + "stranger", "time", "give it a place"},
		{in + "app", in + "stranger", "no room"},
		{"ramet/cmd/ramet", in + "app", ""},
		{"ramet/cmd/ramet", in + "cli", "cmd"},
		{"ramet/cmd/ramet", "github.com/spf13/cobra", "cmd"},
	} {
		got := strings.Join(check(map[string][]string{c.from: {c.to}}), "\n")
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s imports %s: got %q, want %q", c.from, c.to, got, c.want)
		}
	}
}

// check holds the import graph against the tables and returns what is wrong.
func check(imports map[string][]string) []string {
	var faults []string
	for _, from := range slices.Sorted(maps.Keys(imports)) {
		if (within(from, "ramet/internal") || within(from, "ramet/recipes")) && roomOf(from) == "" {
			faults = append(faults, fmt.Sprintf("%s stands in no room: give it a place in the table at the top of internal/testkit/house/house_test.go", from))
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

// forbidden says why one package may not import another, or nothing.
func forbidden(from, to string) string {
	first, _, _ := strings.Cut(to, "/")
	if standard := first != "ramet" && !strings.Contains(first, "."); standard {
		return ""
	}
	inCmd, room := within(from, "ramet/cmd"), roomOf(from)
	switch {
	case within(to, "ramet/cmd"):
		return "nothing imports cmd"
	case inCmd && to != "ramet/internal/app":
		return "cmd imports only ramet/internal/app and the standard library"
	case inCmd:
		return ""
	case namers[to] != "" && from != namers[to]:
		return "only " + namers[to] + " may name it (and tests); " + room + " may not"
	case first != "ramet":
		allowed := outside[topOf(from)]
		if room != "words" || allowed != "" && within(to, allowed) {
			return ""
		}
		return "words use only the standard library"
	case topOf(from) == topOf(to):
		return ""
	case roomOf(to) == "":
		return "it stands in no room"
	}
	for _, row := range rooms {
		if row.name == room && !slices.Contains(strings.Fields(row.mayImport), roomOf(to)) {
			return fmt.Sprintf("%s may import {%s}, not %s", room, row.mayImport, roomOf(to))
		}
	}
	return ""
}

// within says whether a path is the folder or lies below it.
func within(p, folder string) bool { return p == folder || strings.HasPrefix(p, folder+"/") }

// topOf is the first part of a path under internal/, or the longer one that a
// room names.
func topOf(p string) string {
	rest := strings.TrimPrefix(strings.TrimPrefix(p, "ramet/"), "internal/")
	top, _, _ := strings.Cut(rest, "/")
	for _, row := range rooms {
		for _, name := range strings.Fields(row.packages) {
			if within(rest, name) && len(name) > len(top) {
				top = name
			}
		}
	}
	return top
}

func roomOf(p string) string {
	if within(p, "ramet/internal") || within(p, "ramet/recipes") {
		for _, row := range rooms {
			if slices.Contains(strings.Fields(row.packages), topOf(p)) {
				return row.name
			}
		}
	}
	return ""
}

// importsOf reads what each package of the module imports outside its tests,
// on every operating system. It reads the files itself, because go test sees
// the files that a test opens, and not those of a go list that it runs: this
// way a cached result is never older than the source.
func importsOf(t *testing.T, root string) map[string][]string {
	t.Helper()
	imports := map[string][]string{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
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
		if err != nil {
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
	})
	if err != nil {
		t.Fatal(err)
	}
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
	importsOf(t, "../../..")
	for _, file := range []string{"../../../go.mod", "../../../go.sum"} {
		if _, err := os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}

	binary := filepath.Join(t.TempDir(), "ramet")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", binary, "ramet/cmd/ramet")
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
		allocs, err := strconv.Atoi(init[2])
		if err != nil {
			t.Fatal(err)
		}
		if allocs > mostInit {
			t.Errorf("init of %s makes %d allocations at every start, more than %d: pin another version, or import it later", name, allocs, mostInit)
		}
	}
}
