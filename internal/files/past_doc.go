// Package past is the past of folders: it takes their states, remembers who could have made
// each change, and brings files back.
//
// It lives in a folder beside the database:
//
//	packs/, generation          contents (files/content)
//	calls                       which calls that may write were open, and when
//	folders/<id>/path, index    a folder, and what the last walk saw (files/scan)
//	folders/<id>/steps          the states of the folder, in order, and who changed what
//	restores/                   what is being restored (files/restore)
//
// It promises:
//
//   - A state is on disk, with every content that it names, before Take returns it.
//   - A change is an agent's own if a tool of ours wrote just that content for the agent, or if a
//     restore for the agent did, by its journal.
//   - What else changed, by the clock of the file system, while a call of one agent was open and
//     none of another agent that works in the same folder, one above or one below, is in doubt:
//     the agent's command changed it, or a person who worked beside it. What happened at another
//     time, or with several agents at work, or cannot be known, is foreign to all of them. So a
//     clock that jumps makes changes foreign.
//   - Restore keeps what is foreign to the agent, unless it is forced, and what is in doubt, unless
//     it is told that commands changed it. It takes a state first: a restore can be undone.
//   - What a process that was killed left half restored is finished by Recover.
//   - Several processes can share it. Losing the index costs time; losing steps or calls makes
//     changes foreign.

package files
