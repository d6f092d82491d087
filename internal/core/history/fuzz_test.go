package history_test

import (
	"testing"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/testkit"
)

func FuzzParts(f *testing.F) {
	for _, seed := range []string{"", "null", "[]", "[null]", `[{"type":"text","text":"x"}]`, `[{"type":"image","blob":"","size":-1}]`,
		`[{"blob":"00"}]`, `[{"args":{}}]`, `{"type":"text"}`, "[[[[", "\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		parts, err := history.Entry{Agent: "a", ID: 1, Content: content}.Parts()
		if err != nil {
			if !fault.Is(err, fault.HistoryDamaged) {
				t.Errorf("unreadable content is %s", fault.CodeOf(err))
			}
			return
		}
		history.Plain(parts)
		testkit.OK(t, history.Fill(parts, func(chain.Hash) ([]byte, error) { return []byte("blob"), nil }))
		again, blobs, err := history.Encode(parts)
		if err != nil {
			return // arguments that are no JSON
		}
		_ = blobs
		if _, err := (history.Entry{Content: again}).Parts(); err != nil {
			t.Errorf("what was written is not read: %v", err)
		}
	})
}

// FuzzOutline feeds hostile meta: whatever it says, the outline refuses it as
// damage or stays a list of spans in order.
func FuzzOutline(f *testing.F) {
	f.Add(byte(0), `{"target":"1"}`, `{"start_id":"1","end_id":"2"}`)
	f.Add(byte(1), `{"target":"-9223372036854775808"}`, `{"start_id":"9223372036854775807","end_id":"9223372036854775807"}`)
	f.Add(byte(2), `{"target":7}`, `null`)
	f.Add(byte(3), `[]`, `{"start_id":"1","end_id":"9223372036854775807"}`)
	f.Add(byte(4), `{"label":"\ud800"}`, ``)
	kinds := []history.Kind{history.Rewind, history.Compact, history.Mark, history.Clear, history.User}
	f.Fuzz(func(t *testing.T, order byte, one, two string) {
		var o history.Outline
		last := id.Message(0)
		for i := range 8 {
			meta := one
			if i%2 == 1 {
				meta = two
			}
			last += id.Message(1 + i%3)
			e := history.Entry{ID: last, Agent: "a", Kind: kinds[(int(order)+i*int(order%7))%len(kinds)], Meta: []byte(meta)}
			if _, err := e.Decode(); err != nil && !fault.Is(err, fault.HistoryDamaged) {
				t.Errorf("unreadable meta is %s", fault.CodeOf(err))
			}
			if err := o.Apply(e); err != nil && !fault.Is(err, fault.HistoryDamaged) {
				t.Errorf("a bad entry is %s", fault.CodeOf(err))
			}
			spans := o.Spans()
			for n, s := range spans {
				end, limited := s.End.Limit()
				if limited != (n < len(spans)-1) || limited && (end < s.Start || spans[n+1].Start < end) {
					t.Fatalf("spans %v", spans)
				}
			}
		}
	})
}
