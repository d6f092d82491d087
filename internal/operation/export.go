package operation

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"ramet/internal/base/chain"
	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/driver/foreign"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

// ExportFormat is a format of an exported conversation.
type ExportFormat string

// Words implements Words.
func (ExportFormat) Words() []string { return []string{"jsonl", "md", "html"} }

// Refuse implements Refuser.
func (f ExportFormat) Refuse(word string) error {
	return Invalid("format", fault.Usage, "export: unknown format %q", word).Hint(text.NearestHint(word, f.Words(), "use jsonl, md or html"))
}

// ExportTarget is a program whose sessions ramet writes.
type ExportTarget string

// ExportInput chooses a conversation and its form.
type ExportInput struct {
	Agent        AgentRef      `json:"agent,omitempty" arg:"AGENT" default:"0" help:"the agent"`
	Format       *ExportFormat `json:"format,omitempty" help:"jsonl, md or html (default \"jsonl\")"`
	To           ExportTarget  `json:"to,omitempty" value:"PROGRAM" help:"write a session of PROGRAM: claude, codex or pi"`
	Output       Path          `json:"output,omitempty" short:"o" value:"FILE" help:"write to this new FILE"`
	Yes          bool          `json:"yes,omitempty" help:"html: even if secrets were found"`
	Redact       []string      `json:"redact,omitempty" value:"PATTERN" help:"html: replace matches of PATTERN, or, for the word secrets, all secrets found (may be repeated)"`
	NoToolOutput bool          `json:"no_tool_output,omitempty" help:"html: without results of calls"`
	Alone        bool          `json:"alone,omitempty" help:"html: without the subtree"`
}

// Check implements Checker.
func (in *ExportInput) Check() error {
	if in.To != "" && in.Format != nil {
		return Invalid("to", fault.Usage, "export: {to} and {format} are two choices").Hint("leave one of them out")
	}
	for _, f := range []struct {
		name  string
		given bool
	}{{"yes", in.Yes}, {"redact", in.Redact != nil}, {"no_tool_output", in.NoToolOutput}, {"alone", in.Alone}} {
		if f.given && valueOf(in.Format) != "html" {
			return Invalid(f.name, fault.Usage, "export: {%s} goes with {format} html", f.name)
		}
	}
	return nil
}

// Export writes a conversation.
var Export = Op[ExportInput, ExportStream]{
	Doc: Doc{Name: "export", Group: "history", Faces: CLI, Effect: Reads, Here: true, Summary: "Write a conversation as JSON lines, Markdown or one HTML file",
		Help: `Write the context of an agent (default: agent 0) to standard output, or to a new file with
{output}. jsonl has one object per line, in the format of log --json; md is for people.

html is a single file that works offline. It contains the conversation of the agent and its
subtree, the tree, diffs, costs and a search, and a link to every message. It verifies its own
hashes in the browser and shows the result.

Everything is scanned for secrets first. What is found is reported on standard error, and stops
the export unless you give {yes}. {redact} PATTERN (a regular expression, or "secrets" for
everything that the scan finds) replaces matches, and {no_tool_output} omits results of calls;
the hashes still verify with both.

{to} claude|codex|pi writes the context as a session of that program, to the folder where
it looks for sessions, and prints how to open it; with {output}, to another place. Thinking is
exported only to the vendor it came from.`},
	On: func(ctx context.Context, e *Env, a agent.Agent, in ExportInput) (out ExportStream, err error) {
		x := exporter{in, e, a}
		switch {
		case in.To != "":
			return x.writeSession(ctx)
		case valueOf(in.Format) == "html":
			return x.writeHTML(ctx)
		}
		return x.writeEntries(ctx), nil
	},
}

// ExportStream holds what is exported, or describes the file that was written.
type ExportStream struct {
	parts iter.Seq2[printer.Part, error]
}

// Parts implements printer.Stream.
func (s ExportStream) Parts() (string, iter.Seq2[printer.Part, error]) { return "messages", s.parts }

// showExport returns the one part that something is.
func showExport(part printer.Part) ExportStream {
	return ExportStream{func(yield func(printer.Part, error) bool) { yield(part, nil) }}
}

func describeExport(done public.Exported) printer.Part {
	return func(p *printer.Printer) error { return p.Print(exported{done}) }
}

// exporter exports the conversation of one agent.
type exporter struct {
	ExportInput
	env   *Env
	agent agent.Agent
}

// writeEntries writes the context one entry after the other.
func (x exporter) writeEntries(ctx context.Context) ExportStream {
	if x.Output == "" || x.Output == "-" {
		return ExportStream{func(yield func(printer.Part, error) bool) {
			if err := x.readEntries(ctx, func(part printer.Part) bool { return yield(part, nil) }); err != nil {
				yield(nil, err)
			}
		}}
	}
	return ExportStream{func(yield func(printer.Part, error) bool) {
		var size counter
		stopped := false
		err := durable.Create(string(x.Output), 0o600, func(to io.Writer) error {
			into := io.MultiWriter(to, &size)
			err := x.readEntries(ctx, func(part printer.Part) bool {
				stopped = !yield(func(p *printer.Printer) error {
					q := *p
					q.Out = into
					return part(&q)
				}, nil)
				return !stopped
			})
			if err == nil && stopped {
				err = context.Canceled // nothing is made of a part
			}
			return err
		})
		if stopped {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
		yield(describeExport(public.Exported{Path: string(x.Output), Bytes: int64(size), Agents: 1, Entries: int(x.agent.Total), Findings: []public.ExportFinding{}}), nil)
	}}
}

// counter counts the bytes that are written.
type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// readEntries passes on the parts of a conversation, until do returns false.
func (x exporter) readEntries(ctx context.Context, do func(printer.Part) bool) error {
	markdown := valueOf(x.Format) == "md"
	begin := func(p *printer.Printer) error {
		if p.JSON || !markdown {
			return nil
		}
		_, err := fmt.Fprintf(p.Out, "# Agent %s\n\n%s, %s, %s in the context.\n", x.agent.Label(), x.agent.ID, x.agent.Status, text.Count(int(x.agent.Total), "message"))
		return err
	}
	if markdown && !do(begin) {
		return nil
	}
	blob := func(h chain.Hash) ([]byte, error) { return x.env.Store.Blob(ctx, h) }
	return x.env.Store.View(ctx, func(log history.Log) error {
		for e, err := range history.ReadAhead(history.Play(ctx, log, x.agent.ID)) {
			if err != nil {
				return err
			}
			part := func(p *printer.Printer) error {
				shape, err := public.ReadEntry(e, true, blob)
				if err != nil {
					return err
				}
				if markdown && !p.JSON {
					return writeMarkdown(p.Out, shape)
				}
				q := *p
				q.JSON = true
				return q.PrintLine(LogEntry{shape})
			}
			if !do(part) {
				return nil
			}
		}
		return nil
	})
}

func writeMarkdown(to io.Writer, e public.Entry) error {
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

// tags matches HTML that could look like another message, or hide those that follow.
var tags = text.Regexp(`(?i)<!--|<sub|<h[123]`)

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
		case strings.HasPrefix(bare, "<"), tags().MatchString(bare):
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

// writeHTML writes one file that proves itself.
func (x exporter) writeHTML(ctx context.Context) (none ExportStream, err error) {
	want := session.Exporting{Alone: x.Alone, TranscriptHiding: foreign.TranscriptHiding{Outputs: x.NoToolOutput}}
	for _, p := range x.Redact {
		if p == allSecrets {
			want.Secrets = x.env.Secrets
			continue
		}
		re, err := regexp.Compile(p)
		if err != nil {
			return none, Invalid("redact", fault.Usage, "export: {redact}: %w", err).Hint("it is a regular expression; \\Q…\\E takes words as they are")
		}
		want.Patterns = append(want.Patterns, re)
	}
	book, err := x.env.History().Transcript(ctx, x.agent, want)
	if err != nil {
		return none, err
	}
	found := book.Find(x.env.Secrets)
	var out bytes.Buffer
	if err := book.Write(&out); err != nil {
		return none, err
	}
	x.env.Tell(fmt.Sprintf("this goes out: %s of %s, %d bytes", text.Count(book.Entries(), "entry"), text.Count(len(book.Agents), "agent"), out.Len()))
	if err := x.checkFindings(found); err != nil {
		return none, err
	}
	if x.Output == "" {
		return showExport(func(p *printer.Printer) error { _, err := p.Out.Write(out.Bytes()); return err }), nil
	}
	if err := durable.CreateFile(string(x.Output), out.Bytes(), 0o600); err != nil {
		return none, err
	}
	done := public.Exported{Path: string(x.Output), Bytes: int64(out.Len()), Agents: len(book.Agents), Entries: book.Entries(),
		Findings: []public.ExportFinding{}, Head: public.Optional(book.Agents[0].Head)}
	for _, f := range found {
		done.Findings = append(done.Findings, public.ExportFinding{Message: int64(f.Message), Kind: string(f.Kind), Name: f.Name, Sure: f.Sure})
	}
	return showExport(describeExport(done)), nil
}

// maxFindings limits the findings that are listed one by one.
const maxFindings = 50

// checkFindings lists the secrets that were found, and refuses unless that was asked for.
func (x exporter) checkFindings(found []foreign.TranscriptFinding) error {
	for i, f := range found {
		if i == maxFindings {
			x.env.Tell(fmt.Sprintf("and %d more", len(found)-maxFindings))
			break
		}
		maybe := ""
		if !f.Sure {
			maybe = " (perhaps)"
		}
		x.env.Tell(text.Line(fmt.Sprintf("message %d, %s: %s%s", int64(f.Message), f.Kind, f.Name, maybe), 400))
	}
	if len(found) == 0 || x.Yes {
		return nil
	}
	return fault.New(fault.Denied, "nothing was written: %s would go out", text.Count(len(found), "secret")).
		WithHint("--redact secrets replaces them, --no-tool-output leaves outputs out, --yes writes them all the same")
}

// exported describes an export into a file.
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

// writeSession writes a session of another program.
func (x exporter) writeSession(ctx context.Context) (none ExportStream, err error) {
	var out bytes.Buffer
	made, err := x.env.History().WriteSession(ctx, x.agent, string(x.To), &out)
	if err != nil {
		return none, err
	}
	path, command := made.Place(x.env.Session.Getenv)
	done := public.Exported{Bytes: int64(out.Len()), Agents: 1, Entries: int(x.agent.Total), Findings: []public.ExportFinding{}, Program: &made.Program, Session: &made.ID}
	if x.Output != "" {
		path = string(x.Output)
	} else {
		done.Open = &command
		if err := durable.MakeFolder(filepath.Dir(path), 0o700); err != nil {
			return none, err
		}
	}
	if err := durable.CreateFile(path, out.Bytes(), 0o600); err != nil {
		return none, err
	}
	done.Path = path
	return showExport(describeExport(done)), nil
}
