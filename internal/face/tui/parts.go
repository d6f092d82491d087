package tui

import (
	"time"

	"ramet/internal/base/id"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
	"ramet/internal/turn/permit"
)

// What a root is made of; what each does is in a file of its own.

// completion is what could stand at the cursor: commands and their arguments behind
// a slash, files behind an @.
type completion struct {
	session.Completion
	file  bool
	at    int
	away  bool // the user does not want it until the prompt changes
	typed string
}

// hall is Home: all agents as rows, of which one has the cursor (package public says which rows
// there are). Either the list has the keys, or the line below it, which is the prompt of the
// agent under the cursor.
type hall struct {
	on    bool
	facts *public.HomeFacts // nil: not read yet
	table public.HomeTable
	lines []homeLine // what is shown: heads, rows, folds
	at    id.Agent   // who has the cursor; empty: the line numbered fold
	fold  int
	top   int // the first line that is shown
	high  int // lines that are shown

	open      map[public.HomeSection]bool // unfolded by hand
	filter    string
	filtering bool     // letters are for the filter
	closed    bool     // the preview was closed by hand
	line      bool     // the line has the keys
	from      id.Agent // who was current before it had

	stale   bool // what is shown is older than what is known
	waiting bool // it is brought up to date in a moment
	moved   time.Time
	rests   bool                            // the cursor has not moved for a while
	unread  bool                            // the conversation under the cursor was not looked at
	pinned  map[id.Agent]public.HomeSection // rows that stand still, because the cursor is or was just there
}

type notice struct {
	text   string // harmless
	style  style
	number int
}

// past are the former prompts, as one walks through them.
type past struct {
	at    int
	draft string // what stood there before
}

// asked is a question that waits for the user. How keys answer it the model says; here
// it is drawn and fed.
type asked struct {
	*QuestionModel
	answer func(permit.Verdict)
	over   <-chan struct{}

	at    int  // first line of what would run that is shown
	more  int  // lines of it that do not fit
	blind bool // there is no room for even one of them
}

// search looks for a text in the whole conversation, from the end backwards. What
// was not read yet is read on the way.
type search struct {
	on      bool
	typed   string
	from    *key // the last place that fits
	looking bool // an older page is on its way
	none    bool
	at, of  int // which of the places that fit, of those that were read; the newest is the first
}
