package app

import (
	"context"
	"os"
	"strings"
	"time"

	"ramet/internal/core/config"
	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
)

// notifier tells a person who looks elsewhere, as the settings say: what it returns is for the
// terminal. nil: nobody is told.
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
