// Package session carries out what a person asks: prompt, stop, fork, kill, send, append,
// mark, rewind, clear, compact, shell, answer. The command line, the terminal, HTTP and
// what else there may be parse a request and print the answer; what happens is decided
// here, once.
//
// A Session is what a person's command stands on: home, configuration, keys, trust, and
// which workspace is meant. Each is found when it is first needed, and then kept. Open
// opens the workspace; its methods are the verbs.
//
// # Promises
//
//   - A verb is the same whoever asks: the same checks, the same options, the same words.
//   - It is carried out in the kernel of this process, in the one that serves the
//     workspace, in the one that holds the agent, or, where no kernel is concerned, on the
//     store alone. Which of them is chosen here.
//   - A verb that is refused has changed nothing; a fork that fails leaves no worktree
//     behind, unless the child lives after all: then it keeps its files.
//   - None of our credentials gets into the store (store.Cleaned), whoever writes.
//   - What a dead kernel left open in a history is closed before a verb writes there.
package session
