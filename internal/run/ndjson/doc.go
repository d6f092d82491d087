// Package ndjson keeps the events of a run in a file, one line each.
//
// What it promises:
//
//   - Append returns after write and fsync.
//   - A failed fsync is the end of the writer: what is on the disk is not
//     known any more, and no later sync would report it. A failed write is undone by
//     cutting the file back to what is durable, so that nothing is ever appended
//     to half a line; when space is free again, appending continues.
//   - There is one writer: <path>.lock is locked, and the kernel frees it however
//     the holder ends.
//   - An existing file is never truncated, but for a torn tail, by the writer, and
//     what is cut is kept in <path>.torn-<time> first.
//   - Readers get verified events or EVENT_CHAIN_BROKEN with line and byte.
//
// # Torn tails
//
// A crash in the middle of a write leaves less than was written, or NULs where
// something was not. Nothing of that was acknowledged. So these ends are no
// damage; readers stop before them and the next writer repairs them:
//
//   - a last line without line feed: kept and ended if it parses and links, else
//     cut;
//   - NULs up to the end of the file: cut, and then as above;
//   - NULs up to the end of a disk sector, and after them the rest of a line but
//     no whole one: cut from the line in which they begin.
//
// Everything else is damage, also a whole last line with another byte in place
// of its line feed: no crash makes that.
//
// A concurrent reader may see events that are not durable yet.
package ndjson
