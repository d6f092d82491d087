package process_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"

	"ramet/internal/base/fault"
	"ramet/internal/kernel/process"
	"ramet/internal/model/llm"
	"ramet/internal/testkit"
	"ramet/internal/turn/tool"
)

func TestTheBoxIsToldWithSchemas(t *testing.T) {
	box := process.New(seat{world: &world{}}, nil, "")
	offer := box.Offer()
	want := map[string]string{"fork": "prompt name context effort then worktree", "kill": "agent cascade", "send": "to text",
		"read_mail": "number", "wait": "for agents timeout", "ps": "all", "look": "agent steps"}
	if len(offer) != len(want) {
		t.Errorf("%d tools", len(offer))
	}
	box = box.Told()
	for i, o := range offer {
		var schema struct {
			Properties map[string]struct{ Description string }
		}
		testkit.OK(t, json.Unmarshal(o.Schema, &schema))
		names := strings.Fields(want[o.Name])
		if len(schema.Properties) != len(names) {
			t.Errorf("%s takes %v", o.Name, schema.Properties)
		}
		for _, name := range names {
			if _, ok := schema.Properties[name]; !ok {
				t.Errorf("%s does not take %s", o.Name, name)
			}
		}
		if len(o.Description) < 40 {
			t.Errorf("%s: %q", o.Name, o.Description)
		}
		if s := box[i].Spec(); s.Access != tool.Processes || s.Subject != nil {
			t.Errorf("%s: %+v", o.Name, s)
		}
		if _, batch := box[i].(tool.Batch); batch != (o.Name == "fork") {
			t.Errorf("%s runs in batches: %v", o.Name, batch)
		}
	}
}

func TestSummaries(t *testing.T) {
	specs := map[string]tool.Spec{}
	for _, one := range process.New(seat{world: &world{}}, nil, "") {
		specs[one.Spec().Name] = one.Spec()
	}
	for _, c := range [][3]string{
		{"fork", `{"prompt":"do\nit\u001b[2J"}`, "fork: do it␛[2J"},
		{"fork", `{"prompt":"x","name":"ada","worktree":true}`, "fork ada in a worktree of its own: x"},
		{"kill", `{"agent":"ada","cascade":true,"reason":"slow"}`, "kill ada and everything below it: slow"},
		{"send", `{"to":"ada","text":"hi"}`, "send to ada: hi"},
		{"check_mail", `{}`, "look into the mailbox"},
		{"check_mail", `{"from":"ada"}`, "look for mail from ada"},
		{"read_mail", `{}`, "read the oldest unread mail"},
		{"read_mail", `{"number":3}`, "read mail 3"},
		{"wait", `{}`, "wait for mail, at most 10m0s"},
		{"wait", `{"agents":["ada"],"timeout":1.5}`, "wait for mail from ada, at most 1.5s"},
		{"wait", `{"for":"all"}`, "wait for mail until all have ended, at most 10m0s"},
		{"wait", `{"then":"wake"}`, "let the children's reports wake it"},
		{"ps", `{}`, "list the agents"},
		{"ps", `{"all":true}`, "list the agents, the dead too"},
		{"exit", `{}`, "exit"},
		{"exit", `{"result":"done"}`, "exit: done"},
		{"exit", `[1,`, "[1,"},
	} {
		if got := specs[c[0]].Summary([]byte(c[1])); got != c[2] {
			t.Errorf("%s %s: %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

// hasty is a kernel that does not wait.
type hasty struct{ seat }

func (h hasty) Await(ctx context.Context, w process.Wait) (process.Waited, error) {
	if w.Timeout < 0 || w.Timeout > time.Hour {
		h.t.Errorf("waits for %s", w.Timeout)
	}
	w.Timeout = 0
	return h.seat.Await(ctx, w)
}

// Any arguments are refused with an answer, or carried out; the summary is one safe
// line whatever they are.
func FuzzArguments(f *testing.F) {
	for _, args := range []string{``, `{}`, `{"prompt":"x"}`, `{"prompt":"x","name":"ada","context":"none","worktree":true}`,
		`{"agent":"kid","cascade":true,"reason":"r"}`, `{"agent":"0"}`, `{"to":"parent","text":"x","in_reply_to":1e0}`, `{"to":"\ud800","text":"x"}`,
		`{"to":"you","text":"x","in_reply_to":9007199254740991}`, `{"from":"you"}`, `{"number":-0}`, `{"number":1.0}`, `{"timeout":3600.0,"agents":[]}`, `{"agents":["user","0"],"for":"all"}`, `{"then":"wake"}`,
		`{"timeout":1e-300}`, `{"all":true}`, `{"result":"\u0000"}`, `{"result":""}`, `null`, `[]`, `{"prompt":null}`, `{"PROMPT":"x"}`} {
		for which := range uint8(9) {
			f.Add(which, args)
		}
	}
	w := newWorld(f)
	f.Fuzz(func(t *testing.T, which uint8, args string) {
		w.t = t
		kid := w.child(w.zero, "")
		w.userWrites(kid, "a letter")
		defer w.kills(kid)
		box := process.New(hasty{seat{w, kid}}, w.Store, kid)
		spec := box[int(which)%len(box)].Spec()
		line := spec.Summary([]byte(args))
		if strings.ContainsFunc(line, unicode.IsControl) || len([]rune(line)) > 120 {
			t.Errorf("the summary of %q is %q", args, line)
		}
		call := llm.NewCall("c", spec.Name, args)
		found, refused, ok := box.Find(call)
		if !ok {
			if !refused.IsError || refused.Text == "" {
				t.Errorf("%+v", refused)
			}
			return
		}
		a, err := found.Run(context.Background(), tool.Call{Agent: kid, ID: "c", Name: spec.Name, Args: found.Args, Output: func([]byte) {}})
		if err != nil {
			t.Errorf("%s %q: %s: %v", spec.Name, args, fault.CodeOf(err), err)
		}
		if a.Text == "" || a.IsError && (a.Recorded || a.Ends) {
			t.Errorf("%s %q: %+v", spec.Name, args, a)
		}
		for len(w.asleep) > 0 {
			<-w.asleep
		}
	})
}

// What models are not told of is taken all the same.
func TestTheUntoldIsTaken(t *testing.T) {
	box := process.New(seat{world: &world{}}, nil, "")
	for name, args := range map[string]string{"kill": `{"agent":"ada","reason":"enough"}`, "send": `{"to":"ada","text":"x","in_reply_to":2}`,
		"wait": `{"then":"wake"}`, "fork": `{"prompt":"x","agent":"judge"}`, "check_mail": `{"from":"ada"}`, "exit": `{"result":"x"}`} {
		if _, refused, ok := box.Find(llm.Part{Name: name, Args: []byte(args)}); !ok {
			t.Errorf("%s: %s", name, refused.Text)
		}
	}
}

// Who works alone is told of no others until it asks, but can call them.
func TestWhoWorksAloneCanHaveChildren(t *testing.T) {
	box := process.Alone(process.New(seat{world: &world{}}, nil, ""))
	told := func() string { return strings.Join(box.Told().Names(), " ") }
	if told() != "read_mail children" {
		t.Error(told())
	}
	if _, refused, ok := box.Find(llm.Part{Name: "fork", Args: []byte(`{"prompt":"x"}`)}); !ok {
		t.Error(refused.Text)
	}
	found, _, _ := box.Find(llm.Part{Name: "children", Args: []byte(`{}`)})
	answer, err := found.Run(t.Context(), tool.Call{})
	if err != nil || answer.IsError || told() != "fork kill send read_mail wait ps look" {
		t.Error(answer, err, told())
	}
	memory := found.Tool.(tool.Memory)
	memory.Recall(func(yield func(json.RawMessage) bool) {})
	if told() != "read_mail children" {
		t.Error("it knows what it never asked for: " + told())
	}
	memory.Recall(func(yield func(json.RawMessage) bool) { yield(json.RawMessage(answer.Memo)) })
	if told() != "fork kill send read_mail wait ps look" {
		t.Error("it forgot: " + told())
	}
}
