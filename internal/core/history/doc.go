// Package history is what an agent remembers: an append-only list of entries,
// shared with its parent up to the point where it forked, and the one reducer
// that turns entries into the context a model and a screen see.
//
// # Walk backwards, play forwards
//
// A child stores only what happened after its fork. BuildRanges walks from the
// leaf to the root, or to the most recent clear on the way, and gives the
// segments to read, root first; Replay reads them and reduces. Start-up, fork
// and switching all use Replay; memory is a cache of it.
//
// # Promises
//
//   - Order is by id, never by time. Ids ascend along every lineage: a fork
//     takes its first id while the parent's row is locked.
//   - An absent bound means no limit; 0 means nothing. A child that was forked
//     before its parent said anything inherits nothing, now and later.
//   - Ancestors count whatever their status.
//   - A clear is a wall: nothing before it is ever in the context again.
//   - A rewind to an entry gives the context as it was just after that entry.
//     So compactions behind the target are undone, marks stay usable, and what
//     was rewound can be reached again.
//   - A compact makes room and loses nothing: a summary stands for a run of messages,
//     some of which stay before it (Meta.Keep), and others are shown in a short form
//     (Meta.Short). Either may be all that it does.
//   - Replay of the stored entries equals the live state, at any time.
//   - Cost is linear in the messages of the context; what was cleared, rewound
//     or compacted away is not read.
package history
