package session

import (
	"context"

	"ramet/internal/ledger"
)

// book makes the project's folder before the first entry, as every .ramet is made.
type book struct {
	*ledger.Folder
	project string
}

func (b book) Spawn(ctx context.Context, st ledger.Start) (ledger.Entry, error) {
	if err := CheckInside(b.project, b.Dir(), "make it a folder"); err != nil {
		return ledger.Entry{}, err
	}
	if err := MakeProjectFolder(b.project); err != nil {
		return ledger.Entry{}, err
	}
	return b.Folder.Spawn(ctx, st)
}
