// Package files records the states of folders, restores them, and keeps a trash. It also matches
// ignore files and clones files.
//
// A history that forks and rewinds while its files stay unchanged contradicts its own folder. So the
// state of an agent's folder is taken around everything that may write, and its root hash is in an
// entry (`files`) of the agent's history, linked like all others.
//
//	Node, Folder, Diff   states as trees of hashes, and how two differ (pure)
//	Contents             the bytes that the hashes stand for, in packs next to the database
//	Scanner, Index       reads a folder, and only what the index does not know
//	MakePlan, RestorePlan  makes files what they were: a plan, a journal, one file at a time
//	Past                 the states of all folders, which agent changed what, restores
//	Trash                what ramet removed and could not bring back from anywhere else
//	IgnoreFolder         .gitignore, .ignore, .rgignore and git's excludes
//
// # States
//
//   - A state is the tree below one folder: names, kinds, modes, sizes and content hashes. Equal
//     trees have equal roots, wherever and whenever they were taken.
//   - `.git` is never in a state, at any depth, nor are ramet's own files. Of a nested repository only
//     names, sizes and times are recorded; its content is not read, kept or restored. Pipes, sockets
//     and devices are recorded, and never opened.
//   - What could not be read (no permission, a file that kept changing, no time left) is in the state
//     as unknown: it is neither restored nor removed.
//   - Names are bytes and need not be UTF-8.
//
// The hash of a file is the SHA-256 of its content, that of a link of its target. The hash of a folder
// is the SHA-256 of these bytes, which never change (another form would have another first line):
//
//	"ramet/files/1\n", then each node in the order of its name's bytes:
//	kind (1 byte) · mode (2, big-endian) · size (8, big-endian) · hash (32) ·
//	length of the name (2, big-endian) · name
//
// The mode is the twelve bits of chmod(2), 0 where the kind has none; the size of a folder is 0; an
// unknown hash is all zeros. In a nested repository the hashes of files and links stand for the time of
// their last change.
//
// # Contents
//
//   - When Commit returns nil, everything that was added is on disk, in one new pack. A pack is never
//     changed. A content is stored once, compressed.
//   - Get returns bytes with the requested hash, STORAGE_CORRUPT or NOT_FOUND.
//   - An object that a git repository holds can be named by git's id instead of being stored; it is
//     read from there and compared with its hash.
//   - Several processes can add and read at the same time. Drop must not run while others add.
//
// # Scanning
//
//   - A file is read again unless device, inode, size, mode, mtime and ctime are unchanged since it was
//     read, and it was quiet before that (as git treats racy files).
//   - Folders are opened by handle, one by one, and no link is followed. Only regular files are opened.
//   - Ignored names are left out unless git tracks them or a setting includes them.
//   - What is too large, contains a credential of ours, or exceeds what one scan keeps, is
//     known by its hash only.
//   - The index is a cache: without it everything is read, with the same result.
//
// # Restoring
//
//   - A plan changes nothing. It lists what would be restored and removed, and what is kept and why.
//   - A file is replaced only while its content and mode are what the plan saw, in one step, after the
//     new content is on disk.
//   - The plan is on disk before the first file is touched. After a crash Recover finishes the journal;
//     finishing twice is the same as once.
//   - A change is an agent's own if one of our tools or a restore wrote that content for the agent.
//     Another change while only this agent's calls were open is in doubt. Everything else is foreign.
//     Restore keeps foreign changes unless forced, and doubtful ones unless told otherwise. It takes a
//     state first, so that it can be undone.
//
// # Trash
//
// A move into the trash is a rename: it needs no space and keeps the inode, so that a process that has
// the file open writes into the trash. The record is on disk before the first item is moved, and lies in
// ramet's own folder, so that a project cannot forge one. Nothing leaves the trash except by Take,
// Restore, Empty and Forget, none of which overwrites.
//
// # Ignore files and clones
//
// Patterns mean what gitignore(5) says, with ripgrep's order of precedence. Files of git apply to their
// own repository only; .ignore and .rgignore apply below it too.
//
// CloneFile makes a copy that shares its blocks, on file systems that can. Elsewhere it leaves nothing,
// and the caller copies.
package files
