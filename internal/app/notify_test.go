package app

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"ramet/internal/core/config"
	"ramet/internal/testkit"
)

func TestNotificationsAreWhatTheTerminalUnderstands(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		set  string
		want string
	}{
		"osc 9":   {map[string]string{"TERM_PROGRAM": "WezTerm"}, "auto", "\x1b]9;ramet: a;b\x07"},
		"osc 777": {map[string]string{"VTE_VERSION": "7000"}, "auto", "\x1b]777;notify;ramet;a,b\x07"},
		"unknown": {nil, "auto", "\a"},
		"tmux":    {map[string]string{"TERM_PROGRAM": "WezTerm", "TMUX": "x"}, "auto", "\a"},
		"chosen":  {nil, "osc9", "\x1b]9;ramet: a;b\x07"},
	} {
		tell := notifier(&config.Config{Notify: c.set}, func(k string) string { return c.env[k] })
		if got := tell("ramet", "a;b"); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if notifier(&config.Config{Notify: "no"}, os.Getenv) != nil {
		t.Error("nobody wanted to be told")
	}
}

func TestNotificationsByACommandHaveNoKeys(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-hunter2")
	out := filepath.Join(t.TempDir(), "out")
	tell := notifier(&config.Config{Notify: "no", NotifyCommand: "env > " + out + ".new && mv " + out + ".new " + out}, os.Getenv)
	if got := tell("ramet", "it's done"); got != "" {
		t.Errorf("%q", got)
	}
	testkit.WaitUntil(t, "the command runs", func() bool { _, err := os.Stat(out); return err == nil })
	data, err := os.ReadFile(out)
	if err != nil || !bytes.Contains(data, []byte("RAMET_MESSAGE=it's done\n")) || bytes.Contains(data, []byte("hunter2")) {
		t.Errorf("%s %v", data, err)
	}
}
