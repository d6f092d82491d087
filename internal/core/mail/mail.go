// Package mail is letters between agents. Mail is pulled, never pushed: it
// lies in a mailbox until its owner reads it, in order of arrival. A caller that shows it
// says who sent it and when. Letters of agents are data and carry no authority; those
// of the user are the user's word; those of the kernel are notices about an agent.
package mail

import (
	"context"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
)

// MaxBody is the largest letter.
const MaxBody = 64 << 10

// Letter is one message between agents.
type Letter struct {
	ID        int64    // in the workspace
	Number    int64    // in its mailbox: order of arrival from 1, never reused
	From      id.Agent // empty: the user; id.Kernel: the kernel
	About     id.Agent // of the kernel's: whom it tells of
	To        id.Agent
	Body      string
	CreatedAt time.Time
	ReadAt    time.Time // zero: unread
	DeletedAt time.Time // zero: not hidden
	InReplyTo int64     // id of the letter it answers; 0: none
	Who, Face string    // of the user's letters: which person, and from where; empty: unknown

	// Fate holds what becomes of a letter that was just sent, and Why where it waits.
	Fate Fate
	Why  string
}

// Fate describes what becomes of a letter that was just sent. It is not stored.
type Fate string

// The fates; empty: unknown.
const (
	Wakes Fate = "wakes" // it begins a turn of its receiver
	Meets Fate = "meets" // its receiver works, and is told of it before its turn ends
	Waits Fate = "waits" // no turn begins for it
)

// Unread reports whether the letter still waits.
func (l Letter) Unread() bool { return l.ReadAt.IsZero() }

// CheckBody refuses what is no letter.
func CheckBody(body string) error {
	return fault.CheckText(fault.InvalidText, "the mail", body, MaxBody)
}

// Filter chooses letters of one mailbox.
type Filter struct {
	Unread  bool
	From    *id.Agent // nil: anybody; the empty Agent: the user; an agent: notices about it too
	Deleted bool      // hidden ones too
}

// Boxes are the mailboxes of a workspace. Sending and reading also write
// histories: they are verbs of the registry.
type Boxes interface {
	// Letters lists a mailbox, unread first, then by number. Marks nothing.
	Letters(ctx context.Context, owner id.Agent, f Filter) ([]Letter, error)
	// Unread counts the letters of a mailbox that wait, without reading them.
	Unread(ctx context.Context, owner id.Agent) (int64, error)
	// Hide takes a letter out of the lists. Unknown: NOT_FOUND.
	Hide(ctx context.Context, owner id.Agent, number int64) error
}
