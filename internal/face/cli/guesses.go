package cli

// Advice that several words share.
const (
	endAdvice    = "`ramet kill AGENT` ends an agent, `ramet mail --delete N` deletes mail, `ramet run rm ID` removes a run"
	openAdvice   = "`ramet` alone opens the terminal, `ramet web` the page of a running server"
	answerAdvice = "questions are answered in the terminal (`ramet`), or on the page (`ramet web`)"
	startAdvice  = "nothing has to be set up: `ramet` opens the terminal, `ramet fork --name NAME` makes an agent"
)

// guesses has words that people try as commands, with advice on which command does it. Words that mean one
// command are its aliases instead (operation.Doc).
var guesses = map[string]string{
	"status":    "`ramet ps` lists the agents, `ramet server status` shows the background kernel, `ramet doctor` checks the installation",
	"stop":      "`ramet interrupt AGENT` stops a turn, `ramet kill AGENT` ends an agent, `ramet server stop` stops the background kernel",
	"attach":    openAdvice,
	"open":      openAdvice,
	"ui":        openAdvice,
	"login":     "`ramet auth set VENDOR` stores a key, `ramet mcp login SERVER` logs in at an MCP server",
	"delete":    endAdvice,
	"rm":        endAdvice,
	"new":       startAdvice,
	"init":      startAdvice,
	"sessions":  "`ramet resume` lists your projects, `ramet ps` the agents of this one, `ramet import` imports sessions of other programs",
	"update":    "`ramet models update` updates the table of models; to update ramet itself, install the new version in its place",
	"approve":   answerAdvice,
	"answer":    answerAdvice,
	"questions": answerAdvice,
	"model":     "`ramet models` lists them, `ramet config set model VENDOR/NAME` sets the default, /model in the terminal changes an agent's",
}
