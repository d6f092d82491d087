package session

import (
	"context"
	"io"
	"strings"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/driver/foreign"
	"ramet/internal/model/llm"
)

// importedNotice is the beginning of the notice of an import.
const importedNotice = "This conversation was imported from "

// WriteSession writes an agent's context as a session of another program.
func (w History) WriteSession(ctx context.Context, a agent.Agent, program string, to io.Writer) (*foreign.Writer, error) {
	about := foreign.Session{Cwd: a.Cwd, Started: w.ws.Now().UTC().Truncate(time.Millisecond)}
	if about.Cwd == "" {
		about.Cwd = w.ws.Place.Project
	}
	if a.Model != "" {
		about.Model = llm.Ref{Vendor: a.Provider, Name: a.Model}.String()
	}
	out, err := foreign.NewWriter(program, about, to)
	if err != nil {
		return nil, err
	}
	err = w.ws.Store.View(ctx, func(log history.Log) error {
		var all []history.Entry // one query is read to its end before blobs are
		for e, err := range history.Play(ctx, log, a.ID) {
			if err != nil {
				return err
			}
			all = append(all, e)
		}
		for _, e := range all {
			parts, err := e.Parts()
			if err != nil {
				return err
			}
			if err := history.Fill(parts, func(h chain.Hash) ([]byte, error) { return log.Blob(ctx, h) }); err != nil {
				return err
			}
			if e.Kind == history.Notice && strings.HasPrefix(history.Plain(parts), importedNotice) {
				continue
			}
			at := e.CreatedAt
			if m, err := e.Decode(); err == nil && m.OriginalTime != "" {
				if t, err := time.Parse(time.RFC3339Nano, m.OriginalTime); err == nil {
					at = t
				}
			}
			if err := out.Add(e.Kind, parts, at); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, out.Close()
}
