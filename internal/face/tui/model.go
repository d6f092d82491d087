// Package tui is the terminal UI: many agents on one screen.
//
// One root model holds everything that is shown; its components are plain values without goroutines
// of their own. Keys and events come in, a screen is returned. All work is done elsewhere, by
// commands that answer with a message.
//
//   - You can type into the prompt at once. The workspace is opened in the background, agents are
//     read when they are shown, histories page by page.
//   - Nothing that others wrote (models, files, commands, mail, names) reaches the terminal
//     unfiltered: it passes package text or package markdown first.
//   - Only what is visible is laid out. Cost does not grow with the length of a conversation.
//   - Each agent keeps its draft, cursor, position and folds; they are saved soon after each change,
//     and survive a SIGKILL.
//   - The screen never switches to another agent by itself, except after the user's own fork, and to
//     the parent when the user killed the current agent.
//   - The terminal is restored on exit, also after a panic or a signal.
//
// # Editor
//
// An Editor is a value: every method returns the changed editor and leaves the old one unchanged. The
// cursor is always between grapheme clusters. Typed text is made safe to show. A large paste is
// shown as `[pasted 312 lines]`, is moved over and deleted as one character, and is sent whole.
//
// # Fuzzy search
//
// A candidate matches when all letters of the pattern occur in it, in order; case matters only for
// capitals. Spaces separate words, each of which must match. Word beginnings, adjacent letters, the
// last part of a path and shorter texts rank higher. The order is total.
//
// # Questions
//
//   - The choices are a list with "no" first and selected.
//   - Only Enter decides: on an empty prompt, half a second after the question appeared and one
//     second after the last key was typed. Before that every key goes to the prompt.
//   - Arrows move the selection; digits and letters are text. Every change of the prompt selects
//     "no" again.
//   - A rule is shown and can be edited before it is saved; Enter saves it only after the same delay,
//     and only if it permits this call and nothing destructive.
package tui

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/state"
	"ramet/internal/face/tui/markdown"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
	"ramet/internal/turn/permit"
)

// Options is what the terminal depends on.
type Options struct {
	// Open opens the workspace and starts its kernel. It may take its time: the
	// prompt is there before.
	Open func(context.Context) (Workspace, error)
	// State is the file where drafts and places are kept; empty: nowhere.
	State string
	// Project is the folder of the workspace.
	Project string
	// Cascade says that children die with the one that is killed.
	Cascade bool
	// Follow says that the screen goes to the child after the user's own fork.
	Follow bool
	// Theme is light, dark or contrast; anything else: by the terminal's own ground.
	Theme string
	// Home says that where more than one agent lives, everybody is shown first.
	Home bool
	Now  func() time.Time
	In   io.Reader
	Out  io.Writer
	Env  []string
	// Notify tells a person who looks elsewhere; what it returns is written to the terminal.
	// nil: nobody is told.
	Notify func(title, what string) string
	// Later hands a message over after a while; nil: the usual way.
	Later func(time.Duration, tea.Msg) tea.Cmd
}

// root is everything that is shown. It is used by one goroutine.
type root struct {
	o         Options
	ctx       context.Context
	workspace Workspace // nil until it is open
	events    *inbox
	asks      <-chan Question

	desk   desk
	memory memory
	dirty  bool // memory is older than what is shown
	away   bool // the terminal said that it is not in front
	saving bool

	agents  *agents // nil until it was read
	looking bool    // it is being read
	again   bool    // and must be read once more
	models  map[id.Agent]chosen
	found   []Model // of servers on this machine that nobody named

	screens map[id.Agent]*screen
	recent  []id.Agent // by use, the newest last
	now     *screen    // the one that is shown

	w, h      int
	theme     markdown.Theme
	profile   colorprofile.Profile
	light     bool
	over      overlay // what is in front; nil: nothing
	questions []*asked
	seeing    *asked    // the question that the user sees
	typedAt   time.Time // when something was last typed
	choosing  bool      // a mode is being written
	note      notice
	ticking   bool
	frame     int
	ctrlC     time.Time  // when it was last pressed on an empty prompt
	hits      []*block   // what the lines of the conversation are of
	offer     completion // what could stand at the cursor
	search    search
	past      past
	mine      map[id.Agent]bool        // children that the user forked here
	fresh     map[id.Agent]state.State // what agents did since the last look began
	hall      hall
	tour      tour
	usable    []Model // by vendors that have a key, on the first screen
	terminal  *terminal
	fatal     error
}

// chosen is the model of an agent, as the status line shows it.
type chosen struct {
	Model
	err error
}

// Run shows the terminal until the user leaves. The error is why it could not go on.
func Run(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := newRoot(ctx, o)
	err := m.terminal.run(ctx, m)
	m.keepNow()
	m.desk.leave()
	cancel()
	if m.workspace != nil {
		m.workspace.Close()
	}
	if said := m.farewell(); said != "" {
		io.WriteString(o.Out, said)
	}
	switch {
	case m.fatal != nil:
		return m.fatal
	case errors.Is(err, tea.ErrProgramPanic):
		return fault.New(fault.Failed, "the terminal broke: %w", err).WithHint("your agents are unharmed; start ramet again")
	case errors.Is(err, context.Canceled), errors.Is(err, tea.ErrProgramKilled):
		return fault.New(fault.Interrupted, "stopped by a signal")
	}
	return err
}

func newRoot(ctx context.Context, o Options) *root {
	m := &root{o: o, ctx: ctx, terminal: newTerminal(o, "ramet"), screens: map[id.Agent]*screen{}, models: map[id.Agent]chosen{}, mine: map[id.Agent]bool{}, fresh: map[id.Agent]state.State{}, w: 80, h: 24}
	m.desk, m.memory = sit(o.State)
	m.theme = markdown.Basic()
	m.past.at = len(m.memory.Said)
	m.visit(m.memory.Current)
	return m
}

// Init begins.
func (m *root) Init() tea.Cmd { return m.open }

func (m *root) paint() {
	switch {
	case m.profile > colorprofile.ASCII && m.o.Theme == "contrast":
		m.theme = markdown.Contrast()
	case m.profile <= colorprofile.ASCII:
		m.theme = markdown.Mono()
	case m.profile == colorprofile.ANSI:
		m.theme = markdown.Basic()
	case m.o.Theme == "light" || m.light && m.o.Theme != "dark":
		m.theme = markdown.Light()
	default:
		m.theme = markdown.Dark()
	}
}

type openedMsg struct {
	workspace Workspace
	err       error
}

func (m *root) open() tea.Msg {
	workspace, err := m.o.Open(m.ctx)
	return openedMsg{workspace, err}
}

func (m *root) later(d time.Duration, msg tea.Msg) tea.Cmd {
	if m.o.Later != nil {
		return m.o.Later(d, msg)
	}
	return tea.Tick(d, func(time.Time) tea.Msg { return msg })
}

func (m *root) send(sequence string) tea.Cmd {
	return func() tea.Msg {
		m.terminal.send(sequence)
		return nil
	}
}

func (m *root) screen(a id.Agent) *screen {
	s := m.screens[a]
	if s == nil {
		s = newScreen(a, m.memory.Agents[a])
		s.name = func(a id.Agent) string { return m.agents.label(a) }
		m.screens[a] = s
	}
	return s
}

func (m *root) visit(a id.Agent) {
	if m.now != nil {
		m.stow(m.now)
	}
	m.now = m.screen(a)
	m.offer = completion{}
	m.past.at = len(m.memory.Said)
	m.recent = append(slices.DeleteFunc(m.recent, func(r id.Agent) bool { return r == a }), a)
	m.forget()
	m.memory.Current = a
	m.dirty = true
}

// maxScreens is how many conversations are kept in memory; of others only what the
// user typed is.
const maxScreens = 12

func (m *root) forget() {
	for len(m.recent) > maxScreens {
		old := m.screens[m.recent[0]]
		m.recent = m.recent[1:]
		if old != nil && old != m.now {
			old.transcript = transcript{live: old.live, asides: old.asides, name: old.name, told: old.told}
		}
	}
}

// stow puts what is kept of a screen into memory.
func (m *root) stow(s *screen) {
	if d := s.desktop(); d.empty() {
		delete(m.memory.Agents, s.agent)
	} else {
		m.memory.Agents[s.agent] = d
	}
}

func (m *root) agent() (agent.Agent, bool) { return m.agents.get(m.now.agent) }

type (
	saveMsg  struct{}
	savedMsg struct {
		said []string        // what is in the file now
		gone map[string]bool // what was redacted
		err  error
	}
)

func (m *root) saveSoon() tea.Cmd {
	if !m.dirty || m.saving {
		return nil
	}
	m.saving = true
	return m.later(100*time.Millisecond, saveMsg{})
}

func (m *root) save() tea.Cmd {
	m.dirty = false
	m.stow(m.now)
	copied := m.memory
	copied.Agents = make(map[id.Agent]desktop, len(m.memory.Agents))
	for a, d := range m.memory.Agents {
		d.Folds = maps.Clone(d.Folds)
		if d.Place != nil {
			at := *d.Place
			d.Place = &at
		}
		copied.Agents[a] = d
	}
	at := m.desk
	return func() tea.Msg {
		gone := at.heed()
		copied.unsay(gone)
		return savedMsg{copied.Said, gone, keep(at.path, copied)}
	}
}

func (m *root) keepNow() {
	m.stow(m.now)
	m.memory.unsay(m.desk.heed())
	keep(m.desk.path, m.memory) // nobody is there any more to be told
}

// overlay is something in front of the conversation. While it is there, keys are
// its own.
type overlay interface {
	key(m *root, k tea.KeyPressMsg) tea.Cmd
	// view draws it into at most h lines of w cells.
	view(m *root, w, h int) []string
}

// What a root is made of; what each does is in a file of its own.

// completion lists candidates at the cursor: commands and their arguments after
// a slash, files after an @.
type completion struct {
	session.Completion
	file  bool
	at    int
	away  bool // the user does not want it until the prompt changes
	typed string
}

// hall is Home: all agents as rows, of which one has the cursor (package public says which rows
// there are). Either the list has the keys, or the line below it, which is the prompt of the
// agent under the cursor.
type hall struct {
	on    bool
	facts *public.HomeFacts // nil: not read yet
	table public.HomeTable
	lines []homeLine // what is shown: heads, rows, folds
	at    id.Agent   // who has the cursor; empty: the line numbered fold
	fold  int
	top   int // the first line that is shown
	high  int // lines that are shown

	open      map[public.HomeSection]bool // unfolded by hand
	filter    string
	filtering bool     // letters are for the filter
	closed    bool     // the preview was closed by hand
	line      bool     // the line has the keys
	from      id.Agent // who was current before it had

	stale   bool // what is shown is older than what is known
	waiting bool // it is brought up to date in a moment
	moved   time.Time
	rests   bool                            // the cursor has not moved for a while
	unread  bool                            // the conversation under the cursor was not looked at
	pinned  map[id.Agent]public.HomeSection // rows that stand still, because the cursor is or was just there
}

type notice struct {
	text   string // harmless
	style  style
	number int
}

// past are the former prompts, as one walks through them.
type past struct {
	at    int
	draft string // what stood there before
}

// asked is a question that waits for the user. How keys answer it the model says; here
// it is drawn and fed.
type asked struct {
	*QuestionModel
	answer func(permit.Verdict)
	over   <-chan struct{}

	at    int  // first line of what would run that is shown
	more  int  // lines of it that do not fit
	blind bool // there is no room for even one of them
}

// search looks for a text in the whole conversation, from the end backwards. What
// was not read yet is read on the way.
type search struct {
	on      bool
	typed   string
	from    *key // the last place that fits
	looking bool // an older page is on its way
	none    bool
	at, of  int // which of the places that fit, of those that were read; the newest is the first
}
