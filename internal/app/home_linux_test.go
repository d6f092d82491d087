package app_test

import "testing"

// With more than one agent everybody is shown first; keys act there, and one is before the
// question of the one that asks in two keys.
func TestHomeOnARealTerminal(t *testing.T) {
	w := newWorld(t, "RAMET_START=home")
	w.script(`{"when": "clean", "steps": [{"call": "bash", "args": {"command": "echo was-permitted"}}]}`, `{"steps": [{"text": "all is clean"}]}`)
	w.ramet("fork", "0", "--name", "ada")
	w.ramet("fork", "ada", "--name", "bob")
	s := w.open(120, 40)
	s.see("3 agents", "▌ 0", "├ ada", "└ bob", "Space: write to 0")
	s.press(down)
	s.see("Space: write to ada")
	s.press(" ")
	s.see("send to ada")
	s.say("clean it")
	s.see("needs you", "1 asks")
	s.press("\x10") // Ctrl+P
	s.see("ada wants to use bash", "back to the list")
	s.decide("once")
	s.see("all is clean", "Space: write to ada")
	s.press("k")
	s.see("2 in all", "ada, bob")
	s.press("y")
	s.see("1 agent ")
	s.press(escape)
	s.see("[0]")
}
