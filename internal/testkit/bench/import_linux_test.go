package bench

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The limits of an import, of a session of Claude Code.
const (
	importSeconds = 5.0   // of 100 MB
	importMemory  = 200.0 // MB, of 2 GB
)

// longSession writes a session of about so many bytes: prompts, calls, outputs, answers.
func longSession(b *testing.B, path string, size int) {
	b.Helper()
	f := must[*os.File](b)(os.Create(path))
	defer f.Close()
	out := bufio.NewWriterSize(f, 1<<20)
	output, up := strings.Repeat("a line of some output\\n", 300), "null"
	for n, written := 0, 0; written < size; n++ {
		id := fmt.Sprintf("%08x", n)
		head := fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"cwd":"/x","sessionId":"long","version":"2.1.0","uuid":"%s","timestamp":"2026-01-02T03:04:05.000Z",`, up, id)
		line := ""
		switch n % 4 {
		case 0:
			line = `"type":"user","message":{"role":"user","content":"please look at it"}}`
		case 1:
			line = fmt.Sprintf(`"type":"assistant","message":{"id":"m%d","role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"Bash","input":{"command":"ls"}}]}}`, n, n)
		case 2:
			line = fmt.Sprintf(`"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"%s"}]}}`, n-1, output)
		case 3:
			line = fmt.Sprintf(`"type":"assistant","message":{"id":"m%d","role":"assistant","content":[{"type":"text","text":"I looked at it."}]}}`, n)
		}
		written += must[int](b)(out.WriteString(head + line + "\n"))
		up = `"` + id + `"`
	}
	check(b, out.Flush())
}

// BenchmarkImport imports a session of 100 MB, and one of 2 GB.
func BenchmarkImport(b *testing.B) {
	s := newShell(b)
	dir := must[string](b)(os.MkdirTemp(workshop, "import-*"))
	defer os.RemoveAll(dir)
	run := func(size int, db string) (time.Duration, float64) {
		path := filepath.Join(dir, db+".jsonl")
		longSession(b, path, size)
		defer os.Remove(path)
		// By a small process: this one may have gigabytes, which a child counts as its own until it is another program.
		got := apart[used](b, readings, errand{Path: s.binary, Args: []string{"--db", filepath.Join(dir, db+".db"), "import", path}, Dir: s.project, Env: s.env()})
		return got.Wall, float64(got.RSS) / 1e6
	}
	var took time.Duration
	var memory float64
	for b.Loop() {
		took, _ = run(scaled(100<<20), "small")
		_, memory = run(scaled(2<<30), "large")
		for _, db := range []string{"small", "large"} {
			check(b, os.Remove(filepath.Join(dir, db+".db")))
		}
	}
	atMost(b, "import of a session of 100 MB", "s", took.Seconds(), importSeconds)
	atMost(b, "import of a session of 2 GB, memory", "MB", memory, importMemory)
}
