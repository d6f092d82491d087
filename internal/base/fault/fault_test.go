package fault

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

func TestExitFollowsTheCodeThroughWrapping(t *testing.T) {
	deep := fmt.Errorf("read agent: %w", New(NotFound, "no agent %q", "x").WithHint("try ps"))
	for _, c := range []struct {
		name string
		err  error
		exit int
	}{
		{"nil", nil, 0},
		{"plain error", errors.New("boom"), 1},
		{"wrapped fault", deep, 3},
		{"damage", New(HistoryDamaged, "x"), 5},
		{"signal", New(Interrupted, "x"), 130},
		{"code outside the table", New(Code("FROM_THE_FUTURE"), "x"), 1},
	} {
		if got := Exit(c.err); got != c.exit {
			t.Errorf("%s: exit %d, want %d", c.name, got, c.exit)
		}
	}
	if !Is(deep, NotFound) || Is(deep, Leased) {
		t.Error("Is does not follow the code")
	}
}

func TestTheTableNamesEachCodeOnce(t *testing.T) {
	seen := map[Code]bool{}
	last := 0
	for _, row := range Table() {
		if seen[row.Code] {
			t.Errorf("%s appears twice", row.Code)
		}
		seen[row.Code] = true
		if row.Exit < last || row.Meaning == "" {
			t.Errorf("%s: exit %d after %d, meaning %q", row.Code, row.Exit, last, row.Meaning)
		}
		last = row.Exit
	}
}

func TestTheCauseStaysReachable(t *testing.T) {
	err := New(StorageIO, "open log: %w", fs.ErrPermission)
	if !errors.Is(err, fs.ErrPermission) {
		t.Error("cause lost")
	}
	if got := err.WithHint("check the folder").Error(); got != "open log: permission denied: check the folder" {
		t.Errorf("message %q", got)
	}
}

func TestCheckText(t *testing.T) {
	for in, want := range map[string]string{
		"ok":                     "",
		"äöü 日本 👩‍👩‍👧\n\t":       "",
		"":                       "body is empty: write something",
		strings.Repeat("x", 101): "body has 101 bytes, over the limit of 100: make it shorter, or say it in several pieces",
		"ab\xffcd":               "body is not valid UTF-8 at byte 2: convert it first, for instance with iconv",
		"\uFFFDx\xf0":            "body is not valid UTF-8 at byte 4: convert it first, for instance with iconv",
		"a\x00b":                 "body contains a NUL at byte 1: binary data belongs in a file",
	} {
		got := ""
		if err := CheckText(InvalidText, "body", in, 100); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("CheckText(%.20q) = %q, want %q", in, got, want)
		}
	}
}

// The table in docs/json.md is this package's table, word for word.
func TestTheDocumentedTableIsThisOne(t *testing.T) {
	text := testkit.Must(os.ReadFile("../../../docs/json.md"))(t)
	var want strings.Builder
	want.WriteString("| exit | code | meaning |\n|---|---|---|\n")
	for _, row := range Table() {
		fmt.Fprintf(&want, "| %d | `%s` | %s |\n", row.Exit, row.Code, row.Meaning)
	}
	if !strings.Contains(string(text), want.String()) {
		t.Errorf("docs/json.md wants this table:\n%s", want.String())
	}
}
