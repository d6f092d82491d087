package kit

import "testing"

func TestArgumentsArePutIn(t *testing.T) {
	for _, c := range []struct{ body, args, want string }{
		{"Fix $ARGUMENTS now", " a b ", "Fix a b now"},
		{"$1 then $2, not $3", `"one two" three`, "one two then three, not "},
		{"Do it", "with care", "Do it\n\nwith care"},
		{"Do it", " ", "Do it"},
		{"$10 costs", "x", "x0 costs"},
		{"$1", "$ARGUMENTS", "$ARGUMENTS"},
	} {
		if got := (Command{Body: c.body}).Fill(c.args); got != c.want {
			t.Errorf("%q with %q: %q", c.body, c.args, got)
		}
	}
	if s := Shells("a !`git status` b `no` !``\n!`x\ny`"); len(s) != 1 || s[0].Line != "git status" {
		t.Errorf("%+v", s)
	}
}
