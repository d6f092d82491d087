package kernel

import (
	"context"
	"strings"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	"ramet/internal/testkit"
	"ramet/internal/turn/tool"
)

const told = `{"when": "Your turn is not over", "repeat": true, "steps": [{"text": "I know"}]}` + "\n"

// one is a parent with a child that has done its task.
func one(t *testing.T, replies string) *bench {
	t.Helper()
	b := newBench(t, `
{"when": "divide", "steps": [{"call": "fork", "args": {"prompt": "take the left", "name": "left"}}]}
{"when": "take the left", "steps": [{"text": "left is done"}]}
{"when": "works on", "steps": [{"call": "wait", "args": {"for": "all"}}]}
`+replies+told)
	return b
}

// saw says whether an agent's own history holds a text.
func (b *bench) saw(a agent.Agent, kind, text string) bool {
	for _, line := range b.history(a.ID) {
		if strings.HasPrefix(line, kind) && strings.Contains(line, text) {
			return true
		}
	}
	return false
}

// A finished child that its parent writes to works again, and reports again; wait answers
// with the letters themselves.
func TestALetterOfTheParentWakesAFinishedChild(t *testing.T) {
	b := one(t, `
{"when": "left is done", "steps": [{"call": "send", "args": {"to": "left", "text": "once more, please"}}, {"call": "wait", "args": {"agents": ["left"]}}]}
{"when": "Mail from 0", "steps": [{"call": "read_mail", "args": {}}]}
{"when": "once more, please", "steps": [{"text": "left did it again"}]}
{"when": "left did it again", "steps": [{"text": "all is well"}]}
`)
	b.start()
	outcome, err := b.exec(b.zero.ID, "divide")
	if err != nil || outcome.Text != "all is well" {
		t.Fatalf("%+v %v\n%s", outcome, err, strings.Join(b.history(b.zero.ID), "\n"))
	}
	left := b.named("left")
	if !b.saw(left, "notice", "Mail from 0 (") || !b.saw(left, "tool_result", "It is from your parent") {
		t.Errorf("history of left:\n%s", strings.Join(b.history(left.ID), "\n"))
	}
	if !b.saw(b.zero, "tool_result", "the mail wakes it") {
		t.Errorf("history of the parent:\n%s", strings.Join(b.history(b.zero.ID), "\n"))
	}
	if unread, err := b.store.Letters(t.Context(), b.zero.ID, mail.Filter{Unread: true}); err != nil || len(unread) != 0 {
		t.Errorf("unread %v %v", unread, err)
	}
	if letters := b.letters(b.zero.ID); len(letters) != 2 {
		t.Errorf("letters %q", letters)
	}
	b.sameAsReplay(left.ID)
	now, err := b.kernel.Sources().Look(t.Context(), false, left.ID)
	if err != nil || now.Of(left).Word != state.Done {
		t.Errorf("it is %v, %v", now.Of(left), err)
	}
}

// A letter of the user is quoted in the notice, and read thereby; nobody is mailed.
func TestALetterOfTheUserBeginsATurn(t *testing.T) {
	b := one(t, `
{"when": "left is done", "steps": [{"text": "fine"}]}
{"when": "the user's word", "steps": [{"text": "as you say"}]}
`)
	b.start()
	testkit.Must(b.exec(b.zero.ID, "divide"))(t)
	left := b.named("left")
	l, err := b.kernel.Send(t.Context(), registry.Send{To: left.ID, Body: "stand up"})
	if err != nil || l.Fate != mail.Wakes {
		t.Fatalf("%+v %v", l, err)
	}
	testkit.OK(t, b.kernel.jobs.wait(t.Context()))
	if !b.saw(left, "notice", "Mail from the user") || !b.saw(left, "notice", "stand up") || !b.saw(left, "assistant", "as you say") {
		t.Errorf("history of left:\n%s", strings.Join(b.history(left.ID), "\n"))
	}
	if letters := b.letters(b.zero.ID); len(letters) != 1 {
		t.Errorf("letters %q", letters)
	}
	if unread, err := b.store.Letters(t.Context(), left.ID, mail.Filter{Unread: true}); err != nil || len(unread) != 0 {
		t.Errorf("unread %v %v", unread, err)
	}
}

// Strangers, settings and the limit keep an agent asleep; the sender is told why.
func TestWhomLettersDoNotWake(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(*bench)
		from func(*bench) registry.Send
		why  string
	}{
		{"never", func(b *bench) { b.Options.Wake = WakeNever }, func(b *bench) registry.Send { return registry.Send{} }, "wake = never"},
		{"a sibling", func(*bench) {}, func(b *bench) registry.Send { return registry.Send{From: b.named("other").ID} }, "only the user and its ancestors"},
		{"a run's", func(b *bench) { b.Options.Sleeps = func(a agent.Agent) bool { return a.Name == "left" } }, func(b *bench) registry.Send { return registry.Send{} }, "the agent of a run"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, "")
			c.set(b)
			b.start()
			for _, name := range []string{"left", "other"} {
				testkit.Must(b.kernel.Fork(t.Context(), registry.Fork{Parent: b.zero.ID, Children: []registry.Child{{ID: id.NewAgent(), Name: name}}}, ""))(t)
			}
			s := c.from(b)
			s.To, s.Body = b.named("left").ID, "hello"
			l, err := b.kernel.Send(t.Context(), s)
			if err != nil || l.Fate != mail.Waits || !strings.Contains(l.Why, c.why) {
				t.Errorf("%+v %v", l, err)
			}
			testkit.OK(t, b.kernel.jobs.wait(t.Context()))
			if got := b.history(b.named("left").ID); len(got) != 1 {
				t.Errorf("it worked: %q", got)
			}
		})
	}
}

// With wake = all a sibling's letter begins a turn too.
func TestEverybodyWakesWhereTheUserSaysSo(t *testing.T) {
	b := newBench(t, `{"steps": [{"text": "who is there"}]}`)
	b.Options.Wake = WakeAll
	b.start()
	for _, name := range []string{"left", "other"} {
		testkit.Must(b.kernel.Fork(t.Context(), registry.Fork{Parent: b.zero.ID, Children: []registry.Child{{ID: id.NewAgent(), Name: name}}}, ""))(t)
	}
	if l, err := b.kernel.Send(t.Context(), registry.Send{From: b.named("other").ID, To: b.named("left").ID, Body: "hi"}); err != nil || l.Fate != mail.Wakes {
		t.Fatalf("%+v %v", l, err)
	}
	testkit.OK(t, b.kernel.jobs.wait(t.Context()))
	if !b.saw(b.named("left"), "assistant", "who is there") || len(b.letters(b.named("other").ID)) != 1 {
		t.Errorf("%q, letters of the other %q", b.history(b.named("left").ID), b.letters(b.named("other").ID))
	}
}

// A letter that was told of begins no second turn when its bell comes late, though the agent
// left it unread; the next letter does, and both are told of.
func TestALetterWakesOnce(t *testing.T) {
	var k *Kernel
	var left id.Agent
	bell := echo{name: "bell", run: func(ctx context.Context, _ string) (tool.Answer, error) {
		k.Ring(ctx, registry.Ring{Agent: left, What: registry.RingMail})
		return tool.Answer{Text: "it rang"}, nil
	}}
	b := newBench(t, `{"when": "is waiting: read_mail", "repeat": true, "steps": [{"call": "bell", "args": {}}]}
{"when": "it rang", "repeat": true, "steps": [{"text": "I leave it"}]}
{"when": "mail messages are waiting, from", "repeat": true, "steps": [{"text": "I leave both"}]}
`, bell)
	k = b.start()
	left = id.NewAgent()
	testkit.Must(k.Fork(t.Context(), registry.Fork{Parent: b.zero.ID, Children: []registry.Child{{ID: left}}}, ""))(t)
	for _, body := range []string{"first", "second"} {
		if l, err := k.Send(t.Context(), registry.Send{From: b.zero.ID, To: left, Body: body}); err != nil || l.Fate != mail.Wakes {
			t.Fatalf("%+v %v", l, err)
		}
		testkit.OK(t, k.jobs.wait(t.Context()))
	}
	var notices []string
	for _, line := range b.history(left) {
		if strings.HasPrefix(line, "notice") && strings.HasSuffix(line, ": read_mail.") {
			notices = append(notices, line)
		}
	}
	if len(notices) != 2 || !strings.Contains(notices[1], "2 mail messages are waiting") {
		t.Errorf("%q", notices)
	}
}

// Two agents that wake each other for ever are stopped by the limit.
func TestWakingEachOtherEnds(t *testing.T) {
	b := newBench(t, `
{"when": "divide", "steps": [{"call": "fork", "args": {"prompt": "ping", "name": "left", "then": "wake"}}]}
{"when": "works on", "steps": [{"text": "it wakes me"}]}
{"when": "ping", "steps": [{"text": "pong"}]}
{"when": "is waiting: read_mail", "repeat": true, "steps": [{"call": "read_mail", "args": {}}]}
{"when": "Your turn is not over", "repeat": true, "steps": [{"call": "read_mail", "args": {}}]}
{"when": "pong", "repeat": true, "steps": [{"call": "send", "args": {"to": "left", "text": "again"}}]}
{"when": "Sent to left", "repeat": true, "steps": [{"text": "asked again"}]}
{"when": "again", "repeat": true, "steps": [{"text": "pong"}]}
`)
	b.Options.MostWakes = 7
	b.start()
	testkit.Must(b.exec(b.zero.ID, "divide"))(t)
	most := 0
	for _, a := range []agent.Agent{b.zero, b.named("left")} {
		n := 0
		for _, line := range b.history(a.ID) {
			if strings.HasPrefix(line, "notice Mail from") {
				n++
			}
		}
		most = max(most, n)
	}
	if most != 7 {
		t.Errorf("one was woken %d times\n%s\n\n%s", most, strings.Join(b.history(b.zero.ID), "\n"), strings.Join(b.history(b.named("left").ID), "\n"))
	}

	// A later process knows it from the histories, until a person says something.
	counted := 0
	for _, a := range []agent.Agent{b.zero, b.named("left")} {
		n := testkit.Must(b.kernel.woken(t.Context(), a.ID))(t)
		if counted = max(counted, n); n == 7 {
			goesOn := &counter{before: func(id.Agent) int { return n }}
			if goesOn.wakes(a.ID, 7) || goesOn.wake(a.ID, 7) || !goesOn.wake(a.ID, 8) {
				t.Error("what went on forgot how often letters woke it")
			}
		}
	}
	if counted != 7 {
		t.Errorf("the histories tell of %d times", counted)
	}
	testkit.Must(b.store.Append(t.Context(), b.zero.ID, agent.Passing(), said(history.User, "well?")))(t)
	if n, err := b.kernel.woken(t.Context(), b.zero.ID); err != nil || n != 0 {
		t.Error(n, err)
	}
}

// A report wakes a parent that asked for it, however the task ended; not one that did not.
func TestAReportWakesWhoAskedForIt(t *testing.T) {
	for _, c := range []struct{ name, args, child, want string }{
		{"done", `"then": "wake"`, `{"text": "left is done"}`, "is waiting: read_mail"},
		{"failed", `"then": "wake"`, `{"error": "PROVIDER_AUTH", "message": "no key"}`, "is waiting: read_mail"},
		{"not asked", `"then": "mail"`, `{"text": "left is done"}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, `
{"when": "divide", "steps": [{"call": "fork", "args": {"prompt": "take the left", "name": "left", `+c.args+`}}]}
{"when": "take the left", "steps": [{"wait": "gate"}, `+c.child+`]}
{"when": "works on", "steps": [{"text": "I sleep"}]}
{"when": "is waiting: read_mail", "steps": [{"call": "read_mail", "args": {}}]}
{"when": "left", "steps": [{"text": "I know now"}]}
`+told)
			b.start()
			turn := testkit.Must(b.kernel.Exec(t.Context(), b.zero.ID, Prompt{Text: "divide"}))(t)
			testkit.Must(turn.Wait())(t)
			b.gates.Open("gate")
			testkit.OK(t, turn.Tasks(t.Context()))
			woke := b.saw(b.zero, "notice", "is waiting: read_mail")
			if woke != (c.want != "") || woke && !b.saw(b.zero, "assistant", "I know now") {
				t.Errorf("woken %v:\n%s", woke, strings.Join(b.history(b.zero.ID), "\n"))
			}
			if asked := b.saw(b.zero, "notice", "left ("); asked && c.want != "" && b.saw(b.zero, "notice", "Your turn is not over: left") {
				t.Error("it was told of a child that it had handed over")
			}
		})
	}
}

// A turn does not end over children at work: the model is told once, and can hand over.
func TestATurnDoesNotEndOverChildren(t *testing.T) {
	b := newBench(t, `
{"when": "divide", "steps": [{"call": "fork", "args": {"prompt": "take the left", "name": "left"}}]}
{"when": "take the left", "steps": [{"wait": "gate"}, {"text": "left is done"}]}
{"when": "works on", "steps": [{"text": "they will report"}]}
{"when": "Your turn is not over", "steps": [{"call": "wait", "args": {"then": "wake"}}]}
{"when": "wake you", "steps": [{"text": "I sleep"}]}
{"when": "is waiting: read_mail", "steps": [{"call": "wait", "args": {}}]}
{"when": "left is done", "steps": [{"text": "I know now"}]}
`)
	b.start()
	turn := testkit.Must(b.kernel.Exec(t.Context(), b.zero.ID, Prompt{Text: "divide"}))(t)
	if o, err := turn.Wait(); err != nil || o.Text != "I sleep" {
		t.Fatalf("%+v %v\n%s", o, err, strings.Join(b.history(b.zero.ID), "\n"))
	}
	b.gates.Open("gate")
	testkit.OK(t, turn.Tasks(t.Context()))
	if !b.saw(b.zero, "notice", "Your turn is not over: left (") || !b.saw(b.zero, "assistant", "I know now") {
		t.Errorf("%s", strings.Join(b.history(b.zero.ID), "\n"))
	}
}

// A turn that begins while letters are unread says so, and can go on without a prompt.
func TestATurnBeginsWithWordOfUnreadMail(t *testing.T) {
	b := newBench(t, `
{"when": "hello", "steps": [{"text": "I look later"}]}
{"when": "is waiting: read_mail", "steps": [{"text": "I look now"}]}
`+told)
	b.Options.Wake = WakeNever
	b.start()
	testkit.Must(b.kernel.Send(t.Context(), registry.Send{To: b.zero.ID, Body: "are you there"}))(t)
	testkit.Must(b.exec(b.zero.ID, "hello"))(t)
	if o, err := b.exec(b.zero.ID, ""); err != nil || o.Text != "I know" && o.Text != "I look now" {
		t.Errorf("%+v %v", o, err)
	}
	if !b.saw(b.zero, "notice", "Mail from the user is waiting") {
		t.Errorf("%s", strings.Join(b.history(b.zero.ID), "\n"))
	}
}

// wait says at once that nobody could write.
func TestNobodyWaitsInVain(t *testing.T) {
	b := one(t, `
{"when": "left is done", "steps": [{"call": "wait", "args": {}}]}
{"when": "No agent is working", "steps": [{"call": "wait", "args": {"agents": ["left"], "for": "all"}}]}
{"when": "No agent is left that could send mail: left", "steps": [{"text": "so be it"}]}
`)
	b.start()
	if o, err := b.exec(b.zero.ID, "divide"); err != nil || o.Text != "so be it" {
		t.Errorf("%+v %v\n%s", o, err, strings.Join(b.history(b.zero.ID), "\n"))
	}
}

// Of very many children each gets one line about its siblings, and none of their tasks.
func TestManySiblingsCostOneLine(t *testing.T) {
	var calls []string
	for i := range 64 {
		calls = append(calls, `{"call": "fork", "args": {"prompt": "part `+string(rune('a'+i%26))+` of it", "name": "kid`+string(rune('a'+i%26))+string(rune('a'+i/26))+`"}}`)
	}
	b := newBench(t, `
{"when": "divide", "steps": [`+strings.Join(calls, ", ")+`]}
{"when": " of it", "repeat": true, "steps": [{"text": "done"}]}
{"when": "works on", "steps": [{"call": "wait", "args": {"for": "all"}}]}
{"when": "None of them works", "steps": [{"text": "all are here"}]}
`+told)
	b.start()
	o, err := b.exec(b.zero.ID, "divide")
	if err != nil || o.Text != "all are here" {
		t.Fatalf("%+v %v\n%s", o, err, strings.Join(b.history(b.zero.ID), "\n"))
	}
	kid := b.named("kidab")
	got := b.history(kid.ID)
	if len(got) < 4 || !strings.HasPrefix(got[1], "rewind") || !strings.Contains(got[2], "and 57 more") || strings.Contains(strings.Join(got, ""), "part c of it") {
		t.Errorf("%q", got)
	}
	b.sameAsReplay(kid.ID)
	if n := len(b.remembered(kid.ID).Messages()); n != 4 { // divide, the notice, its task, its answer
		t.Errorf("%d messages", n)
	}
}

// What a crash left open goes on as it was: the parent that handed a child over is not told
// again that it works, one that did not is, from the moment that it goes on.
func TestWhatGoesOnIsStillOwed(t *testing.T) {
	for then, asked := range map[history.Then]int{history.ThenMail: 1, history.ThenWake: 0} {
		b := newBench(t, `{"when": "work", "repeat": true, "steps": [{"wait": "gate"}, {"text": "done"}]}
{"repeat": true, "steps": [{"text": "ok"}]}`)
		b.start()
		task := said(history.User, "work")
		task.Meta.Then = then
		child := b.child("left", task)
		turn := testkit.Must(b.kernel.Exec(t.Context(), child.ID, Prompt{Again: true}))(t)
		if all, open := b.kernel.owing(b.zero.ID), b.kernel.open(t.Context(), b.zero.ID); len(all) != 1 || len(open) != asked {
			t.Errorf("%s: %v %v", then, all, open)
		}
		b.gates.Open("gate")
		testkit.Must(turn.Wait())(t)
		testkit.OK(t, turn.Tasks(t.Context()))
	}
}
