// Package trash keeps files of a user that ramet takes out of a folder and could not bring
// back from anywhere else.
//
// Whatever removes or overwrites files of a user (a restore, a merge, the removal of a
// worktree) calls Begin with everything that it is about to take away, and then Move for each
// item. A move is a rename: it needs no room and keeps the inode, so that a process that has
// the file open writes into the trash and not into nothing.
//
//	DIR/records/ID.json            what an act moved, and from where
//	DIR/items/ID/N                 the items, where DIR is on the file system of the files
//	PROJECT/.ramet/trash/ID/N      the items, where it is not
//
// It promises:
//
//   - The record of an act is on disk before its first item is moved. An item of which there
//     is no content was not moved, or was taken back; it is not listed. So a process that is
//     killed leaves each file in the folder or in the trash.
//   - Begin tries to rename a file from each folder concerned. If no place accepts them, it
//     refuses, and nothing was touched.
//   - Places have mode 0700, belong to the user, and are not reached through a link. Git
//     ignores them.
//   - Records lie in ramet's own folder, never in a project: a clone cannot forge one.
//   - Nothing leaves the trash but by Take, Restore, Empty and Forget. None of them overwrites.

package files
