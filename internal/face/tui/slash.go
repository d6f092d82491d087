package tui

import (
	"context"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/model/llm"
	"ramet/internal/operation"
	"ramet/internal/operation/session"
	"ramet/internal/turn/permit"
)

// slash carries out a command. One that is refused stays in the prompt.
func (m *root) slash(said string) tea.Cmd {
	name, _, _ := session.FormatCommand(said)
	if _, own := session.FindCommand(name); !own && name != "" {
		return m.called(name, said)
	}
	c, err := operation.SlashRows().Parse(said)
	if err != nil {
		return m.tell(bad, explain(err))
	}
	if m.workspace == nil || m.agents == nil {
		if c.Name == "exit" {
			return tea.Quit
		}
		return m.tell(faint, "The workspace is still opening.")
	}
	s, draft, told := m.now, m.now.input, m.note.number
	m.sent(said)
	do := m.carryOut(c, said)
	if m.note.number != told && m.note.style == bad {
		s.input = draft
	}
	return do
}

// carryOut does what a command says. A notice that something is bad refuses it.
func (m *root) carryOut(c session.Command, said string) tea.Cmd {
	switch c.Name {
	case "exit":
		return tea.Quit
	case "help":
		return m.openHelp(c.Values["command"])
	case "log":
		return m.openTimeline()
	case "switch":
		return m.switchTo(c.Values["agent"])
	case "fork":
		return m.fork(c, said)
	case "kill":
		return m.kill(c)
	case "model":
		return m.setModel(c.Values["model"])
	case "mode":
		word := c.Values["mode"]
		if word == "" || m.program() != "" { // the program may have a mode of that name
			break
		}
		mode, err := permit.ParseMode(word)
		if err != nil {
			return m.tell(bad, explain(err))
		}
		return m.setMode(mode)
	case "key":
		return m.openKey(c.Values["vendor"])
	case "permissions":
		if rule := c.Values["rule"]; rule != "" {
			return m.alter(m.now.agent, m.run(said, "rules", "--remove", rule))
		}
		return m.run(said, "rules")
	case "config":
		switch setting, value := c.Values["setting"], c.Values["value"]; {
		case value != "":
			return m.alter(m.now.agent, m.configure(said, setting, value))
		case setting != "":
			return m.run(said, "config", "get", "--", setting)
		}
		return m.run(said, "config")
	case "skills":
		return m.run(said, "skills")
	case "tour":
		return m.beginTour()
	case "mcp":
		return m.run(said, "mcp", "list")
	case "compact":
		return m.compact(said)
	case "export":
		return m.export(said, c.Values["path"])
	case "import":
		return m.bringIn(said, c)
	case "filter-mail":
		return m.call(said, &operation.Mail, c.Values)
	case "rewind":
		to, err := operation.BindSlash(&operation.Rewind, c.Values, m.now.agent)
		if err != nil {
			return m.tell(bad, explain(err))
		}
		return m.rewind(said, m.now.agent, *to.(*operation.RewindInput))
	case "undo":
		return m.alter(m.now.agent, m.undo(said, m.now.agent))
	}
	if o := operation.SlashNamed(c.Name); o != nil {
		return m.call(said, o, c.Values)
	}
	return m.tell(bad, "The terminal doesn't support /"+c.Name)
}

func (m *root) switchTo(ref string) tea.Cmd {
	a, ok := m.agents.find(ref)
	if !ok {
		return m.noAgent(ref)
	}
	return m.goTo(a.ID)
}

// noAgent says that nobody is called so, and who was probably meant.
func (m *root) noAgent(ref string) tea.Cmd {
	var names []string
	for _, a := range m.agents.All {
		names = append(names, a.Label())
	}
	return m.tell(bad, "No agent "+line(ref, 40)+": "+text.NearestHint(ref, names, "/ps lists them"))
}

func (m *root) compact(title string) tea.Cmd {
	if m.busy(m.now) {
		return m.tell(warn, "The agent is working. Stop it first with Esc.")
	}
	in := operation.CompactInput{Agent: operation.AgentRef(m.now.agent)}
	if m.now.model != (llm.Ref{}) {
		in.Model = operation.Model(m.now.model.String())
	}
	m.now.turns++
	work := m.work(title, func(ctx context.Context, workspace Workspace) (string, error) {
		_, err := operation.Compact.Call(ctx, workspace, in)
		return "Summarized the older part of the context. /rewind undoes it.", err
	})
	return func() tea.Msg { return compactedMsg{work().(answerMsg)} }
}

type compactedMsg struct{ answerMsg }

func (msg compactedMsg) apply(m *root) tea.Cmd {
	m.screen(msg.agent).turns--
	return msg.answerMsg.apply(m)
}

// called says what is none of the terminal's own commands: a prompt by its name, or a text that is
// meant as it stands. A name that nobody defines stays in the prompt.
func (m *root) called(name, said string) tea.Cmd {
	if !session.IsCommandName(name) {
		return m.prompt(said)
	}
	known := session.CommandNames()
	if m.workspace != nil {
		for _, c := range m.named() {
			if c.Name == name {
				return m.prompt(said)
			}
			known = append(known, c.Name)
		}
		if m.program() != "" || strings.Contains(name, ":") { // a server's, perhaps, that was not asked yet
			return m.prompt(said)
		}
	}
	return m.tell(bad, explain(session.UnknownCommand(name, known)))
}

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

// refused shows why a typed line failed. One with a wrong word in it comes back into the
// prompt, unless the person typed on: then it is the newest of the earlier prompts.
func (s *screen) refused(said string, err error) {
	s.tell(&block{form: trouble, body: said + ": " + explain(err)})
	const misread, nowhere = 2, 3 // as the command line exits
	if exit := fault.Exit(err); (exit == misread || exit == nowhere) && strings.HasPrefix(said, "/") && s.input.Empty() {
		s.giveBack(said)
	}
}

func (m *root) export(title, path string) tea.Cmd {
	if path == "" {
		path = "ramet-" + m.agents.label(m.now.agent) + "-" + m.o.Now().Format("20060102-150405") + ".md"
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(m.o.Project, path)
	}
	format := "md"
	for _, other := range []string{"jsonl", "html"} {
		if strings.HasSuffix(path, "."+other) {
			format = other
		}
	}
	me := string(m.now.agent)
	return m.work(title, func(ctx context.Context, workspace Workspace) (string, error) {
		said, err := workspace.Command(ctx, "export", me, "--format", format)
		if err != nil {
			return "", err
		}
		return "Written to " + path, durable.CreateFile(path, []byte(said), 0o600)
	})
}

// bringIn lists sessions of other programs, or imports them. A path is meant from the project.
func (m *root) bringIn(title string, c session.Command) tea.Cmd {
	args := []string{"import"}
	if c.Values["all"] != "" {
		args = append(args, "--all")
	}
	if path := c.Values["path"]; path != "" {
		args = append(args, "--", path)
	}
	return m.run(title, args...)
}
