package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"ramet/internal/core/config"
	"ramet/internal/core/history"
	"ramet/internal/face/cli"
	"ramet/internal/face/tui"
	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
	"ramet/internal/operation/session"
	"ramet/internal/store/database"
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
