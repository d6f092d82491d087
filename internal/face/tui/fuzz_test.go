package tui

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ramet/internal/face/tui/markdown"
	"ramet/internal/testkit"
)

// Whatever stands in the file of the screen, there is a prompt.
func FuzzRecall(f *testing.F) {
	f.Add([]byte(strings.ReplaceAll(`{"version":1,"current":"x","said":["a"],"agents":{"x":{"draft":{"parts":[{"text":"hi"}],"cursor":1},"place":{"entry":3,"part":1,"line":-9},"folds":{"a":true},"queue":["q"],"model":"m"}}}`, `"x"`, `"`+string(who("zero"))+`"`)))
	f.Add([]byte(`{`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(dir, "state.json")
		testkit.OK(t, os.WriteFile(path, content, 0o600))
		s := family()
		x := &show{newRoot(t.Context(), Options{State: path, Now: func() time.Time { return clock }, Open: func(context.Context) (Workspace, error) { return s, nil }}), t, s, nil}
		x.w, x.h = 60, 12
		x.screen()
		x.workspace = s
		x.run(x.look())
		x.screen()
		x.press("pgup", "ctrl+down")
		x.screen()
	})
}

func FuzzSummary(f *testing.F) {
	f.Add("bash", []byte(`{"command":"ls"}`))
	f.Add("edit", []byte(`{"path":1,"x":[{}]}`))
	f.Fuzz(func(t *testing.T, tool string, args []byte) {
		b := &block{form: call, title: tool, about: summary(tool, json.RawMessage(args)), body: string(args)}
		for _, open := range []bool{false, true} {
			for _, l := range b.lines(40, open, markdown.Basic()) {
				if rest := ansiOurs.ReplaceAllString(l, ""); width(l) > 40 || !utf8.ValidString(rest) || len(rest) != len(clean(rest)) {
					t.Errorf("%d cells: %q", width(l), l)
				}
			}
		}
	})
}

func FuzzMention(f *testing.F) {
	f.Add("look at @main", 13)
	f.Fuzz(func(t *testing.T, said string, cursor int) {
		if cursor < 0 || cursor > len(said) {
			return
		}
		if start, fragment, ok := mention(said, cursor); ok && said[start:cursor] != "@"+fragment {
			t.Errorf("%q at %d gives %d %q", said, cursor, start, fragment)
		}
	})
}
