package tui

import (
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"
)

// Pick shows a list to choose from by a few letters, and gives the one that was chosen; false:
// none. Lines are texts with a remark each.
func Pick(ctx context.Context, o Options, title string, lines [][2]string) (int, bool, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	frames := newFrames(o)
	chosen := &choosing{root: &root{o: o, ctx: ctx, w: 80, h: 24, drawn: frames.drawn}, at: -1}
	var choices []choice
	for i, l := range lines {
		choices = append(choices, choice{line(l[0], 400), line(l[1], 60), i})
	}
	chosen.root.over = newPicker(title, choices, 0, func(_ *root, i int) tea.Cmd {
		chosen.at = i
		return nil
	})
	_, err := frames.program(ctx, o, chosen).Run()
	if ctx.Err() != nil {
		return 0, false, ctx.Err()
	}
	return max(0, chosen.at), chosen.at >= 0, err
}

// choosing is a picker alone on the screen.
type choosing struct {
	root *root
	at   int
}

func (c *choosing) Init() tea.Cmd { return nil }

func (c *choosing) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		c.root.w, c.root.h = msg.Width, msg.Height
	case tea.KeyPressMsg:
		if msg.String() == "ctrl+c" {
			return c, tea.Quit
		}
		if c.root.over.key(c.root, msg); c.root.over == nil {
			return c, tea.Quit
		}
	case tea.PasteMsg:
		c.root.over.(*picker).paste(msg.Content)
	}
	return c, nil
}

func (c *choosing) View() tea.View {
	v := tea.NewView(blank)
	v.AltScreen = true
	var lines []string
	if w, h := max(c.root.w, 10), max(c.root.h, 4); c.root.over != nil {
		lines = slices.Clone(fill(c.root.over.view(c.root, w, h), h)[:min(h, c.root.h)])
	}
	c.root.drawn(drawing{lines, c.root.w, 0, -1})
	return v
}
