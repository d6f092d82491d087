package offline

import (
	"slices"
	"strings"
	"sync"
	"unicode"
)

// GuideTopic is something that one can ask about.
type GuideTopic struct {
	Title string
	Words string // those that point at it, in small letters; those joined by + count only together, one that appears twice counts twice
	Text  string // one or two sentences
	Type  string // what to type, in back-quotes, with a word about each
}

// GuideTopics lists them.
func GuideTopics() []GuideTopic { return topics }

// AsksTopic reports whether a text is a question, and no order.
func AsksTopic(said string) bool {
	words := fields(said)
	if len(words) == 0 {
		return false
	}
	if strings.HasSuffix(strings.TrimSpace(said), "?") {
		return true
	}
	return askers()[words[0]] || slices.Contains(words, "how")
}

// MeantTopic answers a text that nobody could carry out: a question, or so few words that they are
// meant as one, such as undo.
func MeantTopic(said string) (answer string, ok bool) {
	const few = 3
	if !AsksTopic(said) && len(fields(said)) > few {
		return "", false
	}
	return AnswerTopic(said)
}

var askers = sync.OnceValue(func() map[string]bool {
	return set("how what where why who whom which when can could may is are does do did should help explain tell i")
})

// AnswerTopic returns the topic that has most of the words of a question; a rare word counts for more, and
// of equal ones the first has it. The title of the answer is its first line.
func AnswerTopic(question string) (answer string, ok bool) {
	asked := map[string]bool{}
	for _, w := range fields(question) {
		asked[w], asked[stem(w)] = true, true
	}
	best, most := GuideTopic{}, 0.0
	for _, t := range topics {
		if n := t.score(asked); n > most {
			best, most = t, n
		}
	}
	return best.Title + ". " + best.Text + "\n\n" + best.Type, most > 0
}

// score counts the words of a topic that were asked for.
func (t GuideTopic) score(asked map[string]bool) float64 {
	n := 0.0
	for _, w := range strings.Fields(t.Words) {
		has, parts := true, strings.Split(w, "+")
		for _, p := range parts {
			has = has && (asked[p] || asked[stem(p)])
		}
		if has {
			n += float64(2*len(parts)-1) / shared(w)
		}
	}
	return n
}

// shared returns how many topics a word points at.
func shared(word string) float64 {
	n := 0
	for _, t := range topics {
		for _, w := range strings.Fields(t.Words) {
			if w == word {
				n++
				break
			}
		}
	}
	return float64(max(n, 1))
}

// fields returns the words of a text, in small letters, without signs.
func fields(s string) []string {
	const longest = 4 << 10
	if len(s) > longest {
		s = s[:longest]
	}
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
}

// stem takes the usual endings off a word: agents, killed, running.
func stem(w string) string {
	for _, end := range []string{"ting", "ning", "ing", "ies", "ed", "es", "s", "e", "y"} {
		if root, ok := strings.CutSuffix(w, end); ok && len(root) >= 3 {
			return root
		}
	}
	return w
}

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

// topics are questions of newcomers. Of those that fit a question equally well the first is
// the answer.
var topics = []GuideTopic{
	{"Fork an agent", "fork branch copy child children parallel helper helpers second another+agent two+agents try+approaches clone split subagent spawn delegate",
		"A child has this agent's whole context and works next to it; both continue separately.",
		"`/fork \"try the other way\"` here; `ramet fork --prompt \"…\" --run` in a shell. `/fork --worktree` gives the child files of its own."},
	{"Give a child its own files", "worktree worktree worktrees own+files own+files conflict conflicts overwrite separate+files isolate isolated same+files checkout",
		"Parent and child share the files unless the child is given a git worktree, with what is not committed.",
		"`/fork --worktree \"do it\"` here; `ramet merge AGENT` merges its work."},
	{"Merge what a child did", "merge merge merge bring+back take+over integrate child+changes apply+changes branch+merge",
		"The branch of a child with a worktree is merged into its parent's folder.",
		"`ramet diff AGENT` shows it first; `ramet merge AGENT` merges."},
	{"Stop an agent's turn", "stop interrupt cancel abort halt pause break escape esc stuck loop wrong+way shut+up stop+all stop+everything",
		"The turn ends, and nothing is lost; Enter on an empty prompt continues.",
		"Press `Esc` here; `ramet kill AGENT` in a shell ends the agent itself."},
	{"End an agent", "kill kill kill end+agent terminate remove+agent delete+agent rid cascade subtree close+agent",
		"A killed agent works no more, with its children if you say so; its history can still be read.",
		"`/kill AGENT --cascade` here (it shows the count first), or `k` on Home; `ramet kill AGENT --cascade` in a shell."},
	{"See all agents", "home agents+list list+agents see+agents all+agents overview tree everybody everyone status which+agents running dashboard monitor needs+me who doing where+agent my+agent+go happening",
		"Home shows everybody by what you can do about them: who needs you, who works, who is done, who is idle.",
		"Press `←` on an empty prompt for Home, `Ctrl+T` for the tree; `ramet ps` in a shell."},
	{"Go to another agent", "switch go+to navigate between+agents change+agent move+agent jump other+agent back+parent up",
		"Each agent keeps its own conversation, draft and place.",
		"`Ctrl+↑ ↓ ← →` go to the parent, newest child and siblings; `Ctrl+G` or `/switch AGENT` to any."},
	{"Set a key", "key keys api apikey token+anthropic anthropic openai gemini credential credentials login auth account authenticate provider subscription set+up setup no+model no+key",
		"Keys come from the environment or from ramet's own file; a key is tried before it is stored, and no agent sees it.",
		"`/key anthropic` here takes one without showing it; `ramet auth set anthropic` in a shell; `ramet auth list` shows what is stored."},
	{"Choose a model", "model models gpt claude sonnet opus choose+model change+model llm smarter cheaper real+model think thinks",
		"Each agent has its model; children have their parent's.",
		"`/model` here lists what can be used; `/model anthropic/claude-sonnet-4-5` chooses; `ramet models` in a shell."},
	{"Use a model on this machine", "local ollama llama lmstudio vllm offline+model own+machine self+hosted localhost gguf without+internet network private",
		"Servers that answer on this machine are found by themselves and offered.",
		"`/model` lists them; `ramet models` in a shell says which servers were found."},
	{"How hard it thinks", "effort reasoning thinking+level think+harder deeper thinking faster slow slower speed quicker",
		"Effort is how much a model thinks before it answers.",
		"`/effort high` here; `ramet effort AGENT high` in a shell."},
	{"Undo what it did to files", "undo undo undo revert take+back files+back restore+files broke broken mistake wrong+edit changes+back roll rollback old+code code+back old+version get+code",
		"What the last turn did to files is taken back; what others changed is kept and listed.",
		"`/undo` here; `ramet undo AGENT` in a shell; `ramet restore AGENT ID` goes back further."},
	{"Go back in a conversation", "rewind go+back earlier back+time previous+point history+back checkpoint mark bookmark before",
		"Nothing is deleted: a rewind is a point in the history, and can be taken back.",
		"`/mark here` marks a point, `/rewind here` goes back to it; `Ctrl+L` shows all points."},
	{"What changed", "diff changed changes+made see+changes show+changes modified edited which+files patch child+did child+done agent+did",
		"The changes of the last turn, or of an agent's worktree, as a patch.",
		"`/diff` here, `d` on Home; `ramet diff AGENT` in a shell."},
	{"Permissions", "permission permissions allow allowed permit asks+me asking approve deny rule rules trust yolo always+ask confirm sandbox safe safety dangerous without+asking computer access yes+everything every+time",
		"Files and commands are asked for before they happen, unless a rule or the mode permits them.",
		"`Shift+Tab` or `/mode edits` chooses the mode; `/permissions` lists the rules; `ramet rules` in a shell."},
	{"Modes", "mode modes readonly read+only plan box accept+edits",
		"ask: everything is asked for; edits: files are changed unasked; box: commands run too, confined; read-only: nothing is changed.",
		"`/mode read-only` here, or `Shift+Tab`; `ramet mode AGENT box` in a shell."},
	{"Answer a question", "answer question waiting+me asks needs+permission reply waits+for+me",
		"The one who asks is shown on Home under needs you; what you type is never an answer by itself.",
		"`Ctrl+P` goes to the one that asks, `↑ ↓` choose, `Enter` decides; `ramet ps` in a shell says who asks."},
	{"Mail between agents", "mail mail letter letters message+agent send+message talk talk talk+each each+other communicate tell+agent inbox write+agent",
		"Agents write to each other and to you; a waiting one wakes up.",
		"`/send AGENT \"text\"` and `/check-mail` here; `ramet send AGENT \"text\"` and `ramet mail AGENT` in a shell."},
	{"What it costs", "cost costs money spend spent price expensive usage tokens bill much+cost dollars free pay paid charge",
		"Tokens and money are counted for each agent, model and run.",
		"`/usage` here; `ramet usage` in a shell."},
	{"Limit what it may cost", "budget limit+cost limit+spend cap maximum at+most",
		"An agent and its subtree stop at their budget.",
		"`ramet exec --max-cost 1 \"…\"` in a shell; `ramet config` lists the settings for all."},
	{"After a crash", "crash crashed died power reboot lost recover recovery resume+work continue interrupted go+on closed+terminal kill+9 survive unfinished",
		"What was said is durable before anybody sees it; a turn that was cut off says so.",
		"Start `ramet` again and press `Enter` on an empty prompt; `Alt+R` continues all agents; `ramet exec --continue --all` in a shell."},
	{"Come back to earlier work", "resume yesterday yesterday earlier+work last+session reopen old+conversation sessions projects another+project previous+session",
		"Each folder has its workspace, and everything in it stays.",
		"`ramet` in the same folder continues; `ramet resume` picks one of all projects."},
	{"Leave", "quit exit leave close bye end+ramet get+out",
		"Working agents are interrupted and can continue later.",
		"`/exit` here, or `Ctrl+D` on an empty prompt."},
	{"Keys and commands", "help keys+list shortcuts keyboard commands hotkeys manual documentation docs learn tutorial start+begin begin newcomer tour example examples started get+started do+now am+lost first+steps",
		"Everything that can be pressed and typed is on one screen.",
		"`F1` here, `/help fork` for one command, `/tour` for a walk; `ramet --help` and `ramet demo` in a shell."},
	{"What ramet is", "ramet what+is+this for+what purpose difference different tmux why+use what+is+an+agent",
		"ramet runs agents as processes: they fork with their history, mail each other, are killed with their subtree, and survive crashes.",
		"`/tour` walks through it here; `ramet demo` in a shell."},
	{"The context is full", "context full+context compact summary summarise window too+long forget tokens+left shorten",
		"The older part is replaced by a summary when it must, or when you say so; the history stays whole.",
		"`/compact` here; `/clear` begins with an empty context; `ramet compact AGENT` in a shell."},
	{"Begin afresh", "clear fresh new+conversation start+over empty reset scratch new+chat",
		"What was said stays in the history, and the model sees none of it.",
		"`/clear` here; `ramet clear AGENT` in a shell; `/rewind` takes it back."},
	{"Search", "search find+text look+for grep+conversation find+word find+said",
		"The whole conversation is searched, also what is not on the screen.",
		"`Ctrl+F` here; the page of `ramet serve` searches all agents."},
	{"Show a picture", "image images picture screenshot photo paste+image clipboard png",
		"A picture on the clipboard, a dropped file or a path is shown to the model.",
		"`Ctrl+V` pastes it; `@picture.png` names a file; `ramet exec --image picture.png \"…\"` in a shell."},
	{"Name a file in a prompt", "file+prompt mention include+file attach refer @ point+file add+file files+prompt",
		"A path after @ is completed with Tab.",
		"`@path/to/file` in the prompt."},
	{"Run a command yourself", "shell run+command own+command terminal+command bash bang execute",
		"It runs in the agent's folder, and the model does not see it.",
		"`!git status` in the prompt."},
	{"Write a long prompt", "editor vim emacs nano long+prompt multiline multi+line newline new+line several+lines one+line more+line",
		"Alt+Enter makes a new line; a longer text is written in your own editor.",
		"`Alt+Enter` or `Ctrl+J`; `Ctrl+X` opens `$EDITOR`."},
	{"Former prompts", "former+prompt history+prompts previous+prompt last+prompt typed+before recall last+message edit+message change+message",
		"What you said is kept, and found by a few letters.",
		"`Ctrl+R` here, or `↑` at the edge of the prompt."},
	{"The page in a browser", "web browser page gui website url http serve port people people colleague colleagues team phone tablet together",
		"The same agents, live, in a browser on this machine.",
		"`ramet serve` in a shell, then `ramet web` prints a link that works once."},
	{"Other programs as agents", "codex claude+code opencode driver drivers other+programs gemini+cli use+claude+code existing+subscription",
		"Claude Code, Codex and others can drive an agent of the tree.",
		"`/fork --driver claude \"do it\"` here; `ramet drivers` in a shell lists them."},
	{"Import sessions of other programs", "import migrate old+sessions claude+sessions move+from coming+from bring+sessions",
		"Sessions of Claude Code, Codex, opencode and pi become agents, with their history.",
		"`ramet import --list` in a shell lists what is found, `ramet import --all` takes them."},
	{"Tools of others (MCP)", "mcp server+tools tools plugin plugins extension extensions connect github+tool",
		"MCP servers give agents more tools; those of a project are trusted first.",
		"`/mcp` lists them; `ramet mcp add NAME -- COMMAND` in a shell adds one."},
	{"Skills and own commands", "skill skills slash own+commands custom+command agents.md claude.md instructions instruction prompt+files memory+file project+rules remember remember+something memory",
		"Instructions, skills, agents and commands of the project and of your home are read where other programs have them.",
		"`/skills` lists them; `ramet instructions` in a shell shows an agent's instructions."},
	{"Settings", "config configure configuration setting settings theme dark light colours colors option options preferences change+default default",
		"Settings come from flags, the environment, the project and your home, in this order.",
		"`/config` shows them; `ramet config set theme light` in a shell sets one."},
	{"Where things are kept", "where+stored where+data where+kept database folder+data location disk storage files+ramet saved save where+files my+files where+file where+code code+internet data+internet privacy telemetry upload uninstall",
		"Histories are in a database of ramet's home, one for each project; nothing is sent anywhere but to the model.",
		"`ramet doctor` in a shell says where; `ramet backup FILE` copies it."},
	{"Was anything changed", "verify proof tamper audit trust+history hash genuine integrity log+complete",
		"Each entry contains the hash of the one before, so a change is found.",
		"`/verify` here; `ramet verify` in a shell; `ramet log AGENT` shows all."},
	{"Keep a conversation", "export share save+conversation markdown+file html transcript send+colleague",
		"A conversation becomes a file: Markdown, JSON, HTML, or a session of another program.",
		"`/export talk.md` here; `ramet export AGENT --format html` in a shell."},
	{"Jobs over a repository", "run+recipe recipe recipes job jobs batch many+files document+repository docs+recipe nightly automate pipeline ci review pull+request write+documentation write+docs documentation+repo translate",
		"A run carries out a recipe with agents as workers, can be stopped, resumed and proved.",
		"`ramet run recipes` lists them, `ramet run start --recipe docs` begins one, in a shell."},
	{"Use it in a script", "script scripting noninteractive exec headless pipe stdin json output+json automate+script cron one+shot",
		"One turn without the terminal; the answer goes to standard output, codes tell how it ended.",
		"`ramet exec \"what does this project do?\"`; with `--json` as data."},
	{"Name an agent", "name rename call+agent label",
		"A name begins with a-z; no other living agent has it.",
		"`/rename NAME` here; `ramet rename AGENT NAME` in a shell."},
	{"Read what is above, and copy it", "scroll scroll above copy+answer copy+answer copy+text copy+reply copy+code select",
		"A conversation is read from its beginning to its end; a block is picked, opened and copied with keys.",
		"`PgUp` and `PgDn`, `Ctrl+Home` and `Ctrl+End`; `Alt+C` copies the last answer, `Alt+↑` picks a block and `c` copies it."},
	{"Let it work without a terminal", "background keep+running running+background keep+working daemon overnight server+run run+server laptop detach",
		"A server keeps the agents of a workspace alive; the terminal, the shell and the page are faces of it.",
		"`ramet serve` in a shell; `ramet exec --continue --all` continues what was interrupted."},
	{"Wait for agents", "wait+agents wait+agents wait+all wait+until finished+all all+done",
		"Wait until agents have nothing to do, or mail arrives.",
		"`ramet wait AGENT --all` in a shell; Home shows who is done."},
	{"Use it in an editor", "vscode zed jetbrains intellij neovim ide acp inside+editor my+editor",
		"An editor that speaks the Agent Client Protocol has ramet's agents as its own.",
		"`ramet acp` is the command that its settings name; its help shows them for Zed."},
	{"Delete what was said", "redact delete+secret delete+conversation delete+message delete+history delete+said password erase secret+history",
		"A history is never rewritten, but the content of a message can be deleted for good; the rest still verifies.",
		"`ramet redact AGENT ID` in a shell; `ramet log AGENT` shows the ids. `/clear` only empties the context."},
	{"Read a whole history", "log log logs whole+history full+history read+history",
		"Everything that was said and done is stored, also what the model does not see any more.",
		"`ramet log AGENT` in a shell; `Ctrl+L` here shows forks, marks and rewinds."},
	{"Git", "git git commit commits push pull",
		"Agents run git as any other command, and ask before; nothing is committed or pushed by itself.",
		"`/diff` shows what would be committed; `!git commit` in the prompt runs it yourself."},
	{"Which version this is", "version version update update upgrade upgrade newer release",
		"One binary is all of it: a newer one takes its place, and opens what an older one wrote.",
		"`ramet version` in a shell; `ramet doctor` looks at the installation."},
	{"Something is wrong", "wrong error problem doctor fails failed not+working diagnose bug debug trouble",
		"Every error has a code and a hint; doctor looks at everything that ramet needs.",
		"`ramet doctor` in a shell."},
}
