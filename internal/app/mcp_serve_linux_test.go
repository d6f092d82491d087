package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"ramet/internal/testkit"
)

// toolbox is ramet's tools, as a client of another program has them.
type toolbox struct {
	t       testing.TB
	ctx     context.Context
	session *sdk.ClientSession
	schemas map[string]*jsonschema.Schema
}

// connect connects a client, and reads the schemas of all answers.
func connect(t testing.TB, over sdk.Transport) *toolbox {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	session := testkit.Must(sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, over, nil))(t)
	t.Cleanup(func() { session.Close() })
	b := &toolbox{t, ctx, session, map[string]*jsonschema.Schema{}}
	list, err := session.ListTools(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		c := jsonschema.NewCompiler()
		testkit.OK(t, c.AddResource("tool:"+tool.Name, tool.OutputSchema))
		if b.schemas[tool.Name], err = c.Compile("tool:" + tool.Name); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// call calls a tool; its answer must fit the tool's output schema.
func (b *toolbox) call(name, args string) (answer []byte, refusal string) {
	b.t.Helper()
	got, err := b.session.CallTool(b.ctx, &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
	if err != nil {
		b.t.Fatalf("%s %s: %v", name, args, err)
	}
	text := got.Content[0].(*sdk.TextContent).Text
	if got.IsError {
		return nil, text
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		b.t.Fatalf("%s: %v: %s", name, err, text)
	}
	if err := b.schemas[name].Validate(value); err != nil {
		b.t.Fatalf("%s answers what its schema does not say: %v\n%s", name, err, text)
	}
	same, err := json.Marshal(got.StructuredContent)
	if err != nil || !bytes.Equal(compact(b.t, same), compact(b.t, []byte(text))) {
		b.t.Fatalf("%s: %v: structured %s\ntext %s", name, err, same, text)
	}
	return []byte(text), ""
}

// compact is JSON with its keys in order.
func compact(t testing.TB, text []byte) []byte {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	out := testkit.Must(json.Marshal(v))(t)
	return out
}

// into calls a tool that must answer.
func (b *toolbox) into(name, args string, out any) {
	b.t.Helper()
	answer, refusal := b.call(name, args)
	if refusal != "" {
		b.t.Fatalf("%s %s: %s", name, args, refusal)
	}
	if err := json.Unmarshal(answer, out); err != nil {
		b.t.Fatalf("%s: %v", answer, err)
	}
}

// refused calls a tool that must not answer.
func (b *toolbox) refused(code, name, args string) {
	b.t.Helper()
	if answer, refusal := b.call(name, args); !strings.HasPrefix(refusal, "error["+code+"]") {
		b.t.Errorf("%s %s: %s%s, want %s", name, args, answer, refusal, code)
	}
}

func (b *toolbox) resource(uri string, out any) {
	b.t.Helper()
	got, err := b.session.ReadResource(b.ctx, &sdk.ReadResourceParams{URI: uri})
	if err != nil {
		b.t.Fatalf("%s: %v", uri, err)
	}
	if got.CacheScope != "private" {
		b.t.Errorf("%s may be kept for others: %q", uri, got.CacheScope)
	}
	if err := json.Unmarshal([]byte(got.Contents[0].Text), out); err != nil {
		b.t.Fatalf("%s: %v", uri, err)
	}
}

// over starts `ramet mcp serve` for a client.
func (s *stage) over(env ...string) sdk.Transport {
	cmd := s.command("mcp", "serve")
	cmd.Env = append(cmd.Env, env...)
	return &sdk.CommandTransport{Command: cmd}
}

type born struct {
	UUID  string
	Name  *string
	State *struct{ Word string }
}

const talkative = `{"when": "count", "repeat": true, "steps": [{"text": "one two three"}]}`

// A program of somebody else forks a child, waits for it, and reads its letter; what every
// tool answers is what its schema says, and what the command prints.
func TestOthersUseOurToolsOverStdio(t *testing.T) {
	t.Parallel()
	s := newStage(t, binary(t))
	model := s.script(t, talkative, `{"repeat": true, "steps": [{"text": "yes"}]}`)
	b := connect(t, s.over("RAMET_MODEL="+model))
	if len(b.schemas) != 12 {
		t.Errorf("%d tools", len(b.schemas))
	}
	var child born
	b.into("fork", `{"name": "ada", "prompt": "count"}`, &child)
	var waited struct {
		Over   bool
		Agents []born
	}
	b.into("wait", `{"agents": ["ada"], "for": "all"}`, &waited)
	if !waited.Over || len(waited.Agents) != 1 || waited.Agents[0].State.Word != "done" {
		t.Fatalf("%+v", waited)
	}
	var letter struct {
		Letter *struct {
			FromUUID string `json:"from_uuid"`
			Body     string
		}
	}
	b.into("read", `{}`, &letter)
	if letter.Letter == nil || letter.Letter.FromUUID != child.UUID || !strings.Contains(letter.Letter.Body, "one two three") {
		t.Fatalf("%+v", letter)
	}
	var said struct {
		Type    string
		Outcome struct{ Text string }
	}
	b.into("prompt", `{"agent": "ada", "text": "count again"}`, &said)
	if said.Type != "result" || said.Outcome.Text != "one two three" {
		t.Errorf("%+v", said)
	}
	b.into("mail", `{"agent": "ada"}`, &struct{}{})
	b.into("track", `{}`, &struct{}{})
	b.into("run", `{"do": "list"}`, &struct{}{})
	for tool, args := range map[string][]string{"ps": {`{}`, "ps"}, "mail": {`{"agent": "ada"}`, "mail", "ada"}, "track": {`{}`, "track", "list"}, "verify": {`{}`, "verify"}, "run": {`{"do": "list"}`, "run", "list"}} {
		answer, _ := b.call(tool, args[0])
		if same := s.must(t, append([]string{"--json"}, args[1:]...)...); !bytes.Equal(compact(t, answer), compact(t, []byte(same))) {
			t.Errorf("%s answers %s\nthe command prints %s", tool, answer, same)
		}
	}
	var log struct{ Entries []json.RawMessage }
	b.into("log", `{"agent": "ada", "own": true, "limit": 200}`, &log)
	lines := strings.Split(strings.TrimSpace(s.must(t, "log", "--own", "--json", "ada")), "\n")
	if len(log.Entries) != len(lines) || !bytes.Equal(compact(t, log.Entries[0]), compact(t, []byte(lines[0]))) {
		t.Errorf("%d entries, the command prints %d", len(log.Entries), len(lines))
	}
	var page struct {
		Entries []json.RawMessage
		Next    int64
	}
	seen := 0
	for after := int64(0); ; after = page.Next {
		b.resource(fmt.Sprintf("ramet://agents/ada/history?after=%d&limit=2", after), &page)
		if seen += len(page.Entries); len(page.Entries) == 0 {
			break
		}
	}
	if seen != len(lines) {
		t.Errorf("pages have %d entries of %d", seen, len(lines))
	}
	b.resource("ramet://agents", &struct{}{})
	b.resource("ramet://agents/ada", &struct{}{})
	b.refused("NOT_FOUND", "log", `{"agent": "nobody"}`)
	b.refused("INVALID_FIELD", "ps", `{"al": true}`)
	b.refused("INVALID_FIELD", "kill", `{}`)
	b.refused("NOT_FOUND", "log", `{"agent": "--all"}`)
	b.refused("NOT_FOUND", "wait", `{"handle": "call-x"}`)
	b.into("send", `{"to": "ada", "body": "-"}`, &struct{}{})
	var killed struct{ Count int }
	b.into("kill", `{"agent": "ada"}`, &killed)
	if killed.Count != 1 {
		t.Errorf("%+v", killed)
	}
	b.refused("DEAD_AGENT", "prompt", `{"agent": "ada", "text": "hello"}`)
}

// An agent that shows its token has the rights of its descent, and no more.
func TestAnAgentsTokenIsThatAgent(t *testing.T) {
	t.Parallel()
	s := newStage(t, binary(t))
	for _, name := range []string{"ada", "bob"} {
		s.must(t, "fork", "--name", name)
	}
	token := strings.TrimSpace(s.must(t, "mcp", "token", "ada"))
	server := s.serve(t)
	person := server.toolbox(server.token)
	person.into("ps", `{}`, &struct{}{})
	for _, b := range []*toolbox{server.toolbox(token), connect(t, s.over("RAMET_TOKEN="+token))} {
		var kid born
		b.into("fork", `{}`, &kid)
		b.refused("DENIED", "fork", `{"agent": "bob"}`)
		b.refused("DENIED", "kill", `{"agent": "bob"}`)
		b.refused("DENIED", "read", `{"agent": "bob"}`)
		b.refused("DENIED", "prompt", `{"agent": "bob", "text": "hello"}`)
		b.refused("DENIED", "run", `{"do": "start", "recipe": "docs"}`)
		var letter struct {
			FromUUID string `json:"from_uuid"`
			Number   int64
		}
		b.into("send", `{"to": "bob", "body": "hello"}`, &letter)
		var ada born
		if err := json.Unmarshal([]byte(s.must(t, "show", "ada", "--json")), &ada); err != nil || letter.FromUUID != ada.UUID {
			t.Errorf("%v: a letter from %s, want %s", err, letter.FromUUID, ada.UUID)
		}
		b.into("kill", `{"agent": "`+kid.UUID+`"}`, &struct{}{})
	}
	late := server.toolbox(token)
	person.into("kill", `{"agent": "ada"}`, &struct{}{})
	late.refused("DEAD_AGENT", "ps", `{}`)
}

// A person's yes to a driver that an agent asks for over MCP is recorded in the agent's history
// before the child exists; without one there is no child.
func TestAYesToADriverOverMCPIsRecorded(t *testing.T) {
	t.Parallel()
	s := driven(t)
	s.must(t, "fork", "--name", "ada")
	token := strings.TrimSpace(s.must(t, "mcp", "token", "ada"))
	server := s.serve(t)
	b := server.toolbox(token)
	answer := func(choice string) {
		var list struct {
			Asks []struct{ ID, Subject string }
		}
		for end := time.Now().Add(patience); len(list.Asks) == 0; time.Sleep(5 * time.Millisecond) {
			if server.ask("GET", "/api/v1/permissions", "", &list); time.Now().After(end) {
				t.Error("nobody is asked")
				return
			}
		}
		if status := server.ask("POST", "/api/v1/permissions/"+list.Asks[0].ID, `{"answer":"`+choice+`"}`, new(json.RawMessage)); status != 204 {
			t.Errorf("%s: %d", choice, status)
		}
	}
	for choice, want := range map[string]string{"no": "", "once": "allowed by token holder (http), once"} {
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			answer(choice)
		}()
		args := `{"name": "kid-` + choice + `", "driver": "fake"}`
		if want == "" {
			b.refused("DENIED", "fork", args)
		} else {
			b.into("fork", args, &struct{}{})
		}
		<-answered
		if out := s.ramet("show", "kid-"+choice); (out.code == 0) != (want != "") {
			t.Errorf("%s: %+v", choice, out)
		}
		if log := s.must(t, "log", "ada", "--own"); want != "" && !strings.Contains(log, want) {
			t.Errorf("the history of the agent does not say %q:\n%s", want, log)
		}
	}
	s.must(t, "verify")
}

// toolbox connects a client over HTTP.
func (s *served) toolbox(token string) *toolbox {
	s.t.Helper()
	return connect(s.t, &sdk.StreamableClientTransport{Endpoint: s.base + "/mcp", HTTPClient: &http.Client{Transport: bearer(token)}, DisableStandaloneSSE: true})
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}
