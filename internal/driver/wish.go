package driver

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
)

// Wish is how the program of an agent is to work, in its own words. What is empty is the
// program's choice, or its preset's.
type Wish struct {
	Model  string
	Mode   string
	Effort string // how hard it is to think, as people told it; a program that knows no such word is not told
}

// ModeEntry records that one of a program's own modes was chosen for an agent.
func ModeEntry(driver, mode string) history.Draft {
	return history.Draft{Kind: history.Command, Meta: history.Meta{Command: history.DriverModeCommand, Mode: mode,
		Driver: &history.Driver{Name: driver, Attested: history.Reported}}}
}

// Mode is the mode of its program that was chosen for an agent, itself or before it was born;
// empty: none.
func Mode(ctx context.Context, log history.Log, a id.Agent, driver string) (string, error) {
	told, _, err := registry.LastOrder(ctx, log, a, func(m history.Meta) bool {
		return m.Command == history.DriverModeCommand && m.Driver != nil && m.Driver.Name == driver
	})
	return told.Mode, err
}

// wish is what was told of an agent.
func (d *Driven) wish(ctx context.Context, log history.Log, a id.Agent) (Wish, error) {
	out := Wish{Model: d.Model}
	var err error
	if out.Mode, err = Mode(ctx, log, a, d.Program.Name()); err != nil {
		return out, err
	}
	effort, _, err := registry.Effort(ctx, log, a)
	out.Effort = string(effort.Or(""))
	return out, err
}
