package public

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/model/llm"
	"ramet/internal/testkit"
	"ramet/internal/turn/loop"
)

// types are all events.
var types = []loop.EventType{loop.TextDelta, loop.ThinkingDelta, loop.Recorded, loop.CallStarted, loop.CallOutput, loop.CallEnded,
	loop.Retrying, loop.Spent, loop.Compacting, loop.Note, loop.TurnStarted, loop.TurnEnded, loop.Asking, loop.Waiting, loop.Forked,
	loop.Killed, loop.Mailed, Result}

func anyEvent(t *rapid.T) loop.Event {
	text := rapid.String()
	e := loop.Event{Type: rapid.SampledFrom(types).Draw(t, "type"), Text: text.Draw(t, "text")}
	if rapid.Bool().Draw(t, "of an agent") {
		e.Agent = id.NewAgent()
	}
	usage := func() llm.Usage {
		n := rapid.Int64Range(0, 1<<53)
		return llm.Usage{Input: n.Draw(t, "input"), Output: n.Draw(t, "output"), CacheRead: n.Draw(t, "read"), Reasoning: n.Draw(t, "reasoning")}
	}
	broken := func() error {
		if !rapid.Bool().Draw(t, "broken") {
			return nil
		}
		return &fault.Error{Code: fault.Failed, Message: text.Draw(t, "message"), Hint: text.Draw(t, "hint")}
	}
	switch e.Type {
	case loop.Recorded:
		content := rapid.SampledFrom([]string{`[]`, `[{"type":"text","text":"a<b>&c"}]`, "[{\"type\":\"text\",\"text\":\"\u2028\"}]"}).Draw(t, "content")
		e.Entry = &history.Entry{ID: id.Message(rapid.Int64Min(1).Draw(t, "id")), Agent: id.NewAgent(), Kind: history.User,
			Content: []byte(content), Meta: []byte(`{"reason":"<x>"}`), Hash: chain.Sum([]byte(content)),
			CreatedAt: time.UnixMicro(rapid.Int64Range(0, 4e15).Draw(t, "at")).UTC()}
	case loop.CallStarted, loop.CallOutput, loop.CallEnded, loop.Asking:
		e.CallID, e.Tool, e.IsError = text.Draw(t, "call"), text.Draw(t, "tool"), rapid.Bool().Draw(t, "failed")
	case loop.Retrying:
		e.Attempt = llm.Attempt{Number: rapid.IntRange(1, 9).Draw(t, "number"), Of: 9, Err: broken(),
			Wait: time.Duration(rapid.Int64Range(0, 1e6).Draw(t, "wait")) * time.Millisecond}
	case loop.Spent:
		e.Usage, e.Cost = usage(), llm.Money(rapid.Int64Range(0, 1<<53).Draw(t, "cost"))
	case loop.TurnEnded, Result:
		e.Turn, e.Err = rapid.Int64Min(0).Draw(t, "turn"), broken()
		e.Outcome = &loop.Outcome{Text: text.Draw(t, "answer"), Steps: 3, Calls: 2, Denied: 1, Worked: 1, Usage: usage(), Cost: 7,
			Ended: rapid.Bool().Draw(t, "ended")}
	case loop.Forked:
		for range rapid.IntRange(1, 3).Draw(t, "children") {
			e.Children = append(e.Children, id.NewAgent())
		}
	}
	return e
}

func TestALineKeepsItsEvent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := anyEvent(t)
		var b bytes.Buffer
		testkit.OK(t, Encoder(&b).Encode(Format(e)))
		if n := bytes.Count(b.Bytes(), []byte("\n")); n != 1 {
			t.Fatalf("%d lines: %q", n, b.Bytes())
		}
		var l Line
		testkit.OK(t, json.Unmarshal(b.Bytes(), &l))
		if got := l.Event(); !reflect.DeepEqual(got, e) {
			t.Fatalf("%s\nhave %+v\nwant %+v", b.Bytes(), got, e)
		}
	})
}

func TestARedactedEntryHasNoParts(t *testing.T) {
	e := loop.Event{Type: loop.Recorded, Entry: &history.Entry{ID: 1, Meta: []byte(`{}`)}}
	if got := string(Format(e).Message.Parts); got != "[]" {
		t.Error(got)
	}
}

func FuzzLine(f *testing.F) {
	f.Add([]byte(`{"type":"entry","message":{"id":1,"parts":[],"meta":{},"created_at":"x"}}`))
	f.Add([]byte(`{"type":"turn_ended","turn":1,"outcome":{},"error":{"code":"FAILED"}}`))
	f.Add([]byte(`{"attempt":{"number":1,"wait_ms":9223372036854775807,"error":null},"cost_nano_usd":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var l Line
		if json.Unmarshal(text, &l) != nil {
			return
		}
		again := Format(l.Event()) // whatever it is, it can be shown again
		if err := Encoder(io.Discard).Encode(again); err != nil && again.Message == nil {
			t.Error(err)
		}
	})
}
