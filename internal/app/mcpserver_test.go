package app_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpServer is an MCP server for scripts: mcpserver [NAME]. It notes its starts in the file
// that MCP_LOG names.
func mcpServer() {
	note := func(what string) {
		f, err := os.OpenFile(os.Getenv("MCP_LOG"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			fmt.Fprintln(f, what)
			f.Close()
		}
	}
	note("started")
	fmt.Println("welcome to this server") // as some do
	s := sdk.NewServer(&sdk.Implementation{Name: "scripted", Version: "1"}, nil)
	type args struct {
		Text string `json:"text,omitempty"`
	}
	add := func(name, about string, do func(args) string) {
		sdk.AddTool(s, &sdk.Tool{Name: name, Description: about}, func(_ context.Context, _ *sdk.CallToolRequest, a args) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: do(a)}}}, nil, nil
		})
	}
	add("echo", "Says it again", func(a args) string { note("called"); return "echo: " + a.Text })
	add("env", "Shows its environment", func(args) string { return strings.Join(os.Environ(), "\n") })
	add("write", "Writes a file", func(a args) string { return fmt.Sprint("wrote: ", os.WriteFile(a.Text, []byte("x"), 0o600)) })
	add("read", "Reads a file", func(a args) string { b, err := os.ReadFile(a.Text); return fmt.Sprint(string(b), err) })
	add("die", "Dies", func(args) string { note("died"); dieNow(); select {} })
	if len(os.Args) > 1 && os.Args[1] == "library" {
		s.AddResource(&sdk.Resource{URI: "note://one", Name: "one"}, func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, Text: "remember the milk"}}}, nil
		})
		s.AddPrompt(&sdk.Prompt{Name: "greet", Arguments: []*sdk.PromptArgument{{Name: "who", Required: true}}},
			func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
				return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "Greet " + r.Params.Arguments["who"] + " warmly."}}}}, nil
			})
	}
	if len(os.Args) > 1 && os.Args[1] == "many" {
		for i := range 60 {
			add(fmt.Sprintf("thing_%d", i), "does a thing", func(args) string { return "thing" })
		}
		add("sendFax", "Sends a facsimile to a number", func(a args) string { return "faxed " + a.Text })
	}
	if err := s.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}

// dieNow ends this process as a kill from outside would.
func dieNow() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		self.Kill()
	}
}
