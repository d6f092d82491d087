package history_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/core/history"
	_ "ramet/internal/testkit"
)

// trip encodes parts, reads them back and fills them.
func trip(tb rapid.TB, parts []history.Part) ([]history.Part, []history.Blob, []byte) {
	tb.Helper()
	content, blobs, err := history.Encode(parts)
	if err != nil {
		tb.Fatalf("encode: %v", err)
	}
	back, err := history.Entry{Content: content}.Parts()
	if err != nil {
		tb.Fatalf("parts: %v", err)
	}
	err = history.Fill(back, func(h chain.Hash) ([]byte, error) {
		for _, b := range blobs {
			if b.Hash == h {
				return b.Data, nil
			}
		}
		return nil, fault.New(fault.HistoryDamaged, "no blob %s", h)
	})
	if err != nil {
		tb.Fatalf("fill: %v", err)
	}
	return back, blobs, content
}

func TestPartsComeBackAsTheyWere(t *testing.T) {
	types := []history.PartType{history.Text, history.Thinking, history.ToolCall, history.Result, history.Image}
	long := func(t *rapid.T, name string) string {
		n := rapid.SampledFrom([]int{0, 1, 100, history.BlobCutoff - 1, history.BlobCutoff, history.BlobCutoff + 1, 3 * history.BlobCutoff}).Draw(t, name)
		seed := rapid.StringN(1, 8, 16).Draw(t, name+" text")
		return strings.ToValidUTF8(strings.Repeat(seed, n/len(seed)+1)[:n], "")
	}
	rapid.Check(t, func(t *rapid.T) {
		var parts []history.Part
		for range rapid.IntRange(0, 4).Draw(t, "parts") {
			p := history.Part{Type: rapid.SampledFrom(types).Draw(t, "type"), Text: long(t, "length"),
				Signature: rapid.String().Draw(t, "signature"), CallID: rapid.String().Draw(t, "call"),
				Name: rapid.String().Draw(t, "name"), IsError: rapid.Bool().Draw(t, "error")}
			if data := long(t, "data"); data != "" {
				p.Data = []byte(data)
			}
			if p.Type == history.ToolCall {
				p.Args = json.RawMessage(`{"a":"<&>","b":[1,2.50,null]}`)
			}
			parts = append(parts, p)
		}
		back, blobs, _ := trip(t, parts)
		if !reflect.DeepEqual(back, parts) {
			t.Fatalf("got %.300s\nwant %.300s", fmt.Sprint(back), fmt.Sprint(parts))
		}
		for _, b := range blobs {
			if chain.Sum(b.Data) != b.Hash || len(b.Data) <= history.BlobCutoff {
				t.Fatalf("blob %s of %d bytes", b.Hash, len(b.Data))
			}
		}
	})
}

func TestTheCutOffOfBlobsIsExactly8KiB(t *testing.T) {
	for _, c := range []struct{ size, blobs int }{{8191, 0}, {8192, 0}, {8193, 1}} {
		for _, p := range []history.Part{
			{Type: history.Text, Text: strings.Repeat("x", c.size)},
			{Type: history.Image, MediaType: "image/png", Data: bytes.Repeat([]byte{7}, c.size)},
		} {
			_, blobs, content := trip(t, []history.Part{p})
			if len(blobs) != c.blobs {
				t.Errorf("%s of %d bytes: %d blobs, want %d", p.Type, c.size, len(blobs), c.blobs)
			}
			if c.blobs == 1 && len(content) > 200 {
				t.Errorf("the reference takes %d bytes", len(content))
			}
		}
	}
}

func TestOneBlobServesEqualParts(t *testing.T) {
	p := history.Part{Type: history.Text, Text: strings.Repeat("same ", 5000)}
	back, blobs, _ := trip(t, []history.Part{p, p})
	if back[0].Text != p.Text || back[1].Text != p.Text || blobs[0].Hash != blobs[1].Hash {
		t.Error("equal texts are not one blob")
	}
}

func TestAReferenceIsNotEncodedAgain(t *testing.T) {
	h := chain.Sum([]byte("x"))
	if _, _, err := history.Encode([]history.Part{{Type: history.Text, Blob: &h}}); err == nil {
		t.Error("a part that was not filled was stored as if it were whole")
	}
}

func TestNoPartsAreNoContentAndRedactedOnesSaySo(t *testing.T) {
	content, _, err := history.Encode(nil)
	if err != nil || content == nil || len(content) != 0 {
		t.Errorf("%v %v: empty content must differ from redacted content", content, err)
	}
	if parts, err := (history.Entry{Content: content}).Parts(); err != nil || len(parts) != 0 {
		t.Error(parts, err)
	}
	parts, err := history.Entry{Content: nil}.Parts()
	if err != nil || history.Plain(parts) != history.RedactedText {
		t.Error(parts, err)
	}
}

func TestPlainIsWhatAPersonReads(t *testing.T) {
	got := history.Plain([]history.Part{
		{Type: history.Thinking, Text: "secretly"},
		{Type: history.Text, Text: "hello"},
		{Type: history.ToolCall, Name: "bash", Args: json.RawMessage(`{"c":"ls"}`)},
		{Type: history.Result, Text: "a b"},
		{Type: history.Image, MediaType: "image/png", Data: make([]byte, 3)},
		{Type: history.Image, MediaType: "image/png", Size: 9999},
	})
	if want := "hello\n[bash {\"c\":\"ls\"}]\na b\n[image image/png, 3 bytes]\n[image image/png, 9999 bytes]"; got != want {
		t.Errorf("got %q", got)
	}
}

func TestBoundsInJSON(t *testing.T) {
	for _, c := range []struct {
		bound history.Bound
		text  string
	}{{history.NoLimit, "null"}, {history.UpTo(0), "0"}, {history.UpTo(7), "7"}} {
		text, err := json.Marshal(history.Range{Agent: "a", Start: 1, End: c.bound})
		if want := `{"agent_uuid":"a","start_id":1,"end_id":` + c.text + `}`; err != nil || string(text) != want {
			t.Errorf("%s, want %s (%v)", text, want, err)
		}
		back := history.Range{End: history.UpTo(99)}
		if err := json.Unmarshal(text, &back); err != nil || back.End != c.bound {
			t.Errorf("%s reads as %v (%v)", text, back.End, err)
		}
	}
	for _, bad := range []string{`"7"`, `true`, `{}`, `1.5`} {
		var b history.Bound
		if err := json.Unmarshal([]byte(bad), &b); err == nil {
			t.Errorf("%s reads as %v", bad, b)
		}
	}
}

func TestBoundsAdmitAndNarrow(t *testing.T) {
	none, zero, five := history.NoLimit, history.UpTo(0), history.UpTo(5)
	if !none.Admits(1<<62) || zero.Admits(1) || !five.Admits(5) || five.Admits(6) {
		t.Error("a bound admits what it should not, or refuses what it should admit")
	}
	for _, c := range []struct{ a, b, want history.Bound }{
		{none, none, none}, {none, five, five}, {five, none, five}, {five, zero, zero}, {zero, five, zero}, {none, zero, zero},
	} {
		if got := c.a.Min(c.b); got != c.want {
			t.Errorf("%v min %v = %v", c.a, c.b, got)
		}
	}
	if (history.Range{Start: 3, End: five}).Holds(3) || !(history.Range{Start: 3, End: five}).Holds(5) {
		t.Error("start is exclusive, end inclusive")
	}
}

// TestEveryFieldOfMetaHasANameAndMayBeLeftOut keeps the stored form small and readable by other tools.
func TestEveryFieldOfMetaHasANameAndMayBeLeftOut(t *testing.T) {
	m := reflect.TypeFor[history.Meta]()
	for i := range m.NumField() {
		f := m.Field(i)
		if name := f.Tag.Get("json"); f.Anonymous || !f.IsExported() || len(name) < len("x,omitempty") || name[len(name)-len(",omitempty"):] != ",omitempty" {
			t.Errorf("%s: %q", f.Name, name)
		}
		if k := f.Type.Kind(); k != reflect.String && k != reflect.Slice && k != reflect.Pointer {
			t.Errorf("%s: what is empty of a %s?", f.Name, k)
		}
	}
}

func TestWhichKindsReachAndShape(t *testing.T) {
	reach := map[history.Kind]bool{history.System: true, history.User: true, history.Assistant: true, history.ToolResult: true, history.Notice: true}
	shape := map[history.Kind]bool{history.Clear: true, history.Mark: true, history.Rewind: true, history.Compact: true}
	if len(history.Kinds()) != 19 {
		t.Errorf("%d kinds", len(history.Kinds()))
	}
	for _, k := range history.Kinds() {
		if k.Reaches() != reach[k] || k.Shapes() != shape[k] {
			t.Errorf("%s: reaches %v, shapes %v", k, k.Reaches(), k.Shapes())
		}
	}
}

func TestOnlySomeKindsAreWrittenByHand(t *testing.T) {
	for _, ok := range []string{"user", "assistant", "system", "tool_result", "note"} {
		if k, err := history.ParseWritable(ok); err != nil || string(k) != ok {
			t.Errorf("%s: %v", ok, err)
		}
	}
	for bad, hint := range map[string]string{"": "use user", "fork": "use user", "killed": "use user", "User": `"user"`, "asistant": `"assistant"`} {
		if _, err := history.ParseWritable(bad); !fault.Is(err, fault.InvalidKind) || !strings.Contains(err.Error(), hint) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestTextsAndLabelsAreChecked(t *testing.T) {
	for _, bad := range []string{"", "a\x00b", "\xff", strings.Repeat("x", history.MaxText+1)} {
		if _, err := history.Say(history.User, bad); !fault.Is(err, fault.InvalidText) {
			t.Errorf("message %.10q: %v", bad, err)
		}
	}
	for _, bad := range []string{" x", "x ", "a\nb", "a\tb", "a  b", "\x1b[m", "\xff", "a\x00", "\u202e", strings.Repeat("x", history.MaxLabel+1), strings.Repeat("ä", 33)} {
		if _, err := history.NewMark(bad); !fault.Is(err, fault.InvalidLabel) {
			t.Errorf("label %q: %v", bad, err)
		}
	}
	for _, good := range []string{"", "x", "before the big change", "ä", strings.Repeat("x", history.MaxLabel)} {
		if d, err := history.NewMark(good); err != nil || d.Meta.Label != good || d.Kind != history.Mark {
			t.Errorf("label %q: %v", good, err)
		}
	}
	if _, err := history.NewCompact("", 1, 2); !fault.Is(err, fault.InvalidText) {
		t.Errorf("an empty summary: %v", err)
	}
}
