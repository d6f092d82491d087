package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

type trustFlags struct {
	list, yes, revoke bool
	accept            string
}

func trustCommand(l *Line) *cobra.Command {
	var f trustFlags
	c := &cobra.Command{
		Use:   "trust",
		Short: "Review what would act in this project, and accept it",
		Long: `List the files of the current project that would act, and ask for each: its
.ramet/config.toml, its instructions (AGENTS.override.md, AGENTS.md, CLAUDE.md, of
all folders, with what they import), and programs that its git configuration names.
For each: what it would do, how it differs from what you accepted before, and what in
it cannot be seen.

What you accept is kept, and used in exactly these bytes until you accept a change;
each turn tells you once that there is one. A link that leads out of the project is
not followed.

Without a terminal, --yes accepts everything, and --accept only what was listed
(see "digest" in --list --json).`,
		Args: CheckArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return trustCare(c.Context(), l, f) },
	}
	c.Flags().BoolVar(&f.list, "list", false, "only list")
	c.Flags().BoolVar(&f.yes, "yes", false, "accept without asking")
	c.Flags().StringVar(&f.accept, "accept", "", "accept without asking, if what would act has this digest")
	c.Flags().BoolVar(&f.revoke, "revoke", false, "end the trust")
	c.MarkFlagsMutuallyExclusive("list", "yes", "accept", "revoke")
	c.RegisterFlagCompletionFunc("accept", cobra.NoFileCompletions)
	return c
}

func trustCare(ctx context.Context, l *Line, f trustFlags) error {
	if !f.list {
		if err := l.Person("trust"); err != nil {
			return err
		}
	}
	g, err := l.Gate(ctx)
	if err != nil {
		return err
	}
	if f.revoke {
		if err := g.Revoke(ctx); err != nil {
			return err
		}
		return l.Print(trusted{Trust: public.Trust{Project: g.Project, Things: []public.Thing{}}})
	}
	r, err := g.Review()
	if err != nil {
		return err
	}
	shape, err := session.FormatReview(r)
	if err != nil {
		return err
	}
	listed := trusted{Trust: shape}
	if asked := f.yes || f.accept != ""; f.list || !asked && len(r.Changes()) == 0 {
		return l.Print(listed)
	}
	if f.accept == "" && !f.yes {
		if err := askTrust(l, listed); err != nil {
			return err
		}
		listed.shown = true
	}
	if f.accept == "" {
		f.accept = listed.Digest
	}
	if err := session.AcceptReview(ctx, g, r, f.accept); err != nil {
		return err
	}
	listed.Trusted, listed.Given = true, true
	return l.Print(listed)
}

// askTrust shows what would act and asks for it.
func askTrust(l *Line, listed trusted) error {
	if l.Password == nil || l.JSON {
		if err := l.Print(listed); err != nil {
			return err
		}
		return fault.New(fault.Untrusted, "no person is there to ask").
			WithHint("look at the list, then: ramet trust --yes, or --accept %s", listed.Digest)
	}
	(&printer.Printer{Out: l.Stderr, Color: l.Color(l.ErrTerminal), Now: l.Now}).Print(listed)
	if !l.Yes("Let this act? [y/N] ") {
		return fault.New(fault.Untrusted, "nothing was accepted")
	}
	return nil
}

// trusted is the datum of trust.
type trusted struct {
	public.Trust
	shown bool // the list was
}

func (d trusted) Text(w *printer.Writer) {
	if !d.shown {
		d.list(w)
	}
	switch {
	case d.Trusted && len(d.Things) > 0:
		w.Line("%s is trusted with what is listed", d.Project)
	case d.Trusted:
		w.Line("%s is trusted; nothing in it acts", d.Project)
	case len(d.Things) == 0 && d.Digest != "":
		w.Line("nothing in %s acts", d.Project)
	default:
		w.Line("%s is not trusted%s", d.Project, map[bool]string{true: " with its changes", false: ""}[d.Given])
	}
}

// list shows what acts.
func (d trusted) list(w *printer.Writer) {
	rows := [][]string{{"CHANGE", "KIND", "WHERE", "SIZE", "SHA256", "WHAT IT DOES"}}
	for _, t := range d.Things {
		hash, path, does := "-", t.Path, t.Does
		if t.SHA256 != nil {
			hash = (*t.SHA256)[:12]
		}
		if t.Link != nil {
			path += " -> " + *t.Link
		}
		if t.Refused != nil {
			does = "does nothing: " + *t.Refused
		}
		rows = append(rows, []string{t.Change, t.Kind, path, text.Count(t.Size, "byte"), hash, does})
	}
	if len(d.Things) > 0 {
		w.Table(rows)
	}
	for _, t := range d.Things {
		for n, m := range t.Invisible {
			if n == mostMarks {
				w.Line("! %s: and %d more that cannot be seen", text.Single(t.Path), len(t.Invisible)-n)
				break
			}
			w.Line("! %s %s", text.Single(t.Path), m)
		}
	}
	for _, t := range d.Things {
		showDiff(w, t)
	}
}

// What is shown of one thing at most.
const (
	mostMarks = 20
	mostLines = 400
)

func showDiff(w *printer.Writer, t public.Thing) {
	lines := strings.Split(strings.TrimSuffix(t.Diff, "\n"), "\n")
	if t.Diff == "" {
		return
	}
	for n, l := range lines {
		if n == mostLines {
			w.Line("… %d more lines; read %s", len(lines)-n, text.Single(t.Path))
			return
		}
		w.Line("%s", l)
	}
}
