package operation

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/seal"
	"ramet/internal/base/text"
	"ramet/internal/core/registry"
	"ramet/internal/driver/foreign"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

// VerifyInput names what to compare the workspace with.
type VerifyInput struct {
	Checkpoint string `json:"checkpoint,omitempty" faces:"cli" help:"file made by \"ramet checkpoint\""`
	Source     Path   `json:"source,omitempty" faces:"cli" help:"the file that was imported"`
	Key        string `json:"key,omitempty" faces:"cli" help:"public key of the signer (default: this home's key)"`
}

// Verify checks the whole workspace.
var Verify = Op[VerifyInput, Verified]{
	Doc: Doc{Name: "verify", Group: "proof", Faces: CLI | MCP | Slash, Long: true, Effect: Reads,
		Summary: "Check every link, commitment, blob and mail message",
		Model:   "Check the whole workspace: every link, commitment, blob and mail message. The first damage is an error that says where it is.",
		Help: `Check the whole workspace: every link, commitment, blob, mail message and first entry, and every
field of the registry that the histories record. The first damage is reported with agent and message
id, exit code 5.

Without {checkpoint}, verify can't detect that a program with access to the database removed the newest
entries or rewrote everything. Store the output of "ramet checkpoint" elsewhere, and pass it here.

{source} FILE also checks that what was imported from this file (ramet import) is exactly what the
file contains, entry by entry.`},
	Run: func(ctx context.Context, e *Env, in VerifyInput) (out Verified, err error) {
		var heads []registry.Head
		if in.Checkpoint != "" {
			if heads, err = openCheckpoint(ctx, e.Workspace, in.Checkpoint, in.Key); err != nil {
				return out, err
			}
			out.Checkpoint = &in.Checkpoint
		}
		if out.Report, err = auditRecords(ctx, e.Workspace, heads); err != nil {
			return out, err
		}
		if out.OK = true; in.Source != "" {
			out.Sources, err = compareSources(ctx, e.Workspace, string(in.Source))
		}
		return out, err
	},
	Text: writeVerified,
}

// Verified reports what a check found.
type Verified struct {
	OK bool `json:"ok"`
	registry.Report
	Checkpoint *string          `json:"checkpoint"`
	Sources    []public.Sourced `json:"sources,omitempty"`
}

// auditRecords checks the records, and at the same time the database itself. Damage of a record says more.
func auditRecords(ctx context.Context, ws *session.Workspace, heads []registry.Head) (registry.Report, error) {
	asked, cancel := context.WithCancel(ctx)
	defer cancel()
	answer := make(chan error, 1)
	go func() { answer <- checkDatabase(asked, ws) }()
	report, err := ws.Store.Audit(ctx, heads)
	if err != nil {
		cancel()
		<-answer
		return report, err
	}
	return report, <-answer
}

// checkDatabase asks the database itself: a damaged index changes what is found, but no record.
func checkDatabase(ctx context.Context, ws *session.Workspace) error {
	d, err := ws.Store.Describe(ctx)
	if err != nil || len(d.Problems) == 0 {
		return err
	}
	return fault.New(fault.StorageCorrupt, "%s: %s", d.Place, d.Problems[0]).
		WithHint("restore it from a backup")
}

// openCheckpoint checks signature and workspace of a checkpoint.
func openCheckpoint(ctx context.Context, ws *session.Workspace, path, key string) ([]registry.Head, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fault.New(fault.NotFound, "read checkpoint: %w", err).
			WithHint("give the file that keeps what `ramet checkpoint` printed")
	}
	// The signed note ends with its signatures; an empty line later come the heads.
	note, block := data, []byte(nil)
	if sig := bytes.Index(data, []byte("\n\n— ")); sig >= 0 {
		if end := bytes.Index(data[sig+2:], []byte("\n\n")); end >= 0 {
			note, block = data[:sig+2+end+1], data[sig+2+end+2:]
		}
	}
	signed, err := seal.Open(note, key)
	if err != nil {
		return nil, err
	}
	zero, heads, err := registry.ParseCheckpoint(signed, string(block))
	if err != nil {
		return nil, err
	}
	if have, err := ws.Store.Zero(ctx); err != nil {
		return nil, err
	} else if have.ID != zero {
		return nil, fault.New(fault.HistoryDamaged, "the checkpoint is of a workspace whose agent 0 is %s, here it is %s", zero, have.ID).
			WithHint("it belongs to another workspace, or this one was replaced")
	}
	return heads, nil
}

// compareSources compares imports with their file.
func compareSources(ctx context.Context, ws *session.Workspace, path string) ([]public.Sourced, error) {
	found, err := foreign.In(ctx, path)
	if err != nil {
		return nil, err
	}
	var out []public.Sourced
	for _, f := range found {
		s, err := ws.History().CompareSource(ctx, f)
		if fault.Is(err, fault.NotFound) && len(found) > 1 {
			continue // of a database, others were
		}
		if err != nil {
			return nil, err
		}
		out = append(out, public.Sourced{Agent: string(s.Agent.ID), Program: s.Imported.Program, Session: s.Imported.Session, SHA256: s.Imported.SHA256,
			Entries: s.Entries, Lines: s.Lines, Redacted: s.Redacted, Since: s.Since})
	}
	if len(out) == 0 {
		return nil, fault.New(fault.NotFound, "nothing of %s was imported into this workspace", path).WithHint("`ramet import FILE` does it")
	}
	return out, nil
}

func writeVerified(w *printer.Writer, _ VerifyInput, v Verified) {
	w.Line("ok: %s, %s, %s, %s", text.Count(v.Agents, "agent"), text.Count(v.Messages, "entry"), text.Count(v.Blobs, "blob"), text.Count(v.Letters, "mail message"))
	if v.Redacted > 0 {
		w.Line("%s redacted", text.Count(v.Redacted, "entry"))
	}
	for _, s := range v.Sources {
		w.Line("%s of session %s are what the file says (SHA-256 %s)", text.Count(s.Entries, "entry"), s.Session, s.SHA256)
		if s.Since > 0 {
			w.Line("the file has grown by %s since: `ramet import` takes them", text.Count(int(s.Since), "byte"))
		}
	}
	if v.Checkpoint != nil {
		w.Line("all %s of the checkpoint are here", text.Count(v.Heads, "head"))
	} else {
		w.Line("%v", w.Dim("not checked against a checkpoint: cut tails and full rewrites would not show"))
	}
}

// Checkpointed is a signed note over all histories.
type Checkpointed struct {
	Note   string `json:"note"`
	Heads  string `json:"heads"`
	Key    string `json:"key"`
	Agents int    `json:"agents"`
}

// Checkpoint signs the newest entry of every history.
var Checkpoint = Op[NoInput, Checkpointed]{
	Doc: Doc{Name: "checkpoint", Group: "proof", Faces: CLI, Effect: Reads, Summary: "Print a signed checkpoint of all histories, to keep elsewhere",
		Help: `Print a signed checkpoint of the newest entry of every history. Keep it where those who can
write to the database can't change it: "ramet verify --checkpoint FILE" then detects removed
entries and rewritten histories.`},
	Run: signCheckpoint,
	Text: func(w *printer.Writer, _ NoInput, out Checkpointed) { // the file to keep
		w.Line("%s", strings.TrimSuffix(out.Note, "\n"))
		w.Line("")
		w.Block("", out.Heads)
	},
}

func signCheckpoint(ctx context.Context, e *Env, _ NoInput) (out Checkpointed, err error) {
	key, err := session.SigningKey(e.Home)
	if err != nil {
		return out, err
	}
	zero, err := e.Store.Zero(ctx)
	if err != nil {
		return out, err
	}
	heads, err := e.Store.Heads(ctx)
	if err != nil {
		return out, err
	}
	text, block := registry.FormatCheckpoint(zero.ID, heads)
	note, err := key.Sign(text)
	return Checkpointed{Note: string(note), Heads: block, Key: key.Verifier(), Agents: len(heads)}, err
}

// BackupInput names the file of a backup.
type BackupInput struct {
	Path Path `json:"path" arg:"FILE" help:"the new file"`
}

// Backup copies the workspace into a new file.
var Backup = Op[BackupInput, BackupInput]{
	Doc: Doc{Name: "backup", Group: "proof", Faces: CLI, Effect: Reads, Summary: "Copy the workspace into a new file",
		Help: `Copy the workspace, as of one moment, to a new SQLite file that you can open with --db FILE,
even if the workspace itself is in PostgreSQL. Writers are not blocked. An existing file is
never overwritten.`},
	Run: func(ctx context.Context, e *Env, in BackupInput) (BackupInput, error) {
		return in, e.Store.Backup(ctx, string(in.Path))
	},
	Text: func(w *printer.Writer, _ BackupInput, out BackupInput) {
		w.Line("workspace copied to %s", string(out.Path))
	},
}

// GCInput chooses what to drop. Without any choice that is the blobs.
type GCInput struct {
	Files     bool     `json:"files,omitempty" help:"states of files"`
	Worktrees bool     `json:"worktrees,omitempty" help:"worktrees of agents that have ended"`
	Caches    bool     `json:"caches,omitempty" help:"cached answers of models, and caches of commands"`
	All       bool     `json:"all,omitempty" help:"blobs, states, worktrees and caches"`
	Evidence  []string `json:"evidence,omitempty" help:"evidence of this finished run"`
	Artifacts []string `json:"artifacts,omitempty" help:"evidence and artifacts of this finished run"`
	Keep      *string  `json:"keep,omitempty" help:"keep states and caches that are newer than this age (36h, 30d) or date (default 30d)"`
	Max       *Size    `json:"max,omitempty" help:"with {files}: limit of the total size (500MB; default 2GB)"`
	DryRun    bool     `json:"dry_run,omitempty" help:"only show what would be deleted"`
}

// Check implements Checker.
func (in *GCInput) Check() error {
	if !in.choosesKinds() && !in.Files && !in.DryRun && (in.Keep != nil || in.Max != nil) {
		return Invalid("keep", fault.Usage, "gc: {keep} and {max} go with {files}, {caches} or {all}").Hint("add one of them, or leave it out")
	}
	_, err := in.since(time.Now())
	return err
}

// choosesKinds reports whether the input names more than states of files.
func (in *GCInput) choosesKinds() bool {
	return in.All || in.Worktrees || in.Caches || len(in.Evidence)+len(in.Artifacts) > 0
}

func (in *GCInput) keep() string {
	if in.Keep == nil {
		return "30d"
	}
	return *in.Keep
}

// since returns the time from which states and caches stay.
func (in *GCInput) since(now time.Time) (time.Time, error) {
	since, err := registry.ParseSince(in.keep(), now)
	if err != nil || in.keep() == "" {
		return since, Invalid("keep", fault.Usage, "{keep} %.40q is neither a date nor an age", in.keep()).Hint("write 30d, 36h or 2026-11-01")
	}
	return since, nil
}

// Collected counts the things that a gc dropped, or would drop. One of its fields is set.
type Collected struct {
	Blobs *registry.Swept
	Files *CollectedStates
	Parts *public.Swept
}

// CollectedStates counts states of files that were dropped, or would be.
type CollectedStates struct {
	States  int    `json:"states"`  // that can be restored no more
	Kept    int    `json:"kept"`    // that can
	Objects int    `json:"objects"` // contents and folders that only they named
	Bytes   int64  `json:"bytes"`
	Disk    int64  `json:"disk"` // what all states took before
	Plan    bool   `json:"plan"` // nothing was done
	Keep    string `json:"keep"`
	Max     int64  `json:"max"`
}

// GC drops what is not needed any more.
var GC = Op[GCInput, Collected]{
	Doc: Doc{Name: "gc", Group: "proof", Faces: CLI, Effect: Destroys,
		Summary: "Delete unused data: blobs, old states of files, caches, worktrees of dead agents",
		Help: `Delete blobs that no message refers to. Other data is deleted with {files}, {worktrees} and
{caches}; {all} means all three and the blobs. {dry_run} shows what would be deleted, its
size and the reason; alone, it shows this for {all}.

{files} deletes recorded states of files: those older than {keep}, and the oldest others while
the total exceeds {max}. The newest state of every agent and folder is kept, and so is everything
from the last hour. Entries that refer to a deleted state stay, but its files can't be
restored any more.

{worktrees} removes the worktrees of agents that have ended. A worktree with uncommitted changes
or unmerged commits is kept and listed. Files that git ignores are moved to the trash, which "ramet
trash empty" empties. {caches} deletes cached answers of models and caches of commands that were
not used within {keep}.

{evidence} RUN deletes the recorded requests and answers of a finished run; {artifacts} RUN also
deletes every file that its log names. This is recorded in the log, so "ramet run verify" reports
them as removed, not as changed. Data of a run is deleted only if you name the run.`},
	Run:  collect,
	Text: writeCollected,
	Public: func(_ Face, out Collected) any {
		switch {
		case out.Blobs != nil:
			return *out.Blobs
		case out.Files != nil:
			return *out.Files
		case out.Parts != nil:
			return *out.Parts
		}
		return public.Swept{}
	},
}

func collect(ctx context.Context, e *Env, in GCInput) (Collected, error) {
	since, err := in.since(e.Now())
	if err != nil {
		return Collected{}, err
	}
	states := session.Sweep{Since: since, Most: 2 << 30, Plan: in.DryRun}
	if in.Max != nil {
		states.Most = int64(*in.Max)
	}
	switch kinds := in.choosesKinds(); {
	case in.Files && !kinds:
		gone, err := e.Care().GCFiles(ctx, states)
		return Collected{Files: &CollectedStates{States: gone.States, Kept: gone.Kept, Objects: gone.Objects, Bytes: gone.Bytes, Disk: gone.Disk,
			Plan: in.DryRun, Keep: in.keep(), Max: states.Most}}, err
	case !kinds && !in.DryRun:
		gone, err := e.Store.GC(ctx)
		return Collected{Blobs: &gone}, err
	case in.All || !kinds:
		in.Files, in.Worktrees, in.Caches, in.All = true, true, true, true
	}
	out := public.Swept{Plan: in.DryRun, Parts: []public.SweptPart{}}
	sweep := func(wanted bool, do func() (public.SweptPart, error)) {
		if !wanted || err != nil {
			return
		}
		var p public.SweptPart
		if p, err = do(); err == nil {
			out.Parts = append(out.Parts, p)
			out.Bytes += p.Bytes
		}
	}
	sweep(in.All, func() (public.SweptPart, error) { return e.Care().SweepBlobs(ctx, in.DryRun) })
	sweep(in.Files, func() (public.SweptPart, error) { return e.Care().SweepStates(ctx, states) })
	sweep(in.Worktrees, func() (public.SweptPart, error) { return e.Care().SweepTrees(ctx, in.DryRun) })
	sweep(in.Caches, func() (public.SweptPart, error) { return e.Care().SweepCaches(ctx, since, in.DryRun) })
	for i, runs := range [][]string{in.Evidence, in.Artifacts} {
		for _, list := range runs {
			for id := range strings.SplitSeq(list, ",") {
				sweep(true, func() (public.SweptPart, error) { return e.Care().SweepRun(ctx, id, i == 1, in.DryRun) })
			}
		}
	}
	if err != nil && len(out.Parts) > 0 {
		err = Incomplete{err}
	}
	return Collected{Parts: &out}, err
}

func writeCollected(w *printer.Writer, in GCInput, out Collected) {
	did := "dropped"
	if in.DryRun {
		did = "would drop"
	}
	if b := out.Blobs; b != nil {
		w.Line("%s %s, %d bytes", did, text.Count(int(b.Blobs), "blob"), b.Bytes)
		return
	}
	if f := out.Files; f != nil {
		w.Line("%s %s of files, %s, %d bytes of %d", did, text.Count(f.States, "state"), text.Count(f.Objects, "content"), f.Bytes, f.Disk)
		if f.States > 0 {
			w.Line("%v", w.Dim("older than "+f.Keep+", or over "+strconv.FormatInt(f.Max, 10)+" bytes; "+text.Count(f.Kept, "state")+" stay"))
		}
		return
	}
	writeTable(w, "", []string{"WHAT", "COUNT", "BYTES", "WHY"}, out.Parts.Parts, func(p public.SweptPart) []string {
		return []string{p.What, strconv.Itoa(p.Count), strconv.FormatInt(p.Bytes, 10), text.Safe(p.Why)}
	})
	for _, p := range out.Parts.Parts {
		for _, k := range p.Kept {
			w.Line("kept  %s  %v", text.Name(k.Path), w.Dim(text.Safe(k.Why)))
		}
	}
	w.Line("%s %d bytes", did, out.Parts.Bytes)
}

// UsageInput chooses calls of models, and how they are added up.
type UsageInput struct {
	By    *Grouping `json:"by,omitempty" help:"agent, subtree, model or day (default: agent)"`
	Since *string   `json:"since,omitempty" help:"only calls since a date (2026-11-01) or within an age (36h, 7d)"`
	Disk  bool      `json:"disk,omitempty" faces:"cli" help:"show the disk space that the workspace uses"`
}

// Grouping is a way to add up calls.
type Grouping string

// Words implements Words.
func (Grouping) Words() []string { return registry.Groupings }

// Refuse implements Refuser.
func (Grouping) Refuse(word string) error { return registry.CheckGrouping(word) }

// Check implements Checker.
func (in *UsageInput) Check() error {
	if in.Disk && (in.By != nil || in.Since != nil) {
		return Invalid("disk", fault.Usage, "usage: {disk} goes with neither {by} nor {since}").Hint("leave one of them out")
	}
	if _, err := registry.ParseSince(valueOf(in.Since), time.Time{}); err != nil {
		return Invalid("since", fault.Usage, "{since} %.40q is neither a date nor an age", *in.Since).Hint("write 2026-11-01, 36h or 7d")
	}
	return nil
}

// Usage adds up calls of models.
var Usage = Op[UsageInput, Used]{
	Doc: Doc{Name: "usage", Aliases: "cost", Group: "models", ID: "getUsage", Route: "GET /api/v1/usage 200", Faces: CLI | HTTP | Slash, Effect: Reads,
		Summary: "Show tokens and cost of model calls",
		Help: `Show the totals of model calls: number, tokens read and written, tokens read from and written to
caches, cost and time. Every call counts once, even though forks share histories. For agents that
other programs drive, what went through ramet's gateway counts; without it, what the program reports.
Both are shown.

{disk} shows the disk space that the workspace uses instead.

{by} agent (default), subtree (every agent with its descendants), model, or day (UTC). {since} takes a
date (2026-11-01) or an age (36h, 7d).`},
	Run: addUpUsage,
	Public: func(_ Face, out Used) any {
		if out.disk != nil {
			return *out.disk
		}
		return out.calls
	},
	Text: func(w *printer.Writer, _ UsageInput, out Used) {
		if out.disk != nil {
			writeDiskUsage(w, *out.disk)
			return
		}
		writeSpending(w, out.calls)
	},
}

// Used holds the sums of calls, or the sizes on the disk.
type Used struct {
	calls registry.Spending
	disk  *DiskUsage
}

// DiskUsage lists the files and folders of the workspace with their sizes.
type DiskUsage struct {
	Places []session.DiskPlace `json:"places"`
	Total  int64               `json:"total"`
}

func addUpUsage(ctx context.Context, e *Env, in UsageInput) (out Used, err error) {
	if in.Disk {
		disk := DiskUsage{Places: e.Care().Disks()}
		for _, d := range disk.Places {
			disk.Total += d.Bytes
		}
		return Used{disk: &disk}, nil
	}
	since, err := registry.ParseSince(valueOf(in.Since), e.Now())
	if err != nil {
		return out, err
	}
	by := "agent"
	if in.By != nil {
		by = string(*in.By)
	}
	out.calls, err = registry.AddUp(ctx, e.Store, by, since)
	return out, err
}

func writeDiskUsage(w *printer.Writer, d DiskUsage) {
	rows := [][]string{{"WHAT", "BYTES", "WHERE"}}
	for _, p := range d.Places {
		rows = append(rows, []string{p.What, strconv.FormatInt(p.Bytes, 10), p.Where})
	}
	w.Table(append(rows, []string{"total", strconv.FormatInt(d.Total, 10), ""}))
}

func writeSpending(w *printer.Writer, d registry.Spending) {
	if len(d.Rows) == 0 {
		w.Line("no calls of models")
		return
	}
	rows := [][]string{{strings.ToUpper(d.By), "CALLS", "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE", "COST", "TIME"}}
	driven := d.Total.Wire != nil || d.Total.Reported != nil
	if driven {
		rows[0] = append(rows[0], "WIRE", "REPORTED")
	}
	if d.Total.Imported != nil {
		rows[0] = append(rows[0], "BEFORE IMPORT")
	}
	for _, r := range append(slices.Clip(d.Rows), d.Total) {
		calls := strconv.FormatInt(r.Calls, 10)
		if r.Failed > 0 {
			calls += fmt.Sprintf(" (%d failed)", r.Failed)
		}
		cost := r.Cost.String()
		if r.Unpriced > 0 {
			cost += fmt.Sprintf(" + %s of unknown price", text.Count(int(r.Unpriced), "call"))
		}
		row := []string{r.Key, calls, strconv.FormatInt(r.Input, 10), strconv.FormatInt(r.Output, 10),
			strconv.FormatInt(r.CacheRead, 10), strconv.FormatInt(r.CacheWrite, 10), cost,
			(time.Duration(r.TookMS) * time.Millisecond).String()}
		if driven {
			row = append(row, formatSpent(r.Wire), formatSpent(r.Reported))
		}
		if d.Total.Imported != nil {
			row = append(row, formatSpent(r.Imported))
		}
		rows = append(rows, row)
	}
	w.Table(rows)
}

// formatSpent returns tokens and cost of one account.
func formatSpent(s *registry.SpentBy) string {
	if s == nil {
		return "-"
	}
	return strconv.FormatInt(s.Tokens, 10) + " (" + s.Cost.String() + ")"
}
