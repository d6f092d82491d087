package tui

import (
	"context"
	"math"
	"slices"
	"sort"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/face/tui/markdown"
	"ramet/internal/model/llm"
	"ramet/internal/operation/public"
	"ramet/internal/turn/permit"
)

// speaking is the entry of blocks that are not stored yet.
const speaking = id.Message(math.MaxInt64)

// screen is what is kept of one agent: its conversation, and what the user typed.
type screen struct {
	transcript
	agent   id.Agent
	input   input
	queue   []string        // typed while it worked
	handed  []handed        // of that, what its kernel has
	changes []tea.Cmd       // of the agent, asked for and not over; the first is under way
	at      *position       // nil: the end, whatever comes
	folds   map[string]bool // opened or closed by hand
	all     bool            // everything is open
	model   llm.Ref         // chosen with /model
	mode    permit.Mode     // how its calls are permitted; empty: not known yet
	drives  *public.Program // the program that drives it; nil: none

	loading  bool
	behind   bool               // something was stored that was not read
	failed   error              // why it could not be read
	turns    int                // that we asked for and that are not over
	ticket   string             // of the newest of them: it can be taken back
	stopping bool               // we asked for the end of its turn
	barrier  context.CancelFunc // of a fork that waits for tools
	shell    context.CancelFunc // of a command of the user's
	chosen   *key               // the block that is picked with alt+arrows
	finding  bool               // it was found, and its words are marked instead
	asks     map[string]string  // for what calls wait of which somebody is asked

	width, height int // of the conversation, when it was last drawn
	theme         markdown.Theme
}

func newScreen(a id.Agent, d desktop) *screen {
	s := &screen{agent: a, at: d.Place, folds: d.Folds}
	if s.folds == nil {
		s.folds = map[string]bool{}
	}
	if d.Draft != nil {
		s.input.Editor = s.input.Restore(*d.Draft)
	}
	// Nothing that was typed is sent by itself after a restart.
	s.queue = d.Queue
	s.unqueue()
	s.model, _ = llm.ParseRef(d.Model) // one that is none any more is no choice
	return s
}

// desktop is what survives.
func (s *screen) desktop() desktop {
	d := desktop{Queue: s.waiting(), Place: s.at}
	if !s.input.Empty() {
		draft := s.input.State()
		d.Draft = &draft
	}
	if len(s.folds) > 0 && len(s.folds) <= maxFolds {
		d.Folds = s.folds
	}
	if s.model != (llm.Ref{}) {
		d.Model = s.model.String()
	}
	if s.at != nil && s.at.Entry == speaking {
		d.Place = nil
	}
	return d
}

// giveBack puts a text that was not sent before the draft.
func (s *screen) giveBack(said string) {
	e := s.input.moveTop().paste(said)
	if !s.input.Empty() {
		e = e.Insert("\n")
	}
	s.input.Editor = e.moveBottom()
}

func (s *screen) unqueue() {
	for _, q := range slices.Backward(s.queue) {
		s.giveBack(q)
	}
	s.queue = nil
}

// working says whether the agent is busy, as far as we know.
func (s *screen) working() bool { return s.live.working || s.turns > 0 }

// opened says whether a block is.
func (s *screen) opened(b *block) bool {
	if v, ok := s.folds[b.key.String()]; ok {
		return v
	}
	return s.all
}

func (s *screen) fold(b *block) {
	if b.foldable() {
		s.folds[b.key.String()] = !s.opened(b)
	}
}

// visible returns all blocks in order: the stored ones, then those of the moment.
func (s *screen) visible() []*block {
	current := s.live.blocks(&s.transcript)
	for i, b := range current {
		b.key = key{speaking, i}
	}
	return slices.Concat(s.blocks, current)
}

func (s *screen) lay(b *block) []string { return b.lines(s.width, s.opened(b), s.theme) }

func (s *screen) top(blocks []*block) (i, line int) {
	if s.at != nil {
		want := key{s.at.Entry, s.at.Part}
		i = sort.Search(len(blocks), func(i int) bool { return !blocks[i].key.before(want) })
		if i < len(blocks) {
			if blocks[i].key != want {
				return i, 0
			}
			return i, max(0, min(s.at.Line, len(s.lay(blocks[i]))-1))
		}
	}
	room := s.height
	for i = len(blocks) - 1; i >= 0; i-- {
		n := len(s.lay(blocks[i]))
		if n >= room {
			return i, n - room
		}
		room -= n
	}
	return 0, 0
}

// draw lays out what is visible. Where it says which block a line is of, nil is none.
func (s *screen) draw(w, h int) (lines []string, of []*block) {
	s.width, s.height = w, h
	blocks := s.visible()
	i, from := s.top(blocks)
	for ; i < len(blocks) && len(lines) < h; i++ {
		for _, l := range s.lay(blocks[i])[from:] {
			if len(lines) == h {
				break
			}
			if s.chosen != nil && *s.chosen == blocks[i].key && l != "" && !s.finding {
				l = reverse.of(fit(strip(l), w))
			}
			lines = append(lines, l)
			of = append(of, blocks[i])
		}
		from = 0
	}
	if len(lines) < h && s.at != nil { // nothing is below: it follows again
		s.at = nil
		return s.draw(w, h)
	}
	return lines, of
}

// scroll moves by lines, up if n is negative. It says whether older entries are
// wanted.
func (s *screen) scroll(n int) (older bool) {
	blocks := s.visible()
	if len(blocks) == 0 || s.height == 0 {
		return s.more
	}
	i, line := s.top(blocks)
	line += n
	for line < 0 && i > 0 {
		i--
		line += len(s.lay(blocks[i]))
	}
	if line < 0 {
		line, older = 0, s.more
	}
	for line >= len(s.lay(blocks[i])) {
		line -= len(s.lay(blocks[i]))
		if i++; i == len(blocks) {
			s.at = nil
			return false
		}
	}
	b := blocks[i]
	s.at = &position{b.Entry, b.Part, line}
	// Is a screen full left below?
	left := -line
	for j := i; j < len(blocks) && left <= s.height; j++ {
		left += len(s.lay(blocks[j]))
	}
	if left <= s.height {
		s.at = nil
	}
	return older || s.more && i < 3 && n < 0
}

func (s *screen) show(b *block, line int) {
	s.at = &position{b.Entry, b.Part, line}
	s.scroll(-s.height / 3)
}

func (s *screen) choose(n int) {
	blocks := s.visible()
	at := len(blocks)
	if s.chosen != nil {
		at = sort.Search(len(blocks), func(i int) bool { return !blocks[i].key.before(*s.chosen) })
	} else if n > 0 {
		return
	}
	for at += n; at >= 0 && at < len(blocks); at += n {
		if blocks[at].form != landmark {
			k := blocks[at].key
			s.chosen = &k
			s.reveal(blocks, at)
			return
		}
	}
	if n > 0 {
		s.chosen = nil
		s.at = nil
	}
}

// reveal scrolls as little as is needed to see the head of a block.
func (s *screen) reveal(blocks []*block, at int) {
	if s.height == 0 {
		return
	}
	i, line := s.top(blocks)
	if at < i || at == i && line > 0 {
		s.at = &position{blocks[at].Entry, blocks[at].Part, 0}
		return
	}
	below := -line
	for ; i < at && below < s.height; i++ {
		below += len(s.lay(blocks[i]))
	}
	if below >= s.height-1 {
		s.show(blocks[at], 0)
	}
}

func (s *screen) picked() *block {
	if s.chosen == nil {
		return nil
	}
	for _, b := range s.visible() {
		if b.key == *s.chosen {
			return b
		}
	}
	return nil
}

// stored takes an entry that became durable: what was shown of it while it was being
// said is dropped, and whoever was reading it stays where he was.
func (s *screen) stored(entries ...Entry) (stale bool) {
	stale = s.append(entries...)
	for _, e := range entries {
		if e.Kind == history.Assistant || e.Kind == history.Interrupted {
			s.live.said()
			if s.at != nil && s.at.Entry == speaking {
				s.at.Entry, s.at.Part = e.ID, 0
			}
		}
	}
	s.settle()
	return stale
}

const pageSize = 120

type pageMsg struct {
	agent id.Agent
	span  Span
	page  Page
	err   error
}

func (m *root) read(s *screen, span Span) tea.Cmd {
	if m.workspace == nil || s.loading || s.agent == "" {
		return nil
	}
	s.loading = true
	workspace, ctx, a := m.workspace, m.ctx, s.agent
	return func() tea.Msg {
		p, err := workspace.Page(ctx, a, span)
		return pageMsg{a, span, p, err}
	}
}

// catchUp reads what is not known yet of a conversation that is looked at.
func (m *root) catchUp(s *screen) tea.Cmd {
	a, ok := m.agents.get(s.agent)
	switch {
	case !ok || s.loading:
		return nil
	case !s.transcript.read:
		return m.read(s, Span{Limit: pageSize})
	case a.Head > s.head || s.behind:
		s.behind = false
		return m.read(s, Span{After: max(1, s.head)})
	}
	return nil
}

func (m *root) reread(s *screen) tea.Cmd {
	s.transcript.read = false
	s.entries = nil
	return m.read(s, Span{Limit: pageSize})
}

func (m *root) older(s *screen) tea.Cmd {
	if !s.more || len(s.entries) == 0 {
		return nil
	}
	return m.read(s, Span{Before: s.first(), Limit: pageSize})
}
