package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"ramet/internal/base/shape"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/model/llm"
	"ramet/internal/operation/control"
	"ramet/internal/operation/session"
	"ramet/internal/store"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/tool"
)

// scribble is a tool that changes one file of a folder.
type scribble struct {
	root string
	n    *atomic.Int64
}

func (scribble) Spec() tool.Spec {
	return tool.Spec{Name: "scribble", Description: "Writes.", Access: tool.Writes, Args: shape.Object()}
}

func (s scribble) Run(context.Context, tool.Call) (tool.Answer, error) {
	n := s.n.Add(1)
	path := filepath.Join(s.root, "d00", fmt.Sprintf("e%02d", n%10), fmt.Sprintf("f%02d.go", n%100))
	return tool.Answer{Text: "written"}, os.WriteFile(path, source(int(n)), 0o644)
}

// By how much a step is delayed because changes of files are found: whole turns with states and
// without, in a folder of 10,000 files, with a model that takes a quarter of a second as vendors do at least.
func BenchmarkStepWithStates(b *testing.B) {
	const (
		steps = 10
		pace  = 250 * time.Millisecond
	)
	root := committed(b, max(1000, scaled(10_000)))
	s, place := engines[0].make(b)
	var left atomic.Int64
	model := llm.Func(func(context.Context, llm.Request) iter.Seq[llm.Event] {
		time.Sleep(pace) // it thinks
		if left.Add(-1) > 0 {
			return plays(llm.ToolCalls, llm.Part{Type: llm.ToolCall, CallID: fmt.Sprint("c", left.Load()), Name: "scribble", Args: json.RawMessage(`{}`)})
		}
		return says("All of it is written.")
	})
	w := session.Over(store.Clean(s, nil), control.Folder{}, nil)
	w.Place = config.WorkspaceLocation{Project: root, DB: place}
	took := map[bool]*times{true: {}, false: {}}
	var writes atomic.Int64
	kernel := func(states bool) func() {
		o := ports(s, model)
		o.Tools = func(agent.Agent) (tool.Box, error) { return tool.Box{scribble{root, &writes}}, nil }
		if states {
			o.Files = func(a agent.Agent) loop.Files { return w.Files().FileStates(a, root) }
		}
		k := start(b, o)
		a := child(b, s)
		return func() {
			left.Store(steps)
			took[states].of(func() { turn(b, k, a, "Go on.") })
		}
	}
	with, without := kernel(true), kernel(false)
	b.Cleanup(w.Files().EndFileStates)
	with() // the first look at the folder is waited for
	*took[true] = nil
	for b.Loop() {
		with()
		without()
	}
	delay := (took[true].at(0.5) - took[false].at(0.5)) / steps / 1e6
	atMost(b, "states of files: a step is delayed by", "ms", delay, 2)
}
