package app

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/trust"
	"ramet/internal/driver"
	"ramet/internal/driver/acp"
	"ramet/internal/launch"
	"ramet/internal/turn/permit"
)

// settle decides what a driver obeys in its folder. Files that a person accepted in these bytes
// count. With others, or none, the program is told to obey no file of the folder, if it can be told so;
// else it does not start. This is decided again right before the start.
func (d *drivers) settle(p driver.Preset, root string, a id.Agent, out *acp.Setup) error {
	if p.Project {
		out.Path, out.Args = launch.ResolveProgram(d.request.Place.Project, out.Env, p.Command)
		if err := acceptedFiles(d.request.Workspace, "driver "+p.Name, out.Path, out.Args, p.Command); err != nil {
			return err
		}
	}
	path, _ := p.Path(out.Env)
	pack, version := launch.PackageOf(path)
	row := launch.RowOf(p.Name, pack, version)
	found, unaccepted, err := d.unaccepted(root, row.Obeys)
	if err != nil {
		return err
	}
	if row.Off && (!found || unaccepted != "") {
		out.Check = func() error { return nil } // whatever comes into the folder until then
		out.Meta, err = d.switchedOff()
		return err
	}
	out.Check = func() error {
		_, unaccepted, err := d.unaccepted(root, row.Obeys)
		if err == nil && unaccepted != "" {
			err = fault.New(fault.Untrusted, "%s would obey %s, and no person has accepted that file", p.Title, unaccepted).
				WithHint("look at it and accept it with `ramet trust` in its folder, or move it away")
		}
		return err
	}
	if err := out.Check(); err != nil || !row.Rewrites {
		return err
	}
	out.Replace, err = d.copySettings(row, root, filepath.Join(d.request.Home, "drivers", string(a)+".settings"))
	return err
}

// belowConfined reports whether an agent's parent is confined: its commands run in the sandbox by its
// mode, or it is driven by a program that does. Then so is the program of the agent.
func (d *drivers) belowConfined(ctx context.Context, a agent.Agent) (bool, error) {
	for up := a.Parent; up != ""; {
		parent, err := d.request.Store.Agent(ctx, up)
		if err != nil {
			return false, err
		}
		if up == a.Parent {
			if s, err := d.request.Turns().Standing(ctx, parent); err != nil || s.Mode == permit.Box {
				return err == nil, err
			}
		}
		if name := parent.Driver(); name != "" {
			if p, err := driver.FindPreset(name, d.request.Config.Drivers); err == nil && p.Boxed("") {
				return true, nil
			}
		}
		up = parent.Parent
	}
	return false, nil
}

// unaccepted looks for files with some names in the folder of an agent and in those above it, where
// programs look too: whether there are any, and the first that nobody accepted. It goes up to the
// repository that the folder is in, at least to the project, and never to the user's home. What lies
// above the project counts as accepted if it was in its own folder.
func (d *drivers) unaccepted(root string, names []string) (found bool, first string, err error) {
	project, err := filepath.EvalSymlinks(d.request.Place.Project)
	if err != nil {
		return false, "", err
	}
	home, _ := os.UserHomeDir()
	for dir := root; ; dir = filepath.Dir(dir) {
		gate, above := trust.Gate{Home: d.request.Home, Project: project}, dir != project && isBelow(project, dir)
		if above {
			gate.Project = dir
		}
		some, path, err := gate.Unaccepted(dir, names)
		if above && errors.Is(err, fs.ErrPermission) {
			return found, "", nil
		}
		if err != nil {
			return false, "", err
		}
		nested := dir != project && isBelow(dir, project)
		if some && nested || path != "" && above { // what was accepted is the project's own, at its top
			path = filepath.Join(dir, path)
		}
		if found = found || some; path != "" {
			return true, path, nil
		}
		_, git := os.Lstat(filepath.Join(dir, ".git"))
		parent := filepath.Dir(dir)
		if !nested && (git == nil || parent == dir || isBelow(home, parent)) {
			return found, "", nil
		}
	}
}

// copySettings copies what a program obeys in its folder, and in those above it up to the project, as a
// person accepted it, and returns the copy of each name that there is. The program finds them in place of
// the project's own, which it would change.
func (d *drivers) copySettings(row launch.Row, root, copies string) (map[string]string, error) {
	if err := os.RemoveAll(copies); err != nil {
		return nil, err
	}
	project, err := filepath.EvalSymlinks(d.request.Place.Project)
	if err != nil {
		return nil, err
	}
	gate, out := trust.Gate{Home: d.request.Home, Project: project}, map[string]string{}
	for dir := root; ; dir = filepath.Dir(dir) {
		to := filepath.Join(copies, strconv.Itoa(len(dir)))
		if err := gate.CopyAccepted(dir, row.Obeys, to); err != nil {
			return nil, err
		}
		for _, name := range row.Adds {
			file := filepath.Join(to, filepath.FromSlash(name))
			if _, err := os.Lstat(filepath.Dir(file)); err != nil {
				continue
			}
			if f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
				f.Close()
			}
		}
		for _, name := range row.Obeys {
			if by := filepath.Join(to, filepath.FromSlash(name)); exists(by) {
				out[filepath.Join(dir, filepath.FromSlash(name))] = by
			}
		}
		if dir == project || !isBelow(dir, project) {
			return out, nil
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func isBelow(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// switchedOff returns the settings with which Claude Code loads only the user's own. It then reads no CLAUDE.md of the
// project, so it receives the one that a person accepted.
func (d *drivers) switchedOff() (map[string]any, error) {
	s, err := trust.Gate{Home: d.request.Home, Project: d.request.Place.Project}.Shelf()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	text, _, err := s.Text(trust.Instructions, "CLAUDE.md")
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	for key, value := range launch.ClaudeOff {
		out[key] = value
	}
	if len(text.Data) > 0 {
		out["systemPrompt"] = map[string]any{"append": string(text.Data)}
	}
	return out, nil
}

// look asks a program who it is, in an empty folder. The answer is kept for this command and its variables while the program's file has
// this path, size and time of change; the version is that of its package, if it has one.
func (d *drivers) look(ctx context.Context, p driver.Preset, path string) (acp.Greeting, error) {
	_, version := launch.PackageOf(path)
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return acp.Greeting{}, err
	}
	info, err := os.Stat(real)
	if err != nil {
		return acp.Greeting{}, err
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %d %d %s", p.Command, p.Set, real, info.Size(), info.ModTime().UnixNano(), version))
	file := filepath.Join(d.request.Home, "drivers", "looks", hex.EncodeToString(key[:16])+".json")
	var g acp.Greeting
	if data, err := os.ReadFile(file); err == nil && json.Unmarshal(data, &g) == nil {
		return g, nil
	}
	if g, err = d.program(p).Look(ctx); err != nil {
		return g, err
	}
	g.Version = cmp.Or(version, g.Version)
	if data, err := json.Marshal(g); err == nil && os.MkdirAll(filepath.Dir(file), 0o700) == nil {
		_ = durable.WriteFile(file, data, 0o600) // else it is asked again
	}
	return g, nil
}

// probe returns the setup with which a program is started only to report its version.
func (d *drivers) probe(p driver.Preset) (acp.Setup, error) {
	out := acp.Setup{Args: p.Command, Dir: d.request.Place.Project, Env: p.Environment(launch.EnvironmentFor(os.Environ()), os.Environ())}
	if !p.Boxed("") {
		return out, nil
	}
	box, err := d.box(p, "")
	if err == nil {
		box.Write, box.Guard, box.Guarded, box.Forbid = box.Write[1:], "", nil, nil
	}
	out.Box = box
	return out, err
}
