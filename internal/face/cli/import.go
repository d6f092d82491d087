package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/driver/foreign"
	"ramet/internal/model/llm"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

type importing struct {
	list, all, plan  bool
	session, project string
}

func importHistoryCommand(l *Line) *cobra.Command {
	var o importing
	c := l.command("import [claude|codex|opencode|pi] [FILE]", "Import sessions of other programs", `Bring sessions of Claude Code, Codex, opencode and pi into this workspace, with
what was said and done: branches become forks, sub-agents children, calls and
results stay what they are, thinking that was signed goes to its own vendor only.

Without a choice, or with --list, the sessions are listed that lie where those
programs keep them. --all takes all of them, --session ID one, FILE the one of
a file; --project DIR those that worked in that folder or below.

What ramet can prove begins with the import: each session has an entry with the
program, the file and its SHA-256, and "ramet verify --source FILE" shows that
its entries are what the file says. A file that has grown is imported again for
what is new; one that was rewritten becomes another agent. Nothing begins to
work because it was imported. --dry-run writes nothing.`, 0, 2, func(ctx context.Context, args []string) (printer.Datum, error) {
		found, err := o.find(ctx, l, args)
		if err != nil {
			return nil, err
		}
		ws, err := l.Open(ctx)
		if err != nil {
			return nil, err
		}
		known, err := ws.History().Imports(ctx)
		if err != nil {
			return nil, err
		}
		if !o.all && o.session == "" && !o.named(args) {
			return o.show(ctx, l, known, found)
		}
		return o.take(ctx, l, known, found)
	})
	c.ValidArgs = foreign.Programs()
	f := c.Flags()
	f.BoolVar(&o.list, "list", false, "only list them")
	f.BoolVar(&o.all, "all", false, "take all that are found")
	f.StringVar(&o.session, "session", "", "take the session with this `ID`")
	f.StringVar(&o.project, "project", "", "only those that worked in this `DIR` or below")
	f.BoolVar(&o.plan, "dry-run", false, "only say what would be done")
	return c
}

// named reports whether a file was named.
func (o importing) named(args []string) bool {
	return len(args) == 2 || len(args) == 1 && !slices.Contains(foreign.Programs(), args[0])
}

// find lists what was asked for.
func (o importing) find(ctx context.Context, l *Line, args []string) ([]foreign.Found, error) {
	if o.list && (o.all || o.session != "") {
		return nil, fault.New(fault.Usage, "import: --list goes with neither --all nor --session").WithHint("leave one of them out")
	}
	if o.all && o.session != "" {
		return nil, fault.New(fault.Usage, "import: --all and --session are two choices").WithHint("leave one of them out")
	}
	if o.named(args) {
		path, err := filepath.Abs(filepath.Join(l.Dir, args[len(args)-1]))
		if filepath.IsAbs(args[len(args)-1]) {
			path, err = args[len(args)-1], nil
		}
		if err != nil {
			return nil, err
		}
		found, err := foreign.In(ctx, path)
		if f, ok := fault.Of(err); ok && f.Code == fault.NotFound {
			err = f.WithHint("%s", text.NearestHint(args[0], foreign.Programs(), "name a file of a conversation, or a program: "+strings.Join(foreign.Programs(), ", ")))
		}
		if err == nil && len(args) == 2 && len(found) > 0 && found[0].Program != args[0] {
			err = fault.New(fault.Usage, "%s is a session of %s, not of %s", path, found[0].Program, args[0])
		}
		return found, err
	}
	programs := foreign.Programs()
	if len(args) == 1 {
		programs = args
	}
	var out []foreign.Found
	for _, p := range programs {
		found, err := foreign.Find(ctx, p, l.Getenv)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// chosen reports whether a session was chosen.
func (o importing) chosen(l *Line, s foreign.Session) bool {
	if o.session != "" && s.ID != o.session {
		return false
	}
	if o.project == "" {
		return true
	}
	dir := o.project
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(l.Dir, dir)
	}
	rel, err := filepath.Rel(dir, s.Cwd)
	return err == nil && filepath.IsLocal(rel)
}

// show lists the chosen sessions.
func (o importing) show(ctx context.Context, l *Line, known *session.Imports, found []foreign.Found) (printer.Datum, error) {
	out := public.Sessions{Sessions: []public.ForeignSession{}, Failed: []public.ImportFailure{}}
	for _, f := range found {
		s, err := foreign.Peek(ctx, f)
		switch {
		case err != nil && (ctx.Err() != nil || len(found) == 1):
			return nil, err
		case err != nil:
			out.Failed = append(out.Failed, public.ImportFailure{Path: f.Path, Session: s.ID, Why: err.Error()})
		case o.chosen(l, s):
			out.Sessions = append(out.Sessions, shapeOf(s, known.Has(s)))
		}
	}
	return sessions{out}, nil
}

func shapeOf(s foreign.Session, imported bool) public.ForeignSession {
	out := public.ForeignSession{Program: s.Program, Session: s.ID, Path: s.Path, Cwd: s.Cwd, Title: text.Line(s.Called(), 120), Version: s.Version,
		Model: s.Model, Of: public.Optional(s.Of), Imported: imported}
	if !s.Started.IsZero() {
		out.Started = s.Started.UTC().Format(time.RFC3339)
	}
	return out
}

// take imports what was chosen. What cannot be read does not keep the others back.
func (o importing) take(ctx context.Context, l *Line, known *session.Imports, found []foreign.Found) (printer.Datum, error) {
	out := public.Imports{Imported: []public.Import{}, Failed: []public.ImportFailure{}, Plan: o.plan}
	var first error
	for _, f := range found {
		s, err := foreign.Peek(ctx, f)
		if err == nil && !o.chosen(l, s) {
			continue
		}
		var done session.Import
		if err == nil {
			done, err = known.Take(ctx, f, o.plan)
		}
		if ctx.Err() != nil {
			return nil, err
		}
		if err != nil {
			if first == nil {
				first = err
			}
			out.Failed = append(out.Failed, public.ImportFailure{Path: f.Path, Session: s.ID, Why: err.Error()})
			continue
		}
		out.Imported = append(out.Imported, importOf(done))
	}
	if len(out.Imported) == 0 && len(out.Failed) == 1 {
		return nil, first
	}
	if len(out.Imported)+len(out.Failed) == 0 && o.session != "" {
		return nil, fault.New(fault.NotFound, "no session %.80s was found", o.session).WithHint("`ramet import --list` lists them")
	}
	return imports{out}, nil
}

func importOf(i session.Import) public.Import {
	out := public.Import{ForeignSession: shapeOf(i.Session, true), New: i.New, Entries: i.Entries, Branches: i.Branches, Lines: i.Lines, Taken: i.Taken,
		Skipped: i.Skipped, Unknown: i.Unknown, Notes: append([]string{}, i.Notes...)}
	if u := i.Used; u != nil {
		out.Used = &public.Spent{Tokens: u.Tokens, Cost: u.Cost}
	}
	if i.Agent.ID != "" {
		out.Agent, out.Name = public.Optional(string(i.Agent.ID)), public.Optional(i.Agent.Name)
	}
	return out
}

// sessions is the datum of import --list.
type sessions struct{ public.Sessions }

// Text implements printer.Datum.
func (s sessions) Text(w *printer.Writer) {
	for _, one := range s.Failed {
		w.Line("not read: %s: %s", one.Path, one.Why)
	}
	if len(s.Sessions.Sessions) == 0 {
		w.Line("no sessions of other programs were found")
		return
	}
	for _, one := range s.Sessions.Sessions {
		mark := " "
		if one.Imported {
			mark = "*"
		}
		w.Line("%s %-8s %-36s %-20s %s", mark, one.Program, one.Session, one.Started, one.Title)
		w.Line("%v", w.Dim("           "+one.Cwd))
	}
	w.Line("%s; * is imported already. `ramet import --session ID` takes one, --all takes all.", text.Count(len(s.Sessions.Sessions), "session"))
}

// imports is the datum of import.
type imports struct{ public.Imports }

// Text implements printer.Datum.
func (i imports) Text(w *printer.Writer) {
	would := ""
	if i.Plan {
		would = "would be "
	}
	for _, one := range i.Imported {
		who := one.Session
		if one.Name != nil && *one.Name != "" {
			who = *one.Name
		} else if one.Agent != nil {
			who = *one.Agent
		}
		switch {
		case one.Entries == 0 && !one.New:
			w.Line("%s: nothing new in session %s of %s", who, one.Session, one.Program)
		default:
			w.Line("%s: %s %swritten from session %s of %s, %s; %d of %s", who, text.Count(one.Entries, "entry"), would, one.Session, one.Program,
				text.Count(one.Branches, "fork"), one.Taken, text.Count(int(one.Lines), "line"))
		}
		for _, why := range sortedKeys(one.Skipped) {
			w.Line("%v", w.Dim("  skipped "+text.Count(int(one.Skipped[why]), "line")+": "+why))
		}
		for _, kind := range sortedKeys(one.Unknown) {
			w.Line("%v", w.Dim("  kept as it came: "+text.Count(int(one.Unknown[kind]), "line")+" of a type that is not known here, "+text.Line(kind, 80)))
		}
		if u := one.Used; u != nil {
			w.Line("%v", w.Dim(fmt.Sprintf("  %d tokens, %s were used there", u.Tokens, llm.Money(u.Cost))))
		}
		for _, n := range one.Notes {
			w.Line("  %s", n)
		}
	}
	for _, one := range i.Failed {
		w.Line("not imported: %s: %s", one.Path, one.Why)
	}
	if len(i.Imported)+len(i.Failed) == 0 {
		w.Line("no sessions of other programs were found")
	}
}

func sortedKeys(m map[string]int64) []string {
	var out []string
	for k, n := range m {
		if n > 0 {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, strings.Compare)
	return out
}
