// Package tui is the terminal UI: many agents on one screen.
//
// One root model holds everything that is shown; its components are plain values without goroutines
// of their own. Keys and events come in, a screen is returned. All work is done elsewhere, by
// commands that answer with a message.
//
//   - You can type into the prompt at once. The workspace is opened in the background, agents are
//     read when they are shown, histories page by page.
//   - Nothing that others wrote (models, files, commands, mail, names) reaches the terminal
//     unfiltered: it passes package text or package markdown first.
//   - Only what is visible is laid out. Cost does not grow with the length of a conversation.
//   - Each agent keeps its draft, cursor, position and folds; they are saved soon after each change,
//     and survive a SIGKILL.
//   - The screen never switches to another agent by itself, except after the user's own fork, and to
//     the parent when the user killed the current agent.
//   - The terminal is restored on exit, also after a panic or a signal.
//
// # Editor
//
// An Editor is a value: every method returns the changed editor and leaves the old one unchanged. The
// cursor is always between grapheme clusters. Typed text is made safe to show. A large paste is
// shown as `[pasted 312 lines]`, is moved over and deleted as one character, and is sent whole.
//
// # Fuzzy search
//
// A candidate matches when all letters of the pattern occur in it, in order; case matters only for
// capitals. Spaces separate words, each of which must match. Word beginnings, adjacent letters, the
// last part of a path and shorter texts rank higher. The order is total.
//
// # Questions
//
//   - The choices are a list with "no" first and selected.
//   - Only Enter decides: on an empty prompt, half a second after the question appeared and one
//     second after the last key was typed. Before that every key goes to the prompt.
//   - Arrows move the selection; digits and letters are text. Every change of the prompt selects
//     "no" again.
//   - A rule is shown and can be edited before it is saved; Enter saves it only after the same delay,
//     and only if it permits this call and nothing destructive.
package tui
