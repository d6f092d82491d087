package app_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ramet/internal/store/sqlite"
)

// onFile is one host with a file.
func onFile(t *testing.T) *host {
	t.Helper()
	exe, err := built()
	if err != nil {
		t.Fatal(err)
	}
	m := &team{t: t, exe: exe, dir: t.TempDir()}
	m.db = filepath.Join(m.dir, "ramet.db")
	m.open(sqlite.Open(t.Context(), m.db, sqlite.Options{Cwd: m.dir}))
	return m.host("a")
}

func TestAHeldAgentIsReachedBesideItsKernel(t *testing.T) {
	t.Parallel()
	for name, host := range map[string]func(*testing.T) *host{
		"sqlite": onFile, "postgres": func(t *testing.T) *host { return newTeam(t).host("a") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := host(t)
			h.ramet(0, "config", "set", "wake", "never") // the letter below is to be read, not to begin a turn
			h.ramet(0, "fork", "--name", "ada")
			gate, open := h.fifo()
			first := h.begin("exec", "ada", "first", "--model", h.script(fmt.Sprintf(`{"steps": [{"text": "one "}, {"wait": %q}, {"text": "is done"}]}`, gate)))
			eventually(t, "it works", func() bool { return strings.Contains(h.record(h.agent("ada").ID), "user first") })

			// Its model is at work, its tools are not: a fork need not wait.
			h.begin("fork", "ada", "--name", "kid", "--prompt", "hello <kid>").ends(t, 0)
			h.begin("send", "kid", "a letter", "--from", "ada").ends(t, 0, "Sent mail 1 to kid")
			if got := h.record(h.agent("kid").ID); !strings.HasSuffix(got, "user hello <kid>\n") {
				t.Errorf("history\n%s", got)
			}
			// Turns come one after the other, each in its own process.
			gate2, open2 := h.fifo()
			second := h.begin("exec", "ada", "second", "--allow", "bash", "--model", h.script(fmt.Sprintf(`{"steps": [{"text": "two "}, {"wait": %q}, {"text": "too"}]}`, gate2)))
			eventually(t, "the second is asked", func() bool { return strings.Contains(second.stderr.String(), "waits until") })
			if _, err := open.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the second is at work", func() bool { return strings.Contains(h.record(h.agent("ada").ID), "user second") })
			if _, err := open2.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			first.ends(t, 0, "one is done")
			second.ends(t, 0, "two too")
			want := "fork \ncommand \nuser first\nfork \nmail \nassistant one is done\nusage \ncommand \nuser second\nassistant two too\nusage \n"
			if got := h.record(h.agent("ada").ID); got != want {
				t.Errorf("history\n%swant\n%s", got, want)
			}
		})
	}
}

func TestAHolderThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	h := onFile(t)
	h.ramet(0, "fork", "--name", "ada")
	gate, _ := h.fifo()
	k := h.begin("exec", "ada", "first", "--model", h.script(fmt.Sprintf(`{"steps": [{"wait": %q}]}`, gate)))
	eventually(t, "it works", func() bool { return strings.Contains(h.record(h.agent("ada").ID), "user first") })
	k.signal(t, syscall.SIGSTOP)
	owner := fmt.Sprintf(":%d:", k.cmd.Process.Pid)
	commands := []*task{h.begin("exec", "ada", "second", "--model", h.script(`{"steps": [{"text": "mine"}]}`)),
		h.begin("fork", "ada"), h.begin("send", "0", "hello", "--from", "ada")}
	commands[0].ends(t, 4, "error[LEASED]", owner, "does not answer")
	for _, c := range commands[1:] { // they need no holder
		c.ends(t, 0)
	}
	// Dead, it is replaced at once, though its lease lasts for hours.
	k.signal(t, syscall.SIGKILL)
	k.ends(t, -1)
	h.begin("exec", "ada", "third", "--model", h.script(`{"steps": [{"text": "mine"}]}`)).ends(t, 0, "mine")
}
