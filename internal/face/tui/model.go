package tui

import (
	"context"
	"errors"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/state"
	"ramet/internal/face/tui/markdown"
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
	for i, r := range m.recent {
		if r == a {
			m.recent = append(m.recent[:i], m.recent[i+1:]...)
			break
		}
	}
	m.recent = append(m.recent, a)
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
			asides := old.asides
			old.transcript = transcript{live: old.live, asides: asides, name: old.name, told: old.told}
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
		if d.Folds != nil {
			folds := make(map[string]bool, len(d.Folds))
			for k, v := range d.Folds {
				folds[k] = v
			}
			d.Folds = folds
		}
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
