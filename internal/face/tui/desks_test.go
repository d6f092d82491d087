package tui

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTwoTerminalsKeepTheirOwnDrafts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "screen.json")
	sits := func() *show {
		x := perform(t, family(), 80, 24)
		x.o.State = path
		y := &show{newRoot(t.Context(), x.o), t, x.s, x.at}
		y.workspace = x.s
		y.run(y.look())
		return y
	}
	ends := func(x *show) {
		x.keepNow()
		x.desk.leave()
	}
	one := sits()
	one.press("first said", "enter", "draft of the first")
	one.run(one.save())
	two := sits()
	if got := two.now.input.Text(); got != "" {
		t.Errorf("the second begins with %q, which is typed in the first", got)
	}
	two.press("draft of the second")
	two.run(two.save())
	one.press("!")
	one.run(one.save())
	ends(two)
	ends(one)
	alone := sits()
	defer ends(alone)
	if got := alone.now.input.Text(); got != "draft of the first!" {
		t.Errorf("the prompt is %q", got)
	}
	if !slices.Contains(alone.memory.Said, "draft of the second") || !slices.Contains(alone.memory.Said, "first said") {
		t.Errorf("what the second wrote is lost: %q", alone.memory.Said)
	}
}

var errTest = errors.New("the vendor refuses it")

func TestAKeyIsTakenInPlaceAndNotShown(t *testing.T) {
	x := perform(t, family(), 80, 24)
	x.press("/key antropic", "enter")
	x.shows(`did you mean "anthropic"?`)
	x.press("ctrl+c", "/key anthropic", "enter", "sk-secret")
	x.shows("•••••••••", "isn't shown")
	if got := x.screen(); strings.Contains(got, "secret") {
		t.Errorf("the key is shown:\n%s", got)
	}
	x.s.err = errTest
	x.press("enter")
	if x.over == nil || !strings.Contains(x.note.text, errTest.Error()) {
		t.Error("a refused key closes the place where it can be mended, silently")
	}
	x.s.err, x.s.answer = nil, "checked and saved the key for Anthropic"
	x.press("sk-other", "enter")
	x.shows("checked and saved the key")
	if x.over != nil || !slices.Contains(x.s.said, "key anthropic sk-other") {
		t.Errorf("%q", x.s.said)
	}
	if slices.ContainsFunc(x.memory.Said, func(s string) bool { return strings.Contains(s, "sk-") }) {
		t.Error("the key is among the former prompts")
	}
}

func TestTheTourPutsLinesIntoThePrompt(t *testing.T) {
	x := perform(t, family(), 80, 24)
	x.press("/tour", "enter")
	x.shows("tour 1 of 7", "Enter puts run `date` into the prompt")
	x.press("enter")
	if got := x.now.input.Text(); got != "run `date`" {
		t.Fatalf("the prompt is %q", got)
	}
	if len(x.s.said) != 0 {
		t.Errorf("the tour sends by itself: %q", x.s.said)
	}
	x.press("enter", "enter")
	x.shows("tour 2 of 7")
	x.press("esc")
	if x.tour.on {
		t.Error("Esc does not end it")
	}
}

func TestSlashCommandsOfTheProgram(t *testing.T) {
	for line, want := range map[string]string{
		"/permissions":                       "command rules",
		"/permissions --remove 'bash(go *)'": "command rules --remove bash(go *)",
		"/config":                            "command config",
		"/config theme":                      "command config get -- theme",
		"/config theme light":                "command config set -- theme light",
		"/skills":                            "command skills",
		"/mcp":                               "command mcp list",
		"/effort high":                       `call effort {"agent":"` + string(who("zero")) + `","effort":"high"}`,
	} {
		x := perform(t, family(), 80, 24)
		x.press(line)
		x.offer.close()
		x.press("enter")
		if !slices.Contains(x.s.said, want) {
			t.Errorf("%s: %q", line, x.s.said)
		}
	}
	x := perform(t, family(), 120, 40)
	x.press("/")
	x.shows("/fork [--name NAME]", "/kill [--cascade] [--reason REASON] [AGENT]", "1 of ")
	x.press("esc", "backspace", "/switch bpb", "enter")
	x.shows(`did you mean "bob"?`)
	x.press("ctrl+c", "/kill adda", "enter")
	x.shows(`did you mean "ada"?`)
}

// What is redacted is offered by no terminal again: neither by one that is open, nor by the next.
func TestAPromptThatIsRedactedIsOfferedNoMore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "screen.json")
	sits := func() *show {
		x := perform(t, family(), 80, 24)
		x.o.State = path
		y := &show{newRoot(t.Context(), x.o), t, x.s, x.at}
		y.workspace = x.s
		y.run(y.look())
		return y
	}
	one := sits()
	one.press("my key is opensesame", "enter", "something else", "enter")
	one.run(one.save())
	two := sits()
	two.press("of the second", "enter")
	two.run(two.save())
	if err := Unsay(path, "my key is opensesame"); err != nil {
		t.Fatal(err)
	}
	one.press("a third", "enter")
	one.run(one.save())
	two.keepNow()
	two.desk.leave()
	one.keepNow()
	one.desk.leave()
	for _, m := range []memory{one.memory, two.memory, recall(path), recall(deskPath(path, 1))} {
		if slices.ContainsFunc(m.Said, func(s string) bool { return strings.Contains(s, "opensesame") }) {
			t.Errorf("%q", m.Said)
		}
	}
	if got := recall(path).Said; !slices.Equal(got, []string{"something else", "a third"}) {
		t.Errorf("%q", got)
	}
}
