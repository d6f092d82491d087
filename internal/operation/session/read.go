package session

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/operation/public"
)

// maxShown limits the bytes of one content that are read for the screen.
const maxShown = 1 << 20

// Span asks for a page: the newest entries older than Before (0: the newest of all),
// or, if After is set, all that are newer than that.
type Span struct {
	Before, After id.Message
	Limit         int
}

// Page is a stretch of a conversation, oldest first.
type Page struct {
	Entries []Entry
	More    bool       // there are older ones
	Head    id.Message // the agent's newest entry then; not with Before
}

// Entry is one entry, read.
type Entry struct {
	history.Entry
	Parts []history.Part
	About history.Meta
	Gone  bool // not in the context: rewound, or replaced by a summary
}

// Page reads a stretch of the conversation of an agent, inherited entries included, back to
// its last clear. Unknown: NOT_FOUND.
func (w History) Page(ctx context.Context, a id.Agent, s Span) (Page, error) {
	var p Page
	err := w.ws.Store.View(ctx, func(log history.Log) error {
		ranges, err := history.BuildRanges(ctx, log, a)
		if err != nil {
			return err
		}
		in, err := history.Membership(ctx, log, a)
		if err != nil {
			return err
		}
		own := history.Range{Agent: a}
		head, err := history.Newest(ctx, log, own, 1)
		if err != nil {
			return err
		}
		for _, e := range head {
			p.Head = e.ID
		}
		var found []history.Entry // newest first
		if s.After > 0 {
			found, _, err = history.FirstAfter(ctx, log, []history.Range{own}, s.After, math.MaxInt)
			slices.Reverse(found)
		} else {
			found, p.More, err = history.LastBefore(ctx, log, ranges, s.Before, max(1, s.Limit))
		}
		if err != nil {
			return err
		}
		for _, e := range slices.Backward(found) {
			one, err := w.entry(ctx, log, e)
			if err != nil {
				return err
			}
			one.Gone = e.Kind.Reaches() && !in(e)
			p.Entries = append(p.Entries, one)
		}
		return nil
	})
	return p, err
}

// entry reads an entry; of large contents only the beginning is kept.
func (w History) entry(ctx context.Context, log history.Log, e history.Entry) (Entry, error) {
	out := Entry{Entry: e}
	var err error
	if out.Parts, err = e.Parts(); err != nil {
		return out, err
	}
	if out.About, err = e.Decode(); err != nil {
		return out, err
	}
	out.Content, out.Meta = nil, nil // read
	for i := range out.Parts {
		p := &out.Parts[i]
		if p.Blob == nil || p.Type.IsData() {
			continue
		}
		if err := history.Fill(out.Parts[i:i+1], func(h chain.Hash) ([]byte, error) { return w.ws.Store.Blob(ctx, h) }); err != nil {
			return out, err
		}
		if len(p.Text) > maxShown {
			p.Size = int64(len(p.Text) - maxShown)
			p.Text = text.Safe(p.Text[:maxShown])
		}
	}
	return out, nil
}

// ReadEntry reads one entry as Page does.
func (w History) ReadEntry(ctx context.Context, e history.Entry) (out Entry, err error) {
	err = w.ws.Store.View(ctx, func(log history.Log) error {
		out, err = w.entry(ctx, log, e)
		return err
	})
	return out, err
}

// maxPoints bounds what is read of one agent for the view of time, besides what
// shapes its history.
const maxPoints = 1000

// Point is a place in a lineage.
type Point struct {
	Agent id.Agent
	Label string // of that agent
	ID    id.Message
	Kind  history.Kind
	Text  string // one line
	Gone  bool
	Head  bool // the newest entry of the agent that was asked for
}

// Timeline reads what shaped a lineage, behind clears too.
func (w History) Timeline(ctx context.Context, a id.Agent) ([]Point, error) {
	var points []Point
	err := w.ws.Store.View(ctx, func(log history.Log) error {
		lineage, err := log.Lineage(ctx, a)
		if err != nil {
			return err
		}
		in, err := history.Membership(ctx, log, a)
		if err != nil {
			return err
		}
		end := history.NoLimit
		var all [][]Point // the agent's own first
		for _, step := range lineage {
			own, err := w.points(ctx, log, history.Range{Agent: step.Agent, End: end}, in)
			if err != nil {
				return err
			}
			all = append(all, own)
			end = history.UpTo(step.ForkMessage)
		}
		for _, own := range slices.Backward(all) {
			points = append(points, own...)
		}
		return nil
	})
	if n := len(points); n > 0 {
		points[n-1].Head = true
	}
	return points, err
}

func (w History) points(ctx context.Context, log history.Log, r history.Range, in func(history.Entry) bool) ([]Point, error) {
	label, err := w.label(ctx, r.Agent)
	if err != nil {
		return nil, err
	}
	var entries []history.Entry
	seen := map[id.Message]bool{}
	for _, s := range []history.Selection{{Shaping: true}, {Newest: maxPoints, Any: true}} {
		for e, err := range log.QueryRange(ctx, r, s) {
			if err != nil {
				return nil, err
			}
			if !seen[e.ID] && (e.Kind.Shapes() || e.Kind == history.User || e.Kind == history.Fork) {
				seen[e.ID] = true
				entries = append(entries, e)
			}
		}
	}
	slices.SortFunc(entries, func(a, b history.Entry) int { return cmp.Compare(a.ID, b.ID) })
	var out []Point
	for _, e := range entries {
		m, err := e.Decode()
		if err != nil {
			return nil, err
		}
		if m.Run != "" {
			continue // no matter of this conversation
		}
		p := Point{Agent: r.Agent, Label: label, ID: e.ID, Kind: e.Kind, Gone: e.Kind.Reaches() && !in(e)}
		switch e.Kind {
		case history.Fork:
			switch {
			case len(m.Children) > 0:
				names := ""
				for _, c := range m.Children {
					name, err := w.label(ctx, c)
					if err != nil {
						return nil, err
					}
					names += " " + name
				}
				p.Text = names
			case m.Parent != "":
				p.Text = label + " begins"
			default:
				p.Text = "the workspace begins"
			}
		case history.Mark:
			p.Text = m.Label
		case history.Rewind:
			p.Text = "to " + m.Target
			if m.Label != "" {
				p.Text = "to " + m.Label
			}
		case history.User, history.Compact:
			parts, err := e.Parts()
			if err != nil {
				return nil, err
			}
			p.Text = text.Line(history.Plain(parts), 200)
		}
		out = append(out, p)
	}
	return out, nil
}

// label returns what an agent is called; the beginning of its id if it is gone.
func (w History) label(ctx context.Context, of id.Agent) (string, error) {
	a, err := w.ws.Store.Agent(ctx, of)
	if fault.Is(err, fault.NotFound) {
		return of.Short(), nil
	}
	return a.Label(), err
}

// Search asks for what was said.
type Search struct {
	Words string   // letters and digits, whatever their case
	Of    id.Agent // only in the history of this agent, inherited entries included; empty: everywhere
	Limit int
}

const (
	searchTime  = 5 * time.Second // after that the rest is not looked at
	searchMost  = 20_000          // hits that are kept for sorting
	maxSearched = 200             // characters that are looked for
)

// Search finds the messages in whose text, calls or results some words stand, or in who let a call run or not. Contents that are
// too large to stand in a history are not looked at. Nothing to look for: USAGE.
func (w History) Search(ctx context.Context, s Search) (public.Search, error) {
	out := public.Search{Found: []public.Hit{}}
	want := strings.ToLower(strings.TrimSpace(s.Words))
	if want == "" || utf8.RuneCountInString(want) > maxSearched {
		return out, fault.New(fault.Usage, "search: 1 to %d characters are looked for", maxSearched)
	}
	end := time.Now().Add(searchTime)
	err := w.ws.Store.View(ctx, func(log history.Log) error {
		ranges, err := w.searched(ctx, log, s.Of)
		if err != nil {
			return err
		}
		for _, r := range ranges {
			for e, err := range log.QueryRange(ctx, r, history.Selection{}) {
				if err != nil {
					return err
				}
				if len(out.Found) >= searchMost || time.Now().After(end) {
					out.More = true
					return nil
				}
				if around, ok := containsWords(e, want); ok {
					out.Found = append(out.Found, public.Hit{Agent: e.Agent, ID: e.ID, Kind: string(e.Kind), At: public.Stamp(e.CreatedAt), Around: around})
				}
			}
		}
		return nil
	})
	slices.SortFunc(out.Found, func(a, b public.Hit) int { return cmp.Compare(b.ID, a.ID) })
	if s.Limit > 0 && len(out.Found) > s.Limit {
		out.Found, out.More = out.Found[:s.Limit], true
	}
	return out, err
}

// searched returns the ranges to search: those of one agent's history, or what everybody
// stored.
func (w History) searched(ctx context.Context, log history.Log, of id.Agent) ([]history.Range, error) {
	if of != "" {
		return history.BuildRanges(ctx, log, of)
	}
	all, err := w.ws.Store.Agents(ctx, agent.Filter{Dead: true, Brief: true})
	if err != nil {
		return nil, err
	}
	out := make([]history.Range, len(all))
	for i, a := range all {
		out[i] = history.Range{Agent: a.ID, End: history.NoLimit}
	}
	return out, nil
}

// containsWords finds words in what an entry says.
func containsWords(e history.Entry, want string) (around string, ok bool) {
	if len(e.Content) == 0 {
		return "", false
	}
	parts, err := e.Parts()
	if err != nil {
		return "", false // verify says so; it is no reason not to find the others
	}
	for _, p := range parts {
		for _, said := range []string{p.Text, string(p.Args)} {
			if at := strings.Index(strings.ToLower(said), want); at >= 0 {
				return excerptAt(said, at, len(want)), true
			}
		}
	}
	if said := e.Permitted(); strings.Contains(strings.ToLower(said), want) { // as it is shown with the result
		return text.Line(said, 1000), true
	}
	return "", false
}

// excerptAt returns one line of a text around a place in it.
func excerptAt(said string, at, long int) string {
	const before, behind = 80, 160
	at = min(at, len(said)) // lower case may be longer or shorter
	from, till := max(0, at-before), min(len(said), at+long+behind)
	for from > 0 && !utf8.RuneStart(said[from]) {
		from--
	}
	for till < len(said) && !utf8.RuneStart(said[till]) {
		till++
	}
	return text.Line(said[from:till], 4*(before+behind))
}

// Append writes one message of a kind that a person may write.
func (w History) Append(ctx context.Context, a agent.Agent, kind history.Kind, text string) (history.Entry, error) {
	draft, err := history.Say(kind, text)
	if err != nil {
		return history.Entry{}, err
	}
	if err := w.ws.maySay(ctx, a, kind); err != nil {
		return history.Entry{}, err
	}
	return w.write(ctx, a, draft)
}

// Mark marks the point where the agent is, with the state of its files; a label is optional.
func (w History) Mark(ctx context.Context, a agent.Agent, label string) (history.Entry, error) {
	draft, err := history.NewMark(label)
	if err != nil {
		return history.Entry{}, err
	}
	if err := w.ws.may(ctx, "write to", a); err != nil {
		return history.Entry{}, err
	}
	drafts, err := w.ws.Files().draftState(ctx, a)
	if err != nil {
		return history.Entry{}, err
	}
	return w.write(ctx, a, append(drafts, draft)...)
}

// Clear empties an agent's context.
func (w History) Clear(ctx context.Context, a agent.Agent) (history.Entry, error) {
	return w.write(ctx, a, history.NewClear())
}

// RewindTo makes the context what it was just after a message.
func (w History) RewindTo(ctx context.Context, a agent.Agent, target id.Message) (history.Entry, error) {
	return w.write(ctx, a, history.NewRewind(target, ""))
}

// Rewind goes back to the newest mark of a label; of any, if the label is empty.
func (w History) Rewind(ctx context.Context, a agent.Agent, label string) (history.Entry, error) {
	if label != "" {
		if err := history.CheckLabel(label); err != nil {
			return history.Entry{}, err
		}
	}
	if err := w.ws.may(ctx, "rewind", a); err != nil {
		return history.Entry{}, err
	}
	if err := w.ws.mended(ctx, a); err != nil {
		return history.Entry{}, err
	}
	mark, err := w.mark(ctx, a, label)
	if err != nil {
		return history.Entry{}, err
	}
	return w.write(ctx, a, history.NewRewind(mark.ID, mark.Label))
}

// mark finds the newest mark of a label; of any, if the label is empty.
func (w History) mark(ctx context.Context, a agent.Agent, label string) (history.Label, error) {
	_, outline, err := history.Survey(ctx, w.ws.Store, a.ID)
	if err != nil {
		return history.Label{}, err
	}
	mark, ok := outline.Mark(label)
	if !ok {
		return mark, noMark(a.Label(), label, outline.Marks())
	}
	return mark, nil
}

func noMark(who, label string, marks []history.Label) error {
	if label == "" {
		return fault.New(fault.NotFound, "agent %s has no mark", who).
			WithHint("set one with `ramet mark`, or rewind with --to ID")
	}
	err := fault.New(fault.NotFound, "agent %s has no mark %q", who, label)
	var labels, quoted []string
	for _, m := range marks {
		if m.Label != "" && !slices.Contains(labels, m.Label) {
			labels, quoted = append(labels, m.Label), append(quoted, fmt.Sprintf("%q", m.Label))
		}
	}
	if len(labels) == 0 {
		return err.WithHint("it has no labels since its last clear")
	}
	return err.WithHint("%s", text.NearestHint(label, labels, "it has "+strings.Join(quoted, ", ")))
}

// Rename gives an agent a name.
func (w Agents) Rename(ctx context.Context, a agent.Agent, name string) (agent.Agent, error) {
	if err := agent.CheckName(name); err != nil {
		return a, err
	}
	if err := w.ws.may(ctx, "rename", a); err != nil {
		return a, err
	}
	if err := w.ws.mended(ctx, a); err != nil {
		return a, err
	}
	return w.ws.Store.Rename(ctx, a.ID, agent.Passing(), name)
}

// Redact deletes the content of a message for good, also from the memory of kernels of
// this machine.
func (w History) Redact(ctx context.Context, a agent.Agent, m id.Message) error {
	if err := w.ws.person(ctx, "redact"); err != nil {
		return err
	}
	if err := w.ws.mended(ctx, a); err != nil {
		return err
	}
	switch e, err := w.ws.Store.Entry(ctx, m); {
	case fault.Is(err, fault.NotFound): // the redaction itself says what is wrong
	case err != nil:
		return err
	case e.Agent != a.ID: // likewise
	case e.Kind == history.Files:
		return w.ws.Care().redactFiles(ctx, a, m)
	default:
		if err := w.ws.Care().forgetBeside(ctx, e); err != nil {
			return err
		}
	}
	if err := w.ws.Store.Redact(ctx, a.ID, agent.Passing(), m); err != nil {
		return err
	}
	if err := w.ws.Care().forgetFiles(ctx, m); err != nil {
		return err
	}
	w.ws.Peers.Forget(ctx)
	return nil
}

// write appends entries in one transaction, and returns the last.
func (w History) write(ctx context.Context, a agent.Agent, drafts ...history.Draft) (history.Entry, error) {
	if err := w.ws.may(ctx, "write to", a); err != nil {
		return history.Entry{}, err
	}
	if err := w.ws.mended(ctx, a); err != nil {
		return history.Entry{}, err
	}
	entries, err := w.ws.Store.Append(ctx, a.ID, agent.Passing(), drafts...)
	if err != nil {
		return history.Entry{}, err
	}
	return entries[len(entries)-1], nil
}

// order writes what a person decided about an agent, also while it works.
func (w Agents) order(ctx context.Context, a id.Agent, entry history.Draft) error {
	return w.ws.retakes(ctx, a, func() error {
		if w.ws.Kernel != nil {
			_, err := w.ws.Kernel.Order(ctx, a, entry)
			return err
		}
		return w.ws.insert(ctx, a, func(c agent.Claim) error {
			_, err := w.ws.Store.Append(ctx, a, c, entry)
			return err
		})
	})
}
