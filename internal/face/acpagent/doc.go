// Package acpagent is ramet as the agent of an editor that speaks the Agent Client Protocol:
// JSON-RPC, a message a line, on standard input and output.
//
// A session of the editor is an agent. A new one is a child of agent 0 with a context of its
// own; load and resume take up any agent that lives, fork forks it, list lists them, and
// close stops its turn and lets go of it: the agent stays, until somebody kills it.
//
// # Promises
//
//   - Nothing but whole messages is written to the output.
//   - Bad input never ends the line and changes nothing: what is no message, is too long,
//     asks for what there is not, or names what nobody knows, is answered with an error.
//   - What is asked on a session is heard in the order in which it was said: a cancel behind
//     a prompt stops that prompt, however early it comes.
//   - A prompt is answered when its turn is over, behind everything that the turn told. When
//     it was cancelled, nothing of it runs then.
//   - A call that no rule permits is asked of the editor's user with every choice that other
//     faces have. While nobody answers the call waits; where nobody can, it is refused.
//   - A replay tells the past, and adds nothing to it.
//   - When the input ends, turns of this process end, and so does everything that they
//     started. Turns in a server ("ramet serve") go on.
//   - Servers that the editor lends are started confined, as those of the user's own
//     configuration, for the agent of their session and those below it, and end with this
//     process. Nothing of them is kept.
package acpagent
