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
	chosen := &choosing{root: &root{o: o, ctx: ctx, w: 80, h: 24}, at: -1}
	var choices []choice
	for i, l := range lines {
		choices = append(choices, choice{line(l[0], 400), line(l[1], 60), i})
	}
	chosen.root.over = newPicker(title, choices, 0, func(_ *root, i int) tea.Cmd {
		chosen.at = i
		return nil
	})
	err := newTerminal(o, title).run(ctx, chosen)
	if ctx.Err() != nil {
		return 0, false, ctx.Err()
	}
	return max(0, chosen.at), chosen.at >= 0, err
}

type choosing struct {
	root *root
	at   int
}

func (c *choosing) Init() tea.Cmd { return nil }

func (c *choosing) Update(msg tea.Msg) tea.Cmd {
	p, open := c.root.over.(*picker)
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		c.root.w, c.root.h = msg.Width, msg.Height
	case tea.MouseWheelMsg:
		c.root.wheel(msg)
	case tea.KeyPressMsg:
		if open && msg.String() != "ctrl+c" {
			p.key(c.root, msg)
		}
		if msg.String() == "ctrl+c" || c.root.over == nil {
			return tea.Quit
		}
	case tea.PasteMsg:
		if open {
			p.paste(msg.Content)
		}
	}
	return nil
}

func (c *choosing) draw() drawing {
	d := drawing{width: c.root.w, y: -1}
	if w, h := max(c.root.w, 10), max(c.root.h, 4); c.root.over != nil {
		d.lines = slices.Clone(fill(c.root.over.view(c.root, w, h), h)[:min(h, c.root.h)])
	}
	return d
}
