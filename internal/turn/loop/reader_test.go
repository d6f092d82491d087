package loop

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"ramet/internal/base/chain"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
)

// A long history is read by several at once; it makes the same conversation as one
// that comes entry by entry, blobs included, which nobody asks for before the end.
func TestALongHistoryIsReadInItsOrder(t *testing.T) {
	blobs := map[chain.Hash][]byte{}
	var entries []history.Entry
	for i := range 3*batchSize + 7 {
		text := fmt.Sprintf("message %d", i)
		if i%100 == 50 {
			text += strings.Repeat("x", history.BlobCutoff)
		}
		kind := history.User
		if i%2 == 1 {
			kind = history.Assistant
		}
		content, made, err := history.Encode([]history.Part{{Type: history.Text, Text: text}})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range made {
			blobs[b.Hash] = b.Data
		}
		entries = append(entries, history.Entry{ID: id.Message(i + 1), Kind: kind, Content: content})
	}
	all := false
	blob := func(_ context.Context, h chain.Hash) ([]byte, error) {
		if !all {
			t.Error("a blob was asked for while entries were still coming")
		}
		return blobs[h], nil
	}
	r := NewReader(&history.Outline{})
	for _, e := range entries {
		r.Take(e)
	}
	all = true
	got, err := r.Conversation(t.Context(), blob)
	if err != nil {
		t.Fatal(err)
	}
	want := &Conversation{blob: blob}
	if fresh, err := want.Add(t.Context(), entries...); err != nil || !fresh {
		t.Fatal(fresh, err)
	}
	if got.Last() != want.Last() || got.Len() != want.Len() || !reflect.DeepEqual(got.Messages(), want.Messages()) {
		t.Errorf("%d entries up to %d, want %d up to %d", got.Len(), got.Last(), want.Len(), want.Last())
	}
}

func TestWhatCannotBeReadEndsTheReading(t *testing.T) {
	broken := errors.New("the disk is gone")
	for name, content := range map[string]string{
		"damaged": `[{"type":"text","text":`,
		"a blob":  `[{"type":"text","blob":"` + chain.Sum(nil).String() + `","size":9000}]`,
	} {
		r := NewReader(&history.Outline{})
		for i := range batchSize + 1 {
			e := history.Entry{ID: id.Message(i + 1), Kind: history.User, Content: []byte(`[{"type":"text","text":"a"}]`)}
			if i == batchSize/2 {
				e.Content = []byte(content)
			}
			r.Take(e)
		}
		c, err := r.Conversation(t.Context(), func(context.Context, chain.Hash) ([]byte, error) { return nil, broken })
		if c != nil || err == nil || errors.Is(err, errLater) || (name == "a blob") != errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
