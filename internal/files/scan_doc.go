// Package scan finds out what a folder holds: a walk that looks at every name and reads only
// what the index does not know.
//
// It promises:
//
//   - A file is read again unless device, inode, size, mode, mtime and ctime are what they
//     were when it was read, and it had been quiet before that (racy files are read again, as
//     git does). A clock that goes backwards makes files racy, never wrong.
//   - Folders are opened one by one, by handle, and no link is followed: nothing outside the
//     root is read, whatever is swapped meanwhile.
//   - Only regular files are opened, and none is waited for.
//   - A file that changes while it is read is read again, a few times; then its content is
//     unknown.
//   - Files of another repository below the root are not read: a change is noticed by the time of
//     the file's last change.
//   - Ignored names are left out unless git tracks them or the setting says otherwise. Names
//     of git and of ramet are never in it.
//   - A tracked file whose bytes are those that git's index names is not kept but named by
//     git's id. What is too large, holds a credential of ours, or is more than one walk keeps
//     (MostKept), is known by its hash only.
//   - When it is told to stop, what was not read yet is unknown, and the result says how much
//     that is; what was read stays in the index.
//   - The index is a cache: without it everything is read, and the result is the same.

package files
