package tui

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/kit"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	"ramet/internal/face/tui/markdown"
	"ramet/internal/model/llm"
	"ramet/internal/operation"
	"ramet/internal/operation/public"
	"ramet/internal/testkit"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/permit"
)

var update = flag.Bool("update", false, "write the golden screens anew")

// clock is when everything happens in tests.
var clock = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// stage is a workspace whose agents and entries a test writes down. It has no goroutines:
// the test hands over messages itself.
type stage struct {
	hold    bool      // turns that were asked for while another is under way do not end
	late    []turnMsg // their ends
	agents  Agents
	entries map[id.Agent][]Entry
	points  []Point
	said    []string // what was asked of it
	next    id.Message
	pages   int
	answer  string
	err     error
	found   []Model // servers that nobody named
	keyed   []Model // of a vendor whose key is there; the first is used
	kept    bool    // what fails was said all the same
	stop    error   // why a stop fails
	changes map[id.Agent]public.HomeChange
}

func newStage() *stage {
	return &stage{entries: map[id.Agent][]Entry{}, next: 1, agents: Agents{States: map[id.Agent]state.State{}}}
}

// who is the id of a name: always the same.
func who(name string) id.Agent {
	return id.Agent((strings.Repeat(name, 22) + "AAAAAAAAAAAAAAAAAAAAAA")[:21] + "A")
}

// born adds an agent.
func (s *stage) born(name, parent string) *agent.Agent {
	a := agent.Agent{ID: who(name), Name: name, Status: agent.Running, CreatedAt: clock.Add(-time.Hour), Genesis: s.next}
	if parent == "" {
		a.Name = ""
	} else {
		a.Parent = who(parent)
	}
	s.agents.All = append(s.agents.All, a)
	meta := history.Meta{Parent: a.Parent}
	s.write(name, Entry{Entry: history.Entry{Kind: history.Fork}, About: meta})
	return &s.agents.All[len(s.agents.All)-1]
}

// write adds an entry to the history of an agent.
func (s *stage) write(name string, e Entry) Entry {
	e.ID, e.Agent, e.CreatedAt = s.next, who(name), clock
	s.next++
	s.entries[e.Agent] = append(s.entries[e.Agent], e)
	for i := range s.agents.All {
		if s.agents.All[i].ID == e.Agent {
			s.agents.All[i].Head = e.ID
		}
	}
	return e
}

func (s *stage) say(name string, k history.Kind, parts ...history.Part) Entry {
	return s.write(name, Entry{Entry: history.Entry{Kind: k}, Parts: parts})
}

func words(s string) history.Part { return history.Part{Type: history.Text, Text: s} }

func called(id, tool, args string) history.Part {
	return history.Part{Type: history.ToolCall, CallID: id, Name: tool, Args: json.RawMessage(args)}
}

func result(id, tool, said string) history.Part {
	return history.Part{Type: history.Result, CallID: id, Name: tool, Text: said}
}

func (s *stage) Agents(context.Context) (Agents, error) {
	for _, a := range s.agents.All {
		if _, told := s.agents.States[a.ID]; !told && a.Status == agent.Dead {
			s.agents.States[a.ID] = state.State{Word: state.Killed, Detail: a.EndReason}
		}
	}
	return s.agents, nil
}

func (s *stage) Overview(ctx context.Context) (public.HomeFacts, error) {
	all, err := s.Agents(ctx)
	f := public.HomeFacts{All: all.All, States: all.States, Words: map[id.Agent]registry.Words{}, Changes: s.changes}
	for _, a := range all.All {
		w := registry.Words{At: clock.Add(-3 * time.Minute)}
		for _, e := range s.entries[a.ID] {
			switch e.Kind {
			case history.User:
				w.Asked, w.AskedAt = registry.AskedWords(e.Parts), clock.Add(-5*time.Minute)
			case history.Assistant:
				w.Said = registry.SaidWords(e.Parts)
			}
		}
		f.Words[a.ID] = w
	}
	return f, err
}

func (s *stage) Changed(context.Context, id.Agent) (string, error) { return s.answer, s.err }

func (s *stage) Page(_ context.Context, a id.Agent, span Span) (Page, error) {
	s.pages++
	all := s.entries[a]
	head := id.Message(0)
	for _, one := range s.agents.All {
		if one.ID == a {
			head = one.Head
		}
	}
	if span.After > 0 {
		i := slices.IndexFunc(all, func(e Entry) bool { return e.ID > span.After })
		if i < 0 {
			return Page{Head: head}, nil
		}
		return Page{Entries: all[i:], Head: head}, nil
	}
	if span.Before > 0 {
		i := slices.IndexFunc(all, func(e Entry) bool { return e.ID >= span.Before })
		all = all[:i]
	}
	from := max(0, len(all)-span.Limit)
	return Page{Entries: all[from:], More: from > 0, Head: head}, nil
}

func (s *stage) Timeline(context.Context, id.Agent) ([]Point, error) { return s.points, nil }
func (s *stage) Events(context.Context) iter.Seq[loop.Event] {
	return func(func(loop.Event) bool) {}
}
func (s *stage) Mode(context.Context, id.Agent) (permit.Mode, error) { return permit.Ask, nil }
func (s *stage) Questions(context.Context) <-chan Question           { return nil }
func (s *stage) Turn(_ context.Context, a id.Agent, said string, model llm.Ref, _ string) (bool, error) {
	s.said = append(s.said, fmt.Sprintf("turn %s %q", a[:3], said))
	return s.err == nil || s.kept, s.err
}
func (s *stage) Stop(_ context.Context, a id.Agent, _ ...string) (bool, error) {
	s.said = append(s.said, fmt.Sprintf("stop %s", a[:3]))
	return true, s.stop
}
func (s *stage) Call(_ context.Context, o operation.Operation, in any) (any, error) {
	f, ok := in.(*operation.ForkInput)
	if !ok {
		args, _ := json.Marshal(in)
		s.said = append(s.said, "call "+o.Describe().Name+" "+string(args))
		return s.restored(in), s.err
	}
	prompt, name := "", ""
	if f.Prompt != nil {
		prompt = string(*f.Prompt)
	}
	if f.Name != nil {
		name = *f.Name
	}
	s.said = append(s.said, fmt.Sprintf("fork %s %q at %d", f.Agent[:3], prompt, f.At))
	if s.err != nil {
		return nil, s.err
	}
	return operation.Forked{Child: *s.born(name, "zero")}, nil
}

// restored answers operations that restore files with the plan in s.answer.
func (s *stage) restored(in any) any {
	var plan public.Restore
	json.Unmarshal([]byte(s.answer), &plan)
	switch in.(type) {
	case *operation.RewindInput:
		return operation.Rewound{Files: &plan}
	case *operation.UndoInput, *operation.RestoreInput:
		return plan
	}
	return nil
}
func (s *stage) Command(_ context.Context, args ...string) (string, error) {
	s.said = append(s.said, "command "+strings.Join(args, " "))
	return s.answer, s.err
}
func (s *stage) Defined() []kit.Command {
	return []kit.Command{{Name: "zap", Description: "Zaps it"}, {Name: "help"}}
}
func (s *stage) ProgramCommands(agent.Agent) []kit.Command                     { return nil }
func (s *stage) Program(context.Context, agent.Agent) (*public.Program, error) { return nil, nil }
func (s *stage) Shell(context.Context, id.Agent, string, func(string)) error   { return nil }
func (s *stage) Model(a agent.Agent, asked llm.Ref) (Model, error) {
	if asked == (llm.Ref{}) {
		asked = llm.Ref{Vendor: "offline", Name: "offline"}
		if len(s.keyed) > 0 {
			asked = s.keyed[0].Ref
		}
	}
	return Model{Ref: asked, Context: 200_000, BuiltIn: asked.Vendor == "offline", Why: "set in your configuration"}, nil
}
func (s *stage) Key(_ context.Context, vendor, key string) (string, error) {
	s.said = append(s.said, "key "+vendor+" "+key)
	return s.answer, s.err
}
func (s *stage) Found(context.Context) []Model { return s.found }

func (s *stage) Usable() []Model {
	if len(s.keyed) > 0 {
		return s.keyed
	}
	return []Model{{Ref: llm.Ref{Vendor: "offline", Name: "offline"}, Context: 200_000}, {Ref: llm.Ref{Vendor: "anthropic", Name: "claude-sonnet-4-5"}, Context: 1_000_000}}
}
func (s *stage) Clipboard(context.Context) (string, error) { return "/tmp/a b.png", nil }

func (s *stage) CompletePaths(context.Context, id.Agent, string) []string {
	return []string{"README.md", "internal/", "internal/tui/doc.go", "main.go"}
}
func (s *stage) Close() {}

func (s *stage) Print(ctx context.Context, o operation.Operation, in any) (string, error) {
	return Print(ctx, s, o, in)
}

// show is the terminal over a stage.
type show struct {
	*root
	t *testing.T
	s *stage

	at *time.Time // what the clock shows
}

// wait lets time pass.
func (x *show) wait(d time.Duration) { *x.at = x.at.Add(d) }

func perform(t *testing.T, s *stage, w, h int) *show {
	t.Helper()
	at := clock
	o := Options{Out: io.Discard, Open: func(context.Context) (Workspace, error) { return s, nil }, Now: func() time.Time { return at }, Follow: true, Project: t.TempDir(), Later: func(time.Duration, tea.Msg) tea.Cmd { return nil }}
	x := &show{newRoot(t.Context(), o), t, s, &at}
	x.theme = markdown.Basic()
	x.take(tea.WindowSizeMsg{Width: w, Height: h})
	x.workspace = s
	x.run(x.look())
	return x
}

// take hands a message over and carries out what follows from it, but for what waits
// for time.
func (x *show) take(msg tea.Msg) {
	x.t.Helper()
	x.run(x.follow(msg))
}

func (x *show) run(cmd tea.Cmd) {
	x.t.Helper()
	if cmd == nil {
		return
	}
	msg := cmd()
	switch msg := msg.(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			x.run(c)
		}
	case turnMsg:
		if x.s.hold && msg.ticket != "" { // its turn is not over
			x.s.late = append(x.s.late, msg)
			return
		}
		x.take(msg)
	default:
		x.take(msg)
	}
}

// press types keys by their names; anything else is text.
func (x *show) press(keys ...string) {
	x.t.Helper()
	codes := map[string]tea.KeyPressMsg{
		"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown}, "left": {Code: tea.KeyLeft}, "right": {Code: tea.KeyRight}, "shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift},
		"pgup": {Code: tea.KeyPgUp}, "home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd}, "pgdown": {Code: tea.KeyPgDown}, "backspace": {Code: tea.KeyBackspace},
		"ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, "ctrl+t": {Code: 't', Mod: tea.ModCtrl}, "ctrl+g": {Code: 'g', Mod: tea.ModCtrl}, "ctrl+l": {Code: 'l', Mod: tea.ModCtrl},
		"ctrl+o": {Code: 'o', Mod: tea.ModCtrl}, "ctrl+f": {Code: 'f', Mod: tea.ModCtrl}, "ctrl+p": {Code: 'p', Mod: tea.ModCtrl}, "f1": {Code: tea.KeyF1},
		"ctrl+up": {Code: tea.KeyUp, Mod: tea.ModCtrl}, "ctrl+down": {Code: tea.KeyDown, Mod: tea.ModCtrl}, "ctrl+left": {Code: tea.KeyLeft, Mod: tea.ModCtrl}, "ctrl+right": {Code: tea.KeyRight, Mod: tea.ModCtrl},
		"alt+up": {Code: tea.KeyUp, Mod: tea.ModAlt}, "alt+enter": {Code: tea.KeyEnter, Mod: tea.ModAlt}, "ctrl+end": {Code: tea.KeyEnd, Mod: tea.ModCtrl},
	}
	for _, k := range keys {
		if code, ok := codes[k]; ok {
			x.take(code)
			continue
		}
		for _, r := range k {
			x.take(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
}

// answer chooses an answer of a box, and confirms it.
func (x *show) answer(label string) {
	x.t.Helper()
	b, ok := x.over.(*box)
	if !ok {
		x.t.Fatalf("nothing asks:\n%s", x.screen())
	}
	x.wait(2 * SinceAppeared)
	for _, o := range b.options {
		if strings.HasPrefix(o.label, label) {
			x.press("enter")
			return
		}
		x.press("down")
	}
	x.t.Fatalf("there is no answer %q:\n%s", label, x.screen())
}

// screen is what is shown, without colours. Each line fits.
func (x *show) screen() string {
	x.t.Helper()
	d := x.draw()
	lines, y := d.lines, d.y
	if len(lines) != x.h {
		x.t.Errorf("%d lines on a screen of %d", len(lines), x.h)
	}
	if y >= x.h {
		x.t.Errorf("the cursor is in line %d of %d", y, x.h)
	}
	for i, l := range lines {
		if n := width(l); n > x.w {
			x.t.Errorf("line %d has %d cells on a screen of %d: %q", i, n, x.w, l)
		}
		lines[i] = strings.TrimRight(strip(l), " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

// golden holds the screen against the one that was written down.
func (x *show) golden(name string) {
	x.t.Helper()
	path := filepath.Join("testdata", fmt.Sprintf("%s-%dx%d.txt", name, x.w, x.h))
	got := x.screen()
	if *update {
		testkit.OK(x.t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want := testkit.Must(os.ReadFile(path))(x.t)
	if got != string(want) {
		x.t.Errorf("the screen is not %s (go test -update writes it anew):\n%s", path, got)
	}
}

// ansiOurs is the only thing that we write besides text.
var ansiOurs = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Whatever stands in the file of the screen, there is a prompt.
func FuzzRecall(f *testing.F) {
	f.Add([]byte(strings.ReplaceAll(`{"version":1,"current":"x","said":["a"],"agents":{"x":{"draft":{"parts":[{"text":"hi"}],"cursor":1},"place":{"entry":3,"part":1,"line":-9},"folds":{"a":true},"queue":["q"],"model":"m"}}}`, `"x"`, `"`+string(who("zero"))+`"`)))
	f.Add([]byte(`{`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(dir, "state.json")
		testkit.OK(t, os.WriteFile(path, content, 0o600))
		s := family()
		x := &show{newRoot(t.Context(), Options{State: path, Now: func() time.Time { return clock }, Open: func(context.Context) (Workspace, error) { return s, nil }}), t, s, nil}
		x.w, x.h = 60, 12
		x.screen()
		x.workspace = s
		x.run(x.look())
		x.screen()
		x.press("pgup", "ctrl+down")
		x.screen()
	})
}

func FuzzSummary(f *testing.F) {
	f.Add("bash", []byte(`{"command":"ls"}`))
	f.Add("edit", []byte(`{"path":1,"x":[{}]}`))
	f.Fuzz(func(t *testing.T, tool string, args []byte) {
		b := &block{form: call, title: tool, about: summary(tool, json.RawMessage(args)), body: string(args)}
		for _, open := range []bool{false, true} {
			for _, l := range b.lines(40, open, markdown.Basic()) {
				if rest := ansiOurs.ReplaceAllString(l, ""); width(l) > 40 || !utf8.ValidString(rest) || len(rest) != len(clean(rest)) {
					t.Errorf("%d cells: %q", width(l), l)
				}
			}
		}
	})
}

func FuzzMention(f *testing.F) {
	f.Add("look at @main", 13)
	f.Fuzz(func(t *testing.T, said string, cursor int) {
		if cursor < 0 || cursor > len(said) {
			return
		}
		if start, fragment, ok := mention(said, cursor); ok && said[start:cursor] != "@"+fragment {
			t.Errorf("%q at %d gives %d %q", said, cursor, start, fragment)
		}
	})
}

// refusedCall is a conversation with a call that somebody refused.
func refusedCall() *stage {
	s := family()
	s.say("zero", history.Assistant, called("c9", "bash", `{"command":"rm -rf build"}`))
	e := s.say("zero", history.ToolResult, result("c9", "bash", "The user does not permit this."))
	all := s.entries[e.Agent]
	all[len(all)-1].About.Permission = &history.Permission{Answer: history.Refused, By: history.ByPerson, Actor: &history.Actor{Who: "lea", Face: "terminal"}}
	s.say("zero", history.Assistant, words("Then I leave it."))
	return s
}

func TestSearchFindsWhoRefusedACall(t *testing.T) {
	x := perform(t, refusedCall(), 80, 24)
	x.press("ctrl+f", "refused by lea")
	x.shows("1 of 1", "rm -rf build", "refused by lea")
	x.hides("No match")
}

// A word that was found is marked in the line as it stands: its ground and its colours stay.
func TestAMarkKeepsTheLine(t *testing.T) {
	f := &search{on: true, typed: "Fix"}
	for in, want := range map[string]string{
		"\x1b[1;48;5;236mand fix it\x1b[m": "\x1b[1;48;5;236mand \x1b[m\x1b[m\x1b[7mfix\x1b[m\x1b[1;48;5;236m it\x1b[m",
		"a \x1b[32mpre\x1b[mfix, fix":      "a \x1b[32mpre\x1b[m\x1b[m\x1b[7mfix\x1b[m\x1b[32m\x1b[m, \x1b[m\x1b[7mfix\x1b[m\x1b[32m\x1b[m",
		"f\x1b[1mi\x1b[mx":                 "\x1b[m\x1b[7mfix\x1b[m\x1b[1m\x1b[m",
		"nothing":                          "nothing",
	} {
		lines := []string{in}
		f.mark(lines)
		if lines[0] != want {
			t.Errorf("%q: %q, want %q", in, lines[0], want)
		}
	}
	for _, theme := range []markdown.Theme{markdown.Dark(), markdown.Light(), markdown.Contrast()} {
		x := perform(t, family(), 80, 60)
		x.theme = theme
		ground := "\x1b[1;" + string(theme.Ground) + "m"
		count := func() (n int) {
			for _, l := range x.draw().lines {
				if strings.Contains(l, ground) {
					n++
				}
			}
			return n
		}
		before := count()
		x.press("ctrl+f", "tests")
		if after := count(); before == 0 || after != before {
			t.Errorf("%d lines have the ground %q, %d while the word is marked", before, theme.Ground, after)
		}
	}
}

// The word is on the screen, however long the block is that holds it.
func TestSearchShowsTheWordInALongBlock(t *testing.T) {
	s := family()
	var long strings.Builder
	for i := range 300 {
		fmt.Fprintf(&long, "line %d of it\n", i)
	}
	s.say("zero", history.Assistant, called("c9", "bash", `{"command":"seq"}`))
	s.say("zero", history.ToolResult, result("c9", "bash", long.String()))
	s.say("zero", history.User, words(long.String()))
	s.say("zero", history.Assistant, words(strings.Repeat("And so on.\n\n", 40)))
	x := perform(t, s, 80, 24)
	x.shows("And so on.")
	x.press("ctrl+f", "line 177 of")
	x.shows("line 177 of it", "1 of 2")
	x.press("enter")
	x.shows("line 177 of it", "2 of 2")
}
