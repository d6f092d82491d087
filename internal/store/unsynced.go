package store

import "context"

type unsynced struct{}

// Unsynced lets a change be committed without waiting for the disk, where everybody who could have seen
// it ends with the machine: what a power cut takes away then is that change alone, and nobody is left who
// knew of it. Whatever is committed after it, and waits, takes it along. So it is with leases in a file:
// their holders are processes of this machine. A server's clients survive it, and a lease must, too.
func Unsynced(ctx context.Context) context.Context { return context.WithValue(ctx, unsynced{}, true) }

// IsUnsynced says so of a transaction that begins.
func IsUnsynced(ctx context.Context) bool { return ctx.Value(unsynced{}) != nil }
