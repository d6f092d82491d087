package loop

import "testing"

func TestToolsOfOtherProgramsHaveOurNames(t *testing.T) {
	for theirs, ours := range map[string]string{
		"MultiEdit": "edit", "BashOutput": "job", "KillShell": "job", "Agent": "fork", "TodoWrite": "plan", "todowrite": "plan",
		"shell": "bash", "find": "glob", "bash": "bash", "server__find": "server__find", "Unknown": "Unknown",
	} {
		if got := importedName(theirs); got != ours {
			t.Errorf("%s: got %s, want %s", theirs, got, ours)
		}
	}
}
