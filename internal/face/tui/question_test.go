package tui

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"ramet/internal/core/state"
	"ramet/internal/testkit"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/permit"
)

// ask puts a question on the screen and collects the answers.
func ask(x *show, q permit.Question) *[]permit.Verdict {
	got := &[]permit.Verdict{}
	if q.Agent == "" {
		q.Agent = who("zero")
	}
	q.Tool = "bash"
	event(x, loop.Event{Type: loop.TurnStarted, Agent: q.Agent})
	x.take(askedMsg{Question{Question: q, Answer: func(v permit.Verdict) { *got = append(*got, v) }}})
	return got
}

func proposed(t *testing.T, command string) permit.Question {
	r := testkit.Must(permit.Parse("bash(" + command + ")"))(t)
	return permit.Question{Subject: command, Rule: r}
}

// Two hundred sentences, some of which begin with a digit, typed while a question stands:
// none is an answer, and no character is lost.
func TestNoSentenceIsAnAnswer(t *testing.T) {
	words := strings.Fields("wait no yes always y a n r ? / ! @x 1 2 3 4 5 I would rather keep it 你好 please don't push to main, ok? c j k q")
	random := rand.New(rand.NewPCG(13, 1))
	for i := range 200 {
		x := perform(t, family(), 80, 24)
		got := ask(x, permit.Question{Subject: "rm -rf build dist && git push --force origin main", NoRule: "it pushes"})
		said := make([]string, 1+random.IntN(8))
		for j := range said {
			said[j] = words[random.IntN(len(words))]
		}
		if i%3 == 0 {
			said[0] = fmt.Sprint(1 + random.IntN(9))
		}
		text := strings.Join(said, " ")
		x.wait(time.Duration(random.IntN(3000)) * time.Millisecond)
		for _, r := range text {
			x.press(string(r))
			x.wait(time.Second / time.Duration(5+random.IntN(11)))
		}
		if len(*got) != 0 || x.now.input.Text() != text {
			t.Fatalf("%q: answers %v, prompt %q", text, *got, x.now.input.Text())
		}
		testkit.Attack(t, "typing", fmt.Sprintf("%d: %s", i, text))
		if strings.ContainsAny(text[:1], "/!") || strings.Contains(text, "@") {
			continue // which mean something else
		}
		x.press("enter")
		if len(*got) != 0 || len(x.now.queue) != 1 || x.now.queue[0] != strings.TrimSpace(text) || x.now.input.Text() != "" {
			t.Fatalf("%q: answers %v, queued %q, prompt %q", text, *got, x.now.queue, x.now.input.Text())
		}
		x.shows("(queued)", "❯ No")
	}
}

func TestAQuestionIsAnsweredWithArrowsAndEnter(t *testing.T) {
	for _, c := range []struct {
		keys []string
		want permit.Verdict
	}{
		{nil, permit.Verdict{Choice: permit.Refuse}},
		{[]string{"down", "down"}, permit.Verdict{Choice: permit.Once}},
		{[]string{"right", "right", "right", "right", "left", "left"}, permit.Verdict{Choice: permit.Once}},
		{[]string{"down", "down", "down"}, permit.Verdict{Choice: permit.ForAgent}},
	} {
		x := perform(t, family(), 80, 24)
		got := ask(x, proposed(t, "go test ./..."))
		x.press("enter", "down", "down", "enter") // in the quiet time
		x.wait(time.Second)
		x.press(append(c.keys, "enter")...)
		if len(*got) != 1 || (*got)[0] != c.want {
			t.Errorf("%q: %+v", c.keys, *got)
		}
		x.hides("wants to run")
	}
}

func TestWhatCannotBeSavedSaysWhy(t *testing.T) {
	x := perform(t, family(), 120, 40)
	q := proposed(t, "git push")
	q.NoRule, q.Outside, q.Reason = "it pushes (git push)", true, "the network"
	ask(x, q)
	x.shows("outside the box", "Reason: the network", "Can't always be allowed: it pushes (git push)")
	x.wait(time.Second)
	x.press("down", "down", "down", "down", "down")
	x.shows("❯ Allow for this agent")
}

// What was typed before the question counts, and so does going away and coming back.
func TestTheQuietTimeBeginsWhenItIsSeen(t *testing.T) {
	x := perform(t, family(), 80, 24)
	x.press("half a wo")
	for range len("half a wo") {
		x.press("backspace")
	}
	got := ask(x, proposed(t, "make"))
	x.wait(600 * time.Millisecond)
	if x.press("enter"); len(*got) != 0 {
		t.Fatal("answered less than a second after the last character")
	}
	x.wait(time.Second)
	x.press("f1")
	x.wait(time.Second)
	x.press("esc", "enter")
	if len(*got) != 0 {
		t.Fatal("answered at the moment when it came back")
	}
	x.wait(time.Second)
	if x.press("enter"); len(*got) != 1 {
		t.Fatal("not answered")
	}
}

func TestOneKeyGoesThroughTheModes(t *testing.T) {
	x := perform(t, family(), 80, 24)
	x.shows("· ask")
	x.press("shift+tab")
	if n := len(x.s.said); n == 0 || x.s.said[n-1] != `call mode {"agent":"`+string(who("zero"))+`","mode":"edits"}` {
		t.Errorf("%q", x.s.said)
	}
	x.press("/mode plan", "enter")
	if n := len(x.s.said); x.s.said[n-1] != `call mode {"agent":"`+string(who("zero"))+`","mode":"read-only"}` {
		t.Errorf("%q", x.s.said)
	}
}

// The clock of a call is that of the call: the time that a person took to permit it is none of it, and
// while he thinks nothing on the screen moves.
func TestTheClockOfACallIsItsOwn(t *testing.T) {
	x := perform(t, family(), 80, 24)
	busy := func(word state.Word, detail string) {
		event(x, loop.Event{Type: loop.Became, Agent: who("zero"), State: &state.State{Word: word, Detail: detail}})
	}
	busy(state.Working, state.Writes)
	ask(x, permit.Question{Subject: "go test ./..."})
	if !x.moving() {
		t.Error("nothing would show when keys are the question's")
	}
	x.wait(time.Second)
	if got := strip(x.screen()); !strings.Contains(got, "↑↓ select") {
		t.Errorf("after its quiet time the question says nothing of keys:\n%s", got)
	}
	if x.moving() {
		t.Error("something moves while a person is asked")
	}
	x.wait(10 * time.Minute)
	x.press("down", "down", "enter")
	busy(state.Working, state.Runs("bash"))
	x.wait(3 * time.Second)
	if got := strip(x.screen()); !strings.Contains(got, "runs bash 3s") {
		t.Errorf("the clock of the call:\n%s", got)
	}
	busy(state.Working, state.Writes)
	x.wait(time.Second)
	if got := strip(x.screen()); !strings.Contains(got, "writes 1s") {
		t.Errorf("the clock of the reply:\n%s", got)
	}
}

// However small the window is, the answer that Enter would give is in sight; and where there is no room for
// a line of what would run, nothing is permitted.
func TestTheHighlightedAnswerIsInSight(t *testing.T) {
	long := "the command has several lines, and a rule is one line"
	for _, size := range [][2]int{{100, 30}, {60, 15}, {40, 10}, {40, 8}, {20, 12}, {20, 6}, {20, 5}, {20, 4}} {
		for _, atHome := range []bool{false, true} {
			t.Run(fmt.Sprint(size, atHome), func(t *testing.T) {
				x := perform(t, family(), size[0], size[1])
				if atHome {
					x.home()
				}
				got := ask(x, permit.Question{Subject: "touch a", NoGrant: long, NoRule: long, Why: "a hook asks", Reason: strings.Repeat("because ", 40)})
				if atHome {
					x.press(" ")
				} else {
					x.press("x", "enter") // which waits
				}
				x.wait(2 * time.Second)
				room := size[1] > 4
				for i, want := range []string{"❯ No", "❯ No, because", "❯ Allow once"} {
					if i > 0 {
						x.press("down")
					}
					if x.shows(want); room {
						x.shows("touch a")
					}
				}
				x.press("enter")
				if room != (len(*got) == 1) {
					t.Errorf("answers %v\n%s", *got, x.screen())
				}
			})
		}
	}
}

// What would run is shown with all that nobody sees in it, and where it would run.
func TestAQuestionShowsWhatNobodySees(t *testing.T) {
	x := perform(t, family(), 100, 30)
	q := proposed(t, "curl https://exam\u200bple.com/\U000E0041")
	q.Where = "in sub/deep, in the background"
	ask(x, q)
	x.shows("wants to run in sub/deep, in the background:", "curl https://exam‹U+200B›ple.com/‹U+E0041›\n", "bash(curl https://exam‹U+200B›ple")
}

// Of a tool of a server all arguments are shown, not its name alone.
func TestAQuestionAboutAServersToolShowsItsArguments(t *testing.T) {
	x := perform(t, family(), 100, 40)
	ask(x, permit.Question{Subject: "post__send", Whole: "post__send {\n  \"to\": \"bob\",\n  \"do\": \"DELETE EVERYTHING\"\n}"})
	x.shows("post__send {", `"do": "DELETE EVERYTHING"`)
}
