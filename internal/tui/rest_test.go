package tui

import (
	"bytes"
	"context"
	"testing"

	tea "charm.land/bubbletea/v2"
)

type still struct{ told func() }

func (s still) Init() tea.Cmd                       { return nil }
func (s still) Update(tea.Msg) (tea.Model, tea.Cmd) { s.told(); return s, tea.Quit }
func (s still) View() tea.View                      { return tea.NewView("still") }

// The ticker of the library is where we look for it: after an upgrade this tells.
func TestTheRendererCanRest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var p *tea.Program
	var r rest
	p = tea.NewProgram(still{func() { r.wake(p) }}, tea.WithContext(ctx), tea.WithInput(nil), tea.WithOutput(&bytes.Buffer{}), tea.WithoutSignalHandler(), tea.WithWindowSize(80, 24))
	if _, err := p.Run(); err != nil {
		t.Fatal(err)
	}
	if r.ticker == nil {
		t.Fatal("the renderer's ticker is not found: an idle terminal wakes 120 times a second")
	}
	r.sleep()
	r.wake(p)
	if r.asleep {
		t.Error("it sleeps after it was woken")
	}
	r.timer.Stop()
}
