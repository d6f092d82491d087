package cli

import (
	"context"
	"strconv"

	"ramet/internal/base/printer"
)

// disks is the datum of usage --disk.
type disks struct {
	Places []diskPlace `json:"places"`
	Total  int64       `json:"total"`
}

type diskPlace struct {
	What  string `json:"what"`
	Where string `json:"where"`
	Bytes int64  `json:"bytes"`
}

func showDisk(l *Line, ctx context.Context) error {
	ws, err := l.Open(ctx)
	if err != nil {
		return err
	}
	all, err := ws.Care().Disks()
	if err != nil {
		return err
	}
	out := disks{Places: []diskPlace{}}
	for _, d := range all {
		out.Places = append(out.Places, diskPlace(d))
		out.Total += d.Bytes
	}
	return l.Print(out)
}

// Text of disks.
func (d disks) Text(w *printer.Writer) {
	rows := [][]string{{"WHAT", "BYTES", "WHERE"}}
	for _, p := range d.Places {
		rows = append(rows, []string{p.What, strconv.FormatInt(p.Bytes, 10), p.Where})
	}
	w.Table(append(rows, []string{"total", strconv.FormatInt(d.Total, 10), ""}))
}
