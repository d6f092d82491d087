package session

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/model/llm"
)

// Command is one line, parsed.
type Command struct {
	Name   string            // as in the Table
	Values map[string]string // the words of its arguments by their Field, or by their Kind if they have none
}

// CommandKind is the kind of value of an argument or option.
type CommandKind string

// The kinds of arguments. Those of agents, labels, models, paths and commands can
// be completed.
const (
	Agent         CommandKind = "agent"
	Label         CommandKind = "label" // or, for rewind, a message id
	CommandModel  CommandKind = "model"
	Path          CommandKind = "path"
	Mode          CommandKind = "mode"
	CommandEffort CommandKind = "effort"
	Topic         CommandKind = "command"
	Role          CommandKind = "role"
	Driver        CommandKind = "driver"
	Vendor        CommandKind = "vendor"
	Rule          CommandKind = "rule"
	Setting       CommandKind = "setting"
	Value         CommandKind = "value"
	Message       CommandKind = "message"
	Number        CommandKind = "number"
	Text          CommandKind = "text"
	Nothing       CommandKind = "" // an option that is there or not
)

// CommandArgument is one argument or option in a command's usage.
type CommandArgument struct {
	Flag     string // "--name"; empty for one that goes by its place
	Kind     CommandKind
	Required bool
	Field    string // the field of the operation's input, or the name under which Command has it; empty: the Kind
	Hidden   bool   // an older name, which is accepted and not offered
}

// CommandRow is one command.
type CommandRow struct {
	Name      string
	Usage     string // "/switch AGENT"
	Summary   string // one line
	Help      string // what else there is to know; may be empty
	Arguments []CommandArgument
}

// Rows is a table of commands.
type Rows []CommandRow

// FindCommand gives the row of a command. Of operations it has little more than the name; package
// operation has the rest.
func FindCommand(name string) (CommandRow, bool) { return Rows(table).Find(name) }

// Find gives the row of a command.
func (t Rows) Find(name string) (CommandRow, bool) {
	for _, row := range t {
		if row.Name == name {
			return row, true
		}
	}
	return CommandRow{}, false
}

// CommandNames are those of all commands.
func CommandNames() []string {
	all := make([]string, len(table))
	for i, row := range table {
		all[i] = row.Name
	}
	return all
}

func (r CommandRow) places() []CommandArgument {
	var places []CommandArgument
	for _, a := range r.Arguments {
		if a.Flag == "" {
			places = append(places, a)
		}
	}
	return places
}

func (r CommandRow) flag(name string) (CommandArgument, bool) {
	for _, a := range r.Arguments {
		if a.Flag == name && name != "" {
			return a, true
		}
	}
	return CommandArgument{}, false
}

func (r CommandRow) flags() []string {
	var flags []string
	for _, a := range r.Arguments {
		if a.Flag != "" && !a.Hidden {
			flags = append(flags, a.Flag)
		}
	}
	return flags
}

// takes are the arguments as the usage has them.
func (r CommandRow) takes() string {
	return strings.TrimPrefix(strings.TrimPrefix(r.Usage, "/"+r.Name), " ")
}

// word is one word of a line and where it stood.
type word struct {
	text       string
	start, end int  // bytes
	quoted     bool // some of it, so that it is no option
	open       rune // the quote that was not closed, or a backslash at the end
}

// nextWord reads the word that begins at or after from, and reports whether there is one.
func nextWord(line string, from int) (word, bool) {
	at := from
	for at < len(line) {
		r, n := utf8.DecodeRuneInString(line[at:])
		if !unicode.IsSpace(r) {
			break
		}
		at += n
	}
	if at >= len(line) {
		return word{start: at, end: at}, false
	}
	w := word{start: at}
	var b strings.Builder
	var quote rune
	for at < len(line) {
		r, n := utf8.DecodeRuneInString(line[at:])
		raw := line[at : at+n]
		switch {
		case quote == 0 && unicode.IsSpace(r):
			w.text, w.end = b.String(), at
			return w, true
		case quote == 0 && (r == '"' || r == '\''):
			quote, w.quoted = r, true
		case quote != 0 && r == quote:
			quote = 0
		case r == '\\' && quote != '\'':
			rest := line[at+n:]
			if rest == "" {
				w.open = '\\'
				break
			}
			_, size := utf8.DecodeRuneInString(rest)
			if quote == '"' && rest[0] != '"' && rest[0] != '\\' {
				b.WriteString(raw) // as in a shell: only these two are escaped there
				break
			}
			w.quoted = true
			b.WriteString(rest[:size])
			at += size
		default:
			b.WriteString(raw)
		}
		at += n
	}
	if quote != 0 {
		w.open = quote
	}
	w.text, w.end = b.String(), len(line)
	return w, true
}

// QuoteWord writes a text so that it is one word, and the same one.
func QuoteWord(s string) string {
	plain := s != "" && !strings.HasPrefix(s, "-")
	for _, r := range s {
		if unicode.IsSpace(r) || strings.ContainsRune(`"'\`, r) {
			plain = false
		}
	}
	if plain {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// CommandTable returns every command, in the order of the help screen. Rows of operations have a name, and a
// summary and help where the terminal's differ from the command line's.
func CommandTable() Rows { return slices.Clone(table) }

var table = []CommandRow{
	{Name: "fork", Summary: "Fork a child of this agent and go to it",
		Help: "The child has this agent's context, as it is now or, with --at, as it was after a message. With a prompt it starts at once. Parent and child share the files, unless --worktree gives the child a git worktree of its own, with what is not committed; --clean leaves that out."},
	{Name: "kill", Summary: "End this agent, or another",
		Help: "With --cascade its whole subtree ends; without, its children live on. Histories can still be read. Agent 0 cannot be killed."},
	{"switch", "/switch AGENT", "Go to an agent",
		"AGENT is 0, a name, an id, or the first four or more characters of an id.",
		[]CommandArgument{{Kind: Agent, Required: true}}},
	{Name: "ps", Summary: "List the agents"},
	{Name: "rename", Summary: "Name this agent",
		Help: "A name begins with a-z, may contain a-z 0-9 . _ - and is at most 63 characters long. No other living agent has it."},
	{Name: "send", Help: "The mail is from you. A waiting agent wakes up."},
	{Name: "check-mail", Summary: "List this agent's mail, unread first", Help: "It marks nothing as read."},
	{Name: "read-mail", Summary: "Read the oldest unread mail, or mail N", Help: "--peek marks nothing: the agent will find it unread."},
	{"filter-mail", "/filter-mail --from AGENT", "List the mail from one agent",
		"`you` stands for mail that you sent.", []CommandArgument{{Flag: "--from", Kind: Agent, Required: true, Field: "from"}}},
	{Name: "delete-mail"},
	{Name: "mark", Summary: "Mark this point, to rewind to", Help: "The state of the files is recorded too."},
	{"rewind", "/rewind [LABEL|ID]", "Go back to a mark or a message",
		"Without an argument: to the newest mark. Nothing is deleted. Where files changed since, it asks: conversation, files or both. A clear is a wall.",
		[]CommandArgument{{Kind: Label}}},
	{Name: "diff", Summary: "Show how files changed in the last turn, or since a message", Help: "By the agent or by others."},
	{"undo", "/undo", "Take back what the last turn did to files", "What others could have changed is kept, and listed; about what changed while a command was running you are asked. The conversation doesn't change; /rewind restores both. A second /undo takes the first back.", nil},
	{Name: "trash", Summary: "List files that were moved to the trash", Help: "Undo, rewind and merge move files there that they could not restore otherwise. `ramet trash restore` restores them, `ramet trash empty` deletes them."},
	{Name: "clear", Summary: "Start again with an empty context", Help: "What was said stays in the history."},
	{"compact", "/compact", "Replace the context by a summary of it", "", nil},
	{"log", "/log", "Show this agent's lineage: forks, marks, clears", "", nil},
	{"model", "/model [MODEL]", "Choose the model of this agent", "", []CommandArgument{{Kind: CommandModel}}},
	{Name: "effort", Summary: "Choose how hard this agent's model thinks",
		Help: "none, minimal, low, medium, high, xhigh or max; default is what is usual for the model. It holds from the next turn on, and for children that are forked after it."},
	{Name: "mode", Summary: "Choose how this agent's calls are permitted",
		Help: "ask: files and commands are asked for; edits: files are changed unasked; box: also commands run, confined; read-only: nothing is changed or run. Shift+Tab goes through them. Children have their parent's mode until they have one."},
	{"key", "/key [VENDOR]", "Give a key for a vendor's models",
		"It is typed or pasted without being shown, tried with the vendor, stored in ramet's home, and used from now on. No agent sees it.",
		[]CommandArgument{{Kind: Vendor}}},
	{"permissions", "/permissions [--remove RULE]", "List the rules that permit calls unasked, or take one back",
		"/mode chooses which calls need approval. Rules are made when an agent asks.",
		[]CommandArgument{{Flag: "--remove", Kind: Rule}}},
	{"config", "/config [SETTING [VALUE]]", "Show the settings, or change one",
		"It is written to your own file; what needs a new start says so there.",
		[]CommandArgument{{Kind: Setting}, {Kind: Value}}},
	{"skills", "/skills", "List the skills that agents can read", "", nil},
	{"mcp", "/mcp", "List the MCP servers and their tools", "`ramet mcp` adds, asks and removes them.", nil},
	{Name: "usage", Summary: "Show tokens and cost"},
	{Name: "verify", Summary: "Check that no history was changed", Help: "The first damage is reported with its agent and message."},
	{"export", "/export [PATH]", "Write this conversation to a file", "", []CommandArgument{{Kind: Path}}},
	{"import", "/import [PROGRAM|PATH] [--all]", "Bring in sessions of Claude Code, Codex, opencode and pi",
		"Without arguments it lists the sessions found; a program narrows the list. --all imports them, PATH imports one file. Repeated, it imports what is new. Nothing starts to work because of it.",
		[]CommandArgument{{Kind: Path}, {Flag: "--all", Field: "all"}}},
	{"tour", "/tour", "Walk through what can be done here",
		"Enter on an empty prompt continues, Esc ends it.", nil},
	{"help", "/help [COMMAND]", "Show the commands, or one of them", "", []CommandArgument{{Kind: Topic}}},
	{"exit", "/exit", "Leave; the agents stay as they are", "", nil},
}

// Parse understands one line.
func (t Rows) Parse(line string) (Command, error) {
	p := parser{line: line}
	w, ok := nextWord(line, 0)
	name := strings.TrimPrefix(w.text, "/")
	if !ok || name == "" {
		return Command{}, fault.New(fault.Usage, "no command at column %d", p.column(w.end)).
			WithHint("/help lists the commands")
	}
	if p.row, ok = t.Find(name); !ok {
		e := fault.New(fault.Usage, "unknown command /%s, at column %d", show(name), p.column(w.start))
		if near := text.NearestWord(strings.ToLower(name), CommandNames()); near != "" {
			row, _ := t.Find(near)
			return Command{}, e.WithHint("did you mean /%s? usage: %s", near, row.Usage)
		}
		return Command{}, e.WithHint("/help lists the commands")
	}
	p.command.Name = p.row.Name
	if err := p.arguments(w.end); err != nil {
		return Command{}, err
	}
	return p.command, nil
}

type parser struct {
	line    string
	row     CommandRow
	command Command
	seen    []string // options
}

func (p *parser) arguments(from int) error {
	places := p.row.places()
	taken := 0
	for {
		w, ok := nextWord(p.line, from)
		if !ok {
			break
		}
		isFlag := strings.HasPrefix(w.text, "--") && !w.quoted
		var place CommandArgument
		if taken < len(places) {
			place = places[taken]
		}
		switch {
		case isFlag && w.text == "--" && place.Kind == Text:
			from = w.end
			if w, ok = nextWord(p.line, from); !ok {
				continue
			}
			return p.rest(place, w.start, true)
		case isFlag:
			end, err := p.option(w)
			if err != nil {
				return err
			}
			from = end
			continue
		case place.Kind == "":
			return p.wrong(w.start, "%s is one argument too many", show(w.text))
		case place.Kind == Text && p.line[w.start] != '"' && p.line[w.start] != '\'':
			return p.rest(place, w.start, false)
		case w.open != 0:
			return p.open(w)
		}
		if err := p.set(place, w); err != nil {
			return err
		}
		taken++
		from = w.end
	}
	if taken < len(places) && places[taken].Required {
		return p.wrong(len(p.line), "the %s is missing", places[taken].Kind)
	}
	for _, a := range p.row.Arguments {
		if a.Flag != "" && a.Required && !p.has(a.Flag) {
			return p.wrong(len(p.line), "%s is missing", a.Flag)
		}
	}
	return nil
}

func (p *parser) has(flag string) bool { return slices.Contains(p.seen, flag) }

// option reads an option and its value, and returns where it ends.
func (p *parser) option(w word) (int, error) {
	name, value, inline := strings.Cut(w.text, "=")
	flag, ok := p.row.flag(name)
	switch {
	case !ok:
		if near := text.NearestWord(name, p.row.flags()); near != "" {
			return 0, p.wrong(w.start, "%s is not an option of /%s; did you mean %s?", show(name), p.row.Name, near)
		}
		return 0, p.wrong(w.start, "%s is not an option of /%s", show(name), p.row.Name)
	case p.has(name):
		return 0, p.wrong(w.start, "%s appears twice", name)
	case w.open != 0:
		return 0, p.open(w)
	case flag.Kind == Nothing && inline:
		return 0, p.wrong(w.start, "%s takes no value", name)
	}
	p.seen = append(p.seen, name)
	if flag.Kind == Nothing {
		p.keep(flag, "true")
		return w.end, nil
	}
	v := word{text: value, start: w.start, end: w.end, quoted: true}
	if !inline {
		if v, ok = nextWord(p.line, w.end); !ok || strings.HasPrefix(v.text, "--") && !v.quoted {
			return 0, p.wrong(v.start, "%s wants the %s after it", name, flag.Kind)
		}
		if v.open != 0 {
			return 0, p.open(v)
		}
	}
	return v.end, p.set(flag, v)
}

// rest takes everything from a place on as the text, as it is.
func (p *parser) rest(a CommandArgument, start int, forced bool) error {
	body := strings.TrimSpace(p.line[start:])
	for _, field := range strings.Fields(body) {
		if _, ok := p.row.flag(field); ok && !forced {
			at := start + strings.Index(p.line[start:], field)
			return p.wrong(at, "%s is in the text: put it before, or quote the text", field)
		}
	}
	return p.text(a, body, start)
}

func (p *parser) text(a CommandArgument, body string, start int) error {
	if strings.TrimSpace(body) == "" {
		return p.wrong(start, "the text is empty")
	}
	p.keep(a, body)
	return nil
}

// keep keeps the word of an argument.
func (p *parser) keep(a CommandArgument, word string) {
	if p.command.Values == nil {
		p.command.Values = map[string]string{}
	}
	p.command.Values[cmp.Or(a.Field, string(a.Kind))] = word
}

// set checks the word of an argument and keeps it.
func (p *parser) set(a CommandArgument, w word) error {
	if a.Kind != Text && w.text == "" {
		return p.wrong(w.start, "the %s is empty", a.Kind)
	}
	word := w.text
	switch a.Kind {
	case Text:
		return p.text(a, word, w.start)
	case Topic:
		word = strings.TrimPrefix(word, "/")
		if _, ok := FindCommand(word); !ok {
			if near := text.NearestWord(word, CommandNames()); near != "" {
				return p.wrong(w.start, "unknown command /%s; did you mean /%s?", show(word), near)
			}
			return p.wrong(w.start, "unknown command /%s", show(word))
		}
	case Label:
		if _, err := id.ParseMessage(word); err == nil && p.row.Name == "rewind" && !w.quoted {
			a.Field = "to"
		}
	case Message:
		if _, err := id.ParseMessage(word); err != nil {
			return p.wrong(w.start, "%s is not a message id", show(word))
		}
	case Number:
		if n, err := strconv.ParseInt(word, 10, 64); err != nil || n < 1 {
			return p.wrong(w.start, "%s is not the number of a mail message", show(word))
		}
	}
	p.keep(a, word)
	return nil
}

func (p *parser) open(w word) error {
	if w.open == '\\' {
		return p.wrong(len(p.line)-1, "nothing follows the backslash")
	}
	return p.wrong(w.start, "the quote %c is not closed", w.open)
}

func (p *parser) wrong(at int, format string, args ...any) error {
	e := fault.New(fault.Usage, format, args...)
	e.Message = "/" + p.row.Name + ", column " + strconv.Itoa(p.column(at)) + ": " + e.Message
	return e.WithHint("usage: %s", p.row.Usage)
}

// column counts characters from 1, as a person does.
func (p *parser) column(at int) int { return utf8.RuneCountInString(p.line[:at]) + 1 }

// show returns a word of the user's for a sentence.
func show(s string) string { return text.Line(s, 40) }

// CommandCandidate is one way to go on.
type CommandCandidate struct {
	Text    string // as it is shown
	Summary string // one line beside it; may be empty
	Takes   string // of a command: its arguments
}

// CompletionSources return the candidates besides commands and options. A nil one has
// nothing.
type CompletionSources struct {
	Agents, Labels, Models, Modes func() []CommandCandidate
	Vendors, Settings             func() []CommandCandidate
	Commands                      func() []CommandCandidate // defined elsewhere; with their slashes

	topics []CommandCandidate // the commands
}

// Completion lists the candidates at the cursor. The bytes of the line from Start to
// End are replaced by the chosen candidate, written with Insert.
type Completion struct {
	Start, End int
	Word       string      // what is typed of it so far, without quotes
	Kind       CommandKind // of what is completed; Nothing for options
	Candidates []CommandCandidate
}

// Insert returns a candidate as it is written into the line.
func (c Completion) Insert(chosen CommandCandidate) string {
	switch c.Kind {
	case Topic:
		return chosen.Text + " "
	case Nothing:
		return chosen.Text + " "
	}
	return QuoteWord(chosen.Text) + " "
}

// Complete returns the candidates at the cursor, a place in bytes: first those that begin
// with the word there, then those that contain it. It returns an empty list if there are none.
func (t Rows) Complete(line string, cursor int, sources CompletionSources) Completion {
	cursor = min(max(cursor, 0), len(line))
	for cursor > 0 && cursor < len(line) && !utf8.RuneStart(line[cursor]) {
		cursor--
	}
	head := line[:cursor]
	first, ok := nextWord(head, 0)
	if !ok || first.end == cursor {
		c := Completion{Start: first.start, End: wordEnd(line, first.start, cursor), Kind: Topic, Word: strings.TrimPrefix(first.text, "/")}
		for _, row := range t {
			c.Candidates = append(c.Candidates, CommandCandidate{Text: "/" + row.Name, Summary: row.Summary, Takes: row.takes()})
		}
		if sources.Commands != nil {
			c.Candidates = append(c.Candidates, sources.Commands()...)
		}
		c.filter("/" + c.Word)
		return c
	}
	row, ok := t.Find(strings.TrimPrefix(first.text, "/"))
	if !ok {
		return Completion{Start: cursor, End: cursor}
	}
	return row.complete(line, first.end, cursor, t.with(sources))
}

func (r CommandRow) complete(line string, from, cursor int, sources CompletionSources) Completion {
	places, taken := r.places(), 0
	var expects *CommandArgument // the option whose value comes
	var used []string
	for {
		w, ok := nextWord(line[:cursor], from)
		if !ok || w.end == cursor { // the word at the cursor, perhaps still empty
			c := Completion{Start: w.start, End: wordEnd(line, w.start, cursor), Word: w.text}
			switch {
			case expects != nil:
				c.offer(expects.Kind, sources)
			case strings.HasPrefix(w.text, "-") && !w.quoted:
				for _, flag := range r.flags() {
					if !slices.Contains(used, flag) {
						c.Candidates = append(c.Candidates, CommandCandidate{Text: flag})
					}
				}
			case taken < len(places):
				c.offer(places[taken].Kind, sources)
			}
			c.filter(c.Word)
			return c
		}
		flag, isFlag := r.flag(w.text)
		switch {
		case expects != nil:
			expects = nil
		case isFlag && !w.quoted:
			used = append(used, flag.Flag)
			if flag.Kind != Nothing {
				expects = &flag
			}
		case taken < len(places) && places[taken].Kind == Text:
			return Completion{Start: cursor, End: cursor, Kind: Text} // the rest is prose
		default:
			taken++
		}
		from = w.end
	}
}

func (c *Completion) offer(kind CommandKind, sources CompletionSources) {
	c.Kind = kind
	list := map[CommandKind]func() []CommandCandidate{Agent: sources.Agents, Label: sources.Labels, CommandModel: sources.Models, Mode: sources.Modes, Vendor: sources.Vendors, Setting: sources.Settings}[kind]
	switch {
	case list != nil:
		c.Candidates = append(c.Candidates, list()...)
	case kind == CommandEffort:
		for _, word := range llm.Efforts() {
			c.Candidates = append(c.Candidates, CommandCandidate{Text: word})
		}
	case kind == Topic:
		c.Candidates = append(c.Candidates, sources.topics...)
	}
}

// with adds the commands themselves to what can be completed.
func (t Rows) with(sources CompletionSources) CompletionSources {
	for _, row := range t {
		sources.topics = append(sources.topics, CommandCandidate{Text: row.Name, Summary: row.Summary})
	}
	return sources
}

// filter keeps what begins with the word, then what holds it; case is ignored.
func (c *Completion) filter(typed string) {
	typed = strings.ToLower(typed)
	var same, begin, hold []CommandCandidate
	for _, candidate := range c.Candidates {
		low := strings.ToLower(candidate.Text)
		switch {
		case low == typed: // what is typed whole is meant, whatever begins with it
			same = append(same, candidate)
		case strings.HasPrefix(low, typed):
			begin = append(begin, candidate)
		case strings.Contains(low, strings.TrimPrefix(typed, "/")):
			hold = append(hold, candidate)
		}
	}
	c.Candidates = slices.Concat(same, begin, hold)
}

// wordEnd returns the end of the word at the cursor.
func wordEnd(line string, start, cursor int) int {
	if w, ok := nextWord(line, start); ok && w.start <= cursor && w.open == 0 {
		return max(w.end, cursor)
	}
	return cursor
}
