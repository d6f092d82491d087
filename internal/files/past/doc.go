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
//   - A change is an agent's own if it happened, by the clock of the file system, while a call
//     of that agent was open and none of another agent that works in the same folder, one above
//     or one below. Whatever happened at another time, or with several at work, or that nobody
//     can know, is foreign to all of them. So a clock that jumps makes changes foreign.
//   - Restore keeps what is foreign to the agent, unless it is forced, and takes a state first:
//     a restore can be undone.
//   - What a process that was killed left half restored is finished by Recover.
//   - Several processes can share it. Losing the index costs time; losing steps or calls makes
//     changes foreign.
//
// What a person changes in a file while a command of an agent runs, and that command changes
// too, is not told apart from the command's work: the state that a restore takes first has it.
package past
