package cli

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/ledger"
	"ramet/internal/operation/public"
)

func recoverCommand(l *Line, f *trackFlags) *cobra.Command {
	return l.command("recover", "Make the two files of the ledger sound; say what was done", `Make the two files sound. A missing agent-history.json is made from the template. One
that cannot be read is kept as agent-history.json.corrupt-TIME and made again from a
whole temporary file, else from summaries/*-SUMMARY.md. A pointer to no entry is
repaired. Every other command does the same first, when it meets damage.`, 0, 0, func(ctx context.Context, _ []string) (printer.Datum, error) {
		folder, err := ledgerOf(l, f, l.Dir)
		if err != nil {
			return nil, err
		}
		if err := makeState(l, f, l.Dir); err != nil {
			return nil, err
		}
		r, err := folder.Recover(ctx)
		return recovered{r, folder.Dir()}, err
	})
}

// recovered is the datum of track recover.
type recovered struct {
	ledger.RepairResult
	dir string
}

func (r recovered) MarshalJSON() ([]byte, error) {
	return public.Marshal(struct {
		State   string  `json:"state"`
		Corrupt *string `json:"corrupt"`
		From    *string `json:"from"`
		Entries int     `json:"entries"`
		Pointer bool    `json:"pointer_repaired"`
	}{r.dir, public.Optional(r.Corrupt), public.Optional(r.From), r.Entries, r.RepairResult.Pointer})
}

func (r recovered) Text(w *printer.Writer) {
	said := []string{"ok: " + text.Count(r.Entries, "entry")}
	if r.Corrupt != "" {
		said = append(said, "made again from the "+r.From, "the old file is "+filepath.Base(r.Corrupt))
	}
	if r.RepairResult.Pointer {
		said = append(said, "the pointer named nobody and was repaired")
	}
	w.Line("%s", strings.Join(said, "; "))
}
