package app_test

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"ramet/internal/core/agent"
	"ramet/internal/core/mail"
	"ramet/internal/testkit"
)

func TestAStoppedHostIsReplacedAndWritesNoMore(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	a, b := m.host("a"), m.host("b")
	a.ramet(0, "fork", "--name", "ada")
	k, pipe := a.working("ada")
	before := m.agent("ada").Lease
	m.stop(k)
	m.expire("ada")
	b.begin("exec", "ada", "go on", "--model", m.script(`{"steps": [{"text": "I take over"}]}`)).ends(t, 0, "I take over")
	after := m.record(m.agent("ada").ID)
	if !strings.Contains(after, "tool_result interrupted") || !strings.Contains(after, "user go on\nassistant I take over\n") {
		t.Errorf("history\n%s", after)
	}
	if now := m.agent("ada").Lease; now.Epoch <= before.Epoch {
		t.Errorf("epoch %d, then %d", before.Epoch, now.Epoch)
	}
	k.signal(t, syscall.SIGCONT)
	k.ends(t, 4, "error[FENCED]")
	if got := m.record(m.agent("ada").ID); got != after {
		t.Errorf("the old host wrote:\n%s\nbefore\n%s", got, after)
	}
	if left := tools(pipe); len(left) > 0 {
		t.Errorf("alive: %q", left)
	}
	b.ramet(0, "verify")
	a.ramet(0, "exec", "ada", "welcome back", "--model", m.script(`{"steps": [{"text": "here I am"}]}`))
}

func TestADeadHostsAgentsAreMendedUnasked(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	a, b := m.host("a"), m.host("b")
	a.ramet(0, "fork", "--name", "ada")
	b.ramet(0, "fork", "--name", "bob")
	gate, open := m.fifo()
	// B is at work before A dies, on something else.
	busy := b.begin("exec", "bob", "hello", "--model", m.script(fmt.Sprintf(`{"steps": [{"text": "busy "}, {"wait": %q}, {"text": "done"}]}`, gate)))
	eventually(t, "bob works", func() bool { return m.agent("bob").Lease.Owner != "" })
	k, pipe := a.working("ada")
	k.signal(t, syscall.SIGKILL)
	k.ends(t, -1)
	m.expire("ada")
	eventually(t, "no tool of the dead is alive", func() bool { return len(tools(pipe)) == 0 })
	zero, err := m.ws.Zero(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the parent has a letter", func() bool {
		letters, err := m.ws.Letters(context.Background(), zero.ID, mail.Filter{Unread: true})
		return err == nil && len(letters) == 1 && strings.Contains(letters[0].Body, "interrupted")
	})
	eventually(t, "the agent is free", func() bool { return m.agent("ada").Lease.Owner == "" })
	if got := m.record(m.agent("ada").ID); !strings.Contains(got, "interrupted") || !strings.Contains(got, "tool_result interrupted") || strings.Contains(got, "mail") { // the mail is the kernel's
		t.Errorf("history\n%s", got)
	}
	testkit.Must(open.Write([]byte("x")))(t)
	busy.ends(t, 0, "busy done")
	b.ramet(0, "verify")
}

func TestAKillReachesOtherHosts(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	a, b := m.host("a"), m.host("b")
	a.pulse = ""
	a.ramet(0, "fork", "--name", "ada")
	a.ramet(0, "fork", "ada", "--name", "eve")
	ada, pipe1 := a.working("ada")
	eve, pipe2 := a.working("eve")
	b.ramet(0, "kill", "ada", "--cascade", "--reason", "enough")
	ada.ends(t, 4, "error[DEAD_AGENT]")
	eve.ends(t, 4, "error[DEAD_AGENT]")
	for _, pipe := range []string{pipe1, pipe2} {
		if left := tools(pipe); len(left) > 0 {
			t.Errorf("alive: %q", left)
		}
	}
	for _, name := range []string{"ada", "eve"} {
		found, err := agent.Find(t.Context(), m.ws, name)
		if err != nil || found.Status != agent.Dead {
			t.Fatalf("%+v %v", found, err)
		}
		if got := m.record(found.ID); !strings.HasSuffix(got, "\nkilled \n") {
			t.Errorf("history\n%s", got)
		}
	}
	b.ramet(0, "verify")
}
