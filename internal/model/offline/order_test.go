package offline

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"ramet/internal/model/llm"
)

// planned is what an order leads to when everything works, one line a step.
func planned(order string) string {
	steps, odd := understand(order)
	if odd != "" {
		return "?" + odd
	}
	var out []string
	for _, s := range steps {
		var calls []string
		for _, c := range s.calls {
			calls = append(calls, c.tool+string(c.json()))
		}
		line := strings.Join(calls, map[kind]string{together: " & ", forking: " & ", inTurn: " > "}[s.kind])
		switch {
		case s.kind == saying:
			line = "says " + s.text
		case s.kind == waiting:
		case s.kind == forking && !s.leave:
			line += fmt.Sprintf(" > %d letters", len(s.calls))
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

func TestOrders(t *testing.T) {
	for _, c := range [][2]string{
		// commands
		{"run `go test ./...`", `bash{"command":"go test ./..."}`},
		{"Run `go test ./...`.", `bash{"command":"go test ./..."}`},
		{"run ls -la", `bash{"command":"ls -la"}`},
		{"Please run the command `ls | wc -l; date` for me!", `bash{"command":"ls | wc -l; date"}`},
		{`run "ls -la"`, `bash{"command":"ls -la"}`},
		{"`git status`", `bash{"command":"git status"}`},
		{"$ git status", `bash{"command":"git status"}`},
		{"run ls; pwd", `bash{"command":"ls; pwd"}`},
		{"run if true; then echo yes; fi", `bash{"command":"if true; then echo yes; fi"}`},
		{"run echo `date`", "bash{\"command\":\"echo `date`\"}"},
		{"run echo 'a; b' && echo \"c then d\"", `bash{"command":"echo 'a; b' && echo \"c then d\""}`},
		{"run `make` and tell me what failed", `bash{"command":"make"}`},
		{"run `a<b>&c`", `bash{"command":"a<b>&c"}`},
		{"run the tests", "?run the tests"},
		{"run git add . and git commit", "?run git add . and git commit"}, // the shell knows no "and"
		{"run ls and run pwd", "bash{\"command\":\"ls\"}\nbash{\"command\":\"pwd\"}"},
		{"run `ls` backwards", "?run `ls` backwards"},
		// files
		{"list the files", `list{}`},
		{"List all files in this folder.", `list{}`},
		{"list the files in docs", `list{"path":"docs"}`},
		{"what files are there?", `list{}`},
		{"ls", `list{}`},
		{"ls docs/", `list{"path":"docs/"}`},
		{"list .", `list{}`},
		{"read README.md", `read{"path":"README.md"}`},
		{"Can you read README.md, please?", `read{"path":"README.md"}`},
		{"show me main.go", `read{"path":"main.go"}`},
		{"show me the file \"a b.txt\"", `read{"path":"a b.txt"}`},
		{"read a.txt and b.txt", `read{"path":"a.txt"} & read{"path":"b.txt"}`},
		{"read a.txt and tell me what it says", `read{"path":"a.txt"}`},
		{"show me the first 3 lines of a.txt", `read{"limit":3,"path":"a.txt"}`},
		{"search for TODO in *.go", `grep{"include":"*.go","pattern":"TODO"}`},
		{"search for \"a.b(\" in internal", `grep{"path":"internal","pattern":"a\\.b\\("}`},
		{"search for /a.*b/", `grep{"pattern":"a.*b"}`},
		{"search the project for TODO", `grep{"pattern":"TODO"}`},
		{"look for TODO and FIXME in docs", `grep{"path":"docs","pattern":"TODO and FIXME"}`},
		{"find TODO in *.go", `grep{"include":"*.go","pattern":"TODO"}`},
		{"find *.md", `glob{"pattern":"**/*.md"}`},
		{"find all *.md files", `glob{"pattern":"**/*.md"}`},
		{"find go.mod in docs", `glob{"path":"docs","pattern":"**/go.mod"}`},
		{"find docs/*.md", `glob{"pattern":"docs/*.md"}`},
		{`write "hello" to a.txt`, `write{"content":"hello","path":"a.txt"}`},
		{`write "hello to you; then go" to a.txt`, `write{"content":"hello to you; then go","path":"a.txt"}`},
		{"write hello world to a.txt", `write{"content":"hello world","path":"a.txt"}`},
		{"create a.txt containing hello", `write{"content":"hello","path":"a.txt"}`},
		{"create a file named a.txt with the text 'it's me'", `write{"content":"it's me","path":"a.txt"}`},
		{"write to a.txt:\n```go\nfunc main() {}\n// then; more\n```", `write{"content":"func main() {}\n// then; more\n","path":"a.txt"}`},
		{"create an empty file a.txt", `write{"content":"","path":"a.txt"}`},
		{"write a poem about the sea to a.txt", "?write a poem about the sea to a.txt"},
		{"replace X with Y in f.go", `read{"path":"f.go"} > edit{"new_string":"Y","old_string":"X","path":"f.go"}`},
		{`replace "a to b" with "c in d" in f.go`, `read{"path":"f.go"} > edit{"new_string":"c in d","old_string":"a to b","path":"f.go"}`},
		{"change all foo to bar in f.go", `read{"path":"f.go"} > edit{"new_string":"bar","old_string":"foo","path":"f.go","replace_all":true}`},
		{"In main.go, replace foo with bar.", `read{"path":"main.go"} > edit{"new_string":"bar","old_string":"foo","path":"main.go"}`},
		// agents
		{"fork two children: one reads a.txt and one runs ls", `fork{"prompt":"read a.txt"} & fork{"prompt":"run ls"} > 2 letters`},
		{"Fork 2 children: one to read a.txt, the other to run `ls; pwd`.", "fork{\"prompt\":\"read a.txt\"} & fork{\"prompt\":\"run `ls; pwd`\"} > 2 letters"},
		{"fork two children: one reads a.txt; one runs ls", `fork{"prompt":"read a.txt"} & fork{"prompt":"run ls"} > 2 letters`},
		{"fork two children:\n- read a.txt\n- run ls\nthen list the files", `fork{"prompt":"read a.txt"} & fork{"prompt":"run ls"} > 2 letters` + "\nlist{}"},
		{"fork 3 children to run `date`", "fork{\"prompt\":\"run `date`\"} & fork{\"prompt\":\"run `date`\"} & fork{\"prompt\":\"run `date`\"} > 3 letters"},
		{"fork a child named scout to read README.md", `fork{"name":"scout","prompt":"read README.md"} > 1 letters`},
		{"fork two children named Ada and bob: read a.txt and run ls", `fork{"name":"ada","prompt":"read a.txt"} & fork{"name":"bob","prompt":"run ls"} > 2 letters`},
		{"fork a child named ada and let it read a.txt", `fork{"name":"ada","prompt":"read a.txt"} > 1 letters`},
		{`fork "read a.txt, then run ls" and "think about it"`, `fork{"prompt":"read a.txt, then run ls"} & fork{"prompt":"think about it"} > 2 letters`},
		{"fork a child in its own worktree without context to run make", `fork{"context":"none","prompt":"run make","worktree":true} > 1 letters`},
		{"fork a child to read a.txt, then list the files", `fork{"prompt":"read a.txt"} > 1 letters` + "\nlist{}"},
		{"fork a child to read a.txt, then wait for mail, then read it", `fork{"prompt":"read a.txt"} > 1 letters`},
		{"fork a child to run make in the background", `fork{"prompt":"run make"}`},
		{"fork", `fork{"prompt":"say I am ready"} > 1 letters`},
		{"spawn an agent to fork a child to read a.txt", `fork{"prompt":"fork a child to read a.txt"} > 1 letters`},
		{"fork 9 children to run ls", "says I fork at most 8 children at once, so I forked none."},
		{"fork a child to win the war", "?fork a child to win the war"},
		{"fork 0 children to run ls", "?fork 0 children to run ls"},
		{`send ada "hello"`, `send{"text":"hello","to":"ada"}`},
		{`send "hello to you" to ada`, `send{"text":"hello to you","to":"ada"}`},
		{"send a letter to ada: come to bob", `send{"text":"come to bob","to":"ada"}`},
		{"tell ada that all is well", `send{"text":"all is well","to":"ada"}`},
		{"send agent 0 \"hi\"", `send{"text":"hi","to":"0"}`},
		{"tell my parent that all is well", `send{"text":"all is well","to":"parent"}`},
		{"tell me a joke", "?tell me a joke"},
		{"wait for mail", `wait{}`},
		{"wait for mail, then read it", `wait{}`},
		{"wait 10 seconds for a letter from ada", `wait{"agents":["ada"],"timeout":10}`},
		{"wait for ada", `wait{"agents":["ada"]}`},
		{"check my mail", `check_mail{}`},
		{"do I have mail?", `check_mail{}`},
		{"read my mail", `read_mail{}`},
		{"read mail 3", `read_mail{"number":3}`},
		{"who is there?", `ps{}`},
		{"list the agents", `ps{}`},
		{"kill ada", `kill{"agent":"ada"}`},
		{"kill ada and its children because it loops", `kill{"agent":"ada","cascade":true,"reason":"it loops"}`},
		{"exit", `exit{}`},
		{`exit with "all done"`, `exit{"result":"all done"}`},
		{"say hello; then exit", "says hello\nexit{}"},
		// several
		{"list the files then read a.txt; run `ls` and then check my mail\nkill ada", "list{}\nread{\"path\":\"a.txt\"}\nbash{\"command\":\"ls\"}\ncheck_mail{}\nkill{\"agent\":\"ada\"}"},
		{"1. list the files\n2. read a.txt\n", "list{}\nread{\"path\":\"a.txt\"}"},
		{"Hello! List the files. Then read a.txt.", "list{}\nread{\"path\":\"a.txt\"}"},
		{"list the files and read a.txt", "list{}\nread{\"path\":\"a.txt\"}"},
		// A part that is not understood: nothing of it is done.
		{"back up the database, then run `rm -rf data`", "?back up the database"},
		{"run `true`; make me rich", "?make me rich"},
		{"hello", "?help"}, {"", "?help"}, {" \n;;", "?help"},
		{"What is the meaning of life?", "?What is the meaning of life"},
	} {
		if got := planned(c[0]); got != c[1] {
			t.Errorf("%q:\n got %s\nwant %s", c[0], got, c[1])
		}
	}
}

// Any order, whatever comes back: it ends, calls only what is offered, and every
// text is labelled (converse and ask check it).
func FuzzOrder(f *testing.F) {
	for _, order := range []string{
		"run `go test ./...`", "fork two children: one reads a.txt and one runs ls", "replace \"a\" with 'b' in c; list the files\n- x",
		"fork 3 children named a, b and c in worktrees to fork a child to wait for mail", "write to a:\n```\nx\n```", "wait 9 seconds for mail from you; read it",
		"run a; b; c then d", "“", "' '", "fork two children:\n1. read a\n2) run b\n", "search /(/ for x in {a", "\x00;\xff then é", "say  ", "kill a and its children because b",
	} {
		f.Add(order, "Child0xxxxxxxxxxxxxxxx: 1 letter", uint16(0xffff), false)
		f.Add(order, "No mail", uint16(0xffff), true)
		f.Add(order, "you are the child", uint16(0x7f0f), false)
	}
	f.Fuzz(func(t *testing.T, order, result string, mask uint16, failed bool) {
		var names []string
		for i, n := range allTools {
			if mask>>i&1 == 1 {
				names = append(names, n)
			}
		}
		made := map[string]int{}
		w := func(c llm.Part) (string, bool) {
			made[c.Name+string(c.Args)]++
			return result, failed
		}
		messages := converse(t, offer(names...), w, llm.Say(llm.User, order))
		if strings.TrimSpace(order) == "" && len(made) > 0 {
			t.Errorf("%q leads to %v", order, made)
		}
		if _, last := trace(messages); !strings.Contains(order+result, "offline") && strings.Count(last, Label) != 1 {
			t.Errorf("%q", last)
		}
		if failed {
			for c, n := range made {
				// Only as often as the order says so.
				if n > 1+strings.Count(order, "\n")+strings.Count(order, ";")+strings.Count(order, ".")+strings.Count(order, "hen")+strings.Count(order, "HEN")+ands(order) {
					t.Errorf("%s failed %d times in %q", c, n, order)
				}
			}
		}
	})
}

func ands(order string) int {
	return strings.Count(strings.ToLower(order), "and") + strings.Count(order, ",") + strings.Count(order, "!") + strings.Count(order, "?") + mostChildren
}

// Any list of messages: one terminal event, no panic, unknown tools not called.
func FuzzMessages(f *testing.F) {
	f.Add([]byte(`[{"role":"user","parts":[{"type":"text","text":"run ls; then read a"}]},{"role":"assistant","parts":[{"type":"tool_call","call_id":"off_1","name":"bash","args":{}}]},{"role":"tool","parts":[{"type":"tool_result","call_id":"off_1","text":"x"}]}]`))
	f.Add([]byte(`[{"role":"assistant","parts":[{"type":"tool_call","call_id":"off_99999999999999999999","args":{}}]},{"role":"user","parts":[{"type":"text","text":"list the files"},{"type":"tool_result","call_id":""}]}]`))
	f.Add([]byte(`[{"role":"system","parts":[{"type":"text","text":"Summarise the conversation above"}]}]`))
	f.Add([]byte(`[{"role":"user","parts":[{"type":"text","text":"Digest of the conversation so far"}]},{"role":"user","parts":[{"type":"text","text":"continue"}]},{"role":"tool"}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var messages []llm.Message
		if json.Unmarshal(text, &messages) != nil {
			return
		}
		r := llm.Request{Model: "offline", Messages: messages, Tools: offer("bash", "list", "fork", "wait")}
		if r.Check() != nil {
			gather(t, r)
			return
		}
		if _, err := json.Marshal(r); err != nil {
			gather(t, r)
			return
		}
		ask(t, r)
	})
}

// However its parts are nested, an order is understood or not in bounded time.
func TestHostileOrdersAreBounded(t *testing.T) {
	for name, order := range map[string]string{
		"nested forks": strings.Repeat("fork two children to ", 380) + "run ls and run ls",
		"semicolons":   "run a" + strings.Repeat(";b", 4000),
		"open quotes":  strings.Repeat("“", 2700), "apostrophes": strings.Repeat(" 'a", 2700),
		"ands": "read a" + strings.Repeat(" and a", 1350), "thens": strings.Repeat("ls then ", 1000),
		"ones": "fork two children: " + strings.Repeat("one runs a ", 740),
	} {
		if _, odd := understand(order); odd == "" {
			t.Errorf("%s: it thinks that it understood", name)
		}
	}
}
