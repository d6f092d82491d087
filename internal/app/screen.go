package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/core/history"
	"ramet/internal/face/cli"
	"ramet/internal/face/httpapi"
	"ramet/internal/face/tui"
	"ramet/internal/kernel"
	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
	"ramet/internal/model/llm"
	"ramet/internal/operation"
	"ramet/internal/operation/session"
	"ramet/internal/store/database"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/permit"
)

// screen is the terminal UI, where there is a terminal on both sides. The prompt is shown
// before the workspace is open.
func screen(stdio Stdio) func(context.Context, *session.Session, cli.Command) error {
	if !isTerminal(stdio.Out) || !readsTerminal(stdio.In) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return func(ctx context.Context, s *session.Session, command cli.Command) error {
		if err := session.NeedPerson(ctx, "open the terminal", s.Own); err != nil {
			return err
		}
		place, err := s.Place()
		if err != nil {
			return err
		}
		home, err := s.HomeDir()
		if err != nil {
			return err
		}
		conf, err := s.Config()
		if err != nil {
			return err
		}
		if _, err := s.Keys(); err != nil {
			return err
		}
		ctx = database.Telling(ctx, nil) // the screen is no place for lines
		ctx = history.By(ctx, history.Actor{Who: s.User(), Face: history.Terminal})
		return tui.Run(ctx, tui.Options{
			Open:    func(ctx context.Context) (tui.Workspace, error) { return connectTerminal(ctx, s) },
			State:   stateFile(home, place.DB),
			Project: place.Project,
			Cascade: conf.Orphans == "cascade",
			Follow:  conf.Follow == "yes",
			Theme:   conf.Theme,
			Home:    conf.Start == "home",
			Now:     time.Now,
			In:      stdio.In, Out: stdio.Out,
			Env:    os.Environ(),
			Notify: notifier(conf, os.Getenv),
		})
	}
}

// picks is a list to choose from, where there is a terminal on both sides.
func picks(stdio Stdio) cli.Pick {
	if screen(stdio) == nil {
		return nil
	}
	return func(ctx context.Context, title string, lines [][2]string) (int, bool, error) {
		return tui.Pick(ctx, tui.Options{In: stdio.In, Out: stdio.Out, Env: os.Environ()}, title, lines)
	}
}

func readsTerminal(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// stateFile returns the file for drafts and positions of the terminal: next to a database in ramet's home, else in a
// folder of the home.
func stateFile(home, db string) string {
	if dir := filepath.Dir(db); filepath.Dir(dir) == filepath.Join(home, "workspaces") {
		return filepath.Join(dir, "screen.json")
	}
	sum := sha256.Sum256([]byte(db)) // there may be a password in it
	return filepath.Join(home, "screens", hex.EncodeToString(sum[:8])+".json")
}

// unsay takes a message that is redacted out of what terminals keep of prompts.
func unsay(w *session.Workspace, message string) error {
	return tui.Unsay(stateFile(w.Home, w.Place.DB), message)
}

// notifier tells a person who looks elsewhere, as the settings say: what it returns is for the
// terminal. nil: no notification is wanted.
func notifier(conf *config.Config, env func(string) string) func(title, what string) string {
	if conf.Notify == "no" && conf.NotifyCommand == "" {
		return nil
	}
	how := conf.Notify
	if how == "auto" {
		how = understood(env)
	}
	return func(title, what string) string {
		if conf.NotifyCommand != "" {
			go notifyBy(conf.NotifyCommand, title, what)
		}
		switch how {
		case "osc9":
			return "\x1b]9;" + title + ": " + what + "\x07"
		case "osc777":
			return "\x1b]777;notify;" + strings.ReplaceAll(title, ";", ",") + ";" + strings.ReplaceAll(what, ";", ",") + "\x07"
		case "bell":
			return "\a"
		}
		return ""
	}
}

// understood returns the notification protocol of a terminal; every terminal has a bell.
func understood(env func(string) string) string {
	program, term := env("TERM_PROGRAM"), env("TERM")
	switch {
	case env("TMUX") != "" || strings.HasPrefix(term, "screen"): // which keeps such words to itself
		return "bell"
	case program == "iTerm.app", program == "WezTerm", program == "ghostty", env("KITTY_WINDOW_ID") != "", env("WT_SESSION") != "":
		return "osc9"
	case env("VTE_VERSION") != "", strings.HasPrefix(term, "rxvt"), strings.HasPrefix(term, "foot"):
		return "osc777"
	}
	return "bell"
}

// notifyTime limits the run time of a notification command.
const notifyTime = 10 * time.Second

// notifyBy runs the user's own command, with what there is to tell in its environment.
func notifyBy(command, title, what string) {
	ctx, cancel := context.WithTimeout(context.Background(), notifyTime)
	defer cancel()
	c, err := launch.Command(ctx, launch.Program{Purpose: launch.Notification, Command: sandbox.Command{Args: []string{"sh", "-c", command},
		Env: append(launch.ReachingVariables(os.Environ()), "RAMET_TITLE="+title, "RAMET_MESSAGE="+what)}})
	if err != nil {
		return // the terminal shows it all the same
	}
	c.WaitDelay = time.Second
	_ = c.Run()
}

// terminal is a workspace of the background kernel, for the terminals of one environment.
type terminal struct {
	verbs
	ws      *session.Workspace
	command cli.Command
	asks    *httpapi.Asks
	env     *kernel.Environment
}

// forTerminals makes the workspaces that terminals use.
func (s *service) forTerminals(command cli.Command) tui.OpenFor {
	return func(env *kernel.Environment) tui.Hosted {
		s.ws.Models().For(env).HideKeys() // before anything of theirs is written
		return &terminal{verbsOf(s.ws), s.ws, command, s.asks, env}
	}
}

// Folder implements tui.Hosted.
func (d *terminal) Folder(ctx context.Context, a id.Agent) (string, error) {
	return d.agentVerbs.Folder(ctx, a)
}

// OpenQuestions implements tui.Hosted.
func (d *terminal) OpenQuestions() []tui.OpenQuestion {
	var out []tui.OpenQuestion
	for _, one := range d.asks.List() {
		if q, waits := d.asks.Question(one.ID); waits {
			out = append(out, tui.OpenQuestion{Name: one.ID, Question: q})
		}
	}
	return out
}

// AnswerQuestion implements tui.Hosted.
func (d *terminal) AnswerQuestion(name string, v permit.Verdict) error {
	return d.asks.Answer(name, v)
}

// Model implements tui.Workspace.
func (d *terminal) Model(a agent.Agent, asked llm.Ref) (tui.Model, error) {
	return d.ws.Models().For(d.env).Model(a, asked)
}

// Usable implements tui.Workspace.
func (d *terminal) Usable() []tui.Model { return d.ws.Models().For(d.env).Usable() }

// Found implements tui.Workspace.
func (d *terminal) Found(ctx context.Context) []tui.Model {
	return d.ws.Models().For(d.env).Found(ctx)
}

// Turn implements tui.Workspace. It continues when the terminal closes.
func (d *terminal) Turn(ctx context.Context, a id.Agent, said string, model llm.Ref, ticket string) (bool, error) {
	p := kernel.Prompt{Text: said, Model: model, Ticket: ticket, Again: said == "", Environment: d.env}
	return d.turn(ctx, session.Turn{Agent: a, Prompt: p, Ask: d.asks})
}

// Events implements tui.Workspace.
func (d *terminal) Events(ctx context.Context) iter.Seq[loop.Event] {
	events, _ := d.ws.Kernel.Events.Subscribe(ctx)
	return events
}

// answeredHere marks an answer as given at this terminal.
func answeredHere(v permit.Verdict) permit.Verdict {
	v.By = history.Actor{Who: self(), Face: history.Terminal}
	return v
}

// Mode returns the mode chosen for an agent, else the configured one.
func (d *terminal) Mode(ctx context.Context, a id.Agent) (permit.Mode, error) {
	row, err := d.ws.Store.Agent(ctx, a)
	if err != nil {
		return "", err
	}
	found, err := d.turnVerbs.Standing(ctx, row)
	return found.Mode, err
}

func (d *terminal) Agents(ctx context.Context) (tui.Agents, error) {
	return d.agentVerbs.Everybody(ctx)
}

// turn runs a turn whose prompt may be a command.
func (d *terminal) turn(ctx context.Context, t session.Turn) (bool, error) {
	if strings.HasPrefix(t.Prompt.Text, "/") {
		found, err := d.ws.Store.Agent(ctx, t.Agent)
		if err == nil {
			err = d.promptVerbs.Word(ctx, found, &t.Prompt)
		}
		if err != nil {
			return false, err
		}
	}
	ran, err := d.turnVerbs.Run(ctx, t)
	return ran.Said, err
}

func (d *terminal) Stop(ctx context.Context, a id.Agent, tickets ...string) (bool, error) {
	return d.turnVerbs.Stop(ctx, kernel.Stop{Agent: a, Ticket: tickets[0], Also: tickets[1:]})
}

// Key stores the key of a vendor, which was asked whether it takes it. It is used from now on.
func (d *terminal) Key(ctx context.Context, vendor, key string) (string, error) {
	said, err := d.Command(cli.Given(ctx, key), "auth", "set", "--", vendor)
	if err != nil {
		return "", err
	}
	return said, d.modelVerbs.KeysChanged()
}

// Call implements operation.Client.
func (d *terminal) Call(ctx context.Context, o operation.Operation, in any) (any, error) {
	return operation.Within(d.ws).Call(ctx, o, in)
}

// Print implements tui.Workspace.
func (d *terminal) Print(ctx context.Context, o operation.Operation, in any) (string, error) {
	return tui.Print(ctx, d, o, in)
}

func (d *terminal) Command(ctx context.Context, args ...string) (string, error) {
	return d.command(ctx, args...)
}

// verbs are the verbs of a workspace in one type, for the terminal, which takes them as an interface.
type verbs struct {
	agentVerbs
	turnVerbs
	modelVerbs
	promptVerbs
	historyVerbs
	fileVerbs
	programVerbs
}

type (
	agentVerbs   = session.Agents
	turnVerbs    = session.Turns
	modelVerbs   = session.Models
	promptVerbs  = session.Prompts
	historyVerbs = session.History
	fileVerbs    = session.Files
	programVerbs = session.Programs
)

func verbsOf(ws *session.Workspace) verbs {
	return verbs{ws.Agents(), ws.Turns(), ws.Models(), ws.Prompts(), ws.History(), ws.Files(), ws.Programs()}
}
