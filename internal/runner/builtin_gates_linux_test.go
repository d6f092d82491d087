package runner

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/secret"
	"ramet/internal/run/recipe"
	"ramet/internal/testkit"
)

const patchOfA = "diff --git a/docs/a.md b/docs/a.md\nnew file mode 100644\nindex 0000000..%s\n--- /dev/null\n+++ b/docs/a.md\n@@ -0,0 +1,3 @@\n+# A\n+\n+Text.\n"

// written is the folder of a run that has written docs/a.md.
func written(t *testing.T, files ...string) Site {
	t.Helper()
	dir := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	all := append([]string{
		"work/tree/docs/a.md", "# A\n\nText.\n", "work/tree/README.md", "# R\n", "work/repo/f.go", "package f\n",
		"artifacts/docs.patch", fmt.Sprintf(patchOfA, "f7c8d4b"), "home/credentials.toml", "key = 1\n",
	}, files...)
	for i := 0; i < len(all); i += 2 {
		path := filepath.Join(dir, all[i])
		testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testkit.OK(t, os.WriteFile(path, []byte(all[i+1]), 0o644))
	}
	return Site{Dir: dir, Params: map[string]string{"docs_dir": "docs"}, Patch: "artifacts/docs.patch"}
}

func gates() *BuiltinGates {
	return &BuiltinGates{Env: []string{"PATH=" + os.Getenv("PATH")}, Secrets: secret.New(map[string]string{"MY_KEY": "very-secret-value-1"})}
}

// inspect runs a gate to its end.
func inspect(t *testing.T, g *BuiltinGates, gate recipe.Gate, s Site) []Issue {
	t.Helper()
	if gate.Name == "" {
		gate.Name = "mine"
	}
	issues := testkit.Must(g.Inspect(t.Context(), gate, s))(t)
	for _, i := range issues {
		if i.Gate != gate.Name || i.Code == "" || i.Message == "" || i.Severity == "" {
			t.Errorf("%+v", i)
		}
	}
	return issues
}

func TestACommandThatSucceedsFindsNothing(t *testing.T) {
	s := written(t)
	for _, command := range []string{
		"true", "grep -q Text docs/a.md && test -f README.md", "echo docs/a.md:1: warning only", `test "$PWD" = "` + s.Dir + `/work/tree"`,
		`echo x > "$TMPDIR/x" && mkdir -p "$HOME/y" "$XDG_CACHE_HOME" && test "$HOME" = "$TMPDIR"`, `test "$word" = "two words"`,
	} {
		if got := inspect(t, gates(), recipe.Gate{Command: command, With: map[string]string{"word": "two words"}}, s); len(got) != 0 {
			t.Errorf("%s: %+v", command, got)
		}
	}
}

func TestACommandThatFailsIsAnIssue(t *testing.T) {
	s := written(t)
	for _, c := range []struct {
		command, severity, message string
		want                       Severity
		files                      int
	}{
		{"exit 3", "", "the command ended with exit code 3 and printed nothing", Error, 1},
		{"echo 'it is wrong'; echo really >&2; exit 1", "warn", "the command ended with exit code 1:\nit is wrong\nreally", Warn, 1},
		{"kill -9 $$", "blocker", "the command was ended by signal 9 and printed nothing", Blocker, 1},
		{`printf '\033[31mred\033[0m\007 very-secret-value-1'; exit 1`, "error", "the command ended with exit code 1:\nred␇ [redacted:MY_KEY]", Error, 1},
		{`echo "$PWD/docs and $TMPDIR/x"; exit 1`, "error", "the command ended with exit code 1:\ndocs and /tmp/x", Error, 1},
		{"no-such-program", "error", "no-such-program: not found", Error, 0},
	} {
		got := inspect(t, gates(), recipe.Gate{Command: c.command, Severity: c.severity}, s)
		if len(got) != 1 || got[0].Code != "GATE_FAILED" || got[0].Severity != c.want || len(got[0].Files) != c.files ||
			got[0].Message != c.message && (c.files != 0 || !strings.Contains(got[0].Message, c.message)) {
			t.Errorf("%s: %+v", c.command, got)
		}
	}
	got := inspect(t, gates(), recipe.Gate{Command: "yes 0123456789 | head -c 3000000; echo; echo the end; exit 1"}, s)
	if len(got) != 1 || len(got[0].Message) > 3000 || !strings.HasSuffix(got[0].Message, "the end") {
		t.Errorf("%+v", got)
	}
}

func TestLinesWithPlacesAreAnIssueForEachFileAndRule(t *testing.T) {
	s := written(t)
	got := inspect(t, gates(), recipe.Gate{Severity: "warn", Command: `
echo "docs/a.md:3: spelling: Txt"; echo "./docs/a.md:1:5: heading"; echo "$PWD/README.md:7: absolute"
echo "docs/a.md:9: heading"; echo "gone.md:1: no such file"; echo "/etc/passwd:1: not ours"; echo "../x:1: outside"; echo "12:30: time"; echo "no place"; exit 1`}, s)
	var told []string
	for _, i := range got {
		told = append(told, fmt.Sprintf("%s %s:%d %s", i.Severity, strings.Join(i.Files, ","), i.Line, i.Message))
	}
	// A rule that is a code is the code of the issue, also of a file that is missing.
	coded := inspect(t, gates(), recipe.Gate{Command: "echo 'docs/gone.md:1: PAGE_MISSING: nobody wrote it'; exit 1"}, s)
	if len(coded) != 1 || coded[0].Code != "PAGE_MISSING" || !slices.Equal(coded[0].Files, []string{"docs/gone.md"}) {
		t.Errorf("%+v", coded)
	}
	want := []string{"warn docs/a.md:3 spelling: Txt", "warn docs/a.md:1 heading\nline 9: heading", "warn README.md:7 absolute"}
	if !slices.Equal(told, want) {
		t.Errorf("%q", told)
	}
	got = inspect(t, gates(), recipe.Gate{Command: "i=0; while [ $i -lt 300 ]; do echo docs/a.md:$i: complaint $i; i=$((i+1)); done; exit 1"}, s)
	if len(got) != 1 || !strings.Contains(got[0].Fix, "more") || strings.Count(got[0].Message, "complaint") != 200 {
		t.Errorf("%d %+v", len(got), got[len(got)-1])
	}
}

// The run's folder is not a gate's; what it asks for is copied to where it may read.
func TestACommandFindsTheInputsOfItsGate(t *testing.T) {
	s := written(t, "artifacts/a.txt", "one", "artifacts/more/b.txt", "two")
	gate := recipe.Gate{Command: `test "$(cat "$RAMET_INPUTS/artifacts/a.txt" "$RAMET_INPUTS/artifacts/more/b.txt")" = onetwo && ! test -e "$RAMET_INPUTS/artifacts/docs.patch"`,
		Inputs: []string{"artifacts/a.txt", "artifacts/more/**"}}
	if got := inspect(t, gates(), gate, s); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	gate.Inputs, gate.Name = []string{"artifacts/none.txt"}, "mine"
	if _, err := gates().Inspect(t.Context(), gate, s); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
}

// What a gate says of the same thing may be different each time.
func TestAnIssueIsNotItsWords(t *testing.T) {
	s := written(t)
	for _, command := range []string{"echo docs/a.md:$n: took ${n}ms; exit 1", "echo docs/a.md:$n:$n: E501 line of $n; exit 1", "echo it took $n s; exit 1",
		`echo "docs/a.md:3: after $n tries [no-bare-urls]"; exit 1`} {
		ids := map[string]bool{}
		for _, n := range []string{"17", "4"} {
			for _, i := range inspect(t, gates(), recipe.Gate{Command: command, With: map[string]string{"n": n}}, s) {
				ids[IssueID(i)] = true
			}
		}
		if len(ids) != 1 {
			t.Errorf("%s: %v", command, ids)
		}
	}
	rules := map[string]bool{}
	for _, i := range inspect(t, gates(), recipe.Gate{Command: "echo docs/a.md:1: E501 long; echo docs/a.md:2: W291 spaces; echo docs/a.md:3: words; exit 1"}, s) {
		rules[IssueID(i)] = true
	}
	if len(rules) != 3 {
		t.Errorf("%v", rules)
	}
}

func TestACommandCannotWriteTheTree(t *testing.T) {
	s := written(t)
	for _, command := range []string{
		"echo x > docs/a.md", "echo x >> docs/a.md", "rm docs/a.md", "mv docs other", "touch new", "chmod 777 docs/a.md", "ln -s /etc link", "mkdir x",
		"echo x > ../repo/f.go", "echo x > ../../artifacts/docs.patch", "echo x > /tmp/ramet-gate-escape; exit 1", "sed -i s/A/B/ docs/a.md",
	} {
		got := inspect(t, gates(), recipe.Gate{Command: command}, s)
		if len(got) != 1 || got[0].Code != "GATE_FAILED" {
			t.Errorf("%s: %+v", command, got)
		}
	}
	if text, err := os.ReadFile(filepath.Join(s.Dir, "work/tree/docs/a.md")); err != nil || strings.Contains(string(text), "x\n") {
		t.Errorf("%q %v", text, err)
	}
	if _, err := os.Stat("/tmp/ramet-gate-escape"); err == nil {
		t.Error("it wrote outside")
	}
}

// Somebody else writes while the gate looks: that is noticed too.
func TestACommandSeesNoKeyAndNoNetwork(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-from-outside")
	s := written(t)
	listener := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	g := gates()
	g.Hide = []string{filepath.Join(s.Dir, "home")}
	for _, command := range []string{
		"env | grep API_KEY", "env | grep from-outside", "cat ../../home/credentials.toml | grep key",
		"bash -c 'exec 3<>/dev/tcp/127.0.0.1/" + port + "'",
	} {
		if got := inspect(t, g, recipe.Gate{Command: command}, s); len(got) != 1 || got[0].Code != "GATE_FAILED" {
			t.Errorf("%s: %+v", command, got)
		}
	}
	// The run may lie inside what is hidden.
	g.Hide = []string{s.Dir}
	if got := inspect(t, g, recipe.Gate{Command: "grep -q Text docs/a.md && ! test -s ../../artifacts/docs.patch && ! test -e ../repo/f.go"}, s); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestACommandThatHangsIsKilledWhole(t *testing.T) {
	s := written(t)
	mark := fmt.Sprintf("ramet-gate-%d", os.Getpid())
	gate := recipe.Gate{Name: "slow"}
	gate.Command = fmt.Sprintf(`trap '' TERM INT; (setsid sh -c ': %s leaves; while :; do sleep 1000; done' &) ; sh -c ': %s stays; while :; do sleep 1000; done' & sleep 1000`, mark, mark)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := gates().Inspect(ctx, gate, s)
		ended <- err
	}()
	testkit.WaitUntil(t, "both processes run", func() bool {
		return len(running(t, "sh\x00-c\x00: "+mark+" leaves")) > 0 && len(running(t, "sh\x00-c\x00: "+mark+" stays")) > 0
	})
	cancel()
	if err := <-ended; !fault.Is(err, fault.Cancelled) {
		t.Error(err)
	}
	if left := running(t, mark); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
	// A command that ends leaves nothing either.
	gate.Command = fmt.Sprintf(`(setsid sh -c ': %s; sleep 1000' &) ; exit 1`, mark)
	if got, err := gates().Inspect(t.Context(), gate, s); err != nil || len(got) != 1 || got[0].Code != "GATE_FAILED" {
		t.Errorf("%+v %v", got, err)
	}
	if left := running(t, mark); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
}

// running are the processes whose command line holds a text.
func running(t *testing.T, mark string) []string {
	t.Helper()
	files := testkit.Must(filepath.Glob("/proc/[0-9]*/cmdline"))(t)
	var out []string
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && strings.Contains(string(text), mark) {
			out = append(out, f)
		}
	}
	return out
}

func TestWithoutASandboxNothingIsRun(t *testing.T) {
	s := written(t)
	mark := filepath.Join(s.Dir, "work/tree/ran")
	g := gates()
	g.available = func() error { return fault.New(fault.Denied, "commands cannot be confined on this system") }
	got := inspect(t, g, recipe.Gate{Command: "touch ran", Severity: "info"}, s)
	if len(got) != 1 || got[0].Code != "GATE_UNCONFINED" || got[0].Severity != Blocker || !strings.Contains(got[0].Message, "not run") {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("it ran")
	}
}

func TestGatesEndWithTheirCaller(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, gate := range []recipe.Gate{{Name: "a", Command: "sleep 1000"}, {Name: "a", Uses: "markdown"}} {
		if got, err := gates().Inspect(ctx, gate, written(t)); err == nil || len(got) != 0 {
			t.Errorf("%+v %v", got, err)
		}
	}
	late, stop := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer stop()
	if got, err := gates().Inspect(late, recipe.Gate{Name: "a", Command: "true"}, written(t)); err == nil || len(got) != 0 {
		t.Errorf("%+v %v", got, err)
	}
}

func TestBuiltInGatesLookAtTheRun(t *testing.T) {
	codes := func(issues []Issue) string {
		var out []string
		for _, i := range issues {
			out = append(out, i.Code)
		}
		return strings.Join(out, " ")
	}
	for _, c := range []struct {
		gate  recipe.Gate
		files []string
		want  string
	}{
		{recipe.Gate{Uses: "markdown"}, nil, ""},
		{recipe.Gate{Uses: "markdown"}, []string{"work/tree/docs/a.md", "# A\n\n<script>\n"}, "MD_HTML_HARMFUL"},
		{recipe.Gate{Uses: "links"}, nil, ""},
		{recipe.Gate{Uses: "links"}, []string{"work/tree/docs/a.md", "[x](gone.md) [y](../README.md)\n"}, "LINK_MISSING"},
		{recipe.Gate{Uses: "paths"}, nil, ""},
		{recipe.Gate{Uses: "paths", With: map[string]string{"allow": "src/**, *.md"}}, nil, "PATH_OUTSIDE"},
		{recipe.Gate{Uses: "limits"}, nil, ""},
		{recipe.Gate{Uses: "limits", With: map[string]string{"lines_per_file": "2"}}, nil, "LIMIT_LINES"},
		{recipe.Gate{Uses: "secrets"}, nil, ""},
		{recipe.Gate{Uses: "secrets"}, []string{"work/tree/docs/a.md", "key: very-secret-value-1\n"}, "SECRET"},
		{recipe.Gate{Uses: "secrets"}, []string{"work/tree/docs/a.md", "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345\n"}, "SECRET"},
		{recipe.Gate{Uses: "secrets"}, []string{"work/tree/docs/a.md", "token sha256: 9dfb1406f3ec56c177fc8c1c42dc94168135eb54ae4bdf6e177f348b3bbe9534\napi_key = 5b768359d0ebffcbd2a61b95fcfc57e5680ff115\n"}, ""},
		{recipe.Gate{Uses: "secrets"}, []string{"artifacts/body.md", "very-secret-value-1\n"}, "SECRET"},
	} {
		g := gates()
		g.Limits = recipe.Limits{Files: 5, LinesPerFile: 100}
		if got := codes(inspect(t, g, c.gate, written(t, c.files...))); got != c.want {
			t.Errorf("%s %v: %s, want %s", c.gate.Uses, c.files, got, c.want)
		}
	}
	for _, c := range []struct {
		gate   recipe.Gate
		remove string
		want   string
	}{
		{recipe.Gate{Uses: "beauty"}, "x", "no built-in gate"},
		{recipe.Gate{Uses: "markdown"}, "work/tree", "work/tree"},
		{recipe.Gate{Uses: "markdown"}, "artifacts/docs.patch", "docs.patch"},
		{recipe.Gate{Uses: "limits", With: map[string]string{"files": "many"}}, "x", "must be a number"},
		{recipe.Gate{Command: "true", With: map[string]string{"a-b": "x"}}, "x", "not a name of a variable"},
	} {
		s := written(t)
		os.RemoveAll(filepath.Join(s.Dir, c.remove))
		if got, err := gates().Inspect(t.Context(), c.gate, s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v %v", c.gate, got, err)
		}
	}
}
