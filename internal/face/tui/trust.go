package tui

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/text"
)

// trustKey shows what in the project has changed since it was accepted.
const trustKey = "f2"

// acceptKey accepts it. It is no letter, so that nothing that is typed accepts anything.
const acceptKey = "ctrl+a"

// pointed says in a note that is about what acts which key shows it.
func pointed(note string) string { return strings.ReplaceAll(note, "`ramet trust`", "F2") }

type reviewMsg struct {
	text string
	err  error
}

func (m *root) openTrust() tea.Cmd {
	workspace, ctx := m.workspace, m.ctx
	if workspace == nil {
		return nil // not yet
	}
	return func() tea.Msg {
		text, err := workspace.Command(ctx, "trust", "--list", "--json")
		return reviewMsg{text, err}
	}
}

// review is what would act in the project, to be read and accepted in exactly these bytes.
type review struct {
	sheet
	digest string // empty: there is nothing to accept
}

func (msg reviewMsg) apply(m *root) tea.Cmd {
	var d struct {
		Project string
		Trusted bool
		Digest  string
		Things  []struct {
			Kind, Path, Does, Change, Diff string
			Size                           int
			Refused                        *string
			Invisible                      []string
		}
	}
	err := msg.err
	if err == nil {
		err = json.Unmarshal([]byte(msg.text), &d)
	}
	if err != nil {
		return m.tell(bad, explain(err))
	}
	r := &review{sheet: sheet{title: "what is active in " + line(d.Project, 200)}}
	if !d.Trusted {
		r.digest = d.Digest
	}
	say := func(l string) { r.lines = append(r.lines, l) }
	for _, t := range d.Things {
		what := t.Does
		if t.Refused != nil {
			what = "inactive: " + *t.Refused
		}
		say(bold.of(line(fmt.Sprintf("%s  %s %s, %s", t.Change, t.Kind, t.Path, text.Count(t.Size, "byte")), 400)))
		say("  " + faint.of(line(what, 400)))
		for _, i := range t.Invisible {
			say("  " + bad.of(line("invisible: "+i, 400)))
		}
		for l := range strings.SplitSeq(strings.TrimSuffix(t.Diff, "\n"), "\n") {
			switch l = clean(l); {
			case t.Diff == "":
			case strings.HasPrefix(l, "+"):
				say("  " + good.of(l))
			case strings.HasPrefix(l, "-"):
				say("  " + bad.of(l))
			default:
				say("  " + l)
			}
		}
		say("")
	}
	if len(d.Things) == 0 {
		say("Nothing in this project is active.")
	}
	m.over = r
	return nil
}

func (r *review) key(m *root, k tea.KeyPressMsg) tea.Cmd {
	switch name := k.String(); {
	case name == trustKey:
		m.over = nil
		return nil
	case name != acceptKey || r.digest == "":
		return r.sheet.key(m, k)
	}
	m.over = nil
	digest := r.digest
	return m.alter(m.now.agent, m.work("trust", func(ctx context.Context, workspace Workspace) (string, error) {
		_, err := workspace.Command(ctx, "trust", "--accept", digest)
		return "Accepted. In effect from the next turn.", err
	}))
}

func (r *review) view(m *root, w, h int) []string {
	out := r.sheet.view(m, w, h)
	if r.digest != "" {
		out[len(out)-1] = faint.of(cut("↑↓ PgUp PgDn scroll · Ctrl+A accept exactly this · Esc close", w))
	}
	return out
}
