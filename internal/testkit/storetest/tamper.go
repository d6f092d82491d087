package storetest

import (
	"bytes"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/testkit"
)

// tamperer changes rows behind the store's back and puts them back.
type tamperer struct {
	t   testing.TB
	d   *bench
	raw *sql.DB
}

// scene is a workspace with something of everything.
func scene(t testing.TB, w *Workspace) (*tamperer, map[string]id.Agent) {
	t.Helper()
	d := openUnchecked(t, w)
	agents := play(t, d, `
		root ─ m1 ─ mark(x) ─ m3 ─ compact(m1..m1) ─ m5
		                      ├─ m6 ─ rewind(x) ─ m8 ─ kill (child)
		                      &─ clear ─ m11 (twin)`, "")
	root := agents["root"]
	testkit.Must(d.s.Rename(background, root, agent.Passing(), "chief"))(t)
	e := d.say(root, strings.Repeat("long ", 4000), "secret")
	d.redact(root, e[1].ID)
	d.send(root, d.zero, "dear")
	d.send("", root, "sir")
	d.append(root, usage(100, 5), budget(1000, -1))
	d.append(agents["twin"], usage(7, 7), budget(-1, 0), history.Draft{Kind: history.Note})
	if _, err := d.s.Audit(background, nil); err != nil {
		t.Fatalf("before any harm: %v", err)
	}
	raw := w.Raw(t)
	x := &tamperer{t, d, raw}
	for _, q := range w.Loosen {
		x.exec(q)
	}
	return x, agents
}

func (x *tamperer) exec(q string, args ...any) {
	x.t.Helper()
	if _, err := x.raw.ExecContext(background, q, args...); err != nil {
		x.t.Fatalf("%s: %v", q, err)
	}
}

var named = regexp.MustCompile(`^agent \S* message \d+: |^agent 0 is missing`)

// detected audits and wants damage that names its place.
func (x *tamperer) detected(what string) {
	x.t.Helper()
	_, err := x.d.s.Audit(background, nil)
	if !fault.Is(err, fault.HistoryDamaged) || !named.MatchString(err.Error()) {
		x.t.Errorf("%s: %v", what, err)
	}
}

// table is the contents of one table.
type table struct {
	name    string
	columns []string
	rows    [][]any
}

func (x *tamperer) snapshot(name, order string) table {
	x.t.Helper()
	rows := testkit.Must(x.raw.QueryContext(background, `SELECT * FROM `+name+` ORDER BY `+order))(x.t)
	defer rows.Close()
	out := table{name: name, columns: testkit.Must(rows.Columns())(x.t)}
	// What the feed alone uses is not tampered with here, and needs no copy.
	out.columns = slices.DeleteFunc(out.columns, func(c string) bool { return c == "txid" })
	for rows.Next() {
		row := make([]any, len(out.columns), len(out.columns)+1)
		into := make([]any, len(out.columns), len(out.columns)+1)
		for i := range row {
			into[i] = &row[i]
		}
		if all := testkit.Must(rows.Columns())(x.t); len(all) > len(into) { // txid, the last one
			into = append(into, new(any))
		}
		testkit.OK(x.t, rows.Scan(into...))
		for i, v := range row {
			if b, ok := v.([]byte); ok && len(b) == 0 {
				row[i] = []byte{} // empty, which a driver may give as nil and would write as NULL
			}
		}
		out.rows = append(out.rows, row)
	}
	return out
}

func (x *tamperer) restore(tables ...table) {
	x.t.Helper()
	for _, t := range tables {
		x.exec(`DELETE FROM ` + t.name)
		marks := make([]string, len(t.columns))
		for i := range marks {
			marks[i] = fmt.Sprintf("$%d", i+1)
		}
		for _, row := range t.rows {
			x.exec(`INSERT INTO `+t.name+` (`+strings.Join(t.columns, ", ")+`) VALUES (`+strings.Join(marks, ", ")+`)`, row...)
		}
	}
}

// texts and bytes among the columns; the others are integers.
var (
	textColumns = []string{"uuid", "name", "parent_uuid", "status", "end_reason", "provider", "model", "cwd", "agent_uuid", "kind", "meta"}
	byteColumns = []string{"head_hash", "content", "hash", "salt", "commitment"}
)

// edits are other values for a field.
func edits(column string, v any) []any {
	isText, isBytes := slices.Contains(textColumns, column), slices.Contains(byteColumns, column)
	var out []any
	switch v := v.(type) {
	case nil:
		switch {
		case isText:
			return []any{"x"}
		case isBytes:
			return []any{[]byte("x"), make([]byte, 16)}
		}
		return []any{int64(7)}
	case int64:
		out = []any{v + 1, v - 1, int64(1) << 40, "abc", nil}
		if v != 0 {
			out = append(out, int64(0))
		}
	case string:
		out = []any{v + "x", strings.ToUpper(v) + "Y", nil}
		if v != "" {
			out = append(out, "")
		}
	case []byte:
		if isText {
			return edits(column, string(v))
		}
		flipped := bytes.Clone(v)
		if len(v) == 0 {
			flipped = []byte{1}
		} else {
			flipped[len(v)/2] ^= 1
			out = append(out, []byte{}, v[:len(v)-1])
		}
		out = append(out, flipped, nil)
	}
	return out
}

// testEdits changes every field that replay or the registry uses, of every
// row, in several ways.
func testEdits(t *testing.T, w *Workspace) {
	x, _ := scene(t, w)
	step := 1
	if !testkit.SoakOn() {
		step = 5
	}
	refusedByEngine, tried := 0, 0
	for _, tb := range []table{x.snapshot("agents", "genesis_id"), x.snapshot("messages", "id")} {
		for r := 0; r < len(tb.rows); r += 1 + (step-1)*boolInt(tb.name == "messages") {
			for c, column := range tb.columns {
				if strings.HasPrefix(column, "lease_") {
					continue
				}
				old := tb.rows[r][c]
				values := edits(column, old)
				if next := tb.rows[(r+1)%len(tb.rows)][c]; fmt.Sprint(next) != fmt.Sprint(old) && next != nil {
					values = append(values, next) // another row's
				}
				for _, v := range values {
					tried++
					if !x.edit(tb, r, c, v) {
						refusedByEngine++
						continue
					}
					x.detected(fmt.Sprintf("%s.%s of row %d from %.40v to %.40v", tb.name, column, r, old, v))
					x.undo(tb, r, c)
				}
			}
			if _, err := x.d.s.Audit(background, nil); err != nil {
				t.Fatalf("after all edits of row %d of %s were put back: %v", r, tb.name, err)
			}
		}
	}
	if refusedByEngine*2 > tried {
		t.Errorf("the engine refused %d of %d edits", refusedByEngine, tried)
	}
	t.Logf("%d edits, %d of them refused by the engine's types and keys", tried, refusedByEngine)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// key is the first column that names a row.
func (tb table) key() int {
	if tb.name == "agents" {
		return slices.Index(tb.columns, "uuid")
	}
	return slices.Index(tb.columns, "id")
}

// edit changes one field; false if the engine does not take the value.
func (x *tamperer) edit(tb table, r, c int, v any) bool {
	k := tb.key()
	_, err := x.raw.ExecContext(background, `UPDATE `+tb.name+` SET `+tb.columns[c]+` = $1 WHERE `+tb.columns[k]+` = $2`, v, tb.rows[r][k])
	return err == nil
}

func (x *tamperer) undo(tb table, r, c int) {
	x.t.Helper()
	if c == tb.key() { // the row has another name now, or another's
		x.restore(tb)
	} else if !x.edit(tb, r, c, tb.rows[r][c]) {
		x.t.Fatalf("%s of row %d cannot be put back", tb.columns[c], r)
	}
}
