package command

import "slices"

// Table returns every command, in the order of the help screen.
func Table() []Row { return slices.Clone(table) }

var table = []Row{
	{"fork", `/fork [--name NAME] [--agent ROLE] [--at ID] [--model MODEL] [--worktree] ["PROMPT"]`, "Fork a child of this agent and go to it",
		"The child has this agent's context, as it is now or, with --at, as it was after a message. With a prompt it begins to work at once. Parent and child share the files, unless --worktree gives the child a git worktree of its own.",
		[]Argument{{Flag: "--name", Kind: Name}, {Flag: "--agent", Kind: Role}, {Flag: "--at", Kind: Message}, {Flag: "--model", Kind: Model}, {Flag: "--worktree"}, {Kind: Text}}},
	{"kill", "/kill [AGENT] [--cascade]", "End this agent, or another",
		"With --cascade its whole subtree ends; without, its children live on. Histories can still be read. Agent 0 cannot be killed.",
		[]Argument{{Kind: Agent}, {Flag: "--cascade"}}},
	{"switch", "/switch AGENT", "Go to an agent",
		"AGENT is 0, a name, an id, or the first four or more characters of an id.",
		[]Argument{{Kind: Agent, Required: true}}},
	{"ps", "/ps", "List the agents", "", nil},
	{"rename", "/rename [NAME]", "Name this agent, or take its name away",
		"A name begins with a-z and goes on with a-z 0-9 . _ -, and no other living agent has it.",
		[]Argument{{Kind: Name}}},
	{"send", `/send AGENT "TEXT"`, "Send a letter to an agent",
		"The letter is from you. A waiting agent wakes up.",
		[]Argument{{Kind: Agent, Required: true}, {Kind: Text, Required: true}}},
	{"check-mail", "/check-mail", "List this agent's letters, the unread first", "It marks nothing as read.", nil},
	{"read-mail", "/read-mail [N]", "Read the oldest unread letter, or letter N", "", []Argument{{Kind: Number}}},
	{"filter-mail", "/filter-mail --from AGENT", "List the letters from one agent",
		"`you` stands for letters that you sent.", []Argument{{Flag: "--from", Kind: Agent, Required: true}}},
	{"delete-mail", "/delete-mail N", "Hide letter N", "", []Argument{{Kind: Number, Required: true}}},
	{"mark", "/mark [LABEL]", "Mark this point, to rewind to", "", []Argument{{Kind: Label}}},
	{"rewind", "/rewind [LABEL|ID]", "Go back to a mark or a message",
		"Without an argument: to the newest mark. Nothing is deleted; files stay as they are. A clear is a wall.",
		[]Argument{{Kind: Label}}},
	{"clear", "/clear", "Begin again with an empty context", "What was said stays in the history.", nil},
	{"compact", "/compact", "Replace the context by a summary of it", "", nil},
	{"log", "/log", "Show this agent's lineage: forks, marks, clears", "", nil},
	{"model", "/model [MODEL]", "Choose the model of this agent", "", []Argument{{Kind: Model}}},
	{"mode", "/mode [MODE]", "Choose how this agent's calls are permitted",
		"ask: files and commands are asked for; edits: files are changed unasked; box: also commands run, confined; read-only: nothing is changed or run. Shift+Tab goes through them. Children have their parent's mode until they have one.",
		[]Argument{{Kind: Mode}}},
	{"mcp", "/mcp", "List the MCP servers and their tools", "`ramet mcp` adds, asks and removes them.", nil},
	{"usage", "/usage", "Show tokens and cost", "", nil},
	{"verify", "/verify", "Check that no history was changed", "", nil},
	{"export", "/export [PATH]", "Write this conversation to a file", "", []Argument{{Kind: Path}}},
	{"help", "/help [COMMAND]", "Show the commands, or one of them", "", []Argument{{Kind: Topic}}},
	{"exit", "/exit", "Leave; the agents stay as they are", "", nil},
}
