package cli

import (
	"bytes"
	"context"
	"path/filepath"

	"ramet/internal/base/durable"
	"ramet/internal/core/agent"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

// session writes a session of another program.
func (o exporting) session(ctx context.Context, l *Line, ws *session.Workspace, a agent.Agent) error {
	var out bytes.Buffer
	made, err := ws.History().WriteSession(ctx, a, o.to, &out)
	if err != nil {
		return err
	}
	path, command := made.Place(l.Getenv)
	done := public.Exported{Bytes: int64(out.Len()), Agents: 1, Entries: int(a.Total), Findings: []public.ExportFinding{}, Program: &made.Program, Session: &made.ID}
	if o.output != "" {
		path = o.path(l)
	} else {
		done.Open = &command
		if err := durable.MakeFolder(filepath.Dir(path), 0o700); err != nil {
			return err
		}
	}
	if err := durable.CreateFile(path, out.Bytes(), 0o600); err != nil {
		return err
	}
	done.Path = path
	return l.Print(exported{done})
}
