package local_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ramet/internal/model/llm"
	"ramet/internal/tools/local"
	"ramet/internal/turn/tool"
)

// A box finds the tool of a call as a model made it, and says in words what is wrong with
// one that cannot be run.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("buy milk\n"), 0o600); err != nil {
		panic(err)
	}
	tools, err := local.New(local.Options{Root: dir})
	if err != nil {
		panic(err)
	}
	box := tools.Tools()

	found, _, ok := box.Find(llm.Part{Type: llm.ToolCall, Name: "read", Args: []byte(`{"path": "notes.txt"}`)})
	fmt.Println(found.Spec().Name, found.Spec().Access, ok)
	answer, err := found.Run(ctx, tool.Call{Name: "read", Args: found.Args, Grant: tool.Free, Output: func([]byte) {}})
	fmt.Println(strings.Contains(answer.Text, "buy milk"), answer.IsError, err)

	_, refusal, ok := box.Find(llm.Part{Type: llm.ToolCall, Name: "raed", Args: []byte(`{}`)})
	fmt.Println(ok, strings.HasPrefix(refusal.Text, `There is no tool "raed". Did you mean "read"?`))
	// Output:
	// read reads true
	// true false <nil>
	// false true
}
