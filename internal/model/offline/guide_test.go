package offline_test

import (
	"strings"
	"testing"

	"ramet/internal/model/offline"
)

// What newcomers ask, and a part of what they must be told to type.
var questions = []struct{ asked, typed string }{
	{"How do I fork an agent?", "/fork"},
	{"how can I run two agents in parallel", "/fork"},
	{"How do I stop it?", "Esc"},
	{"how do i kill an agent and all its children", "/kill AGENT --cascade"},
	{"Where do I see all my agents?", "Home"},
	{"how do I switch between agents?", "/switch"},
	{"How do I set my API key?", "/key"},
	{"How do I use Claude or GPT?", "/model"},
	{"Can I use a local model with ollama?", "/model"},
	{"how do I undo what it did to my files?", "/undo"},
	{"How do I go back to an earlier point?", "/rewind"},
	{"What did it change?", "/diff"},
	{"How do I let it run commands without asking me?", "/mode"},
	{"who is waiting for me, and how do I answer the question?", "Ctrl+P"},
	{"How do agents talk to each other?", "/send"},
	{"How much did this cost?", "/usage"},
	{"What happens if my computer crashes?", "ramet exec --continue --all"},
	{"How do I continue the work of yesterday?", "ramet resume"},
	{"how do I quit", "/exit"},
	{"Which keys are there? I need a list of shortcuts", "F1"},
	{"What is ramet?", "/tour"},
	{"the context is full, what now?", "/compact"},
	{"How do I start a new conversation?", "/clear"},
	{"how do I show it a screenshot?", "Ctrl+V"},
	{"Is there a web page?", "ramet serve"},
	{"can I use codex inside of it?", "--driver"},
	{"How do I add an MCP server?", "ramet mcp add"},
	{"Where do I put skills?", "/skills"},
	{"How do I change the theme to light?", "ramet config set theme light"},
	{"where is my data stored?", "ramet doctor"},
	{"How do I export this conversation?", "/export"},
	{"How do I give a child its own files?", "--worktree"},
	{"how do I merge the work of a child", "ramet merge"},
	{"How can I use it from a script?", "ramet exec"},
	{"how do I type several lines?", "Alt+Enter"},
	{"How do I limit what it may spend?", "--max-cost"},
	{"Something is not working, what shall I do?", "ramet doctor"},
	{"how do I rename this agent", "/rename"},
	{"Can I import my old Claude Code sessions?", "ramet import"},
	{"How do I search in the conversation?", "Ctrl+F"},
	{"how do I make it shut up?", "Esc"},
	{"it is doing the wrong thing, how do I make it stop", "Esc"},
	{"how do I stop all of them?", "ramet kill"},
	{"where are my files?", "ramet doctor"},
	{"does it send my code to the internet?", "ramet doctor"},
	{"what does this cost?", "/usage"},
	{"is this free?", "/usage"},
	{"how do I get my old code back?", "/undo"},
	{"can I take that back?", "/undo"},
	{"can it see my whole computer?", "/mode"},
	{"how do I say yes to everything?", "/mode"},
	{"why does it ask me every time?", "/mode"},
	{"what do I do now?", "/tour"},
	{"how do I get started?", "/tour"},
	{"I am lost", "/tour"},
	{"what is an agent?", "/tour"},
	{"what is a fork?", "/fork"},
	{"what does box mean?", "/mode"},
	{"where did my agent go?", "Home"},
	{"what is it doing right now?", "Home"},
	{"how do I go back to the main agent?", "Ctrl+↑"},
	{"how do I scroll up?", "PgUp"},
	{"how do I copy the answer?", "Alt+C"},
	{"can I use it with vscode?", "ramet acp"},
	{"how do I update ramet?", "ramet version"},
	{"which version is this?", "ramet version"},
	{"can two people work on the same project?", "ramet serve"},
	{"can I open it on my phone?", "ramet serve"},
	{"can I run it on a server?", "ramet serve"},
	{"will it keep running in the background?", "ramet serve"},
	{"how do I wait for all agents?", "ramet wait"},
	{"how do I make it remember something?", "ramet instructions"},
	{"how do I delete a conversation?", "/clear"},
	{"how do I delete a secret from the history?", "ramet redact"},
	{"how do I make it faster?", "/effort"},
	{"how do I switch to a cheaper model?", "/model"},
	{"why is there no model?", "/key"},
	{"does it work without internet?", "/model"},
	{"can it commit to git?", "/diff"},
	{"how do I see what the child did?", "ramet diff"},
	{"where is the log?", "ramet log"},
	{"how do I use more than one line", "Alt+Enter"},
	{"how do I edit my last message?", "Ctrl+R"},
	{"how do I get the last prompt back?", "Ctrl+R"},
	{"how do I review a pull request?", "ramet run"},
	{"can it write documentation for my repo?", "ramet run"},
	{"what happens when I close the terminal?", "ramet"},
	{"how do I uninstall this?", "ramet doctor"},
	{"I cannot read the colours", "theme"},
}

// A word or two are no order that is known, and no question by their form; they are meant as one.
func TestAFewWordsAreAQuestion(t *testing.T) {
	for said, typed := range map[string]string{"undo": "/undo", "undo that please": "/undo", "too expensive": "/usage", "quit": "/exit", "help me": "F1", "compact": "/compact"} {
		if answer, ok := offline.MeantTopic(said); !ok || !strings.Contains(answer, typed) {
			t.Errorf("%q: %s is not in %q", said, typed, answer)
		}
	}
	if answer, ok := offline.MeantTopic("undo the sorrows of the whole world"); ok {
		t.Errorf("more words are an order that is not understood: %s", answer)
	}
}

func TestNewcomersAreTold(t *testing.T) {
	for _, q := range questions {
		if !offline.AsksTopic(q.asked) {
			t.Errorf("%q is not a question", q.asked)
		}
		answer, ok := offline.AnswerTopic(q.asked)
		if !ok || !strings.Contains(answer, q.typed) {
			t.Errorf("%q: %s is not in %q", q.asked, q.typed, answer)
		}
	}
}

func TestWhatIsNoneOfOurBusinessIsNotAnswered(t *testing.T) {
	for _, q := range []string{"", "?", "What is the capital of France?", "How tall was Napoleon?"} {
		if answer, ok := offline.AnswerTopic(q); ok {
			t.Errorf("%q: %s", q, answer)
		}
	}
	for _, order := range []string{"run ls", "fork two children", "read README.md"} {
		if offline.AsksTopic(order) {
			t.Errorf("%q is an order", order)
		}
	}
}
