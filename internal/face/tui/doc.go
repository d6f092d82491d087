// Package tui is the terminal: many agents on one screen.
//
// One root model holds everything that is shown; what it shows are plain components
// without goroutines of their own. Keys and events come in, a screen goes out. All
// work is done elsewhere, by commands that answer with a message.
//
// # Promises
//
//   - The prompt can be typed into at once. The workspace is opened behind it, agents
//     are read when they are looked at, histories page by page.
//   - Nothing that others wrote (models, files, commands, mail, names) reaches the
//     terminal as it is: it passes package text or package markdown first.
//   - Only what is visible is laid out, and what was laid out is forgotten when it is
//     far away. Cost does not grow with the length of a conversation.
//   - Each agent keeps its draft, cursor, place and folds; they are on disk soon after
//     each change, and survive a SIGKILL.
//   - The screen never moves to another agent by itself, but after the user's own
//     fork, and to the parent when the current agent was killed by the user.
//   - The terminal is left as it was found, also after a panic or a signal.
package tui
