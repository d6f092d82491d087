package app_test

import "testing"

// A wrong word is answered with the one that was probably meant, and the line waits to be mended.
func TestAWrongWordNamesTheNearestAndStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ramet("fork", "--name", "reviewer")
	w.ramet("mark", "0", "label1")
	x := w.open(110, 40)
	x.see("[0]", "idle")
	for _, one := range [][2]string{
		{"/effort hgih", `"hgih" is no effort: did you mean "high"?`},
		{"/mode plna", `"plna" is no mode: did you mean "plan"?`},
		{"/rewind lable1", `✗ /rewind lable1: error[NOT_FOUND]: agent 0 has no mark "lable1": did you mean "label1"?`},
		{"/model ofline", `"ofline" names no model: did you mean "offline/offline"?`},
		{"/config them", `unknown key "them": did you mean "theme"?`},
		{"/config theme drak", `theme cannot be "drak": did you mean "dark"?`},
		{"/key antropic", `antropic is not a vendor with a key: did you mean "anthropic"?`},
		{"/filter-mail --from revewer", `✗ /filter-mail --from revewer: error[NOT_FOUND]: no agent "revewer": did you mean "reviewer"?`},
		{"/send revewer hello", `✗ /send revewer hello: error[NOT_FOUND]: no agent "revewer": did you mean "reviewer"?`},
		{"/switch revewer", `no agent revewer: did you mean "reviewer"?`},
		{"/fork --driver cluade look", `no driver "cluade" is known: did you mean "claude"?`},
		{"/import cluade", `✗ /import cluade: `},
		{"/help forkk", "unknown command /forkk; did you mean /fork?"},
	} {
		x.say(one[0])
		x.see(one[1], "❯ "+one[0])
		x.press(ctrlC)
		x.gone("❯ " + one[0])
	}
	x.leave()
}
