package process_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/kernel/process"
	"ramet/internal/testkit"
	"ramet/internal/testkit/storetest"
	"ramet/internal/turn/tool"
)

// worldRecall is a child with a history of its own and one that it inherited.
func worldRecall(t *testing.T) (*storetest.TreeLog, func(args string) tool.Answer) {
	t.Helper()
	log := storetest.DrawTree(t, `root ─ m1 ─ clear ─ m3 ─ m4 ─ m5
	                         └─ m6 (child)`)
	put := func(m id.Message, k history.Kind, parts ...history.Part) {
		log.Append("child", m, history.Draft{Kind: k, Parts: parts})
	}
	put(7, history.Assistant, history.Part{Type: history.ToolCall, Name: "bash", CallID: "a", Args: json.RawMessage(`{"command":"make"}`)})
	put(8, history.ToolResult, history.Part{Type: history.Result, Name: "bash", CallID: "a", Text: strings.Repeat("ä noise\n", 4000) + "The needle is HERE.\n" + strings.Repeat("more\n", 100)})
	put(9, history.User, history.Part{Type: history.Text, Text: "Find the needle."})
	put(10, history.ToolResult, history.Part{Type: history.Result, Name: process.RecallName, CallID: "b", Text: "needle needle"})
	box := process.NewRecall(log, "child", 2048)
	return log, func(args string) tool.Answer {
		t.Helper()
		a := testkit.Must(box.Run(t.Context(), tool.Call{Args: json.RawMessage(args)}))(t)
		if len(a.Text) > 2048 {
			t.Errorf("%s: %d bytes", args, len(a.Text))
		}
		return a
	}
}

func TestARangeIsReadToTheLastByte(t *testing.T) {
	_, run := worldRecall(t)
	if got := run(`{"range": "3-7"}`).Text; got != "entry 3, user:\nm3\n\nentry 4, user:\nm4\n\nentry 6, user:\nm6\n\nentry 7, assistant:\n[bash {\"command\":\"make\"}]" {
		t.Error(got)
	}
	var all strings.Builder
	for offset := 0; ; {
		got := run(fmt.Sprintf(`{"range": "8", "offset": %d}`, offset)).Text
		body := strings.TrimPrefix(got, "entry 8, tool result:\n")
		i := strings.LastIndex(body, "\n[there is more: range 8, offset ")
		if i < 0 {
			all.WriteString(body)
			break
		}
		all.WriteString(body[:i])
		testkit.Must(fmt.Sscanf(body[i:], "\n[there is more: range 8, offset %d", &offset))(t)
	}
	if want := strings.TrimRight(strings.Repeat("ä noise\n", 4000)+"The needle is HERE.\n"+strings.Repeat("more\n", 100), "\n"); all.String() != want {
		t.Errorf("%d bytes of %d came back", all.Len(), len(want))
	}
	if got := run(`{"range": "7-9"}`).Text; !strings.HasSuffix(got, "[there is more: range 8- continues]") {
		t.Error(got)
	}
}

func TestAQueryFindsWhatIsLeftOut(t *testing.T) {
	_, run := worldRecall(t)
	got := run(`{"query": "NEEDLE here"}`).Text
	if !strings.HasPrefix(got, "entry 8, tool result: ") || !strings.Contains(got, "The needle is HERE.") || strings.Contains(got, "entry 10") {
		t.Error(got)
	}
	if got := run(`{"query": "needle"}`).Text; strings.Index(got, "entry 9") > strings.Index(got, "entry 8") {
		t.Errorf("the newest comes first: %s", got)
	}
	if got := run(`{"query": "needle", "range": "9-"}`).Text; strings.Contains(got, "entry 8") {
		t.Error(got)
	}
	if got := run(`{"query": "unheard of"}`).Text; !strings.HasPrefix(got, "No entry contains all of these words (") {
		t.Error(got)
	}
}

func TestWhatCannotBeRecalled(t *testing.T) {
	_, run := worldRecall(t)
	for _, args := range []string{`{"range": "1"}`, `{"range": "5"}`, `{"range": "99"}`, `{"range": "x"}`, `{"range": "9-3"}`, `{"range": "0"}`, `{}`} {
		if a := run(args); !a.IsError || strings.Contains(a.Text, "m5") {
			t.Errorf("%s: %+v", args, a)
		}
	}
}
