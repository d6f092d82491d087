package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ramet/internal/operation/public"
	"ramet/internal/operation/session"

	"ramet/internal/base/id"
	"ramet/internal/base/shape"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/kernel"
	"ramet/internal/model/llm"
	"ramet/internal/operation"
	"ramet/internal/operation/control"
	"ramet/internal/store"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
	"ramet/internal/testkit/llmtest"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/permit"
	"ramet/internal/turn/tool"
)

// patience bounds every wait for a fact.
const patience = 2 * time.Minute

// floor is a workspace with a kernel on a scripted model, as `ramet serve` holds one.
type floor struct {
	Agents
	home, db string
	store    *store.Store
	Kernel   *kernel.Kernel
	Place    control.Folder
	server   *control.Server
	zero     agent.Agent
	gates    llmtest.ScriptGates
	ran      chan string // what the tool was asked to do
}

// newFloor makes one; change may alter how events are gathered.
func newFloor(t testing.TB, replies string, change ...func(*EventsOptions)) *floor {
	t.Helper()
	home := t.TempDir()
	return newFloorAt(t, home, filepath.Join(home, "ramet.db"), replies, change...)
}

func newFloorAt(t testing.TB, home, db, replies string, change ...func(*EventsOptions)) *floor {
	t.Helper()
	f := &floor{home: home, db: db, ran: make(chan string, 100)}
	s, err := sqlite.Open(t.Context(), db, sqlite.Options{Cwd: "/"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := s.Audit(context.Background(), nil); err != nil {
			t.Errorf("verify: %v", err)
		}
		s.Close()
	})
	if f.zero, err = s.Zero(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.store, f.Store, f.Place, f.Asks = s, s, control.At(home, db), NewAsks(0)
	if f.server, err = control.Listen(f.Place); err != nil {
		t.Fatal(err)
	}
	if f.Kernel, err = startKernel(t.Context(), s, f.server.Owner, replies, f.gates.Wait, f.Asks, f.Place, f.ran); err != nil {
		t.Fatal(err)
	}
	ws := &session.Workspace{Store: store.Clean(s, nil), Peers: f.Place, Kernel: f.Kernel, Config: &config.Config{}, Now: time.Now}
	ws.Home, ws.Place.DB = home, db
	f.Client, f.Workspace = operation.Within(ws), ws
	f.Asks.Tell(f.Kernel.Events.Publish)
	f.server.Serve(f.Kernel, nil)
	o := EventsOptions{Bus: &f.Kernel.Events, Feed: s, Look: 10 * time.Millisecond, Pace: time.Millisecond}
	for _, c := range change {
		c(&o)
	}
	if f.Events, err = StartEvents(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.Events.Stop()
		f.Kernel.Stop()
		f.server.Close()
	})
	return f
}

func startKernel(ctx context.Context, s *store.Store, owner, replies string, gate llmtest.Gate, ask permit.Asker, place control.Folder, ran chan string) (*kernel.Kernel, error) {
	model, err := llmtest.ParseScript(replies, gate)
	if err != nil {
		return nil, err
	}
	return kernel.Start(ctx, kernel.Options{
		Store: s, Owner: owner,
		Mail: kernel.Mail{Wake: kernel.WakeNever},
		Assemble: func(k *kernel.Kernel) kernel.Parts {
			return kernel.Parts{
				Models: kernel.Models{Model: func(_ agent.Agent, asked llm.Ref) (kernel.Model, error) {
					ref := llm.Ref{Vendor: "script", Name: "test"}
					if asked != (llm.Ref{}) {
						ref = asked
					}
					return kernel.Model{Ref: ref, Info: llm.Model{Name: ref.Name}, Provider: model}, nil
				}},
				Toolbox: kernel.Toolbox{Tools: func(agent.Agent) (tool.Box, error) { return tool.Box{bash{ran}}, nil }, Guard: &permit.Policy{Confinable: func() error { return nil }, Ask: k.Asking(ask), Log: s, Book: &rules{}}},
				Prompts: kernel.Prompts{System: func(agent.Agent, tool.Box) ([]llm.Message, string, error) {
					return []llm.Message{llm.Say(llm.System, "Work.")}, "", nil
				}},
			}
		},
		Peers: kernel.Peers{Gone: place.Gone, Answers: place.Answers, Tell: func(ctx context.Context, rings ...registry.Ring) { place.Tell(ctx, owner, rings...) }},
	})
}

// rules are those that a person saved.
type rules struct{ saved []permit.Rule }

func (r *rules) Rules() ([]permit.Rule, error) { return r.saved, nil }

func (r *rules) Save(_ context.Context, one permit.Rule) error {
	r.saved = append(r.saved, one)
	return nil
}

// bash is a tool that needs permission, and only says what it was asked for.
type bash struct{ ran chan string }

func (bash) Spec() tool.Spec {
	command := func(args json.RawMessage) string {
		var in struct{ Command string }
		if json.Unmarshal(args, &in) != nil {
			return ""
		}
		return in.Command
	}
	return tool.Spec{Name: "bash", Description: "Run a command.", Access: tool.Commands, Subject: command, Summary: command,
		Args: shape.Object(shape.Must("command", shape.Text(1)))}
}

func (b bash) Run(_ context.Context, c tool.Call) (tool.Answer, error) {
	b.ran <- string(c.Args)
	return tool.Answer{Text: "done"}, nil
}

// opened is a site with a floor.
func opened(t testing.TB, f *floor) *site {
	t.Helper()
	return start(t, func(o *siteOptions) { o.Agents = f.Agents })
}

// good asks for something that must go well, and reads it.
func (s *site) good(t testing.TB, method, path string, in any, status int, out any) {
	t.Helper()
	got := s.ask(t, method, path, in)
	if got.status != status {
		t.Fatalf("%s %s: %d, want %d: %s", method, path, got.status, status, got.body)
	}
	if out != nil {
		got.into(t, out)
	}
}

// received is one event of a stream.
type received struct {
	name, id, data string
	line           EventLine
}

// listener reads a stream.
type listener struct {
	t     testing.TB
	in    *bufio.Reader
	close func()
	id    string // where it stands
}

// watch opens a stream.
func (s *site) watch(t testing.TB, query, last string) *listener {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	r := testkit.Must(http.NewRequestWithContext(ctx, http.MethodGet, s.base+"/api/v1/events"+query, nil))(t)
	r.Header.Set("Authorization", "Bearer "+s.token)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	answer := testkit.Must(s.client.Do(r))(t)
	l := &listener{t: t, in: bufio.NewReader(answer.Body), close: func() {
		cancel()
		answer.Body.Close()
	}}
	t.Cleanup(l.close)
	if answer.StatusCode != http.StatusOK || !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		t.Fatalf("%s: %v", answer.Status, answer.Header)
	}
	return l
}

// next is the next block of the stream: an event, or a comment (its data is empty).
func (l *listener) next() (received, error) {
	var out received
	for {
		line, err := l.in.ReadString('\n')
		if err != nil {
			return out, err
		}
		line = strings.TrimSuffix(line, "\n")
		for _, r := range line {
			if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' {
				l.t.Errorf("control character %q in %q", r, line)
			}
		}
		if line == "" {
			if out.id != "" {
				l.id = out.id
			}
			if out.data != "" && out.name == "" {
				if err := json.Unmarshal([]byte(out.data), &out.line); err != nil {
					l.t.Fatalf("%v in %s", err, out.data)
				}
			}
			return out, nil
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "id":
			out.id = value
		case "event":
			out.name = value
		case "data":
			if out.data != "" {
				l.t.Error("an event of two lines")
			}
			out.data = value
		}
	}
}

// until reads up to an event, and gives it and what came before.
func (l *listener) until(want func(EventLine) bool) (EventLine, []received) {
	l.t.Helper()
	var before []received
	for {
		e, err := l.next()
		if err != nil {
			l.t.Fatalf("%v, after %+v", err, before)
		}
		if e.data == "" {
			continue
		}
		before = append(before, e)
		if e.name == "" && want(e.line) {
			return e.line, before
		}
	}
}

func isType(what loop.EventType, who id.Agent) func(EventLine) bool {
	return func(l EventLine) bool { return l.Type == what && (who == "" || l.Agent == who) }
}

func TestAPromptIsTold(t *testing.T) {
	f := newFloor(t, `{"steps": [{"text": "good "}, {"text": "morning \u001b[31m\u2028"}]}`)
	s := opened(t, f)
	w := s.watch(t, "", "")
	var begun operation.TurnBegun
	s.good(t, "POST", "/api/v1/agents/0/prompt", promptBody{Text: "hello"}, 202, &begun)
	if begun.Agent != f.zero.ID || begun.Turn == 0 {
		t.Errorf("%+v", begun)
	}
	end, all := w.until(isType(loop.TurnEnded, f.zero.ID))
	if end.Turn != begun.Turn || end.Error != nil || end.Outcome == nil || !strings.HasPrefix(end.Outcome.Text, "good morning") {
		t.Errorf("%+v", end)
	}
	var types []string
	ids := map[string]bool{}
	var spoken string
	for _, e := range all {
		types = append(types, string(e.line.Type))
		if ids[e.id] || e.id == "" {
			t.Errorf("id %q twice", e.id)
		}
		ids[e.id] = true
		if want := e.line.Type == loop.Recorded; e.line.Durable != want {
			t.Errorf("%s durable: %v", e.line.Type, e.line.Durable)
		}
		if e.line.Type == loop.TextDelta {
			spoken += e.line.Text
		}
	}
	if spoken != "good morning \x1b[31m\u2028" || !slices.Contains(types, "turn_started") {
		t.Errorf("%q in %q", spoken, types)
	}
	var page MessagePage
	s.good(t, "GET", "/api/v1/agents/0/messages?own=1", nil, 200, &page)
	var kinds []string
	for _, m := range page.Messages {
		kinds = append(kinds, string(m.Kind))
		if m.Agent != f.zero.ID || m.Depth != 0 {
			t.Errorf("%+v", m)
		}
	}
	if got := strings.Join(kinds, " "); got != "fork user assistant usage" || page.Next != nil {
		t.Errorf("%s, next %v", got, page.Next)
	}
}

func TestWhatIsWrongWithAPrompt(t *testing.T) {
	f := newFloor(t, ``)
	s := opened(t, f)
	kid := f.child(t, f.zero.ID, "kid")
	testkit.Must(f.Kernel.Kill(t.Context(), registry.Kill{Agent: kid, Reason: "test"}))(t)
	for name, c := range map[string]struct {
		path    string
		body    any
		status  int
		code    string
		pointer string
	}{
		"dead":            {"kid/prompt", promptBody{Text: "x"}, 409, "DEAD_AGENT", ""},
		"nobody":          {"nobody/prompt", promptBody{Text: "x"}, 404, "NOT_FOUND", ""},
		"empty":           {"0/prompt", promptBody{}, 422, "INVALID_TEXT", "/text"},
		"blank":           {"0/prompt", promptBody{Text: " \n"}, 422, "INVALID_TEXT", "/text"},
		"NUL":             {"0/prompt", promptBody{Text: "a\x00b"}, 422, "INVALID_TEXT", "/text"},
		"model":           {"0/prompt", promptBody{Text: "x", Model: "nonsense"}, 422, "", "/model"},
		"unknown field":   {"0/prompt", `{"txt": "x"}`, 422, "INVALID_FIELD", "/txt"},
		"fork of dead":    {"kid/fork", `{}`, 409, "DEAD_AGENT", ""},
		"bad name":        {"0/fork", `{"name": "No Name"}`, 422, "INVALID_NAME", "/name"},
		"empty letter":    {"0/send", `{"text": ""}`, 422, "INVALID_TEXT", "/text"},
		"empty body":      {"0/send", `{"body": ""}`, 422, "INVALID_TEXT", "/body"},
		"clean alone":     {"0/fork", `{"clean": true}`, 422, "USAGE", "/clean"},
		"no such field":   {"0/fork", `{"promt": "x"}`, 422, "INVALID_FIELD", "/promt"},
		"no such start":   {"0/fork", `{"start": "soon"}`, 422, "INVALID_FIELD", "/start"},
		"no number":       {"0/fork", `{"at": "x"}`, 422, "INVALID_FIELD", "/at"},
		"letter to dead":  {"kid/send", `{"body": "x"}`, 409, "DEAD_AGENT", ""},
		"kill of 0":       {"0/kill", killBody{}, 409, "AGENT_ZERO", ""},
		"interrupt noone": {"nobody/interrupt", struct{}{}, 404, "NOT_FOUND", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.ask(t, "POST", "/api/v1/agents/"+c.path, c.body)
			var e Error
			got.into(t, &e)
			if got.status != c.status || c.code != "" && string(e.Code) != c.code {
				t.Fatalf("%d %s", got.status, got.body)
			}
			if c.pointer != "" && (len(e.Details) == 0 || e.Details[len(e.Details)-1].Pointer != c.pointer) {
				t.Errorf("%s", got.body)
			}
		})
	}
	s.ask(t, "GET", "/api/v1/events?cursor=x", nil).refused(t, 400, "INVALID_ID")
	s.ask(t, "GET", "/api/v1/events?subtree=1", nil).refused(t, 400, "INVALID_FIELD")
	s.ask(t, "GET", "/api/v1/events?agent=nobody", nil).refused(t, 404, "NOT_FOUND")
	s.ask(t, "GET", "/api/v1/agents/0/messages?after=1&before=2", nil).refused(t, 400, "INVALID_FIELD")
	s.ask(t, "GET", "/api/v1/agents/0/messages/1/parts/9", nil).refused(t, 404, "NOT_FOUND")
	s.ask(t, "GET", "/api/v1/agents/0/messages/x/parts/0", nil).refused(t, 400, "INVALID_ID")
}

// A turn that cannot begin is an error of the request, not of an event that nobody sees.
func TestAModelThatFailsIsNoRefusal(t *testing.T) {
	f := newFloor(t, ``) // it has no reply left
	s := opened(t, f)
	w := s.watch(t, "", "")
	s.good(t, "POST", "/api/v1/agents/0/prompt", promptBody{Text: "x"}, 202, nil)
	if end, _ := w.until(isType(loop.TurnEnded, "")); end.Error == nil {
		t.Errorf("%+v", end)
	}
}

func (f *floor) child(t testing.TB, of id.Agent, name string) id.Agent {
	t.Helper()
	born := testkit.Must(f.Kernel.Fork(t.Context(), registry.Fork{Parent: of, Claim: agent.Passing(), Children: []registry.Child{{ID: id.NewAgent(), Name: name}}}, ""))(t)
	return born[0].ID
}

type killBody struct {
	Cascade *bool  `json:"cascade,omitempty"`
	Confirm *int   `json:"confirm,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

func TestKillIsConfirmedByNumber(t *testing.T) {
	f := newFloor(t, ``)
	s := opened(t, f)
	ada := f.child(t, f.zero.ID, "ada")
	bob := f.child(t, ada, "bob")
	eve := f.child(t, bob, "eve")
	testkit.Must(f.Kernel.Kill(t.Context(), registry.Kill{Agent: bob, Reason: "first"}))(t)
	var p operation.KillPreview
	s.good(t, "GET", "/api/v1/agents/ada/kill-preview", nil, 200, &p)
	if p.Count != 2 { // ada, and eve below the dead
		t.Errorf("%+v", p)
	}
	s.good(t, "GET", "/api/v1/agents/ada/kill-preview?cascade=0", nil, 200, &p)
	if p.Count != 1 {
		t.Errorf("%+v", p)
	}
	yes, no := true, false
	for _, wrong := range []killBody{{Cascade: &yes}, {Cascade: &yes, Confirm: new(1)}, {Cascade: &yes, Confirm: new(3)}, {Cascade: &no, Confirm: new(2)}} {
		e := s.ask(t, "POST", "/api/v1/agents/ada/kill", wrong).refused(t, 409, "CONFLICT")
		want := "2"
		if wrong.Cascade == &no {
			want = "1"
		}
		if len(e.Details) != 1 || e.Details[0].Suggestion != want {
			t.Errorf("%+v", e)
		}
	}
	for _, who := range []id.Agent{ada, eve} {
		if a, err := f.store.Agent(t.Context(), who); err != nil || a.Status != agent.Running {
			t.Errorf("%+v %v", a, err)
		}
	}
	var done public.Killed
	s.good(t, "POST", "/api/v1/agents/ada/kill", killBody{Cascade: &yes, Confirm: new(2), Reason: "enough"}, 200, &done)
	if done.Count != 2 || !slices.Equal(done.Killed, []id.Agent{ada, eve}) || done.Agent.Status != "dead" || *done.Agent.EndReason != "enough" {
		t.Errorf("%+v", done)
	}
	s.good(t, "POST", "/api/v1/agents/ada/kill", killBody{Cascade: &yes, Confirm: new(0)}, 200, &done)
	if !done.Before || done.Count != 0 {
		t.Errorf("%+v", done)
	}
}

func TestKillEndsWhatRuns(t *testing.T) {
	f := newFloor(t, `{"steps": [{"text": "I work"}, {"wait": "for ever"}]}`)
	s := opened(t, f)
	kid := f.child(t, f.zero.ID, "kid")
	w := s.watch(t, "?agent=kid", "")
	s.good(t, "POST", "/api/v1/agents/kid/prompt", promptBody{Text: "work"}, 202, nil)
	w.until(isType(loop.TextDelta, kid))
	var list public.AgentList
	s.good(t, "GET", "/api/v1/agents", nil, 200, &list)
	if len(list.Agents) != 2 || list.Agents[1].UUID != kid || list.Agents[1].Doing == nil || list.Agents[1].Activity == nil || *list.Agents[1].Activity != "working" ||
		list.Agents[0].Doing != nil {
		t.Errorf("%+v", list)
	}
	s.good(t, "POST", "/api/v1/agents/kid/kill", killBody{Confirm: new(1)}, 200, nil)
	if _, works := f.Kernel.States()[kid]; works {
		t.Error("it works on")
	}
	w.until(isType(loop.TurnEnded, kid))
	s.good(t, "GET", "/api/v1/agents", nil, 200, &list)
	if len(list.Agents) != 1 {
		t.Errorf("%+v", list)
	}
	s.good(t, "GET", "/api/v1/agents?all=1", nil, 200, &list)
	if len(list.Agents) != 2 || list.Agents[1].Status != "dead" {
		t.Errorf("%+v", list)
	}
}

func TestInterruptForkSendMail(t *testing.T) {
	f := newFloor(t, `
{"when": "work", "steps": [{"text": "I work"}, {"wait": "for ever"}]}
{"when": "child", "steps": [{"text": "born"}]}
`)
	s := opened(t, f)
	w := s.watch(t, "?agent=0&subtree=1", "")
	var stopped operation.Interrupted
	s.good(t, "POST", "/api/v1/agents/0/interrupt", struct{}{}, 200, &stopped)
	if stopped.Interrupted {
		t.Error("there was nothing to stop")
	}
	s.good(t, "POST", "/api/v1/agents/0/prompt", promptBody{Text: "work"}, 202, nil)
	w.until(isType(loop.TextDelta, f.zero.ID))
	s.good(t, "POST", "/api/v1/agents/0/interrupt", struct{}{}, 200, &stopped)
	if end, _ := w.until(isType(loop.TurnEnded, f.zero.ID)); !stopped.Interrupted || end.Error == nil || end.Error.Code != "CANCELLED" {
		t.Errorf("%+v %+v", stopped, end)
	}
	var kid AgentNow
	s.good(t, "POST", "/api/v1/agents/0/fork", map[string]string{"name": "kid", "prompt": "child, begin"}, 201, &kid)
	if kid.Name == nil || *kid.Name != "kid" || *kid.ParentUUID != f.zero.ID {
		t.Errorf("%+v", kid)
	}
	w.until(isType(loop.TurnEnded, kid.UUID)) // those who are born are watched too
	s.ask(t, "POST", "/api/v1/agents/0/fork", map[string]string{"name": "kid"}).refused(t, 409, "CONFLICT")
	var letter public.Letter
	s.good(t, "POST", "/api/v1/agents/kid/send", map[string]string{"body": "dear kid"}, 201, &letter)
	if letter.Number != 1 || letter.FromUUID != nil || letter.ToUUID != kid.UUID {
		t.Errorf("%+v", letter)
	}
	if mailed, _ := w.until(isType(loop.Mailed, kid.UUID)); mailed.Text != "you" || !mailed.Durable {
		t.Errorf("%+v", mailed)
	}
	var box operation.LetterList
	s.good(t, "GET", "/api/v1/agents/kid/mail", nil, 200, &box)
	if len(box.Letters) != 1 || box.Letters[0].Body != "dear kid" || box.Letters[0].ReadAt != nil {
		t.Errorf("%+v", box)
	}
	var one AgentNow
	s.good(t, "GET", "/api/v1/agents/"+string(kid.UUID)[:8], nil, 200, &one)
	if one.UnreadMail != 1 { // whether it works at it already is not asked: a letter begins a turn
		t.Errorf("%+v", one)
	}
}

func TestPagesOfMessages(t *testing.T) {
	f := newFloor(t, ``)
	s := opened(t, f)
	say := func(who id.Agent, texts ...string) {
		for _, one := range texts {
			d := testkit.Must(history.Say(history.User, one))(t)
			testkit.Must(f.store.Append(t.Context(), who, agent.Passing(), d))(t)
		}
	}
	say(f.zero.ID, "one", "two")
	kid := f.child(t, f.zero.ID, "kid")
	say(f.zero.ID, "not the kid's")
	say(kid, "three", strings.Repeat("é", 1<<20))
	texts := func(p MessagePage) (out []string) {
		for _, m := range p.Messages {
			var parts []history.Part
			testkit.OK(t, json.Unmarshal(m.Parts, &parts))
			word := fmt.Sprint(m.Depth, " ", m.Kind)
			if len(parts) > 0 {
				word += " " + parts[0].Text
			}
			out = append(out, word)
		}
		return out
	}
	// Forwards, one at a time: all of it, once.
	var all []string
	after := "0"
	for {
		var p MessagePage
		s.good(t, "GET", "/api/v1/agents/kid/messages?limit=1&after="+after, nil, 200, &p)
		all = append(all, texts(p)...)
		if p.Next == nil {
			break
		}
		after = p.Next.String()
	}
	want := []string{"0 fork", "0 user one", "0 user two", "1 fork", "1 user three", "1 user "}
	if !slices.Equal(all, want) {
		t.Errorf("%q", all)
	}
	// Backwards too.
	all = nil
	before := "9007199254740991"
	for {
		var p MessagePage
		s.good(t, "GET", "/api/v1/agents/kid/messages?limit=4&before="+before, nil, 200, &p)
		all = append(texts(p), all...)
		if p.Previous == nil {
			break
		}
		before = p.Previous.String()
	}
	if !slices.Equal(all, want) {
		t.Errorf("%q", all)
	}
	// The large one stands elsewhere, and is read by pieces.
	var p MessagePage
	s.good(t, "GET", "/api/v1/agents/kid/messages?own=1", nil, 200, &p)
	last := p.Messages[len(p.Messages)-1]
	if len(last.Parts) > 1000 || !last.InContext {
		t.Errorf("%.300s", last.Parts)
	}
	var text string
	path, pieces := fmt.Sprintf("/api/v1/agents/kid/messages/%d/parts/0?offset=", last.ID), 0
	for offset := int64(0); ; pieces++ {
		var part PartContent
		s.good(t, "GET", path+fmt.Sprint(offset), nil, 200, &part)
		text += part.Text
		if part.Next == nil {
			break
		}
		offset = *part.Next
	}
	if text != strings.Repeat("é", 1<<20) || pieces != 1 {
		t.Errorf("%d bytes in %d pieces", len(text), pieces+1)
	}
	// What is not in the kid's lineage is not the kid's.
	var own MessagePage
	s.good(t, "GET", "/api/v1/agents/0/messages?own=1", nil, 200, &own)
	foreign := own.Messages[len(own.Messages)-1]
	testkit.OK(t, f.store.Redact(t.Context(), f.zero.ID, agent.Passing(), foreign.ID))
	s.good(t, "GET", "/api/v1/agents/0/messages?own=1&after="+(foreign.ID-1).String(), nil, 200, &own)
	if !own.Messages[0].Redacted || !strings.Contains(string(own.Messages[0].Parts), history.RedactedText) {
		t.Errorf("%+v", own.Messages[0])
	}
	s.ask(t, "GET", fmt.Sprintf("/api/v1/agents/%s/messages/%d/parts/0", f.child(t, kid, ""), foreign.ID+1000), nil).refused(t, 404, "NOT_FOUND")
}

func promptOf(text string) kernel.Prompt { return kernel.Prompt{Text: text} }
