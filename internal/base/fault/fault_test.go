package fault

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
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
			t.Errorf("%s stands twice", row.Code)
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
