package cli

import (
	"bytes"
	"context"
	"fmt"
	"regexp"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/driver/foreign"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

// allSecrets is the pattern that stands for whatever is found.
const allSecrets = "secrets"

// html writes one file that proves itself.
func (o exporting) html(ctx context.Context, l *Line, ws *session.Workspace, a agent.Agent) error {
	want := session.Exporting{Alone: o.alone, TranscriptHiding: foreign.TranscriptHiding{Outputs: o.noToolOutput}}
	for _, p := range o.redact {
		if p == allSecrets {
			want.Secrets = ws.Secrets
			continue
		}
		re, err := regexp.Compile(p)
		if err != nil {
			return fault.New(fault.Usage, "export: --redact: %w", err).WithHint("it is a regular expression; \\Q…\\E takes words as they are")
		}
		want.Patterns = append(want.Patterns, re)
	}
	book, err := ws.History().Transcript(ctx, a, want)
	if err != nil {
		return err
	}
	found := book.Find(ws.Secrets)
	var out bytes.Buffer
	if err := book.Write(&out); err != nil {
		return err
	}
	l.Note(fmt.Sprintf("this goes out: %s of %s, %d bytes", text.Count(book.Entries(), "entry"), text.Count(len(book.Agents), "agent"), out.Len()))
	if err := o.stop(l, found); err != nil {
		return err
	}
	if o.output == "" {
		_, err := l.Stdout.Write(out.Bytes())
		return err
	}
	if err := durable.CreateFile(o.path(l), out.Bytes(), 0o600); err != nil {
		return err
	}
	done := public.Exported{Path: o.path(l), Bytes: int64(out.Len()), Agents: len(book.Agents), Entries: book.Entries(),
		Findings: []public.ExportFinding{}, Head: public.Optional(book.Agents[0].Head)}
	for _, f := range found {
		done.Findings = append(done.Findings, public.ExportFinding{Message: int64(f.Message), Kind: string(f.Kind), Name: f.Name, Sure: f.Sure})
	}
	return l.Print(exported{done})
}

// historyTold limits the findings that are listed one by one.
const historyTold = 50

// stop tells of what was found, and refuses unless that was asked for.
func (o exporting) stop(l *Line, found []foreign.TranscriptFinding) error {
	for i, f := range found {
		if i == historyTold {
			l.Note(fmt.Sprintf("and %d more", len(found)-historyTold))
			break
		}
		maybe := ""
		if !f.Sure {
			maybe = " (perhaps)"
		}
		l.Note(fmt.Sprintf("message %d, %s: %s%s", int64(f.Message), f.Kind, f.Name, maybe))
	}
	if len(found) == 0 || o.yes {
		return nil
	}
	return fault.New(fault.Denied, "nothing was written: %s would go out", text.Count(len(found), "secret")).
		WithHint("--redact secrets replaces them, --no-tool-output leaves outputs out, --yes writes them all the same")
}

// exported is the datum of an export into a file.
type exported struct{ public.Exported }

// Text implements printer.Datum.
func (e exported) Text(w *printer.Writer) {
	w.Line("%s: %s of %s, %d bytes", e.Path, text.Count(e.Entries, "entry"), text.Count(e.Agents, "agent"), e.Bytes)
	if e.Head != nil {
		w.Line("%v", w.Dim("head "+*e.Head))
	}
	if e.Open != nil {
		w.Line("open it with: %s", *e.Open)
	}
}
