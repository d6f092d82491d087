package cli

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

	"github.com/spf13/cobra"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/core/config"
	"ramet/internal/ledger"
	"ramet/internal/operation/session"
)

// scopes are the settings files of Claude Code.
var scopes = []string{"local", "project", "user"}

func installLedgerCommand(l *Line, f *trackFlags) *cobra.Command {
	var scope string
	var show, yes bool
	var minutes float64
	c := l.command("install claude-code", "Let Claude Code's sub-agents land in the ledger", `Add hooks to a settings file of Claude Code, so that starts, stops and interrupts of its
sub-agents land in the ledger of the project. What is in the file stays. ramet shows
what it will write and asks first; --yes does not ask, --print only shows.

--scope says which file: local is .claude/settings.local.json of the project (yours,
not for git), project is .claude/settings.json, user is that of your home.`, 1, 1, func(_ context.Context, args []string) (printer.Datum, error) {
		if err := knownTool(args[0]); err != nil {
			return nil, err
		}
		path, err := settingsFile(l, scope)
		if err != nil {
			return nil, err
		}
		command, err := hookLine(l, f, minutes)
		if err != nil {
			return nil, err
		}
		before, perm, err := readSettings(path)
		if err != nil {
			return nil, err
		}
		after, err := ledger.InstallClaudeHook(before, command)
		if err != nil {
			return nil, err
		}
		done := ledgerInstalled{Tool: args[0], Path: path, Command: command, Changed: string(before) != string(after), Settings: string(after)}
		if show || !done.Changed {
			done.printed = show
			return done, nil
		}
		if !yes {
			if err := confirm(l, path, after); err != nil {
				return nil, err
			}
		}
		if err := durable.MakeFolder(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		done.Written = true
		return done, durable.WriteFile(path, after, perm)
	})
	c.ValidArgs = []string{"claude-code"}
	c.Flags().StringVar(&scope, "scope", "local", "settings file: local, project or user")
	c.Flags().BoolVar(&show, "print", false, "show the file as it would be, and write nothing")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	c.Flags().Float64Var(&minutes, "timeout", 120, "minutes after which a sub-agent counts as gone (0: never)")
	return c
}

func uninstallCommand(l *Line) *cobra.Command {
	var scope string
	c := l.command("uninstall claude-code", "Take ramet's hooks out of Claude Code's settings", `Take out what "track install claude-code" added, and nothing else, from all settings files or from that of --scope.`, 1, 1, func(_ context.Context, args []string) (printer.Datum, error) {
		if err := knownTool(args[0]); err != nil {
			return nil, err
		}
		where := scopes
		if scope != "" {
			where = []string{scope}
		}
		done := uninstalled{Tool: args[0], Paths: []string{}}
		for _, scope := range where {
			path, err := settingsFile(l, scope)
			if err != nil {
				return nil, err
			}
			before, perm, err := readSettings(path)
			if err != nil {
				return nil, err
			}
			after, changed, err := ledger.UninstallClaudeHook(before)
			if err != nil {
				return nil, fault.New(fault.CodeOf(err), "%s: %w", path, err)
			}
			if !changed {
				continue
			}
			if err := durable.WriteFile(path, after, perm); err != nil {
				return nil, err
			}
			done.Paths = append(done.Paths, path)
		}
		return done, nil
	})
	c.ValidArgs = []string{"claude-code"}
	c.Flags().StringVar(&scope, "scope", "", "only this settings file: local, project or user")
	return c
}

func knownTool(name string) error {
	if name == "claude-code" {
		return nil
	}
	return fault.New(fault.NotFound, "no hooks for %.40q", name).WithHint("use claude-code, or `ramet track run` for any command")
}

// settingsFile is the real path of a settings file, which need not exist.
func settingsFile(l *Line, scope string) (string, error) {
	project, err := config.ProjectFolder(l.Dir)
	if err != nil {
		return "", err
	}
	var path string
	switch scope {
	case "local":
		path = filepath.Join(project, ".claude", "settings.local.json")
	case "project":
		path = filepath.Join(project, ".claude", "settings.json")
	case "user":
		dir := l.Getenv("CLAUDE_CONFIG_DIR")
		if dir == "" {
			home := l.Getenv("HOME")
			if home == "" {
				return "", fault.New(fault.InvalidConfig, "HOME is not set").WithHint("set it, or use --scope local")
			}
			dir = filepath.Join(home, ".claude")
		}
		path = filepath.Join(dir, "settings.json")
	default:
		return "", fault.New(fault.Usage, "--scope %.40q is not a scope", scope).WithHint("use local, project or user")
	}
	if scope != "user" {
		if err := session.CheckInside(project, path, "write that file yourself, with what --print shows"); err != nil {
			return "", err
		}
	}
	// People keep such files elsewhere and link to them: the link stays.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return path, nil
}

// readSettings reads a settings file; one that is not there is empty.
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

// hookLine is the command line that Claude Code is to run.
func hookLine(l *Line, f *trackFlags, minutes float64) (string, error) {
	if !(minutes >= 0) || minutes > ledger.MaxMinutes {
		return "", fault.New(fault.Usage, "--timeout %v is no time", minutes).WithHint("give a number of minutes, 0 for no limit")
	}
	words := []string{quoteWord(thisProgram()), ledger.ClaudeHook}
	if f.flag.Changed {
		folder, err := ledgerOf(l, f, l.Dir)
		if err != nil {
			return "", err
		}
		words = append(words, "--state", quoteWord(folder.Dir()))
	}
	if minutes > 0 {
		words = append(words, "--timeout", strconv.FormatFloat(minutes, 'f', -1, 64))
	}
	return strings.Join(words, " "), nil
}

// thisProgram is "ramet" if that is what a shell finds, else the path of this binary.
func thisProgram() string {
	self, err := os.Executable()
	if err != nil {
		return "ramet"
	}
	if found, err := exec.LookPath("ramet"); err == nil && sameFile(found, self) {
		return "ramet"
	}
	return self
}

// quoteWord is one word for a POSIX shell.
func quoteWord(s string) string {
	if plainWord().MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// confirm shows what will be written and asks.
func confirm(l *Line, path string, after []byte) error {
	w := &strings.Builder{}
	p := &printer.Printer{Out: w, Now: l.Now}
	p.Print(block(after)) // a builder takes everything
	if l.Yes(fmt.Sprintf("%s\nWrite this to %s? [y/N] ", w.String(), path)) {
		return nil
	}
	fmt.Fprintln(l.Stderr)
	return fault.New(fault.Cancelled, "not confirmed, nothing was written").WithHint("answer y, or repeat with --yes")
}

type block string

func (b block) Text(w *printer.Writer) { w.Block("  ", string(b)) }

// ledgerInstalled is the datum of track install.
type ledgerInstalled struct {
	Tool     string `json:"tool"`
	Path     string `json:"path"`
	Command  string `json:"command"`
	Changed  bool   `json:"changed"`
	Written  bool   `json:"written"`
	Settings string `json:"settings"`
	printed  bool
}

func (i ledgerInstalled) Text(w *printer.Writer) {
	switch {
	case i.printed:
		w.Block("", i.Settings)
	case i.Written:
		w.Line("installed in %s; sessions of Claude Code that start from now on are recorded", i.Path)
	default:
		w.Line("installed already in %s", i.Path)
	}
}

// uninstalled is the datum of track uninstall.
type uninstalled struct {
	Tool  string   `json:"tool"`
	Paths []string `json:"paths"`
}

func (u uninstalled) Text(w *printer.Writer) {
	if len(u.Paths) == 0 {
		w.Line("nothing to take out")
	}
	for _, p := range u.Paths {
		w.Line("taken out of %s", p)
	}
}
