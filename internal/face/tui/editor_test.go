package tui

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"ramet/internal/base/text"
	"ramet/internal/testkit"
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
	check(t, e.press("backspace"), 20, "one two/thre|")
	check(t, e.press("ctrl+w"), 20, "one two/|")
	check(t, e.press("ctrl+w").press("ctrl+w"), 20, "one |")
	check(t, e.press("home"), 20, "one two/|three")
	check(t, e.press("home").press("left"), 20, "one two|/three")
	check(t, e.press("home").press("backspace"), 20, "one two|three")
	check(t, e.moveTop().press("delete"), 20, "|ne two/three")
	check(t, e.moveTop().deleteToEnd(), 20, "|/three")
	check(t, e.moveTop().deleteToEnd().deleteToEnd(), 20, "|three")
	check(t, e.deleteToHome(), 20, "one two/|")
	check(t, e.deleteToHome().deleteToHome(), 20, "one two|")
	check(t, e.moveTop().press("alt+right"), 20, "one| two/three")
	check(t, e.moveTop().press("alt+d"), 20, "| two/three")
	check(t, e, 20, "one two/three|") // the value was not changed
	check(t, Editor{}.press("backspace").press("delete").press("left").press("right").undoChange().redoChange(), 5, "|")
}

func TestClustersAreNeverParted(t *testing.T) {
	e := Editor{}.Insert("a👩").Insert("\u200d👧").Insert("e").Insert("\u0301")
	check(t, e.press("left"), 20, "a👩\u200d👧|e\u0301")
	check(t, e.press("backspace"), 20, "a👩\u200d👧|")
	check(t, e.press("backspace").press("backspace"), 20, "a|")
	// What a deletion brings together is one cluster at once.
	e = Editor{}.Insert("ax\u200b").press("backspace").Insert("y").press("left").Insert("🇪").Insert("-").Insert("🇸").press("left").press("backspace")
	if v := e.View(20); v.Rows[0] != "ax🇪🇸y" || text.Width(v.Rows[0]) != 5 {
		t.Errorf("%q", v.Rows)
	}
	check(t, e.press("backspace"), 20, "ax|y")
}

func TestSoftWrap(t *testing.T) {
	e := Editor{}.Insert("hello brave world")
	check(t, e, 11, "hello /brave world/|")
	check(t, e, 12, "hello brave /world|")
	check(t, e.moveTop().press("right"), 1, "h/|e/l/l/o/ /b/r/a/v/e/ /w/o/r/l/d")
	check(t, Editor{}.Insert("abcdef"), 3, "abc/def/|")
	check(t, Editor{}.Insert("abc\nd").moveUp(10).press("end"), 3, "abc/|/d")
	check(t, Editor{}.Insert("日本語"), 5, "日本/語|")
	check(t, Editor{}.Insert("日"), 1, "?/|")
	check(t, Editor{}.Insert("a\tb"), 10, "a    b|")
}

func TestUpAndDownKeepTheColumn(t *testing.T) {
	e := Editor{}.Insert("long line\nab\n日本語語語")
	check(t, e.moveUp(20), 20, "long line/ab|/日本語語語")
	check(t, e.moveUp(20).moveUp(20), 20, "long line|/ab/日本語語語")
	check(t, e.press("left").moveUp(20).moveUp(20).moveDown(20).moveDown(20), 20, "long line/ab/日本語語|語")
	check(t, Editor{}.Insert("aaaa bbbb").moveUp(5).moveDown(5), 5, "aaaa /bbbb|")
	check(t, Editor{}.Insert("aaa\nbbb").moveTop().press("right").moveDown(9).moveDown(9), 9, "aaa/bbb|")
}

func TestUndoTakesWordsAndBringsThemBack(t *testing.T) {
	e := Editor{}
	for _, c := range "one two" {
		e = e.Insert(string(c))
	}
	check(t, e.undoChange(), 20, "one|")
	check(t, e.undoChange().undoChange(), 20, "|")
	check(t, e.undoChange().undoChange().undoChange(), 20, "|")
	check(t, e.undoChange().undoChange().redoChange().redoChange().redoChange(), 20, "one two|")
	check(t, e.undoChange().Insert("!").redoChange(), 20, "one!|")
	check(t, e.press("ctrl+w").undoChange(), 20, "one two|")
	// Two futures of one editor do not disturb each other.
	a, b := e.Insert(" a"), e.Insert(" b")
	check(t, a.undoChange(), 20, "one two|")
	check(t, b, 20, "one two b|")
	check(t, b.undoChange().redoChange(), 20, "one two b|")
}

func TestALargePasteIsOnePiece(t *testing.T) {
	large := strings.Repeat("line\r\n", 312)
	e := Editor{}.Insert("see ").paste(large).Insert("!")
	check(t, e, 40, "see [pasted 312 lines]!|")
	if want := "see " + strings.Repeat("line\n", 312) + "!"; e.Text() != want {
		t.Errorf("%.40q", e.Text())
	}
	check(t, e.press("left"), 40, "see [pasted 312 lines]|!")
	check(t, e.press("left").press("left"), 40, "see |[pasted 312 lines]!")
	check(t, e.press("left").press("backspace"), 40, "see |!")
	check(t, e.press("left").press("backspace").undoChange(), 40, "see [pasted 312 lines]|!")
	check(t, e.press("left").press("alt+left"), 40, "see |[pasted 312 lines]!")
	check(t, Editor{}.paste(large), 10, "[pasted 3…/|")
	check(t, Editor{}.paste(strings.Repeat("x", 5000)), 40, "[pasted 5000 bytes]|")
	check(t, Editor{}.paste("two\rlines"), 40, "two/lines|")
	hostile := Editor{}.paste("\x1b[2J" + large)
	if v := hostile.View(40); text.Safe(v.Rows[0]) != v.Rows[0] || !strings.HasPrefix(hostile.Text(), "\x1b[2J") {
		t.Errorf("%q", v.Rows)
	}
	if got := (Editor{}).paste("\x1b[2J\u202e").Text(); got != "␛[2J\uFFFD" {
		t.Errorf("%q", got)
	}
}

func TestStateSurvivesJSON(t *testing.T) {
	e := Editor{}.Insert("say 日").paste(strings.Repeat("l\n", 50)).Insert("e\u0301 end").press("left").press("left")
	for name, e := range map[string]Editor{"draft": e, "empty": {}} {
		b := testkit.Must(json.Marshal(e.State()))(t)
		var s EditorState
		testkit.OK(t, json.Unmarshal(b, &s))
		got := Editor{}.Restore(s)
		if shown(got, 30) != shown(e, 30) || got.Text() != e.Text() || !reflect.DeepEqual(got.State(), e.State()) {
			t.Errorf("%s: %q became %q", name, shown(e, 30), shown(got, 30))
		}
		check(t, got.moveDown(80).moveBottom(), 80, shown(e.moveDown(80).moveBottom(), 80))
	}
	check(t, Editor{}.Restore(EditorState{Parts: []EditorPart{{Text: "a\x1b"}}, Cursor: -7}), 80, "|a␛")
	check(t, Editor{}.Restore(EditorState{Parts: []EditorPart{{Text: "ab"}}, Cursor: 1 << 40}), 80, "ab|")
}

func TestReplace(t *testing.T) {
	e := Editor{}.Insert("look at @int and").press("alt+left").press("left")
	check(t, e.Replace(8, 12, "@internal/x.go"), 80, "look at @internal/x.go| and")
	check(t, e.Replace(8, 12, "x").undoChange(), 80, "look at @int| and")
}

// press gives the editor a key by its name.
func (e Editor) press(name string) Editor {
	in := input{Editor: e}
	in.key(name, "")
	return in.Editor
}
