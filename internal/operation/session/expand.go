package session

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/core/history"
	"ramet/internal/core/kit"
	"ramet/internal/core/registry"
	"ramet/internal/kernel"
	"ramet/internal/model/llm"
	"ramet/internal/tools/mcp"
	"ramet/internal/tools/talk"
	"ramet/internal/turn/tool"
)

// Expanded is the prompt that a command of the user's or the project's expands to.
type Expanded struct {
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
	if p.Terms != nil {
		ctx = kernel.WithTerms(ctx, p.Terms)
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
	terms := w.ws.Kernel.TermsOf(ctx, a.ID)
	if a.Cwd = cmp.Or(terms.Cwd, a.Cwd); terms.NoTools {
		return "", fault.New(fault.Denied, "/%s runs commands, and --no-tools leaves no tool for them", c.Name)
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
					WithHint("nothing was run and nothing was sent")
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

// FormatCommand takes a text apart that calls a command by its name: a slash, the name, and what follows
// behind white space. ok is false for every other text. One that begins with white space calls
// nothing: that is how a slash is said.
func FormatCommand(said string) (name, rest string, ok bool) {
	after, ok := strings.CutPrefix(said, "/")
	if !ok {
		return "", "", false
	}
	end := strings.IndexFunc(after, unicode.IsSpace)
	if end < 0 {
		end = len(after)
	}
	return after[:end], strings.TrimSpace(after[end:]), end > 0
}

// IsCommandName reports whether the word after a slash can only be meant as the name of a command. A path
// (/etc/hosts), a comment (/* so */), an expression (/x+/) are none: such a text is meant as it
// stands.
func IsCommandName(word string) bool {
	for i, r := range word {
		if !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune("_-.:", r)) {
			return false
		}
	}
	return word != ""
}

// UnknownCommand refuses a call of a name that is none of the known ones, and says which are near.
func UnknownCommand(name string, known []string) *fault.Error {
	e := fault.New(fault.Usage, "unknown command /%s", show(name))
	const asItStands = "to send it as text, start with a space"
	near := text.NearestWords(strings.ToLower(name), known, 3)
	for _, k := range known { // of a folder or a server, whose name was left out
		if len(near) == 0 && strings.HasSuffix(strings.ToLower(k), ":"+strings.ToLower(name)) {
			near = append(near, k)
		}
	}
	if len(near) == 0 {
		return e.WithHint("%s", asItStands)
	}
	for i, k := range near {
		near[i] = "/" + show(k)
	}
	return e.WithHint("did you mean %s? %s", strings.Join(near, " or "), asItStands)
}

// served returns the text of a prompt of an MCP server ("/server:prompt arguments"); ok is false where no
// server of that name has one of that name.
func (w Prompts) served(ctx context.Context, name, args string) (said string, ok bool, err error) {
	server, prompt, isServers := strings.Cut(name, ":")
	if !isServers || w.ws.asks(ctx) != "" {
		return "", false, nil
	}
	pool, _, err := w.ws.Servers().Pool()
	if err != nil || pool == nil || !has(pool, server) {
		return "", false, nil // the caller that uses them is told
	}
	l, known := pool.Known(server)
	if !known {
		if l, err = pool.Ask(ctx, server); err != nil {
			return "", true, err
		}
	}
	for _, p := range l.Prompts {
		if p.Name == prompt {
			said, err = pool.Prompt(ctx, server, p, kit.Words(args))
			return said, true, err
		}
	}
	return "", false, nil
}

func has(pool *mcp.Pool, server string) bool {
	for _, s := range pool.Servers {
		if s.Name == server {
			return true
		}
	}
	return false
}

// servedPrompts returns the prompts of servers whose lists are known, as commands for menus. Nothing is
// started.
func (w Prompts) servedPrompts() []kit.Command {
	pool, _, err := w.ws.Servers().Pool()
	if err != nil || pool == nil {
		return nil
	}
	var out []kit.Command
	for _, s := range pool.Servers {
		l, _ := pool.Known(s.Name)
		for _, p := range l.Prompts {
			out = append(out, kit.Command{Name: s.Name + ":" + p.Name, Description: p.Description, Hint: p.Hint()})
		}
	}
	return out
}

// withResources puts what a prompt names as @server:uri behind it, and beside it what is an image.
// A resource that cannot be read refuses the whole.
func (w Prompts) withResources(ctx context.Context, said string) (string, []history.Part, error) {
	if !strings.Contains(said, "@") || w.ws.asks(ctx) != "" {
		return said, nil, nil
	}
	pool, _, err := w.ws.Servers().Pool()
	if err != nil || pool == nil {
		return said, nil, nil
	}
	var parts []history.Part
	out := said
	for _, m := range findMentions(said) {
		server, uri, ok := strings.Cut(m, ":")
		if !ok || uri == "" || !has(pool, server) {
			continue
		}
		uri = strings.TrimRight(uri, ".,;!?)'\"")
		r, err := pool.Read(ctx, server, uri)
		if err != nil {
			return said, nil, fault.New(fault.CodeOf(err), "@%s: %w", text.Line(m, 200), err)
		}
		out += "\n\nThe resource " + server + ":" + text.Line(uri, 300) + ":\n\n" + r.Text
		if r.Image != nil {
			if part, _, err := llm.PicturePart(uri, r.Image.Data); err == nil {
				parts = append(parts, history.Part{Type: history.PartType(part.Type), Name: part.Name, MediaType: part.MediaType, Data: part.Data})
			}
		}
	}
	return out, parts, nil
}

// expandServed expands prompts of servers.
func (w Prompts) expandServed(ctx context.Context, name, args string) (Expanded, bool, error) {
	said, ok, err := w.served(ctx, name, args)
	if err != nil || !ok {
		return Expanded{}, ok, err
	}
	return Expanded{Text: said}, true, CheckPrompt(said)
}

//go:embed *.md
var texts embed.FS

// block is one text, and the tools that an agent needs to be given it: one of each group.
type block struct {
	name  string
	needs [][]string
}

// blocks are the texts in their order.
var blocks = []block{
	{"base", nil},
	{"permission", [][]string{{"bash", "edit", "write"}}},
	{"children", [][]string{{"fork"}, {"wait"}, {"send"}, {"diff"}, {"merge"}, {"kill"}}},
	{"mail", [][]string{{"wait"}}},
}

// maxText bounds a text of the user's.
const maxText = 64 << 10

// PromptFolder is the folder of texts that replace the built-in ones; empty: none do.
type PromptFolder string

// PromptNames lists the texts.
func PromptNames() []string {
	out := make([]string, len(blocks))
	for i, b := range blocks {
		out[i] = b.name
	}
	return out
}

// System returns the system prompt of an agent with these tools.
func (f PromptFolder) System(tools []string) (string, error) {
	var out []string
	for _, b := range blocks {
		if !b.fits(tools) {
			continue
		}
		text, err := f.Text(b.name)
		if err != nil {
			return "", err
		}
		if text != "" {
			out = append(out, text)
		}
	}
	return strings.Join(out, "\n\n"), nil
}

func (b block) fits(tools []string) bool {
	for _, group := range b.needs {
		if !slices.ContainsFunc(group, func(t string) bool { return slices.Contains(tools, t) }) {
			return false
		}
	}
	return true
}

// Text returns one of the texts: the user's, else ramet's. Unknown: NOT_FOUND.
func (f PromptFolder) Text(name string) (string, error) {
	if !slices.Contains(PromptNames(), name) {
		return "", fault.New(fault.NotFound, "no prompt %.40q", name).WithHint("the prompts are: %s", strings.Join(PromptNames(), ", "))
	}
	if f != "" {
		path := filepath.Join(string(f), name+".md")
		own, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return "", fault.New(fault.InvalidConfig, "read prompt: %w", err)
		case len(own) > maxText:
			return "", fault.New(fault.InvalidConfig, "read prompt: %s has more than %d bytes", path, maxText)
		default:
			return strings.TrimSpace(strings.ToValidUTF8(string(own), "\uFFFD")), nil
		}
	}
	ours, err := texts.ReadFile(name + ".md")
	if err != nil {
		return "", fault.New(fault.Failed, "read prompt: %w", err)
	}
	return strings.TrimSpace(string(ours)), nil
}

// Folder returns the folder whose files take the place of ramet's own prompts: beside the
// user's configuration. A project has no say.
func (w Prompts) Folder() PromptFolder { return w.ws.prompts }

// promptFolder finds it; where the configuration is unknown there is none.
func promptFolder(env func(string) string) PromptFolder {
	path, err := config.Path(env)
	if err != nil {
		return ""
	}
	return PromptFolder(filepath.Join(filepath.Dir(path), "prompts"))
}

// Prompts returns the same before a workspace is open.
func (s *Session) Prompts() PromptFolder { return promptFolder(s.Getenv) }
