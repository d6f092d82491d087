package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"ramet/internal/testkit"
)

// tasks are all of them.
func tasks(size int) []tasksTask {
	return []tasksTask{background(), asking(), seeing(), searching(size), cutTasks(), busy(), narrow(), compacted(), killedAndContinued(), wokenTwice(), conflict(), manyChildren(), broken(), declared()}
}

// wrong says what is not so.
func wrong(facts map[string]bool) (out []string) {
	for what, so := range facts {
		if !so {
			out = append(out, what)
		}
	}
	return out
}

func background() tasksTask {
	return tasksTask{name: "background", shows: "a server is left running, polled and stopped",
		make: func(w *world) {
			w.put("serve.sh", "#!/bin/sh\nexec 9>lock; flock 9\necho listening\nuntil [ -e ping ]; do sleep 0.05; done\necho pong > pong.txt\necho served\nsleep 1000\n")
		},
		prompt: "serve.sh is a server that runs until it is stopped: when the file ping appears it writes pong.txt and prints \"served\". Start it in the background, make the file ping, wait until it has printed \"served\", and stop it.",
		play: []move{
			{when: "serve.sh is", calls: []call{bash("sh serve.sh", "background", true), {"job", map[string]any{"id": 1, "wait": 30, "until": "listening"}}}},
			{when: "listening", calls: []call{bash("touch ping"), {"job", map[string]any{"id": 1, "wait": 30, "until": "served"}}}},
			{when: "served", calls: []call{{"job", map[string]any{"id": 1, "stop": true}}}},
			{when: "stopped", say: "It served."},
		},
		solved: func(w *world) []string {
			return wrong(map[string]bool{
				"pong.txt says pong":       w.has("pong.txt") == "pong",
				"it ran in the background": strings.Contains(w.history(), "runs in the background"),
				"nothing of it runs on":    exec.Command("flock", "-n", filepath.Join(w.dir, "lock"), "true").Run() == nil,
			})
		}}
}

func asking() tasksTask {
	return tasksTask{name: "ask", shows: "a question is put, and nobody is there",
		make:   func(w *world) { w.put("README.md", "# a thing\n") },
		prompt: "Ask the user with the tool ask under which licence this is to stand, MIT or Apache-2.0. If nobody answers take MIT. Write its name, and nothing else, into LICENCE.txt.",
		play: []move{
			{when: "Ask the user", calls: []call{{"ask", map[string]any{"question": "Which licence?", "choices": []string{"MIT", "Apache-2.0"}}}}},
			{when: "No person is here", calls: []call{write("LICENCE.txt", "MIT\n")}},
			{say: "MIT, as nobody answered."},
		},
		solved: func(w *world) []string {
			return wrong(map[string]bool{"LICENCE.txt says MIT": w.has("LICENCE.txt") == "MIT", "somebody was asked": strings.Contains(w.history(), "No person is here")})
		}}
}

func seeing() tasksTask {
	return tasksTask{name: "image", shows: "an image is read",
		make: func(w *world) {
			picture := image.NewRGBA(image.Rect(0, 0, 64, 64))
			for i := range 64 * 64 {
				picture.Set(i%64, i/64, color.RGBA{R: 255, A: 255})
			}
			var b bytes.Buffer
			testkit.OK(w, png.Encode(&b, picture))
			w.put("chart.png", b.String())
		},
		prompt: "Look at chart.png: it has one colour. Write the English name of that colour, in small letters, into colour.txt.",
		play: []move{
			{when: "Look at", calls: []call{read("chart.png")}},
			{when: "data:image/png;base64,", calls: []call{write("colour.txt", "red\n")}},
			{say: "It is red."},
		},
		solved: func(w *world) []string {
			return wrong(map[string]bool{"colour.txt says red": w.has("colour.txt") == "red", "the image was shown": strings.Contains(w.history(), `"type":"image"`)})
		}}
}

func searching(size int) tasksTask {
	return tasksTask{name: "many files", shows: fmt.Sprintf("one of %d files is found", size),
		make: func(w *world) {
			for i := range size {
				body := "nothing of interest\n"
				if i == size/2 {
					body = "here is quicksilver\n"
				}
				w.put(fmt.Sprintf("d%02d/e%02d/f%d.txt", i%40, i/40%25, i), body)
			}
		},
		prompt: "Exactly one file below here holds the word quicksilver. Write its path, relative to this folder, into found.txt.",
		play: []move{
			{when: "quicksilver", calls: []call{{"grep", map[string]any{"pattern": "quicksilver", "mode": "files"}}}},
			{when: ".txt", calls: []call{bash("grep -rl quicksilver d* > found.txt")}},
			{say: "Found."},
		},
		solved: func(w *world) []string {
			i := size / 2
			want := fmt.Sprintf("d%02d/e%02d/f%d.txt", i%40, i/40%25, i)
			return wrong(map[string]bool{"found.txt names " + want: strings.TrimPrefix(w.has("found.txt"), "./") == want})
		}}
}

func cutTasks() tasksTask {
	return tasksTask{name: "cut stream", shows: "an answer is cut in its middle", faults: faults{cut: 2},
		make:   func(w *world) { w.put("a.txt", "1\n") },
		prompt: "Read a.txt, then write the number in it plus one into b.txt.",
		play: []move{
			{when: "Read a.txt", calls: []call{read("a.txt")}},
			{when: "1", say: strings.Repeat("I am about to write the answer. ", 20), calls: []call{write("b.txt", "2\n")}, repeat: false},
			{when: "1", say: "Again, then.", calls: []call{write("b.txt", "2\n")}},
			{say: "Done."},
		},
		solved: func(w *world) []string {
			return wrong(map[string]bool{"b.txt says 2": w.has("b.txt") == "2", "a stream was cut": w.server.requests > 2})
		}}
}

func busy() tasksTask {
	refusals := 2
	if testkit.SoakOn() {
		refusals = 6 // it waits, as it should, for most of a minute
	}
	return tasksTask{name: "429", shows: "the vendor is busy for longer than a few tries", faults: faults{busy: refusals},
		make:   func(w *world) { w.put("a.txt", "1\n") },
		prompt: "Write the word patience into b.txt.",
		play:   []move{{when: "patience", calls: []call{write("b.txt", "patience\n")}}, {say: "Done."}},
		solved: func(w *world) []string {
			return wrong(map[string]bool{"b.txt says patience": w.has("b.txt") == "patience", "requests were refused": w.server.requests > refusals})
		}}
}

// pages puts numbered files of about 12 KB there.
func pages(n int) func(*world) {
	return func(w *world) {
		for i := range n {
			w.put(fmt.Sprintf("page%d.txt", i), fmt.Sprintf("the number of this page is %d\n", 100+i)+strings.Repeat("filler that nobody needs to remember, line after line\n", 220))
		}
	}
}

func reading(n int, first string, end ...move) []move {
	out := []move{{when: first, calls: []call{read("page0.txt")}}}
	for i := 1; i < n; i++ {
		out = append(out, move{when: fmt.Sprintf("the number of this page is %d", 99+i), calls: []call{read(fmt.Sprintf("page%d.txt", i))}})
	}
	// What a model is asked on the way: to sum up.
	out = append([]move{{when: "ummar", say: "Summary: the task is in the words of the user; pages were read one after the other.", repeat: true}}, out...)
	return append(out, end...)
}

func narrow() tasksTask {
	const n = 16
	return tasksTask{name: "window of 32k", shows: "a window of 32,000 tokens is enforced strictly", faults: faults{window: 128_000},
		make:   pages(n),
		prompt: "Read page0.txt to page15.txt one after the other with the tool read, each whole. Then write the number of the last page into last.txt. The code word of this task is heliotrope.",
		play:   reading(n, "one after the other", move{when: "the number of this page is 115", calls: []call{write("last.txt", "115\n")}}, move{say: "Done."}),
		solved: func(w *world) []string {
			return wrong(map[string]bool{"last.txt says 115": w.has("last.txt") == "115", "the assignment was in every request": w.server.always("heliotrope")})
		}}
}

func compacted() tasksTask {
	const n = 40
	return tasksTask{name: "compaction", shows: "the conversation is compacted in mid-task", faults: faults{window: 160_000},
		make:   pages(n),
		prompt: "Read page0.txt to page39.txt one after the other with the tool read, each whole. Then write the code word of this task, which is heliotrope, into code.txt.",
		play:   reading(n, "one after the other", move{when: "the number of this page is 139", calls: []call{write("code.txt", "heliotrope\n")}}, move{say: "Done."}),
		solved: func(w *world) []string {
			h := w.history()
			return wrong(map[string]bool{"code.txt says heliotrope": w.has("code.txt") == "heliotrope", "the assignment was in every request": w.server.always("heliotrope"),
				"something was made shorter": strings.Contains(h, `"kind":"compact"`) || strings.Contains(h, `"kind":"short`) || strings.Contains(h, `shorten`)})
		}}
}

// count is how many requests came.
func (s *server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// always says whether a word stood in every request that was answered, but for those that ask
// for a summary.
func (s *server) always(word string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.bodies {
		if !bytes.Contains(b, []byte(word)) && !bytes.Contains(b, []byte("ummar")) {
			return false
		}
	}
	return len(s.bodies) > 0
}

func killedAndContinued() tasksTask {
	return tasksTask{name: "kill -9", shows: "the process is killed in mid-task, and gone on with",
		make:   func(w *world) { w.put("README.md", "# a thing\n") },
		prompt: "Make the file one.txt with the word one in it, by a command of its own. When that is done, make two.txt with the word two in it, by another command.",
		play: []move{
			{when: "Make the file", calls: []call{bash("echo one > one.txt")}},
			{when: "[no output]", hang: true},
			{calls: []call{bash("echo two > two.txt")}},
			{say: "Both are there."},
		},
		run: func(w *world) {
			first := w.exec(w.task.prompt)
			testkit.OK(w, first.Start())
			w.until("one.txt, and the next request", func() bool { return w.has("one.txt") == "one" && w.server.count() > 1 })
			killed(first)
			if err := w.exec("--continue", "--all").Run(); err != nil {
				w.Logf("exec --continue: %v", err)
			}
		},
		solved: func(w *world) []string {
			return wrong(map[string]bool{"one.txt says one": w.has("one.txt") == "one", "two.txt says two": w.has("two.txt") == "two",
				"the history is whole": !strings.Contains(w.ramet("verify"), "error[")})
		}}
}

func manyChildren() tasksTask {
	const n = 64
	one := tasksTask{name: "64 children", shows: "sixty-four children work side by side",
		make:   func(w *world) { os.Mkdir(filepath.Join(w.dir, "out"), 0o755) },
		prompt: "Fork 64 children in one message, named c0 to c63. Child number N writes the number N, and nothing else, into out/N.txt. When all have reported, say so."}
	var forks []call
	for i := range n {
		forks = append(forks, call{"fork", map[string]any{"name": fmt.Sprintf("c%d", i), "context": "none", "prompt": fmt.Sprintf("write number <%d> into its file", i)}})
	}
	one.play = append(one.play, move{when: "Fork 64 children", calls: forks})
	for i := range n {
		one.play = append(one.play, move{when: fmt.Sprintf("write number <%d>", i), calls: []call{write(fmt.Sprintf("out/%d.txt", i), fmt.Sprintln(i))}},
			move{when: fmt.Sprintf("write number \\u003c%d\\u003e", i), calls: []call{write(fmt.Sprintf("out/%d.txt", i), fmt.Sprintln(i))}})
	}
	one.play = append(one.play, move{when: "out/", say: "It is written.", repeat: true}, move{say: "All have reported.", repeat: true})
	one.solved = func(w *world) (out []string) {
		for i := range n {
			if w.has(fmt.Sprintf("out/%d.txt", i)) != fmt.Sprint(i) {
				out = append(out, fmt.Sprintf("out/%d.txt says %q", i, w.has(fmt.Sprintf("out/%d.txt", i))))
			}
		}
		return out
	}
	return one
}

// tasksTask is one piece of work.
type tasksTask struct {
	name   string
	shows  string                // what happens in it
	make   func(*world)          // puts the files there
	prompt string                // what is asked
	faults faults                // what goes wrong on the way
	play   []move                // what a scripted model does
	run    func(*world)          // runs it; nil: one exec
	solved func(*world) []string // what is wrong; none: it is solved
}

// move is an answer of a scripted model, to the first request that it fits.
type move struct {
	when   string // stands in what is new in the request; empty: anything
	say    string
	calls  []call
	repeat bool // it is not used up
	hang   bool // it never ends
}

// call is a call of a tool.
type call struct {
	name string
	args map[string]any
}

func (c call) json() string {
	out, err := json.Marshal(c.args)
	if err != nil {
		panic(err)
	}
	return string(out)
}

func bash(command string, more ...any) call {
	args := map[string]any{"command": command}
	for i := 0; i+1 < len(more); i += 2 {
		args[more[i].(string)] = more[i+1]
	}
	return call{"bash", args}
}

func write(path, content string) call {
	return call{"write", map[string]any{"path": path, "content": content}}
}
func read(path string) call { return call{"read", map[string]any{"path": path}} }

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
