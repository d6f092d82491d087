package tui

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/agent"
	"ramet/internal/command"
	"ramet/internal/durable"
	"ramet/internal/fault"
	"ramet/internal/id"
	"ramet/internal/llm"
)

// slash carries out a command. One that is not understood stays in the prompt.
func (m *root) slash(said string) tea.Cmd {
	c, err := command.Parse(said)
	if err != nil {
		return m.tell(bad, explain(err))
	}
	if m.desk == nil || m.crowd == nil {
		if c.Name == "exit" {
			return m.leave(false)
		}
		return m.tell(faint, "the workspace is still being opened")
	}
	m.sent(said)
	me := string(m.now.agent)
	switch c.Name {
	case "exit":
		return m.leave(false)
	case "help":
		return m.openHelp(c.Topic)
	case "log":
		return m.openTimeline()
	case "switch":
		return m.switchTo(c.Agent)
	case "fork":
		return m.fork(c)
	case "kill":
		return m.kill(c)
	case "model":
		return m.setModel(c.Model)
	case "usage":
		return m.run(said, "usage")
	case "compact":
		return m.compact(said)
	case "export":
		return m.export(said, c.Path)
	case "ps":
		return m.run(said, "ps")
	case "verify":
		return m.run(said, "verify")
	case "rename":
		return m.run(said, "rename", "--", me, c.NewName)
	case "send":
		return m.run(said, "send", "--", c.Agent, c.Text)
	case "check-mail":
		return m.run(said, "mail", me)
	case "filter-mail":
		return m.run(said, "mail", me, "--from", c.Agent)
	case "read-mail":
		return m.run(said, append([]string{"read", me}, number(c.Number)...)...)
	case "delete-mail":
		return m.hide(said, c.Number)
	case "mark":
		return m.quiet(said, append([]string{"mark", "--", me}, optional(c.Label)...)...)
	case "rewind":
		if c.At != nil {
			return m.quiet(said, "rewind", me, "--to", c.At.String())
		}
		return m.quiet(said, append([]string{"rewind", "--", me}, optional(c.Label)...)...)
	case "clear":
		return m.quiet(said, "clear", me)
	}
	return m.tell(bad, "the terminal does not know "+c.Name)
}

func number(n *int64) []string {
	if n == nil {
		return nil
	}
	return []string{strconv.FormatInt(*n, 10)}
}

func optional(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// answerMsg is what a command answered.
type answerMsg struct {
	agent id.Agent
	title string
	text  string
	err   error
	to    id.Agent // where to go then; empty: nowhere
}

// run carries out a command line of ramet and shows what it prints.
func (m *root) run(title string, args ...string) tea.Cmd {
	return m.work(title, func(ctx context.Context, desk Desk) (string, error) { return desk.Command(ctx, args...) })
}

// quiet is run for what the conversation itself shows.
func (m *root) quiet(title string, args ...string) tea.Cmd {
	return m.work(title, func(ctx context.Context, desk Desk) (string, error) {
		_, err := desk.Command(ctx, args...)
		return "", err
	})
}

// work does something elsewhere and shows what it answers.
func (m *root) work(title string, do func(context.Context, Desk) (string, error)) tea.Cmd {
	desk, ctx, a := m.desk, m.ctx, m.now.agent
	return func() tea.Msg {
		said, err := do(ctx, desk)
		return answerMsg{agent: a, title: title, text: said, err: err}
	}
}

func (m *root) answered(msg answerMsg) tea.Cmd {
	s := m.screen(msg.agent)
	s.behind = s.transcript.read
	cmds := []tea.Cmd{m.look(), m.catchUp(s)}
	if msg.err != nil {
		s.tell(&block{form: trouble, body: msg.title + ": " + explain(msg.err)})
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

func (m *root) switchTo(ref string) tea.Cmd {
	a, ok := m.crowd.find(ref)
	if !ok {
		return m.tell(bad, "no agent "+ref+"; /ps lists them")
	}
	return m.goTo(a.ID)
}

type forkedMsg struct {
	parent id.Agent
	child  agent.Agent
	said   string
	err    error
}

// fork makes a child and goes to it.
func (m *root) fork(c command.Command) tea.Cmd {
	f := Fork{Parent: m.now.agent, Name: c.NewName, Prompt: c.Text, Worktree: c.Worktree, Model: m.now.model}
	if c.At != nil {
		f.At = *c.At
	}
	if c.Model != "" {
		model, err := llm.ParseRef(c.Model)
		if err != nil {
			return m.tell(bad, explain(err))
		}
		f.Model = model
	}
	return m.forkNow(f)
}

func (m *root) forkNow(f Fork) tea.Cmd {
	if m.now.barrier != nil {
		return m.tell(warn, "a fork of this agent is waiting already")
	}
	if _, err := m.writable(); err != nil {
		return m.tell(bad, explain(err))
	}
	ctx, cancel := context.WithCancel(m.ctx)
	m.now.barrier = cancel
	desk := m.desk
	return func() tea.Msg {
		defer cancel()
		child, err := desk.Fork(ctx, f)
		return forkedMsg{f.Parent, child, f.Prompt, err}
	}
}

func (m *root) forked(msg forkedMsg) tea.Cmd {
	s := m.screen(msg.parent)
	s.barrier, s.live.note = nil, ""
	switch {
	case fault.Is(msg.err, fault.Cancelled):
		return m.tell(warn, "nothing was forked")
	case msg.err != nil:
		s.tell(&block{form: trouble, body: explain(msg.err)})
		return nil
	}
	s.behind = s.transcript.read
	m.mine[msg.child.ID] = true
	child := m.screen(msg.child.ID)
	child.model = s.model
	cmds := []tea.Cmd{m.look(), m.catchUp(s)}
	if m.o.Follow && m.now == s && m.over == nil {
		// It is known before the next look is over.
		if _, ok := m.crowd.get(msg.child.ID); !ok {
			c := m.crowd.Crowd
			c.Agents = append(c.Agents[:len(c.Agents):len(c.Agents)], msg.child)
			m.crowd = newCrowd(c)
		}
		cmds = append(cmds, m.goTo(msg.child.ID), m.tell(good, "forked "+msg.child.Label()+"; files are shared with "+m.crowd.label(msg.parent)))
	} else {
		cmds = append(cmds, m.tell(good, "forked "+msg.child.Label()))
	}
	return tea.Batch(cmds...)
}

// kill asks, with the count, and then ends agents.
func (m *root) kill(c command.Command) tea.Cmd {
	victim, ok := m.agent()
	if c.Agent != "" {
		victim, ok = m.crowd.find(c.Agent)
	}
	switch {
	case !ok:
		return m.tell(bad, "no agent "+c.Agent+"; /ps lists them")
	case victim.IsZero():
		return m.tell(bad, "error[AGENT_ZERO]: agent 0 is the root of the workspace and cannot be killed")
	}
	cascade, below := c.Cascade || m.o.Cascade, m.crowd.below(victim.ID)
	text := "Kill " + victim.Label()
	switch {
	case below > 0 && cascade:
		text += " and " + count(below, "agent") + " below it (" + fmt.Sprint(below+1) + " in all)"
	case below > 0:
		text += "; " + count(below, "agent") + " below it live on"
	}
	m.over = confirm{text: text + "?", yes: func() tea.Cmd { return m.killNow(victim, cascade) }}
	return nil
}

func (m *root) killNow(victim agent.Agent, cascade bool) tea.Cmd {
	to := id.Agent("")
	for up, ok := m.now.agent, true; ok; { // is the current one among the victims?
		if up == victim.ID {
			to, _ = m.crowd.up(victim.ID)
			break
		}
		if !cascade {
			break
		}
		a, known := m.crowd.get(up)
		up, ok = a.Parent, known && a.Parent != ""
	}
	desk, ctx := m.desk, m.ctx
	back := m.now.agent
	if to != "" {
		back = to
	}
	return func() tea.Msg {
		said, err := desk.Command(ctx, "kill", string(victim.ID), "--cascade="+strconv.FormatBool(cascade), "--reason", "killed by the user")
		return answerMsg{agent: back, title: "/kill " + victim.Label(), text: said, err: err, to: to}
	}
}

func (m *root) setModel(name string) tea.Cmd {
	if name == "" {
		return m.openModels()
	}
	model, err := llm.ParseRef(name)
	if err != nil {
		return m.tell(bad, explain(err))
	}
	return m.useModel(model)
}

func (m *root) useModel(model llm.Ref) tea.Cmd {
	a, ok := m.agent()
	if !ok {
		return nil
	}
	found, err := m.desk.Model(a, model)
	if err != nil {
		return m.tell(bad, explain(err))
	}
	m.now.model, m.dirty = model, true
	m.models[a.ID] = chosen{Model: found}
	return m.tell(good, "from now on this agent asks "+found.Ref.String())
}

func (m *root) compact(title string) tea.Cmd {
	if m.now.working() {
		return m.tell(warn, "the agent is at work")
	}
	s, model := m.now, m.now.model
	s.turns++
	work := m.work(title, func(ctx context.Context, desk Desk) (string, error) {
		return "the older part of the context is a summary now; /rewind undoes it", desk.Compact(ctx, s.agent, model)
	})
	return func() tea.Msg { return compactedMsg{work().(answerMsg)} }
}

type compactedMsg struct{ answerMsg }

func (m *root) hide(title string, n *int64) tea.Cmd {
	a, which := m.now.agent, *n
	return m.work(title, func(ctx context.Context, desk Desk) (string, error) {
		return fmt.Sprintf("letter %d is hidden", which), desk.Hide(ctx, a, which)
	})
}

// export writes the conversation to a new file.
func (m *root) export(title, path string) tea.Cmd {
	if path == "" {
		path = "ramet-" + m.crowd.label(m.now.agent) + "-" + m.o.Now().Format("20060102-150405") + ".md"
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(m.o.Project, path)
	}
	format := "md"
	if strings.HasSuffix(path, ".jsonl") {
		format = "jsonl"
	}
	me := string(m.now.agent)
	return m.work(title, func(ctx context.Context, desk Desk) (string, error) {
		said, err := desk.Command(ctx, "export", me, "--format", format)
		if err != nil {
			return "", err
		}
		return "written to " + path, durable.CreateFile(path, []byte(said), 0o600)
	})
}
