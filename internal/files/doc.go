// Package files is what the files of a folder were at a moment: a state, as a tree of
// folders that are named by their hashes.
//
// A history that forks and rewinds while its files stay as they are contradicts its own
// folder. So the state of an agent's folder is taken around everything that may write, and
// its root stands in an entry (`files`) of the agent's history, linked like all others:
// what the files were when the model said this is part of the proof.
//
//	files            states: nodes, folders, their bytes, and how two differ (pure)
//	files/content    what the hashes stand for, compressed, beside the database
//	files/scan       finds out what a folder holds: a walk against an index
//	files/restore    makes files what they were: a plan, a journal, one file at a time
//	files/past       the past of folders: states, who changed what, restores
//
// # Promises
//
//   - A state is the tree below one folder: names, kinds, modes, sizes and hashes of
//     contents. Equal trees have equal roots, wherever and whenever they were taken.
//   - States belong to folders, entries to agents. A folder that did not change costs one
//     hash in the folder above it.
//   - `.git` is never in a state, at any depth, nor is what is ramet's own. Of another
//     repository below the folder the names, sizes and times are noted, so that changes in it can be
//     listed; no content of it is read, kept or restored. Pipes, sockets and devices
//     are noted, and never opened.
//   - What could not be known (no permission, a file that changed while it was read, no
//     time left) is in the state as unknown: it is neither restored nor removed.
//   - Names are bytes: what is no UTF-8 is kept as it is.
//
// # Bytes
//
// The hash of a file is the SHA-256 of its content, that of a link of its target. The hash
// of a folder is the SHA-256 of its bytes:
//
//	"ramet/files/1\n", then each node in the order of its name's bytes:
//	kind (1 byte) · mode (2, big-endian) · size (8, big-endian) · hash (32) ·
//	length of the name (2, big-endian) · name
//
// The mode is the twelve bits of chmod(2), 0 where the kind has none; the size of a folder is
// 0; a hash that is not known is all zeros. The hash of another repository is that of a folder in
// which the hashes of files and links stand for the time of their last change. These bytes never change: another form would
// have another first line.
package files
