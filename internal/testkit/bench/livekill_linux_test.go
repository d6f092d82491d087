package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/kernel"
	"ramet/internal/model/llm"
	"ramet/internal/store"
	"ramet/internal/tools/local"
	"ramet/internal/turn/tool"
)

// family makes n agents: one at the top, a hundred below it that have said
// something, and the others below these. The first is the top.
func family(b *testing.B, s *store.Store, n int) []id.Agent {
	b.Helper()
	top := child(b, s)
	out := []id.Agent{top}
	for _, lead := range fork(b, s, top, max(1, min(100, n/2)), nameless) {
		discuss(b, s, lead.ID, 20)
		out = append(out, lead.ID)
		for _, a := range fork(b, s, lead.ID, min(99, n-len(out)), nameless) {
			out = append(out, a.ID)
		}
	}
	return out
}

// stubborn is a command whose processes do not want to end: they ignore the polite
// signals, leave their parent by a double fork and their session. Each says when it
// is there.
const stubborn = `trap '' TERM INT HUP
(setsid sh -c 'trap "" TERM INT HUP; echo up > "$PIPE"; while :; do sleep 1000; done' &)
( (trap '' TERM INT HUP; echo up > "$PIPE"; while :; do sleep 1000; done) & ) &
echo up > "$PIPE"
while :; do sleep 1000; done`

// A kill ends every process of every tool.
func BenchmarkKillOfStubbornTools(b *testing.B) {
	const trees, each = 64, 3
	var took times
	left := 0
	for b.Loop() {
		s, _ := engines[0].make(b)
		dir := must[string](b)(filepath.EvalSymlinks(b.TempDir()))
		pipe := filepath.Join(dir, "pipe")
		check(b, syscall.Mkfifo(pipe, 0o600))
		up := must[*os.File](b)(os.OpenFile(pipe, os.O_RDWR, 0)) // so that it has no end
		mark := "RAMET_BENCH_TREE=" + string(id.NewAgent())
		o := ports(s, llm.Func(func(context.Context, llm.Request) iter.Seq[llm.Event] {
			args, _ := json.Marshal(map[string]string{"command": stubborn})
			return plays(llm.ToolCalls, llm.Part{Type: llm.ToolCall, CallID: "call_1", Name: "bash", Args: args})
		}))
		o.Tools = func(agent.Agent) (tool.Box, error) {
			tools, err := local.New(local.Options{Root: dir, Env: []string{"PATH=" + os.Getenv("PATH"), "PIPE=" + pipe, mark}})
			if err != nil {
				return nil, err
			}
			return tools.Tools(), nil
		}
		k := start(b, o)
		top := child(b, s)
		for _, a := range fork(b, s, top, trees, nameless) {
			must[*kernel.Turn](b)(k.Exec(b.Context(), a.ID, kernel.Prompt{Text: "Be stubborn."}))
		}
		lines := bufio.NewScanner(up)
		for range trees * each {
			if !lines.Scan() {
				b.Fatal("the pipe ended: ", lines.Err())
			}
		}
		if n := marked(b, mark); n < trees*each {
			b.Fatalf("found %d processes of %d", n, trees*each)
		}
		took.of(func() {
			must[registry.Killed](b)(k.Kill(b.Context(), registry.Kill{Agent: top, Cascade: true, Reason: "enough"}))
		})
		left = max(left, marked(b, mark))
		k.Stop()
		check(b, up.Close())
	}
	if left > 0 {
		b.Errorf("%d processes are left", left)
	}
	atMost(b, fmt.Sprintf("kill of %d stubborn tool trees, %d processes left", trees, left), "s", took.at(0.5)/1e9, 5)
}

// marked counts the processes whose environment holds an entry.
func marked(b *testing.B, entry string) int {
	b.Helper()
	n := 0
	for _, file := range must[[]string](b)(filepath.Glob("/proc/[0-9]*/environ")) {
		env, err := os.ReadFile(file)
		if err == nil && bytes.Contains(env, []byte(entry)) { // else it ended meanwhile
			n++
		}
	}
	return n
}
