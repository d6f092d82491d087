package bench

import (
	"strings"
)

func toolTasks(name string, args ...any) call {
	out := map[string]any{}
	for i := 0; i+1 < len(args); i += 2 {
		out[args[i].(string)] = args[i+1]
	}
	return call{name, out}
}

func wokenTwice() tasksTask {
	return tasksTask{name: "woken twice", shows: "a child that has finished is woken by a letter, twice",
		make:   func(w *world) { w.put("README.md", "# a thing\n") },
		prompt: "Fork a child called ada with context none, and let it add the word one to words.txt, as a line. When it has reported, write it a letter so that it adds the word two, and when it has reported again another, for the word three. Do not touch words.txt yourself.",
		play: []move{
			{when: "Fork a child called ada", calls: []call{toolTasks("fork", "name", "ada", "context", "none", "prompt", "ada: append the word one")}},
			{when: "ada: append the word one", calls: []call{bash("echo one >> words.txt; echo wrote-1")}},
			{when: "wrote-1", say: "the first word is there"},
			{when: "the first word is there", calls: []call{toolTasks("send", "to", "ada", "text", "append the word two"), toolTasks("wait", "agents", []string{"ada"})}},
			{when: "append the word two", calls: []call{bash("echo two >> words.txt; echo wrote-2")}},
			{when: "wrote-2", say: "the second word is there"},
			{when: "the second word is there", calls: []call{toolTasks("send", "to", "ada", "text", "append the word three"), toolTasks("wait", "agents", []string{"ada"})}},
			{when: "append the word three", calls: []call{bash("echo three >> words.txt; echo wrote-3")}},
			{when: "wrote-3", say: "the third word is there"},
			{when: "the third word is there", say: "All three are there."},
			{when: "Mail from 0", calls: []call{toolTasks("read_mail")}, repeat: true},
			{when: "works on", calls: []call{toolTasks("wait", "for", "all")}},
		},
		solved: func(w *world) []string {
			return wrong(map[string]bool{"words.txt says one, two, three": strings.Join(strings.Fields(w.has("words.txt")), " ") == "one two three",
				"the child was woken twice": strings.Count(w.history(), "Mail from 0") >= 2})
		}}
}

func conflict() tasksTask {
	return tasksTask{name: "conflict", shows: "the work of a child conflicts with its parent's, and is merged all the same",
		make: func(w *world) {
			w.git("config", "user.name", "tasks")
			w.git("config", "user.email", "tasks@example.com")
			w.put("a.txt", "nothing yet\n")
		},
		prompt: "Fork a child called left with a worktree of its own. It replaces the line of a.txt by the word theirs, and commits. Meanwhile replace the line of a.txt here by the word ours, and commit. Then bring the child's work here with merge; where that conflicts, let the child merge the branch main and keep both words, ours above theirs, each on a line, and merge again.",
		play: []move{
			{when: "Fork a child called left", calls: []call{toolTasks("fork", "name", "left", "worktree", true, "prompt", "left: put the word into a.txt")}},
			{when: "left: put the word into a.txt", calls: []call{bash("echo theirs > a.txt && git commit -qam theirs && echo committed-theirs")}},
			{when: "committed-theirs", say: "my word is there"},
			{when: "my word is there", calls: []call{toolTasks("merge", "child", "left")}},
			{when: "changed: a.txt", calls: []call{toolTasks("send", "to", "left", "text", "keep the words of both sides"), toolTasks("wait", "agents", []string{"left"})}},
			{when: "keep the words of both sides", calls: []call{bash("git merge main; printf 'ours\\ntheirs\\n' > a.txt; git add a.txt; git commit -qm united; echo it-is-united")}},
			{when: "it-is-united", say: "both words are there"},
			{when: "both words are there", calls: []call{toolTasks("merge", "child", "left")}},
			{when: "Merged", say: "It is merged."},
			{when: "Mail from 0", calls: []call{toolTasks("read_mail")}},
			{when: "works on", calls: []call{bash("echo ours > a.txt && git commit -qam ours"), toolTasks("wait", "for", "all")}},
		},
		solved: func(w *world) []string {
			h := w.history()
			return wrong(map[string]bool{"a.txt says ours and theirs": w.has("a.txt") == "ours\ntheirs", "a merge conflicted": strings.Contains(h, "changed: a.txt"), "nothing was lost": strings.Contains(h, "Merged")})
		}}
}
