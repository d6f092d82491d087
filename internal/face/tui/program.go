package tui

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/core/kit"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
	"ramet/internal/turn/permit"
)

// program is the one that drives the agent on the screen; empty: ramet itself does.
func (m *root) program() string {
	a, ok := m.agent()
	if !ok {
		return ""
	}
	return a.Driver()
}

// named are the commands that the user and the project define, and those of the program that drives
// the agent on the screen.
func (m *root) named() []kit.Command {
	out := m.workspace.Defined()
	if a, ok := m.agent(); ok {
		out = append(out[:len(out):len(out)], m.workspace.ProgramCommands(a)...)
	}
	return out
}

// drives reads what the program that drives an agent offers; nil: none drives it, or nobody can tell.
func drives(ctx context.Context, w Workspace, all *agents, who id.Agent) *public.Program {
	a, ok := all.get(who)
	if !ok || a.Driver() == "" {
		return nil
	}
	p, err := w.Program(ctx, a)
	if err != nil {
		return nil // an agent that is gone
	}
	return p
}

func (m *root) programMode() string {
	if p := m.now.drives; p != nil && p.Mode != nil && m.program() != "" {
		return line(p.Driver+": "+*p.Mode, 40)
	}
	return ""
}

func (m *root) modes() []session.CommandCandidate {
	var out []session.CommandCandidate
	for _, mode := range permit.Modes() {
		out = append(out, session.CommandCandidate{Text: string(mode), Summary: mode.Title()})
	}
	p := m.now.drives
	if p == nil || m.program() == "" {
		return out
	}
	for _, mode := range p.Modes {
		out = append(out, session.CommandCandidate{Text: p.Driver + ":" + mode.Word, Summary: line(mode.Title+": "+mode.About, 100)})
	}
	return out
}
