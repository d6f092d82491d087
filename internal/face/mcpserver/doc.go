// Package mcpserver is ramet as a server of the Model Context Protocol: other people's
// agents fork, prompt, mail and kill agents here, and read what happened.
//
// It has twelve tools, named as the commands are: ps, fork, prompt, send, mail, read, wait,
// log, kill, track, run, verify (an agent has exit instead of track); and resources: agents, histories and the events of runs,
// with cursors.
//
// # Promises
//
//   - A tool is a command or a verb of package session, and decides nothing itself: what it
//     answers is what that command prints with --json, and its output schema says so.
//   - Who asks is known by the line, not by what is said on it: a person, or one agent, which
//     may do what it may do by its own tools (session.As). An agent that is dead may nothing.
//   - A call returns within 50 s. What takes longer goes on, and the answer is a handle, for
//     which the tool wait gets what came of it. A handle is good for whoever got it, in the
//     same process, for an hour.
//   - A turn that was begun goes on when the caller goes away. Where a server serves the
//     workspace it runs there, and goes on when this process ends.
//   - An argument is never read as a flag.
package mcpserver
