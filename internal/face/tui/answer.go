package tui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/operation"
)

type answerMsg struct {
	agent id.Agent
	title string
	text  string
	err   error
	to    id.Agent // where to go then; empty: nowhere
}

func (m *root) run(title string, args ...string) tea.Cmd {
	return m.work(title, func(ctx context.Context, workspace Workspace) (string, error) { return workspace.Command(ctx, args...) })
}

// call carries out an operation and shows its output. One that changes the agent on the screen is done before what is
// said to it next.
func (m *root) call(title string, o operation.Operation, values map[string]string) tea.Cmd {
	in, err := operation.BindSlash(o, values, m.now.agent)
	if err != nil {
		return m.tell(bad, explain(err))
	}
	if brief, ok := in.(operation.TextInput); ok {
		brief.ForText()
	}
	do := m.operate(title, o, in)
	if operation.ChangesCurrent(o) {
		return m.alter(m.now.agent, do)
	}
	return do
}

func (m *root) operate(title string, o operation.Operation, in any) tea.Cmd {
	return m.work(title, func(ctx context.Context, workspace Workspace) (string, error) {
		return workspace.Print(ctx, o, in)
	})
}

// configure changes a setting and says from when on it counts.
func (m *root) configure(title, setting, value string) tea.Cmd {
	return m.work(title, func(ctx context.Context, workspace Workspace) (string, error) {
		said, err := workspace.Command(ctx, "config", "set", "--", setting, value)
		if err == nil && setting != "allow" && setting != "permission" {
			said += "(Programs that are already running, such as this terminal, keep the old value until they restart.)\n"
		}
		return said, err
	})
}

func (m *root) work(title string, do func(context.Context, Workspace) (string, error)) tea.Cmd {
	workspace, ctx, a := m.workspace, m.ctx, m.now.agent
	return func() tea.Msg {
		said, err := do(ctx, workspace)
		return answerMsg{agent: a, title: title, text: said, err: err}
	}
}

func (msg answerMsg) apply(m *root) tea.Cmd {
	s := m.screen(msg.agent)
	s.behind = s.transcript.read
	cmds := []tea.Cmd{m.look(), m.catchUp(s)}
	if msg.err != nil {
		s.refused(msg.title, msg.err)
		return tea.Batch(cmds...)
	}
	if strings.TrimSpace(msg.text) != "" {
		s.tell(&block{form: output, title: msg.title, body: msg.text})
	}
	if msg.to != "" {
		cmds = append(cmds, m.goTo(msg.to))
	}
	return tea.Batch(cmds...)
}

// refused tells what came of a line that was typed. One that has a wrong word in it comes back into the
// prompt, unless somebody typed on: then it is the last of the former ones.
func (s *screen) refused(said string, err error) {
	s.tell(&block{form: trouble, body: said + ": " + explain(err)})
	const misread, nowhere = 2, 3 // as the command line exits
	if exit := fault.Exit(err); (exit == misread || exit == nowhere) && strings.HasPrefix(said, "/") && s.input.Empty() {
		s.giveBack(said)
	}
}
