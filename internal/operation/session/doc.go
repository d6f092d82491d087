// Package session carries out what a person asks: prompt, stop, fork, kill, send, append, mark, rewind, clear,
// compact, shell, answer. The command line, the terminal, HTTP and other faces parse a request and print the
// answer; what happens is decided here, once.
//
// A Session holds what a command needs: home, configuration, keys, trust, and the workspace that is meant. Each
// is found when it is first needed, and then kept. Open opens the workspace; its methods are the verbs.
//
//   - A verb is the same on every face: the same checks, the same options, the same words.
//   - It is carried out in the kernel of this process, in the one that serves the workspace, in the one that
//     holds the agent, or, where no kernel is involved, on the store alone. This package chooses.
//   - A verb that is refused has changed nothing. A fork that fails leaves no worktree behind, unless the child
//     lives after all: then it keeps its files.
//   - None of our credentials gets into the store (store.Cleaned).
//   - What a dead kernel left open in a history is closed before a verb writes there.
//
// # Slash commands
//
// The table of commands describes what a person types to an agent: `/fork --name ada "look at the tests"`. A line
// is parsed into a command or a USAGE fault that names the position, the nearest valid word and the usage. Only
// the form is checked. Words are separated by white space, and quoted as in a shell. A last argument that is text
// may also be unquoted: then it is the rest of the line. Options go before it.
//
// # Prompts
//
// The system prompt of every agent is assembled from the Markdown files next to prompt.go, according to its tools:
// the same bytes for all agents with the same tools, so that vendors can cache them, and no text about a tool that
// the agent does not have. A file of the same name in the user's folder replaces ours.
package session
