package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manual is one page for each command: ramet.1, ramet-run.1, ramet-run-show.1.
func manual(root *cobra.Command, version string, date time.Time) (tree Tree) {
	root.InitDefaultHelpFlag()
	every(root, func(c *cobra.Command) {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-")
		tree = append(tree, File{Path: pages + name + ".1", Mode: 0o644, Data: []byte(page(c, name, version, date))})
	})
	return tree
}

func page(c *cobra.Command, name, version string, date time.Time) string {
	var b strings.Builder
	// A date is digits and hyphens that stay hyphens: mandoc reads no other.
	fmt.Fprintf(&b, ".TH %s 1 %q %s %s\n", quoted(strings.ToUpper(name)), date.Format(time.DateOnly),
		quoted("ramet "+version), quoted("ramet"))
	// Commands are to be copied from the page: no words are cut, no lines spread.
	b.WriteString(".nh\n.ad l\n")
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	if long := strings.TrimSpace(c.Long); long != "" {
		b.WriteString(".SH DESCRIPTION\n" + literal(long))
	}
	if c.Example != "" {
		b.WriteString(".SH EXAMPLES\n" + literal(strings.Trim(c.Example, "\n")))
	}
	options(&b, "OPTIONS", c.NonInheritedFlags())
	options(&b, "OPTIONS OF ALL COMMANDS", c.InheritedFlags())
	related(&b, c, name)
	return b.String()
}

func options(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		names := "--" + f.Name
		if f.Shorthand != "" {
			names = "-" + f.Shorthand + ", " + names
		}
		if d := f.DefValue; d != "" && d != "false" && d != "0" && d != "[]" && d != "0s" {
			usage += " (default " + d + ")"
		}
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(names+" "+kind)), roff(usage))
	})
}

// related names the command above and those below.
func related(b *strings.Builder, c *cobra.Command, name string) {
	var all []string
	if c.HasParent() {
		all = append(all, strings.ReplaceAll(c.Parent().CommandPath(), " ", "-"))
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			all = append(all, name+"-"+sub.Name())
		}
	}
	if len(all) == 0 {
		return
	}
	b.WriteString(".SH SEE ALSO\n")
	for i, page := range all {
		comma := ","
		if i == len(all)-1 {
			comma = ""
		}
		fmt.Fprintf(b, ".BR %s (1)%s\n", roff(page), comma)
	}
}

// literal keeps the lines of a text as they are; long ones of a table would be cut by
// nobody, and overrun the page.
func literal(text string) string {
	var b strings.Builder
	b.WriteString(".nf\n")
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString(roff(line) + "\n")
	}
	b.WriteString(".fi\n")
	return b.String()
}

var escapes = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`,
	"…", `\&...`, "–", `\(en`, "—", `\(em`, "→", `\(->`, "“", `\(lq`, "”", `\(rq`, "’", `\(cq`)

// roff is a line that means only itself; a dot at its beginning is no request.
func roff(line string) string {
	out := escapes.Replace(line)
	if strings.HasPrefix(out, ".") {
		out = `\&` + out
	}
	return out
}

func quoted(s string) string { return `"` + strings.ReplaceAll(roff(s), `"`, `\(dq`) + `"` }
