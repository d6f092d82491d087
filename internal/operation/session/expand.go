package session

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/kit"
	"ramet/internal/core/registry"
	"ramet/internal/kernel"
	"ramet/internal/model/llm"
	"ramet/internal/tools/talk"
	"ramet/internal/turn/tool"
)

// Expanded is the prompt that a command of the user's or the project's expands to.
type Expanded struct {
	Name  string
	Text  string
	Model llm.Ref // that it asks for; zero: none
}

// Expand is the prompt that a line such as "/name arguments" stands for; ok is false where the
// line is meant as it stands (command.Call, command.IsName). A name that nobody defines is USAGE,
// with the nearest ones. Command lines in it are run as the agent's would be: by rules, or after a
// question. One that may not run refuses the whole. The kernel of this process must run where
// there are some.
func (w Prompts) Expand(ctx context.Context, a agent.Agent, said string) (e Expanded, ok bool, err error) {
	name, args, calls := FormatCommand(said)
	if !calls {
		return e, false, nil
	}
	k, err := w.ws.Project().Kit()
	if err != nil {
		return e, false, err
	}
	c, ok := k.Command(name)
	if !ok {
		e, ok, err = w.expandServed(ctx, name, args)
		if err == nil && !ok && IsCommandName(name) && a.Driver() == "" { // a program has commands of its own
			err = w.unknown(k, name)
		}
		return e, ok, err
	}
	e.Name = c.Name
	if ref, err := llm.ParseRef(c.Model); err == nil {
		e.Model = ref
	}
	if c.Body, err = w.ran(ctx, a, c); err != nil {
		return e, true, err
	}
	body := c.Fill(args)
	e.Text = body + w.included(a, body)
	return e, true, CheckPrompt(e.Text)
}

// Word makes of a prompt what it stands for, on every face in the same way (Expand).
func (w Prompts) Word(ctx context.Context, a agent.Agent, p *kernel.Prompt) error {
	if p.Model.Vendor == agent.DriverVendor {
		a.Provider, a.Model = p.Model.Vendor, p.Model.Name
	}
	e, defined, err := w.Expand(ctx, a, p.Text)
	if err != nil || !defined {
		return err
	}
	if p.Text = e.Text; p.Model == (llm.Ref{}) {
		p.Model = e.Model
	}
	return nil
}

// unknown refuses a command that nobody defines, or nobody accepted.
func (w Prompts) unknown(k kit.Kit, name string) error {
	var known []string
	for _, c := range append(k.Commands, w.servedPrompts()...) {
		known = append(known, c.Name)
	}
	e := UnknownCommand(name, known)
	if row, own := FindCommand(name); own {
		e.Message = "/" + row.Name + " is a command of the terminal, and no prompt"
	}
	for _, note := range k.Notes {
		if strings.Contains(note, "/"+string(kit.Commands)+" ") {
			e.Hint += "; " + note
		}
	}
	return e
}

// ran is the text of a command with the output of its command lines in their places. All are
// permitted before the first runs.
func (w Prompts) ran(ctx context.Context, a agent.Agent, c kit.Command) (string, error) {
	shells := kit.Shells(c.Body)
	if len(shells) == 0 {
		return c.Body, nil
	}
	if w.ws.Kernel == nil {
		return "", fault.New(fault.Failed, "/%s runs commands, and no kernel runs here", c.Name)
	}
	box, err := w.ws.Kernel.Tools(a)
	if err != nil {
		return "", err
	}
	var bash tool.Tool
	for _, t := range box {
		if t.Spec().Name == "bash" {
			bash = t
		}
	}
	if bash == nil {
		return "", fault.New(fault.Denied, "/%s runs commands, for which %s has no tool", c.Name, a.Label())
	}
	limits, err := w.left(ctx, a, c)
	if err != nil {
		return "", err
	}
	calls := make([]tool.Call, len(shells))
	for i, s := range shells {
		raw, err := json.Marshal(map[string]string{"command": s.Line})
		if err != nil {
			return "", err
		}
		for _, l := range limits {
			if !talk.Allows(l.Tools, bash.Spec(), raw) {
				return "", fault.New(fault.Denied, "/%s runs %s, which %s leaves out", c.Name, text.Line(s.Line, 80), l.By).
					WithHint("nothing was run and nothing was said")
			}
		}
		calls[i] = tool.Call{Agent: a.ID, ID: fmt.Sprintf("/%s %d", c.Name, i+1), Name: "bash", Args: raw, Output: func([]byte) {}}
		if calls[i].Grant, _, err = w.ws.Kernel.Guard.Decide(ctx, bash.Spec(), calls[i]); err != nil {
			return "", fault.New(fault.Denied, "/%s: %w", c.Name, err)
		}
	}
	var b strings.Builder
	at := 0
	for i, s := range shells {
		answer, err := bash.Run(ctx, calls[i])
		if err != nil {
			return "", err
		}
		b.WriteString(c.Body[at:s.Start] + strings.TrimRight(answer.Text, "\n"))
		at = s.End
	}
	return b.String() + c.Body[at:], nil
}

// left are the limits of what a command's text may run: its own, and those of the agent.
func (w Prompts) left(ctx context.Context, a agent.Agent, c kit.Command) ([]history.Limit, error) {
	var out []history.Limit
	if c.Allowed != nil {
		out = append(out, history.Limit{By: "its allowed-tools", Tools: c.Allowed})
	}
	standing, err := registry.Limits(ctx, w.ws.Store, a.ID)
	for _, l := range standing {
		out = append(out, l.Limit)
	}
	return out, err
}

// mostIncluded limits the bytes of named files that are appended to a prompt.
const mostIncluded = 64 << 10

// included are the files of the agent's folder that a prompt names behind an @.
func (w Prompts) included(a agent.Agent, body string) string {
	dir, err := w.ws.Folder(a, "")
	if err != nil {
		return ""
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return ""
	}
	defer root.Close()
	var b strings.Builder
	seen := map[string]bool{}
	for _, m := range text.Mentions(body) {
		p := filepath.FromSlash(m.Path)
		if seen[p] || !filepath.IsLocal(p) {
			continue
		}
		seen[p] = true
		info, err := root.Stat(p)
		if err != nil || !info.Mode().IsRegular() || IsShown(filepath.Join(dir, p)) {
			continue // a word behind an @, or what goes with the prompt as an image
		}
		f, err := root.Open(p)
		if err != nil {
			continue
		}
		data, _ := io.ReadAll(io.LimitReader(f, mostIncluded))
		f.Close()
		if b.Len()+len(data) > mostIncluded || int64(len(data)) < info.Size() {
			fmt.Fprintf(&b, "\n\n[%s has %d bytes: read it]", m.Path, info.Size())
			continue
		}
		fmt.Fprintf(&b, "\n\nThe file %s:\n\n%s", m.Path, strings.ToValidUTF8(string(data), "\uFFFD"))
	}
	return b.String()
}

// Defined are the commands that the user and the project define, for menus.
func (w Prompts) Defined() []kit.Command {
	k, err := w.ws.Project().Kit()
	if err != nil {
		return nil // whoever uses one is told
	}
	return append(k.Commands, w.servedPrompts()...)
}
