package operation

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/driver/foreign"
	"ramet/internal/model/llm"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

// ForeignProgram names a program whose sessions are imported, or is the path of a session.
type ForeignProgram string

// ImportInput chooses sessions of other programs.
type ImportInput struct {
	Program ForeignProgram `json:"program,omitempty" arg:"claude|codex|opencode|pi" help:"only sessions of this program; or the file of a session"`
	File    string         `json:"file,omitempty" arg:"FILE" help:"the file of a session"`
	List    bool           `json:"list,omitempty" help:"only list them"`
	All     bool           `json:"all,omitempty" help:"import all"`
	Session string         `json:"session,omitempty" value:"ID" help:"import the session with this ID"`
	Project Path           `json:"project,omitempty" value:"DIR" help:"only sessions that worked in DIR or below it"`
	DryRun  bool           `json:"dry_run,omitempty" help:"only show what would be done"`
}

// Check implements Checker.
func (in *ImportInput) Check() error {
	if in.List && (in.All || in.Session != "") {
		return Invalid("list", fault.Usage, "import: {list} goes with neither {all} nor {session}").Hint("leave one of them out")
	}
	if in.All && in.Session != "" {
		return Invalid("all", fault.Usage, "import: {all} and {session} are two choices").Hint("leave one of them out")
	}
	return nil
}

// Imported lists the sessions that were found, or what came of importing them.
type Imported struct {
	found *public.Sessions
	taken *public.Imports
}

// Import imports sessions of other programs.
var Import = Op[ImportInput, Imported]{
	Doc: Doc{Name: "import", Group: "history", Faces: CLI, Here: true, Summary: "Import sessions of other programs",
		Help: `Import sessions of Claude Code, Codex, opencode and pi into this workspace. Branches become
forks, sub-agents become children, and calls keep their results. Signed thinking is sent only to
the vendor it came from.

Without arguments, or with {list}, the sessions in those programs' usual folders are listed.
{all} imports all of them, {session} ID one, and FILE the one in a file. {project} DIR selects
those that worked in that folder or below it.

Proof starts with the import: every imported session has an entry with the program, the file and
its SHA-256, and "ramet verify --source FILE" checks the entries against the file. If the file has
grown, importing it again adds what is new. If it was rewritten, it becomes another agent. An
import never starts a turn. {dry_run} writes nothing.`},
	Run: func(ctx context.Context, e *Env, in ImportInput) (out Imported, err error) {
		if in.writes() && !in.DryRun {
			if err := session.NeedPerson(ctx, "import sessions", e.Own); err != nil {
				return out, err
			}
		}
		found, err := in.find(ctx, e)
		if err != nil {
			return out, err
		}
		known, err := e.History().Imports(ctx)
		if err != nil {
			return out, err
		}
		if in.writes() {
			out.taken, err = in.take(ctx, known, found)
		} else {
			out.found, err = in.list(ctx, known, found)
		}
		return out, err
	},
	Public: func(_ Face, out Imported) any {
		if out.taken != nil {
			return *out.taken
		}
		return valueOf(out.found)
	},
	Text: func(w *printer.Writer, _ ImportInput, out Imported) {
		if out.taken != nil {
			writeImports(w, out.taken)
		} else {
			writeForeign(w, out.found)
		}
	},
}

// writes reports whether sessions are imported, not only listed.
func (in ImportInput) writes() bool { return in.All || in.Session != "" || in.file() != "" }

// file returns the file that is named; empty: none is.
func (in ImportInput) file() string {
	if in.File == "" && !slices.Contains(foreign.Programs(), string(in.Program)) {
		return string(in.Program)
	}
	return in.File
}

// find lists what is asked for.
func (in ImportInput) find(ctx context.Context, e *Env) ([]foreign.Found, error) {
	if path := in.file(); path != "" {
		if !filepath.IsAbs(path) {
			path = filepath.Join(e.Session.Dir, path)
		}
		found, err := foreign.In(ctx, path)
		if f, ok := fault.Of(err); ok && f.Code == fault.NotFound {
			err = f.WithHint("%s", text.NearestHint(string(in.Program), foreign.Programs(), "name a file of a conversation, or a program: "+strings.Join(foreign.Programs(), ", ")))
		}
		if err == nil && in.File != "" && len(found) > 0 && found[0].Program != string(in.Program) {
			err = fault.New(fault.Usage, "%s is a session of %s, not of %s", path, found[0].Program, in.Program)
		}
		return found, err
	}
	programs := foreign.Programs()
	if in.Program != "" {
		programs = []string{string(in.Program)}
	}
	var out []foreign.Found
	for _, p := range programs {
		found, err := foreign.Find(ctx, p, e.Session.Getenv)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// chooses reports whether a session is wanted.
func (in ImportInput) chooses(s foreign.Session) bool {
	if in.Session != "" && s.ID != in.Session {
		return false
	}
	if in.Project == "" {
		return true
	}
	rel, err := filepath.Rel(string(in.Project), s.Cwd)
	return err == nil && filepath.IsLocal(rel)
}

// list describes the wanted sessions.
func (in ImportInput) list(ctx context.Context, known *session.Imports, found []foreign.Found) (*public.Sessions, error) {
	out := &public.Sessions{Sessions: []public.ForeignSession{}, Failed: []public.ImportFailure{}}
	for _, f := range found {
		s, err := foreign.Peek(ctx, f)
		switch {
		case err != nil && (ctx.Err() != nil || len(found) == 1):
			return nil, err
		case err != nil:
			out.Failed = append(out.Failed, public.ImportFailure{Path: f.Path, Session: s.ID, Why: err.Error()})
		case in.chooses(s):
			out.Sessions = append(out.Sessions, showForeign(s, known.Has(s)))
		}
	}
	return out, nil
}

func showForeign(s foreign.Session, imported bool) public.ForeignSession {
	out := public.ForeignSession{Program: s.Program, Session: s.ID, Path: s.Path, Cwd: s.Cwd, Title: text.Line(s.Called(), 120), Version: s.Version,
		Model: s.Model, Of: public.Optional(s.Of), Imported: imported}
	if !s.Started.IsZero() {
		out.Started = s.Started.UTC().Format(time.RFC3339)
	}
	return out
}

// take imports the wanted sessions. What cannot be read does not keep the others back.
func (in ImportInput) take(ctx context.Context, known *session.Imports, found []foreign.Found) (*public.Imports, error) {
	out := &public.Imports{Imported: []public.Import{}, Failed: []public.ImportFailure{}, Plan: in.DryRun}
	var first error
	for _, f := range found {
		s, err := foreign.Peek(ctx, f)
		if err == nil && !in.chooses(s) {
			continue
		}
		var done session.Import
		if err == nil {
			done, err = known.Take(ctx, f, in.DryRun)
		}
		if ctx.Err() != nil {
			return nil, err
		}
		if err != nil {
			first = cmp.Or(first, err)
			out.Failed = append(out.Failed, public.ImportFailure{Path: f.Path, Session: s.ID, Why: err.Error()})
			continue
		}
		out.Imported = append(out.Imported, showImport(done))
	}
	if len(out.Imported) == 0 && len(out.Failed) == 1 {
		return nil, first
	}
	if len(out.Imported)+len(out.Failed) == 0 && in.Session != "" {
		return nil, fault.New(fault.NotFound, "no session %.80s was found", in.Session).WithHint("`ramet import --list` lists them")
	}
	return out, nil
}

func showImport(i session.Import) public.Import {
	out := public.Import{ForeignSession: showForeign(i.Session, true), New: i.New, Entries: i.Entries, Branches: i.Branches, Lines: i.Lines, Taken: i.Taken,
		Skipped: i.Skipped, Unknown: i.Unknown, Notes: append([]string{}, i.Notes...)}
	if u := i.Used; u != nil {
		out.Used = &public.Spent{Tokens: u.Tokens, Cost: u.Cost}
	}
	if i.Agent.ID != "" {
		out.Agent, out.Name = public.Optional(string(i.Agent.ID)), public.Optional(i.Agent.Name)
	}
	return out
}

func writeForeign(w *printer.Writer, s *public.Sessions) {
	for _, one := range s.Failed {
		w.Line("not read: %s: %s", one.Path, one.Why)
	}
	if len(s.Sessions) == 0 {
		w.Line("no sessions of other programs were found")
		return
	}
	for _, one := range s.Sessions {
		mark := " "
		if one.Imported {
			mark = "*"
		}
		w.Line("%s %-8s %-36s %-20s %s", mark, one.Program, one.Session, one.Started, one.Title)
		w.Line("%v", w.Dim("           "+one.Cwd))
	}
	w.Line("%s; * is imported already. `ramet import --session ID` takes one, --all takes all.", text.Count(len(s.Sessions), "session"))
}

func writeImports(w *printer.Writer, i *public.Imports) {
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
		for _, why := range countedKeys(one.Skipped) {
			w.Line("%v", w.Dim("  skipped "+text.Count(int(one.Skipped[why]), "line")+": "+why))
		}
		for _, kind := range countedKeys(one.Unknown) {
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

func countedKeys(m map[string]int64) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(m)), func(k string) bool { return m[k] <= 0 })
}
