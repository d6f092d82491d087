package mcp

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ramet/internal/core/trust"
	"ramet/internal/launch/sandbox"
	"ramet/internal/testkit"
)

// role makes the test binary a server: a good one, or a bad one of some kind.
const role = "MCP_TEST_ROLE"

func TestMain(m *testing.M) {
	sandbox.Main()
	switch r := os.Getenv(role); r {
	case "":
		os.Exit(m.Run())
	case "good":
		if log := os.Getenv("MCP_TEST_LOG"); log != "" {
			note(log, "started")
		}
		if err := good().Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		bad(r)
	}
}

func note(file, what string) {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		fmt.Fprintln(f, what)
		f.Close()
	}
}

type sleepArgs struct {
	Text string `json:"text,omitempty"` // a file to write when the call begins
}

type echoArgs struct {
	Text string `json:"text" jsonschema:"what to say"`
}

// good is a server with a few tools.
func good() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "good", Version: "1"}, nil)
	say := func(format string, args ...any) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf(format, args...)}}}
	}
	sdk.AddTool(s, &sdk.Tool{Name: "echo", Description: "Says it again"}, func(_ context.Context, _ *sdk.CallToolRequest, a echoArgs) (*sdk.CallToolResult, any, error) {
		return say("echo: %s", a.Text), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "env", Description: "Shows its environment"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return say("%s", strings.Join(os.Environ(), "\n")), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "write"}, func(_ context.Context, _ *sdk.CallToolRequest, a echoArgs) (*sdk.CallToolResult, any, error) {
		err := os.WriteFile(a.Text, []byte("x"), 0o600)
		return say("wrote %s: %v", a.Text, err), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "die"}, func(_ context.Context, _ *sdk.CallToolRequest, a echoArgs) (*sdk.CallToolResult, any, error) {
		note(a.Text, "died")
		fmt.Fprintln(os.Stderr, "goodbye")
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			self.Kill()
		}
		select {}
	})
	sdk.AddTool(s, &sdk.Tool{Name: "fail"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return nil, nil, fmt.Errorf("it is raining")
	})
	sdk.AddTool(s, &sdk.Tool{Name: "sleep"}, func(ctx context.Context, _ *sdk.CallToolRequest, a sleepArgs) (*sdk.CallToolResult, any, error) {
		if a.Text != "" {
			note(a.Text, "begun")
		}
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	sdk.AddTool(s, &sdk.Tool{Name: "picture"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.ImageContent{MIMEType: "image/png", Data: []byte("png")}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "long"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return say("%s", strings.Repeat("0123456789", 20_000)), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "confirm"}, func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		if len(r.Params.InputResponses) == 0 {
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"q": &sdk.ElicitParams{Message: "Really?", RequestedSchema: json.RawMessage(
				`{"type":"object","properties":{"sure":{"type":"boolean"},"times":{"type":"integer","description":"how often"}},"required":["sure"]}`)}}}, nil, nil
		}
		out := r.Params.InputResponses["q"].(*sdk.ElicitResult)
		return say("%s %v", out.Action, out.Content), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "offer"}, func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		if len(r.Params.InputResponses) == 0 {
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"q": &sdk.ElicitParams{Message: "Delete all?", RequestedSchema: json.RawMessage(
				`{"type":"object","properties":{"sure":{"type":"boolean"},"why":{"type":"string"}}}`)}}}, nil, nil
		}
		out := r.Params.InputResponses["q"].(*sdk.ElicitResult)
		return say("%s %v", out.Action, out.Content), nil, nil
	})
	s.AddResource(&sdk.Resource{URI: "note://one", Name: "one", Description: "The first note"}, func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, Text: "remember the milk"}}}, nil
	})
	s.AddPrompt(&sdk.Prompt{Name: "greet", Description: "Greets", Arguments: []*sdk.PromptArgument{{Name: "who", Required: true}, {Name: "how"}}},
		func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: fmt.Sprintf("Greet %s, %s.", r.Params.Arguments["who"], r.Params.Arguments["how"])}}}}, nil
		})
	return s
}

// bad is a server that does something wrong. It speaks by hand.
func bad(kind string) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	out := bufio.NewWriter(os.Stdout)
	answer := func(id json.RawMessage, result string) {
		fmt.Fprintf(out, `{"result":%s,"jsonrpc":"2.0","id":%s}`+"\n", result, id)
		out.Flush()
	}
	if kind == "banner" {
		fmt.Fprintf(out, "Welcome!\n[2026-01-01] starting\n{\"level\":30}\n\n \x1b[32mserver is running\x1b[0m on stdio\n")
	}
	if kind == "exits" {
		fmt.Fprintln(os.Stderr, "Error: Cannot find module 'x'")
		os.Exit(1)
	}
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(in.Bytes(), &m) != nil {
			continue
		}
		switch m.Method {
		case "server/discover":
			fmt.Fprintf(out, `{"error":{"code":-32601,"message":"Method not found"},"jsonrpc":"2.0","id":%s}`+"\n", m.ID)
			out.Flush()
		case "initialize":
			version := "2025-06-18"
			switch kind {
			case "silent":
				continue
			case "future":
				version = "2999-01-01"
			case "old":
				version = "2024-11-05"
			}
			answer(m.ID, `{"protocolVersion":"`+version+`","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"bad","version":"1"}}`)
		case "tools/list":
			answer(m.ID, `{"tools":`+badTools(kind)+`}`)
			if kind == "storm" {
				for range 20_000 {
					fmt.Fprintln(out, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
				}
				out.Flush()
			}
		case "ping":
			answer(m.ID, `{}`)
		case "tools/call":
			switch kind {
			case "huge":
				answer(m.ID, `{"content":[{"type":"text","text":"`+strings.Repeat("x", 50<<20)+`"}]}`)
			case "mute":
			case "garbled":
				answer(m.ID, `{"content":[{"type":"image","mimeType":"image/png","data":"no base64"}]}`)
			default:
				fmt.Fprintln(out, "calling now...")
				fmt.Fprintln(out, "[info] calling now\n{\"level\":\"info\",\"msg\":\"calling\"}\n[]\n[1]\n{}\n{\"jsonrpc\":\"2.0\"}")
				answer(m.ID, `{"content":[{"type":"text","text":"ok"}]}`)
			}
		}
	}
}

func badTools(kind string) string {
	one := func(name, schema string) string {
		n, _ := json.Marshal(name)
		return fmt.Sprintf(`{"name":%s,"description":"does %s","inputSchema":%s}`, n, strings.ReplaceAll(name, "\n", " "), schema)
	}
	var all []string
	switch kind {
	case "many":
		for i := range 6000 {
			all = append(all, one(fmt.Sprintf("tool_%d", i), `{"type":"object"}`))
		}
	case "names":
		all = []string{one("a\nb", `{}`), one("a b", `{}`), one("a_b", `{}`), one(strings.Repeat("x", 100), `{}`), one(strings.Repeat("x", 101), `{}`), one("", `{}`), one("ünï", `{}`)}
	case "schemas":
		all = []string{one("yes", `true`), one("null", `null`), one("big", `{"description":"`+strings.Repeat("x", 40<<10)+`"}`), one("self", `{"properties":{"a":{"$ref":"#"}}}`)}
	default:
		all = []string{one("go", `{"type":"object"}`)}
	}
	return "[" + strings.Join(all, ",") + "]"
}

// served is a pool with a server that plays a role.
func served(t *testing.T, kind string, change ...func(*Server)) *Pool {
	t.Helper()
	exe := testkit.Must(os.Executable())(t)
	s := Server{Name: "srv", Command: []string{exe}, Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH"), role + "=" + kind}, Timeout: time.Minute}
	for _, c := range change {
		c(&s)
	}
	p := &Pool{Servers: []Server{s}, Cache: filepath.Join(t.TempDir(), "cache"), Version: "test"}
	t.Cleanup(p.Close)
	return p
}

func ask(t *testing.T, p *Pool) List {
	t.Helper()
	l := testkit.Must(p.Ask(t.Context(), "srv"))(t)
	return l
}

func call(t *testing.T, p *Pool, name, args string) Result {
	t.Helper()
	r := testkit.Must(p.Call(t.Context(), "srv", name, json.RawMessage(args)))(t)
	return r
}

func filtered(in string, most int) string {
	out, err := io.ReadAll(newLines(io.NopCloser(strings.NewReader(in)), most))
	if err != nil {
		return "error: " + err.Error()
	}
	return string(out)
}

func TestOnlyMessagesAreHandedOn(t *testing.T) {
	const one, two = `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n", `{"jsonrpc":"2.0","method":"x"}` + "\n"
	got := filtered("Welcome to my server!\n\n"+one+"\x1b[31mdebug\x1b[0m\n[info] ready\n{\"level\":30}\n[]\n[1]\n{\"id\":1,\"result\":{}}\n"+two+"["+one[:len(one)-1]+"]\n{\"cut", 1000)
	if got != one+two+"["+one[:len(one)-1]+"]\n" {
		t.Errorf("%q", got)
	}
}

func TestALongAnswerBecomesAShortOne(t *testing.T) {
	long := strings.Repeat("x", 300_000)
	const next = `{"jsonrpc":"2.0","method":"next"}` + "\n"
	for _, form := range []string{
		`{"jsonrpc":"2.0","id":7,"result":{"text":"%s"}}`,
		`{"result":{"text":"%s"},"jsonrpc":"2.0","id":7}`,
		`{"result":{"text":"%s","id":3},"id":7,"jsonrpc":"2.0"}`,
		`{"id": 7, "result":{"id":1,"text":"%s"}}`,
	} {
		got := filtered(fmt.Sprintf(form, long)+"\n"+next, 100_000)
		if !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":7,"error":`) || !strings.HasSuffix(got, "\n"+next) || len(got) > 500 {
			t.Errorf("%s: %.200q", form, got)
		}
	}
	if got := filtered(`{"method":"`+long+"\"}\n"+next, 100_000); got != next {
		t.Errorf("%.200q", got)
	}
}

func FuzzLinesAreWholeMessages(f *testing.F) {
	f.Add("a\n{}\n[", 8)
	f.Fuzz(func(t *testing.T, s string, most int) {
		if most < 1 || most > 1<<20 {
			return
		}
		for line := range strings.Lines(filtered(s, most)) {
			if !strings.HasSuffix(line, "\n") || !strings.ContainsAny(strings.TrimSpace(line)[:1], "{[") {
				t.Fatalf("%q", line)
			}
		}
	})
}

func TestSchemasBecomeOnesThatEveryVendorTakes(t *testing.T) {
	for _, c := range []struct{ in, want, note string }{
		{`true`, `{"type":"object"}`, "not an object"},
		{`null`, `{"type":"object"}`, ""},
		{`[]`, `{"type":"object"}`, "not an object"},
		{`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, `{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`, ""},
		{`{"properties":{"a":{"$ref":"#/$defs/A","description":"d"}},"$defs":{"A":{"type":"integer"}},"$schema":"x"}`, `{"properties":{"a":{"description":"d","type":"integer"}},"type":"object"}`, ""},
		{`{"properties":{"a":{"$ref":"#/definitions/A~1b"}},"definitions":{"A/b":{"$ref":"#/definitions/C"},"C":{"enum":[1]}}}`, `{"properties":{"a":{"enum":[1]}},"type":"object"}`, ""},
		{`{"properties":{"n":{"$ref":"#/$defs/N"}},"$defs":{"N":{"type":"object","properties":{"next":{"$ref":"#/$defs/N"}}}}}`, `{"properties":{"n":{"properties":{"next":{}},"type":"object"}},"type":"object"}`, "refers to itself"},
		{`{"properties":{"n":{"$ref":"https://example.com/x.json"}}}`, `{"properties":{"n":{}},"type":"object"}`, "not in it"},
		{`{"type":"string","properties":3}`, `{"type":"object"}`, ""},
	} {
		var given any
		testkit.OK(t, json.Unmarshal([]byte(c.in), &given))
		got, note, err := schemaOf(given)
		if err != nil || string(got) != c.want || (c.note == "") != (note == "") || !strings.Contains(note, c.note) {
			t.Errorf("%s: %s (%q, %v)", c.in, got, note, err)
		}
	}
}

func TestSchemasAreBounded(t *testing.T) {
	long := map[string]any{"description": strings.Repeat("x", mostSchema)}
	if _, _, err := schemaOf(long); err == nil {
		t.Error("a long one is taken")
	}
	// Each level names the next twice: small, and huge when put in place.
	defs := map[string]any{}
	for i := range 30 {
		next := map[string]any{"$ref": "#/$defs/d" + string(rune('A'+i+1))}
		defs["d"+string(rune('A'+i))] = map[string]any{"properties": map[string]any{"l": next, "r": next}}
	}
	bomb := map[string]any{"$defs": defs, "properties": map[string]any{"a": map[string]any{"$ref": "#/$defs/dA"}}}
	if _, _, err := schemaOf(bomb); err == nil {
		t.Error("a bomb is taken")
	}
}

func TestProjectsNameServers(t *testing.T) {
	got := testkit.Must(ParseProject([]byte(`{"mcpServers": {
		"My Server!": {"command": "npx", "args": ["-y", "x"], "env": {"A": "b"}},
		"my_server": {"type": "http", "url": "https://x"},
		"old": {"type": "sse", "url": "https://x"},
		"none": {}, "odd": {"command": 3}, "__": {"command": "a"}, "file": {"url": "file:///etc"}
	}, "other": 1}`)))(t)
	var said []string
	for _, n := range got {
		said = append(said, n.Name+":"+map[bool]string{true: "yes", false: "no"}[n.Why == ""])
	}
	if s := strings.Join(said, " "); s != "my_server:yes server:yes file:no my_server2:yes none:no odd:no old:no" {
		t.Error(s)
	}
	if _, err := ParseProject([]byte(`{"mcpServers": []}`)); err == nil {
		t.Error("a list is taken")
	}
	if got, err := ParseProject([]byte(" \n")); err != nil || got != nil {
		t.Error(got, err)
	}
}

func TestVariablesAreExpanded(t *testing.T) {
	lookup := func(n string) (string, bool) {
		v, ok := map[string]string{"A": "1", "EMPTY": ""}[n]
		return v, ok
	}
	for in, want := range map[string]string{
		"$A ${A}x $": "1 1x $", "${B:-two}": "two", "${A:-two}": "1", "a$B-c": "a-c [B]", "${EMPTY:-e}$EMPTY": "e", "${": "${", "$1": "$1",
	} {
		got, missing := Expand(in, lookup)
		if len(missing) > 0 {
			got += " [" + strings.Join(missing, " ") + "]"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// What a project's server loads counts in trust with its bytes, also where a variable names it.
func TestTrustCoversTheFilesOfAServer(t *testing.T) {
	project := t.TempDir()
	for name, text := range map[string]string{ProjectFile: `{"mcpServers":{"a":{"command":"node","args":["dist/server"],"env":{"NODE_OPTIONS":"--require ./early.js"}}}}`,
		"dist/server.js": "", "early.js": "", "other.js": ""} {
		file := filepath.Join(project, name)
		testkit.OK(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)))
	}
	ground := testkit.Must(trust.Open(project))(t)
	defer ground.Close()
	found, err := Source().Find(ground)
	var paths []string
	for _, thing := range found {
		paths = append(paths, thing.Path)
	}
	if got := strings.Join(paths, " "); err != nil || got != "dist/server.js early.js" {
		t.Errorf("%q %v", got, err)
	}
}

// A link that is swapped after the check starts nothing else: what was checked is started, in the
// project or elsewhere.
func TestTheProgramThatWasCheckedIsStarted(t *testing.T) {
	for _, goodIn := range []string{"", t.TempDir()} {
		project := t.TempDir()
		link, good, evil := filepath.Join(project, "x"), filepath.Join(cmp.Or(goodIn, project), "good"), filepath.Join(project, "evil")
		for _, name := range []string{good, evil} {
			testkit.OK(t, os.WriteFile(name, []byte("#!/bin/sh\ntouch ran-"+filepath.Base(name)+"\n"), 0o700))
		}
		testkit.OK(t, os.Symlink(good, link))
		s := Server{Name: "s", Project: true, Command: []string{"./x"}, Dir: project, Env: os.Environ(), Check: func(file string, _ []string) error {
			if file != good {
				t.Errorf("%s is checked", file)
			}
			return errors.Join(os.Remove(link), os.Symlink(evil, link))
		}}
		p := &Pool{Cache: t.TempDir(), Servers: []Server{s}}
		if _, err := p.connect(t.Context(), t.Context(), s); err == nil {
			t.Error("a script answers")
		}
		_, ranGood := os.Stat(filepath.Join(project, "ran-good"))
		_, ranEvil := os.Stat(filepath.Join(project, "ran-evil"))
		if ranGood != nil || ranEvil == nil {
			t.Errorf("good: %v, evil: %v", ranGood, ranEvil)
		}
		testkit.Attack(t, "programs", fmt.Sprintf("swap a link after the check, target in the project %t", goodIn == ""))
	}
}
