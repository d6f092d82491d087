package tui

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"ramet/internal/base/text"
)

// shown is the view with a bar for the cursor.
func shown(e Editor, width int) string {
	v := e.View(width)
	rows := append([]string(nil), v.Rows...)
	row, col := rows[v.Row], 0
	for i := 0; ; {
		if col >= v.Col {
			rows[v.Row] = row[:i] + "|" + row[i:]
			break
		}
		_, w, n := text.NextCell(row[i:])
		col, i = col+w, i+n
	}
	return strings.Join(rows, "/")
}

func check(t *testing.T, e Editor, width int, want string) {
	t.Helper()
	if got := shown(e, width); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTypingAndDeleting(t *testing.T) {
	e := Editor{}.Insert("one two").Insert("\n").Insert("three")
	check(t, e, 20, "one two/three|")
	check(t, e.Backspace(), 20, "one two/thre|")
	check(t, e.DeleteWordLeft(), 20, "one two/|")
	check(t, e.DeleteWordLeft().DeleteWordLeft(), 20, "one |")
	check(t, e.Home(), 20, "one two/|three")
	check(t, e.Home().Left(), 20, "one two|/three")
	check(t, e.Home().Backspace(), 20, "one two|three")
	check(t, e.Top().Delete(), 20, "|ne two/three")
	check(t, e.Top().DeleteToEnd(), 20, "|/three")
	check(t, e.Top().DeleteToEnd().DeleteToEnd(), 20, "|three")
	check(t, e.DeleteToHome(), 20, "one two/|")
	check(t, e.DeleteToHome().DeleteToHome(), 20, "one two|")
	check(t, e.DeleteLine(), 20, "one two|")
	check(t, e.Top().DeleteLine(), 20, "|three")
	check(t, e.Top().WordRight(), 20, "one| two/three")
	check(t, e.Top().DeleteWordRight(), 20, "| two/three")
	check(t, e, 20, "one two/three|") // the value was not changed
	check(t, Editor{}.Backspace().Delete().Left().Right().Undo().Redo().DeleteLine(), 5, "|")
}

func TestClustersAreNeverParted(t *testing.T) {
	e := Editor{}.Insert("a👩").Insert("\u200d👧").Insert("e").Insert("\u0301")
	check(t, e.Left(), 20, "a👩\u200d👧|e\u0301")
	check(t, e.Backspace(), 20, "a👩\u200d👧|")
	check(t, e.Backspace().Backspace(), 20, "a|")
	// What a deletion brings together is one cluster at once.
	e = Editor{}.Insert("ax\u200b").Backspace().Insert("y").Left().Insert("🇪").Insert("-").Insert("🇸").Left().Backspace()
	if v := e.View(20); v.Rows[0] != "ax🇪🇸y" || text.Width(v.Rows[0]) != 5 {
		t.Errorf("%q", v.Rows)
	}
	check(t, e.Backspace(), 20, "ax|y")
}

func TestSoftWrap(t *testing.T) {
	e := Editor{}.Insert("hello brave world")
	check(t, e, 11, "hello /brave world/|")
	check(t, e, 12, "hello brave /world|")
	check(t, e.Top().Right(), 1, "h/|e/l/l/o/ /b/r/a/v/e/ /w/o/r/l/d")
	check(t, Editor{}.Insert("abcdef"), 3, "abc/def/|")
	check(t, Editor{}.Insert("abc\nd").Up(10).End(), 3, "abc/|/d")
	check(t, Editor{}.Insert("日本語"), 5, "日本/語|")
	check(t, Editor{}.Insert("日"), 1, "?/|")
	check(t, Editor{}.Insert("a\tb"), 10, "a    b|")
}

func TestUpAndDownKeepTheColumn(t *testing.T) {
	e := Editor{}.Insert("long line\nab\n日本語語語")
	check(t, e.Up(20), 20, "long line/ab|/日本語語語")
	check(t, e.Up(20).Up(20), 20, "long line|/ab/日本語語語")
	check(t, e.Left().Up(20).Up(20).Down(20).Down(20), 20, "long line/ab/日本語語|語")
	check(t, Editor{}.Insert("aaaa bbbb").Up(5).Down(5), 5, "aaaa /bbbb|")
	check(t, Editor{}.Insert("aaa\nbbb").Top().Right().Down(9).Down(9), 9, "aaa/bbb|")
}

func TestUndoTakesWordsAndBringsThemBack(t *testing.T) {
	e := Editor{}
	for _, c := range "one two" {
		e = e.Insert(string(c))
	}
	check(t, e.Undo(), 20, "one|")
	check(t, e.Undo().Undo(), 20, "|")
	check(t, e.Undo().Undo().Undo(), 20, "|")
	check(t, e.Undo().Undo().Redo().Redo().Redo(), 20, "one two|")
	check(t, e.Undo().Insert("!").Redo(), 20, "one!|")
	check(t, e.Clear().Undo(), 20, "one two|")
	check(t, e.DeleteWordLeft().Undo(), 20, "one two|")
	// Two futures of one editor do not disturb each other.
	a, b := e.Insert(" a"), e.Insert(" b")
	check(t, a.Undo(), 20, "one two|")
	check(t, b, 20, "one two b|")
	check(t, b.Undo().Redo(), 20, "one two b|")
}

func TestALargePasteIsOnePiece(t *testing.T) {
	large := strings.Repeat("line\r\n", 312)
	e := Editor{}.Insert("see ").Paste(large).Insert("!")
	check(t, e, 40, "see [pasted 312 lines]!|")
	if want := "see " + strings.Repeat("line\n", 312) + "!"; e.Text() != want {
		t.Errorf("%.40q", e.Text())
	}
	check(t, e.Left(), 40, "see [pasted 312 lines]|!")
	check(t, e.Left().Left(), 40, "see |[pasted 312 lines]!")
	check(t, e.Left().Backspace(), 40, "see |!")
	check(t, e.Left().Backspace().Undo(), 40, "see [pasted 312 lines]|!")
	check(t, e.Left().WordLeft(), 40, "see |[pasted 312 lines]!")
	check(t, Editor{}.Paste(large), 10, "[pasted 3…/|")
	check(t, Editor{}.Paste(strings.Repeat("x", 5000)), 40, "[pasted 5000 bytes]|")
	check(t, Editor{}.Paste("two\rlines"), 40, "two/lines|")
	hostile := Editor{}.Paste("\x1b[2J" + large)
	if v := hostile.View(40); text.Safe(v.Rows[0]) != v.Rows[0] || !strings.HasPrefix(hostile.Text(), "\x1b[2J") {
		t.Errorf("%q", v.Rows)
	}
	if got := (Editor{}).Paste("\x1b[2J\u202e").Text(); got != "␛[2J\uFFFD" {
		t.Errorf("%q", got)
	}
}

func TestHistoryKeepsTheDraft(t *testing.T) {
	e := Editor{}.WithHistory([]string{"first", "second\nof two"}).Insert("draft").Left()
	check(t, e.Up(20), 20, "second/of two|")
	check(t, e.Up(20).Up(20), 20, "second|/of two")
	older := e.Up(20).Up(20).Up(20)
	check(t, older, 20, "first|")
	check(t, older.Up(20), 20, "first|")
	check(t, older.Down(20), 20, "second/of two|")
	check(t, older.Down(20).Down(20), 20, "draf|t")
	check(t, older.Undo(), 20, "second|/of two")
	sent, next := older.Insert("!").Submit()
	if sent != "first!" || !next.Empty() {
		t.Errorf("%q", sent)
	}
	check(t, next.Up(20), 20, "first!|")
	_, same := next.Insert("first!").Submit()
	check(t, same.Up(20).Up(20), 20, "second/of two|")
	if _, e := (Editor{}).Submit(); len(e.history) != 0 {
		t.Error("nothing was remembered")
	}
}

func TestStateSurvivesJSON(t *testing.T) {
	e := Editor{}.WithHistory([]string{"old"}).Insert("say 日").Paste(strings.Repeat("l\n", 50)).Insert("e\u0301 end").Left().Left()
	for name, e := range map[string]Editor{"draft": e, "history": e.Up(80), "empty": {}} {
		b, err := json.Marshal(e.State())
		if err != nil {
			t.Fatal(err)
		}
		var s EditorState
		if err := json.Unmarshal(b, &s); err != nil {
			t.Fatal(err)
		}
		got := Editor{}.WithHistory([]string{"old"}).Restore(s)
		if shown(got, 30) != shown(e, 30) || got.Text() != e.Text() || !reflect.DeepEqual(got.State(), e.State()) {
			t.Errorf("%s: %q became %q", name, shown(e, 30), shown(got, 30))
		}
		check(t, got.Down(80).Bottom(), 80, shown(e.Down(80).Bottom(), 80))
	}
	// Without the history, the draft is what counts.
	check(t, Editor{}.Restore(e.Up(80).State()).Bottom(), 80, "say 日[pasted 50 lines]e\u0301 end|")
	check(t, Editor{}.Restore(EditorState{Parts: []EditorPart{{Text: "a\x1b"}}, Cursor: -7}), 80, "|a␛")
	check(t, Editor{}.Restore(EditorState{Parts: []EditorPart{{Text: "ab"}}, Cursor: 1 << 40}), 80, "ab|")
}

func TestWordAtTheCursor(t *testing.T) {
	for _, c := range []struct {
		before, after string
		want          EditorWord
	}{
		{"look at @int", "ernal/x and", EditorWord{Path, "int", 8, 19}},
		{"@", "", EditorWord{Path, "", 0, 1}},
		{"mail a@b", "", EditorWord{None, "", 8, 8}},
		{"/fo", "", EditorWord{Command, "/fo", 0, 3}},
		{"/fork --na", " x", EditorWord{Command, "/fork --na x", 0, 12}},
		{"/fork @x", "", EditorWord{Path, "x", 6, 8}},
		{" /fo", "", EditorWord{None, "", 4, 4}},
		{"", "/fo", EditorWord{None, "", 0, 0}},
		{"!ls -l", "", EditorWord{Shell, "ls -l", 1, 6}},
		{"two\n@日", "本", EditorWord{Path, "日", 4, 11}},
	} {
		e := Editor{}.Insert(c.before + c.after).Top()
		for e.Offset() < len(c.before) {
			e = e.Right()
		}
		if got := e.Word(); got != c.want {
			t.Errorf("%s|%s: %+v, want %+v", c.before, c.after, got, c.want)
		}
	}
	e := Editor{}.Insert("look at @int and").WordLeft().Left()
	w := e.Word()
	check(t, e.Replace(w.Start, w.End, "@internal/x.go"), 80, "look at @internal/x.go| and")
	check(t, e.Replace(w.Start, w.End, "x").Undo(), 80, "look at @int| and")
}
