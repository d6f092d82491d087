package offline

import (
	"encoding/json"
	"strings"
	"testing"

	"ramet/internal/model/llm"
)

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
