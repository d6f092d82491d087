package session

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/step"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/trust"
	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
	"ramet/internal/model/llm"
)

// mostAttached limits the images and documents of one prompt.
const mostAttached = 20

// Attach reads files that are to go with a prompt: images, which are made small enough, and
// PDF. Each that is none is refused.
func Attach(paths ...string) ([]history.Part, error) {
	if len(paths) > mostAttached {
		return nil, fault.New(fault.Usage, "%d images go with a prompt at most, not %d", mostAttached, len(paths))
	}
	var out []history.Part
	for _, path := range paths {
		data, err := readShown(path)
		if err != nil {
			return nil, err
		}
		part, err := AttachData(filepath.Base(path), data)
		if err != nil {
			return nil, err
		}
		out = append(out, part)
	}
	return out, nil
}

// AttachData is an image or a document that goes with a prompt, as another program hands it over.
func AttachData(name string, data []byte) (history.Part, error) {
	if len(data) > llm.MostFile {
		return history.Part{}, fault.New(fault.InvalidText, "%s has over %d MiB, too many to be shown", name, llm.MostFile>>20)
	}
	part, _, err := llm.PicturePart(name, data)
	if err != nil {
		return history.Part{}, fault.New(fault.InvalidText, "%s %w", name, err).WithHint("PNG, JPEG, WebP, GIF and PDF can be shown to a model")
	}
	return history.Part{Type: history.PartType(part.Type), Name: part.Name, MediaType: part.MediaType, Data: part.Data}, nil
}

// readShown reads a whole file that is one, and not too large.
func readShown(path string) ([]byte, error) {
	info, err := os.Stat(path) // a pipe is not waited for
	if err == nil && !info.Mode().IsRegular() {
		return nil, fault.New(fault.InvalidText, "%s is not a file", path)
	}
	if err != nil {
		return nil, fault.New(fault.NotFound, "read an image: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.New(fault.NotFound, "read an image: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, llm.MostFile+1))
	if err == nil && len(data) > llm.MostFile {
		return nil, fault.New(fault.InvalidText, "%s has over %d MiB, too many to be shown", path, llm.MostFile>>20)
	}
	return data, err
}

// IsShown reports whether a file is an image or a document that can go with a prompt.
func IsShown(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 16)
	n, _ := io.ReadFull(f, head)
	return llm.PictureType(head[:n]) != ""
}

// mentioned are the images and documents that a prompt names with an @: below the folder of
// its agent or, where anywhere is set, wherever they are.
func (w Prompts) mentioned(ctx context.Context, a id.Agent, text string, anywhere bool) ([]history.Part, error) {
	if !strings.Contains(text, "@") || w.ws.asks(ctx) != "" {
		return nil, nil
	}
	dir, err := w.ws.folder(ctx, a)
	if err != nil {
		return nil, nil // whoever runs the turn says so, if it matters
	}
	var paths []string
	for _, said := range findMentions(text) {
		for path := range readMention(said) {
			if !filepath.IsAbs(path) {
				path = filepath.Join(dir, path)
			}
			if !anywhere && !isInside(dir, path) || !IsShown(path) {
				continue
			}
			paths = append(paths, path)
			break
		}
	}
	return Attach(paths...)
}

// attach returns the text of a prompt with the resources that it names, and what goes with it: images and documents.
func (w Prompts) attach(ctx context.Context, a id.Agent, text string, anywhere bool) (string, []history.Part, error) {
	shown, err := w.mentioned(ctx, a, text, anywhere)
	if err != nil {
		return text, nil, err
	}
	text, read, err := w.withResources(ctx, text)
	return text, append(shown, read...), err
}

// isInside reports whether a file is in a folder, links followed.
func isInside(dir, path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	top, err := filepath.EvalSymlinks(dir)
	return err == nil && strings.HasPrefix(real, strings.TrimSuffix(top, string(filepath.Separator))+string(filepath.Separator))
}

// findMentions returns the texts after each @ that begins a word; in quotes a text may have spaces.
func findMentions(text string) (out []string) {
	for i := 0; i < len(text); i++ {
		if text[i] != '@' || i > 0 && !strings.ContainsRune(" \n\t(", rune(text[i-1])) {
			continue
		}
		rest := text[i+1:]
		if quoted, ok := strings.CutPrefix(rest, `"`); ok {
			if end := strings.IndexAny(quoted, "\"\n"); end > 0 && quoted[end] == '"' {
				out = append(out, quoted[:end])
			}
			continue
		}
		if end := strings.IndexAny(rest, " \n\t"); end >= 0 {
			rest = rest[:end]
		}
		if rest != "" {
			out = append(out, rest)
		}
	}
	return out
}

// readMention returns the paths that a mention may mean: itself, or itself without the punctuation that ends a sentence.
func readMention(said string) func(func(string) bool) {
	return func(yield func(string) bool) {
		_ = yield(said) && yield(strings.TrimRight(said, ".,;:!?)'\""))
	}
}

// ReplacePasted returns the text to insert for a pasted one: a mention, where the text is the path of an image or
// a document as terminals write it when a file is dropped on them; else the text itself.
func ReplacePasted(text string) string {
	path := strings.TrimSpace(text)
	if path == "" || len(path) > 4096 || strings.ContainsAny(path, "\n\r") {
		return text
	}
	if u, err := url.Parse(path); err == nil && u.Scheme == "file" && u.Path != "" {
		path = u.Path
	}
	if n := len(path); n > 2 && (path[0] == '\'' || path[0] == '"') && path[n-1] == path[0] {
		path = path[1 : n-1]
	}
	for _, path := range []string{path, strings.ReplaceAll(path, `\ `, " ")} {
		if filepath.IsAbs(path) && !strings.Contains(path, `"`) && IsShown(path) {
			return Mention(path)
		}
	}
	return text
}

// Mention names a file in a prompt.
func Mention(path string) string {
	if strings.ContainsAny(path, " \t") {
		return `@"` + path + `" `
	}
	return "@" + path + " "
}

// seesImages refuses images for a model that is known to be blind.
func seesImages(m llm.Model, name string) error {
	if m.Known && !m.Images {
		return fault.New(fault.Usage, "%s cannot see images", name).WithHint("choose another model with --model; `ramet models` says which can")
	}
	return nil
}

// CheckSees returns an error if the model of an agent's next turn cannot see images.
func (w Models) CheckSees(ctx context.Context, a id.Agent, asked llm.Ref) error {
	row, err := w.ws.Store.Agent(ctx, a)
	if err != nil {
		return err
	}
	m, err := w.ws.Kernel.Model(row, asked)
	if err != nil {
		return nil // whoever runs the turn says so
	}
	return seesImages(m.Info, m.Ref.String())
}

// clipboards are the programs that print the image on the clipboard, on the systems that
// have them.
var clipboards = [][]string{
	{"wl-paste", "--no-newline", "--type", "image/png"},
	{"xclip", "-selection", "clipboard", "-target", "image/png", "-out"},
	{"pngpaste", "-"},
}

// PasteImage keeps the image on the clipboard in a file of ramet's home, and returns its path.
func PasteImage(ctx context.Context, project, home string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	found := false
	for _, args := range clipboards {
		program, err := exec.LookPath(args[0])
		if err != nil {
			continue
		}
		found = true
		var out bytes.Buffer
		cmd, err := launch.Command(ctx, launch.Program{Purpose: launch.Clipboard, Project: project,
			Command: sandbox.Command{Args: append([]string{program}, args[1:]...)}})
		if err != nil {
			return "", err
		}
		cmd.Stdout = &limited{Buffer: &out}
		if cmd.Run() != nil || !llm.IsImage(llm.PictureType(out.Bytes())) {
			continue
		}
		return keepPasted(home, out.Bytes())
	}
	if !found {
		return "", fault.New(fault.NotFound, "no program here reads images from the clipboard").WithHint("install wl-clipboard or xclip (pngpaste on macOS), or name a file with @")
	}
	return "", fault.New(fault.NotFound, "no image on the clipboard")
}

// keepPasted writes an image into the home, once.
func keepPasted(home string, data []byte) (string, error) {
	dir := filepath.Join(home, "pasted")
	if err := durable.MakeFolder(dir, 0o700); err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	path := filepath.Join(dir, hex.EncodeToString(sum[:8])+".png")
	if err := step.WriteFile(path, data, 0o600); err != nil {
		return "", fault.New(fault.StorageIO, "keep the image: %w", err)
	}
	return path, nil
}

// limited takes no more than an image may have.
type limited struct{ *bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > llm.MostFile {
		return 0, fault.New(fault.InvalidText, "it is too large")
	}
	return l.Buffer.Write(p)
}

// paths remembers for a moment which files there are.
type paths struct {
	mu   sync.Mutex
	dir  string
	at   time.Time
	list []string
}

const (
	maxFiles = 20_000
	filesFor = 5 * time.Second
)

// CompletePaths lists paths below the folder of an agent. Hidden ones, and what is usually
// made by tools, are left out.
func (w Prompts) CompletePaths(ctx context.Context, a id.Agent, fragment string) []string {
	dir, err := w.ws.folder(ctx, a)
	if err != nil {
		return nil // the person who sends the prompt is told
	}
	f := &w.ws.paths
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dir == dir && time.Since(f.at) < filesFor {
		return f.list
	}
	var list []string
	filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return nil
		}
		name := e.Name()
		if strings.HasPrefix(name, ".") || e.IsDir() && (name == "node_modules" || name == "vendor") {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		if err == nil {
			rel = filepath.ToSlash(rel)
			if e.IsDir() {
				rel += "/"
			}
			list = append(list, rel)
		}
		if len(list) >= maxFiles || ctx.Err() != nil {
			return fs.SkipAll
		}
		return nil
	})
	f.dir, f.at, f.list = dir, time.Now(), list
	return list
}

// Folder returns the real path of the folder in which an agent works: instead, its own folder, or
// that of the workspace. A symbolic link that agents could have made is DENIED.
func (w *Workspace) Folder(a agent.Agent, instead string) (string, error) {
	dir := cmp.Or(instead, a.Cwd, w.Place.Project)
	real, err := w.Writable(dir)
	if fault.Is(err, fault.NotFound) {
		return "", fault.New(fault.NotFound, "the folder of agent %s, %s, is not on this machine", a.Label(), dir).
			WithHint("choose another with --cwd, or work without tools with --no-tools")
	}
	return real, err
}

// Writable returns the real path of a folder that a program of this workspace may write.
func (w *Workspace) Writable(dir string) (string, error) {
	return trust.WritableFolder(dir, w.Place.Project, filepath.Join(w.Home, "worktrees"))
}

// Folder returns the real path of the folder in which an agent works.
func (w Agents) Folder(ctx context.Context, a id.Agent) (string, error) { return w.ws.folder(ctx, a) }

func (w *Workspace) folder(ctx context.Context, a id.Agent) (string, error) {
	found, err := w.Store.Agent(ctx, a)
	if err != nil {
		return "", err
	}
	return w.Folder(found, "")
}

// RunShell runs a command of the user's in a folder, with the environment of this process. No permission is asked for,
// and it ends with ramet.
func RunShell(ctx context.Context, dir, line string, output func(string)) error {
	shell := os.Getenv("SHELL")
	if shell == "" {
		shell = "sh"
	}
	p, err := launch.Start(ctx, launch.Program{Purpose: launch.UserCommand,
		Command: sandbox.Command{Args: []string{shell, "-c", line}, Dir: dir, Env: os.Environ(), Output: lines(output)}})
	if err != nil {
		return err
	}
	r, err := p.Wait()
	switch {
	case r.Killed:
		return fault.New(fault.Cancelled, "stopped")
	case err != nil:
		return err
	case r.ExitCode != 0:
		return fmt.Errorf("exit %d", r.ExitCode)
	}
	return nil
}

// lines hands output on.
type lines func(string)

func (l lines) Write(p []byte) (int, error) {
	l(string(p))
	return len(p), nil
}
