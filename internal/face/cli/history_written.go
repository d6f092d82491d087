package cli

import (
	"ramet/internal/core/history"
	"ramet/internal/operation/public"
)

// writtenHistory prints the entry that a verb wrote.
func writtenHistory(l *Line) func(history.Entry, error) error {
	return func(e history.Entry, err error) error {
		if err != nil {
			return err
		}
		return l.Print(public.FormatWritten(e))
	}
}
