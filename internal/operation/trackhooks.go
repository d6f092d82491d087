package operation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/config"
	"ramet/internal/ledger"
	"ramet/internal/operation/session"
)

// HookedProgram names a program whose hooks record its sub-agents.
type HookedProgram string

// Words implements Words.
func (HookedProgram) Words() []string { return []string{"claude-code"} }

// Refuse implements Refuser.
func (HookedProgram) Refuse(name string) error {
	return fault.New(fault.NotFound, "no hooks for %.40q", name).WithHint("use claude-code, or `ramet track run` for any command")
}

// SettingsScope names a settings file of Claude Code.
type SettingsScope string

// Words implements Words.
func (SettingsScope) Words() []string { return []string{"local", "project", "user"} }

// Refuse implements Refuser.
func (SettingsScope) Refuse(word string) error {
	return Invalid("scope", fault.Usage, "{scope} %.40q is not a scope", word).Hint("use local, project or user")
}

// InstallHooksInput chooses the settings file that gets hooks.
type InstallHooksInput struct {
	Program HookedProgram `json:"program" arg:"claude-code" help:"the program"`
	Scope   SettingsScope `json:"scope,omitempty" default:"local" help:"the settings file: local, project or user"`
	Print   bool          `json:"print,omitempty" help:"show the new file, and write nothing"`
	Yes     bool          `json:"yes,omitempty" short:"y" help:"don't ask"`
	Timeout *float64      `json:"timeout,omitempty" default:"120" help:"minutes after which a sub-agent is considered dead (0: never)"`
}

// InstalledHooks describes hooks in a settings file.
type InstalledHooks struct {
	Tool     HookedProgram `json:"tool"`
	Path     string        `json:"path"`
	Command  string        `json:"command"`
	Changed  bool          `json:"changed"`
	Written  bool          `json:"written"`
	Settings string        `json:"settings"`
}

// InstallHooks adds hooks to a settings file, which record sub-agents in the ledger.
var InstallHooks = Op[InstallHooksInput, InstalledHooks]{
	Doc: Doc{Name: "track install", Group: "ledger", Faces: CLI, OnHome: true, Summary: "Record Claude Code's sub-agents in the ledger",
		Help: `Add hooks to a settings file of Claude Code, so that starts, stops and interrupts of its sub-agents
are recorded in the project's ledger. The rest of the file is preserved. ramet shows what it will
write and asks first. {yes} doesn't ask; {print} only shows.

{scope} selects the file: local is .claude/settings.local.json of the project (yours, not for git),
project is .claude/settings.json, and user is the one in your home folder.`},
	Run: installHooks,
	Text: func(w *printer.Writer, in InstallHooksInput, out InstalledHooks) {
		switch {
		case in.Print:
			w.Block("", out.Settings)
		case out.Written:
			w.Line("installed in %s; sessions of Claude Code that start from now on are recorded", out.Path)
		default:
			w.Line("installed already in %s", out.Path)
		}
	},
}

func installHooks(_ context.Context, e *Env, in InstallHooksInput) (out InstalledHooks, err error) {
	path, err := settingsFile(e, in.Scope)
	if err != nil {
		return out, err
	}
	command, err := hookLine(e, *in.Timeout)
	if err != nil {
		return out, err
	}
	before, perm, err := readSettings(path)
	if err != nil {
		return out, err
	}
	after, err := ledger.InstallClaudeHook(before, command)
	if err != nil {
		return out, err
	}
	out = InstalledHooks{Tool: in.Program, Path: path, Command: command, Changed: string(before) != string(after), Settings: string(after)}
	if in.Print || !out.Changed {
		return out, nil
	}
	if !in.Yes {
		var shown strings.Builder
		about := printer.Result{Write: func(w *printer.Writer) { w.Block("  ", string(after)) }}
		(&printer.Printer{Out: &shown, Now: e.Session.Now}).Print(about) // a builder accepts everything
		if !e.Yes(fmt.Sprintf("%s\nWrite this to %s? [y/N] ", shown.String(), path)) {
			e.Tell("")
			return out, fault.New(fault.Cancelled, "not confirmed, nothing was written").WithHint("answer y, or repeat with --yes")
		}
	}
	if err := durable.MakeFolder(filepath.Dir(path), 0o755); err != nil {
		return out, err
	}
	out.Written = true
	return out, durable.WriteFile(path, after, perm)
}

// UninstallHooksInput chooses the settings files that lose their hooks.
type UninstallHooksInput struct {
	Program HookedProgram `json:"program" arg:"claude-code" help:"the program"`
	Scope   SettingsScope `json:"scope,omitempty" help:"only this settings file: local, project or user"`
}

// UninstalledHooks lists the settings files that were changed.
type UninstalledHooks struct {
	Tool  HookedProgram `json:"tool"`
	Paths []string      `json:"paths"`
}

// UninstallHooks removes what InstallHooks added.
var UninstallHooks = Op[UninstallHooksInput, UninstalledHooks]{
	Doc: Doc{Name: "track uninstall", Group: "ledger", Faces: CLI, OnHome: true, Summary: "Remove ramet's hooks from Claude Code's settings",
		Help: `Remove what "track install claude-code" added, and nothing else, from all settings files or from that of {scope}.`},
	Run: func(_ context.Context, e *Env, in UninstallHooksInput) (UninstalledHooks, error) {
		out := UninstalledHooks{Tool: in.Program, Paths: []string{}}
		where := in.Scope.Words()
		if in.Scope != "" {
			where = []string{string(in.Scope)}
		}
		for _, scope := range where {
			path, err := settingsFile(e, SettingsScope(scope))
			if err != nil {
				return out, err
			}
			before, perm, err := readSettings(path)
			if err != nil {
				return out, err
			}
			after, changed, err := ledger.UninstallClaudeHook(before)
			if err != nil {
				return out, fault.New(fault.CodeOf(err), "%s: %w", path, err)
			}
			if !changed {
				continue
			}
			if err := durable.WriteFile(path, after, perm); err != nil {
				return out, err
			}
			out.Paths = append(out.Paths, path)
		}
		return out, nil
	},
	Text: func(w *printer.Writer, _ UninstallHooksInput, out UninstalledHooks) {
		if len(out.Paths) == 0 {
			w.Line("nothing to take out")
		}
		for _, p := range out.Paths {
			w.Line("taken out of %s", p)
		}
	},
}

// settingsFile returns the real path of a settings file, which need not exist.
func settingsFile(e *Env, scope SettingsScope) (string, error) {
	project, err := config.ProjectFolder(e.Session.Dir)
	if err != nil {
		return "", err
	}
	path := filepath.Join(project, ".claude", map[SettingsScope]string{"local": "settings.local.json", "project": "settings.json"}[scope])
	if scope == "user" {
		dir := e.Session.Getenv("CLAUDE_CONFIG_DIR")
		if home := e.Session.Getenv("HOME"); dir == "" && home == "" {
			return "", fault.New(fault.InvalidConfig, "HOME is not set").WithHint("set it, or use --scope local")
		} else if dir == "" {
			dir = filepath.Join(home, ".claude")
		}
		path = filepath.Join(dir, "settings.json")
	} else if err := session.CheckInside(project, path, "write that file yourself, with what --print shows"); err != nil {
		return "", err
	}
	// People keep such files elsewhere and link to them: the link stays.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return path, nil
}

// readSettings reads a settings file; one that is missing is empty.
func readSettings(path string) ([]byte, fs.FileMode, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0o644, nil
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, 0, durable.Failure("read settings", path, err)
	}
	return data, info.Mode().Perm(), nil
}

var plainWord = text.Regexp(`^[A-Za-z0-9_./:@%+=-]+$`)

// hookLine returns the command line that Claude Code is to run.
func hookLine(e *Env, minutes float64) (string, error) {
	if !(minutes >= 0) || minutes > ledger.MaxMinutes {
		return "", Invalid("timeout", fault.Usage, "{timeout} %v is no time", minutes).Hint("give a number of minutes, 0 for no limit")
	}
	folder, err := e.Ledger(false)
	if err != nil {
		return "", err
	}
	words := []string{quoteWord(thisProgram()), ledger.ClaudeHook}
	project, err := config.ProjectFolder(e.Session.Dir)
	if err != nil {
		return "", err
	}
	if folder.Dir() != filepath.Join(project, ".ramet") {
		words = append(words, "--state", quoteWord(folder.Dir()))
	}
	if minutes > 0 {
		words = append(words, "--timeout", strconv.FormatFloat(minutes, 'f', -1, 64))
	}
	return strings.Join(words, " "), nil
}

// thisProgram returns "ramet" if that is what a shell finds, else the path of this binary.
func thisProgram() string {
	self, err := os.Executable()
	if err != nil {
		return "ramet"
	}
	found, _ := exec.LookPath("ramet")
	first, err := os.Stat(found)
	if own, failed := os.Stat(self); err == nil && failed == nil && os.SameFile(first, own) {
		return "ramet"
	}
	return self
}

// quoteWord returns one word for a POSIX shell.
func quoteWord(s string) string {
	if plainWord().MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
