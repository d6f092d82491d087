package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/chain"
	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/driver/foreign"
	"ramet/internal/operation"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

type exporting struct {
	format, output string
	to             string
	yes, alone     bool
	redact         []string
	noToolOutput   bool
}

func exportHistoryCommand(l *Line) *cobra.Command {
	var o exporting
	var c *cobra.Command
	c = l.command("export [AGENT]", "Write a conversation as JSON lines, Markdown or one HTML file", `Write the context of an agent (agent 0 if none is named) to standard output, or
into a new file with --output. jsonl has one object a line, of the same shape as
log --json; md is for people.

html is one file that needs no network: the conversation of the agent and of
its subtree, the tree, differences, costs, a search, and an address for each
message. It checks its own hashes in the browser and says whether it is valid.
Secrets are looked for first: what would go out is told on standard error, and
what is found stops the export unless --yes is given. --redact PATTERN (a regular
expression, or the word secrets for all that is found) replaces,
--no-tool-output leaves the results of calls out; both keep the proof of the
links.

--to claude|codex|pi writes the context as a session of that program, where it
looks for sessions of the agent's folder, and says how it is opened there; with
--output elsewhere. Thinking goes to its own vendor only.`, 0, 1, func(ctx context.Context, args []string) (printer.Datum, error) {
		if err := o.check(c); err != nil {
			return nil, err
		}
		ws, a, err := l.FindOr0(ctx, args)
		if err != nil {
			return nil, err
		}
		switch {
		case o.to != "":
			return o.session(ctx, l, ws, a)
		case o.format == "html":
			return o.html(ctx, l, ws, a)
		}
		return o.lines(ctx, l, ws, a)
	})
	c.ValidArgsFunction = l.CompleteAgents(1)
	f := c.Flags()
	f.StringVar(&o.format, "format", "jsonl", "jsonl, md or html")
	f.StringVar(&o.to, "to", "", "write a session of another `PROGRAM`: claude, codex or pi")
	f.StringVarP(&o.output, "output", "o", "", "write into this new `FILE`")
	f.BoolVar(&o.yes, "yes", false, "html: although secrets were found")
	f.StringArrayVar(&o.redact, "redact", nil, "html: replace what matches `PATTERN`; the word secrets: what is found (may be repeated)")
	f.BoolVar(&o.noToolOutput, "no-tool-output", false, "html: without the results of calls")
	f.BoolVar(&o.alone, "alone", false, "html: without its subtree")
	c.RegisterFlagCompletionFunc("to", cobra.FixedCompletions(foreign.Writes(), cobra.ShellCompDirectiveNoFileComp))
	c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"jsonl", "md", "html"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// check refuses what does not go together.
func (o exporting) check(c *cobra.Command) error {
	if formats := []string{"jsonl", "md", "html"}; !slices.Contains(formats, o.format) {
		return fault.New(fault.Usage, "export: unknown format %q", o.format).WithHint("%s", text.NearestHint(o.format, formats, "use jsonl, md or html"))
	}
	if o.to != "" && c.Flags().Changed("format") {
		return fault.New(fault.Usage, "export: --to and --format are two choices").WithHint("leave one of them out")
	}
	for _, flag := range []string{"yes", "redact", "no-tool-output", "alone"} {
		if c.Flags().Changed(flag) && o.format != "html" {
			return fault.New(fault.Usage, "export: --%s goes with --format html", flag)
		}
	}
	return nil
}

// lines writes the context one entry after the other.
func (o exporting) lines(ctx context.Context, l *Line, ws *session.Workspace, a agent.Agent) (printer.Datum, error) {
	if o.output == "" || o.output == "-" {
		return nil, o.write(ctx, l, ws, a, l.Stdout)
	}
	var size counter
	err := durable.Create(o.path(l), 0o600, func(to io.Writer) error { return o.write(ctx, l, ws, a, io.MultiWriter(to, &size)) })
	if err != nil {
		return nil, err
	}
	return exported{public.Exported{Path: o.path(l), Bytes: int64(size), Agents: 1, Entries: int(a.Total), Findings: []public.ExportFinding{}}}, nil
}

// counter counts the bytes that are written.
type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

func (o exporting) write(ctx context.Context, l *Line, ws *session.Workspace, a agent.Agent, to io.Writer) error {
	if o.format == "md" && !l.JSON {
		_, err := fmt.Fprintf(to, "# Agent %s\n\n%s, %s, %s in the context.\n", a.Label(), a.ID, a.Status, text.Count(int(a.Total), "message"))
		if err != nil {
			return err
		}
	}
	blob := func(h chain.Hash) ([]byte, error) { return ws.Store.Blob(ctx, h) }
	return ws.Store.View(ctx, func(log history.Log) error {
		return printLines(l, to, "messages", func(yield func(printer.Part, error) bool) {
			for e, err := range history.Play(ctx, log, a.ID) {
				part := func(p *printer.Printer) error {
					shape, err := public.ReadEntry(e, true, blob)
					if err != nil {
						return err
					}
					return exportEntry(p, shape, o.format)
				}
				if !yield(part, err) {
					return
				}
			}
		})
	})
}

// path is the file that is to be written.
func (o exporting) path(l *Line) string {
	if filepath.IsAbs(o.output) {
		return o.output
	}
	return filepath.Join(l.Dir, o.output)
}

func exportEntry(p *printer.Printer, e public.Entry, format string) error {
	if format == "md" && !p.JSON {
		return markdown(p.Out, e)
	}
	p.JSON = true
	return p.PrintLine(operation.LogEntry{Entry: e})
}

func markdown(to io.Writer, e public.Entry) error {
	var b strings.Builder
	by := e.Permitted()
	if by != "" {
		by = " · " + by
	}
	fmt.Fprintf(&b, "\n## %s\n\n<sub>message %d, %s%s</sub>\n", e.Kind, e.ID, e.CreatedAt, by)
	for _, p := range e.Parts {
		switch p.Type {
		case history.Text:
			fmt.Fprintf(&b, "\n%s\n", plainly(p.Text))
		case history.ToolCall:
			fmt.Fprintf(&b, "\n%s\n", fenceText("json", fmt.Sprintf("%s %s", p.Name, p.Args)))
		case history.Result:
			fmt.Fprintf(&b, "\n%s\n", fenceText("", p.Text))
		case history.Image, history.Document:
			fmt.Fprintf(&b, "\n(%s, %s, %d bytes)\n", p.Type, p.MediaType, len(p.Data))
		}
	}
	_, err := fmt.Fprint(to, text.Safe(b.String()))
	return err
}

// plainly returns a text as it is, or quoted where a reader could take some of it for another
// message, or where it would swallow those that follow.
func plainly(s string) string {
	open := "" // the marks of a block of code
	lines := strings.FieldsFunc(strings.ReplaceAll(s, "\r", "\n"), func(r rune) bool { return r == '\n' })
	for i, line := range lines {
		bare := strings.TrimSpace(line)
		marks := bare[:len(bare)-len(strings.TrimLeft(bare, bare[:min(len(bare), 1)]))]
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		block := len(marks) >= 3 && (marks[0] == '~' || marks[0] == '`' && !strings.Contains(bare[len(marks):], "`")) &&
			len(indent) < 4 && !strings.Contains(indent, "\t") // as CommonMark has it
		switch {
		case open != "":
			if block && marks[0] == open[0] && len(marks) >= len(open) && marks == bare {
				open = ""
			}
		case block:
			open = marks
		case strings.HasPrefix(bare, "<"), hasAny(strings.ToLower(bare), "<!--", "<sub", "<h1", "<h2", "<h3"):
			return fenceText("", s)
		case strings.HasPrefix(bare, "#") && isKind(strings.Trim(bare, "# \t")),
			i+1 < len(lines) && isKind(bare) && strings.Trim(lines[i+1], "-= \t") == "":
			return fenceText("", s)
		}
	}
	if open != "" {
		return fenceText("", s)
	}
	return s
}

func hasAny(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
}

// isKind reports whether a headline would be that of a message.
func isKind(s string) bool { return slices.Contains(history.Kinds(), history.Kind(strings.ToLower(s))) }

// fenceText quotes a text so that no line of it can end the quotation.
func fenceText(language, s string) string {
	marks := "```"
	for strings.Contains(s, marks) {
		marks += "`"
	}
	return marks + language + "\n" + strings.TrimSuffix(s, "\n") + "\n" + marks
}

// allSecrets is the pattern that stands for whatever is found.
const allSecrets = "secrets"

// html writes one file that proves itself.
func (o exporting) html(ctx context.Context, l *Line, ws *session.Workspace, a agent.Agent) (printer.Datum, error) {
	want := session.Exporting{Alone: o.alone, TranscriptHiding: foreign.TranscriptHiding{Outputs: o.noToolOutput}}
	for _, p := range o.redact {
		if p == allSecrets {
			want.Secrets = ws.Secrets
			continue
		}
		re, err := regexp.Compile(p)
		if err != nil {
			return nil, fault.New(fault.Usage, "export: --redact: %w", err).WithHint("it is a regular expression; \\Q…\\E takes words as they are")
		}
		want.Patterns = append(want.Patterns, re)
	}
	book, err := ws.History().Transcript(ctx, a, want)
	if err != nil {
		return nil, err
	}
	found := book.Find(ws.Secrets)
	var out bytes.Buffer
	if err := book.Write(&out); err != nil {
		return nil, err
	}
	l.Note(fmt.Sprintf("this goes out: %s of %s, %d bytes", text.Count(book.Entries(), "entry"), text.Count(len(book.Agents), "agent"), out.Len()))
	if err := o.stop(l, found); err != nil {
		return nil, err
	}
	if o.output == "" {
		_, err := l.Stdout.Write(out.Bytes())
		return nil, err
	}
	if err := durable.CreateFile(o.path(l), out.Bytes(), 0o600); err != nil {
		return nil, err
	}
	done := public.Exported{Path: o.path(l), Bytes: int64(out.Len()), Agents: len(book.Agents), Entries: book.Entries(),
		Findings: []public.ExportFinding{}, Head: public.Optional(book.Agents[0].Head)}
	for _, f := range found {
		done.Findings = append(done.Findings, public.ExportFinding{Message: int64(f.Message), Kind: string(f.Kind), Name: f.Name, Sure: f.Sure})
	}
	return exported{done}, nil
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

// session writes a session of another program.
func (o exporting) session(ctx context.Context, l *Line, ws *session.Workspace, a agent.Agent) (printer.Datum, error) {
	var out bytes.Buffer
	made, err := ws.History().WriteSession(ctx, a, o.to, &out)
	if err != nil {
		return nil, err
	}
	path, command := made.Place(l.Getenv)
	done := public.Exported{Bytes: int64(out.Len()), Agents: 1, Entries: int(a.Total), Findings: []public.ExportFinding{}, Program: &made.Program, Session: &made.ID}
	if o.output != "" {
		path = o.path(l)
	} else {
		done.Open = &command
		if err := durable.MakeFolder(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
	}
	if err := durable.CreateFile(path, out.Bytes(), 0o600); err != nil {
		return nil, err
	}
	done.Path = path
	return exported{done}, nil
}
