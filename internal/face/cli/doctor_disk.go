package cli

import (
	"context"
	"fmt"

	"ramet/internal/base/fault"
)

// muchFiles is from which size on doctor speaks of states of files.
const muchFiles = 5e9

// examineDisk warns where states of files take much.
func examineDisk(l *Line, ctx context.Context, out *checkup) {
	ws, err := l.Open(ctx)
	if err != nil {
		return // the check of the database says so
	}
	size, err := ws.Files().Past().Disk()
	if err == nil && size > muchFiles {
		err = fault.New(fault.Failed, "states of files take %.1f GB in %s", float64(size)/1e9, ws.Files().Past().Store().Dir()).
			WithHint("`ramet gc --files --dry-run` says what could go")
	}
	out.add("file states", fmt.Sprintf("%.1f MB", float64(size)/1e6), err)
}
