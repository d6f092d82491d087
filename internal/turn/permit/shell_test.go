package permit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "ramet/internal/testkit"
)

// A real shell runs nothing of a permitted line but what was permitted, and writes
// no file. Lines are put together from what makes shells and parsers disagree.
func TestTheShellRunsNothingElse(t *testing.T) {
	for _, name := range []string{"bash", "sh"} {
		t.Run(name, func(t *testing.T) { runsNothingElse(t, name) })
	}
}

func runsNothingElse(t *testing.T, name string) {
	shell, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	bin, work := t.TempDir(), t.TempDir()
	trace := filepath.Join(t.TempDir(), "trace")
	for _, name := range []string{"go", "rm", "test2", "x", "env"} {
		script := "#!" + shell + "\necho " + name + " \"$1\" >>" + trace + "\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	rule := rules(t, "bash(go test *)")
	pieces := []string{"go test", "go test", "go test", " ", " ", " ", "rm x", "x", "&&", "||", ";", "|", "|&", "&", "\n", "\t", "$(rm x)", "`rm x`", "<(rm x)",
		`"`, `'`, `\`, "#", "<<E", "\nE\n", ">f", ">>f", "&>f", ">&f", "2>&1", ">/dev/null", "<&-", "{", "}", "(", ")", "$X", "${X}", `"$X"`, "${X:-`rm x`}",
		"$'", "*", "!", "A=1", "A=$X", "$((", "))", "[[", "]]", "if", "then", "fi", ";;", "\\\n", "~", "{a,b}", "env", "\u00a0", "ü", "${", "=(", "coproc", "time",
		"rm", "$", "<", ">", "`", "?", "[", "]", "=", "-", "1", "+", "@", "%", ":", ",", "^", "/", "E", "\\\\", "\"\"", "''"}
	ran := 0
	rapid.Check(t, func(t *rapid.T) {
		line := "go test " + strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 9).Draw(t, "pieces"), "")
		if !permits(rule, "bash", line) {
			return
		}
		ran++
		cmd := exec.Command(shell, "-c", line+"\nwait")
		cmd.Dir = work
		cmd.Env = []string{"PATH=" + bin, "X=; rm x `rm x`", "LC_ALL=C.UTF-8"}
		cmd.Run() // a line may fail; what counts is what it did
		out, _ := os.ReadFile(trace)
		os.Remove(trace)
		if strings.ReplaceAll(string(out), "go test\n", "") != "" {
			t.Fatalf("%q ran:\n%s", line, out)
		}
		if made, _ := os.ReadDir(work); len(made) > 0 {
			t.Fatalf("%q made %v", line, made)
		}
	})
	if ran == 0 {
		t.Error("no line was permitted: this tests nothing")
	}
	t.Log(ran, "lines ran")
}
