package httpapi

import (
	"context"
	"net/http"

	"ramet/internal/ledger"
	"ramet/internal/operation"
)

// Ledger reads the record of spawned sub-agents, oldest first.
type Ledger interface {
	Entries(ctx context.Context) ([]ledger.Shown, error)
}

// tracked are the routes of the ledger; without one they find nothing.
type tracked struct{ ledger Ledger }

func (t tracked) routes() []Route {
	return []Route{Does(Route{Method: http.MethodGet, Path: "/api/v1/track", Doc: Doc{
		ID: "listTracked", Tag: "ledger", Summary: "List sub-agents, oldest first",
		Query: []Param{{Name: "status", About: "only those with this status", Enum: words(ledger.Statuses()...)}},
	}}, http.StatusOK, t.list)}
}

func (t tracked) list(c *Call, _ None) (operation.TrackList, error) {
	out := operation.TrackList{Entries: []ledger.Shown{}}
	if t.ledger == nil {
		return out, notHere("ledger")
	}
	entries, err := t.ledger.Entries(c.Context())
	for _, e := range entries {
		if !c.Has("status") || string(e.Status) == c.Query("status") {
			out.Entries = append(out.Entries, e)
		}
	}
	return out, err
}

// OverLedger reads the ledger of a folder.
func OverLedger(folder *ledger.Folder) Ledger { return ledgerFolder{folder} }

type ledgerFolder struct{ folder *ledger.Folder }

func (f ledgerFolder) Entries(context.Context) ([]ledger.Shown, error) {
	view, err := f.folder.Peek() // a GET repairs nothing
	if err != nil {
		return nil, err
	}
	show := view.Shower(f.folder.Judge())
	var out []ledger.Shown
	for _, e := range view.Entries() {
		out = append(out, show(e))
	}
	return out, nil
}
