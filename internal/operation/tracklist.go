package operation

import "ramet/internal/ledger"

// TrackList is entries of the ledger.
type TrackList struct {
	Entries []ledger.Shown `json:"entries"`
}
