package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
	"ramet/internal/operation/control"
	"ramet/internal/operation/session"
)

// CarePorts holds the functions that these commands need besides the session.
type CarePorts struct {
	Version func() Version
	// Telemetry returns the size of the records of a workspace, and since when they
	// are kept; false: there are none.
	Telemetry func(ctx context.Context, ws *session.Workspace) (records, bytes int64, since time.Time, there bool, err error)
}

func doctorCommand(e Env, l *Line) *cobra.Command {
	return l.command("doctor", "Check the installation", `Check the configuration, home folder, key, background kernel, database (integrity, schema
version, a durable write, clock), sandbox and git. Show which program this is, where it is
installed, and what this platform does not support. The exit code is 1 if a check fails.
To check the histories themselves, use "ramet verify".`, 0, 0, func(ctx context.Context, _ []string) (printer.Datum, error) {
		out := examine(e, l, ctx)
		if err := l.Print(out); err != nil {
			return nil, err
		}
		if n := out.bad(); n > 0 {
			return nil, fault.New(fault.Failed, "doctor found %s", text.Count(n, "problem")).WithHint("see the text under each BAD")
		}
		return nil, nil
	})
}

type checkup struct {
	Checks []check `json:"checks"`
}

type check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
}

func (d *checkup) add(name, detail string, err error) {
	one := check{Name: name, OK: err == nil, Detail: detail}
	if err != nil {
		one.Detail = err.Error()
		if f, ok := fault.Of(err); ok {
			one.Detail, one.Hint = f.Message, f.Hint
		}
	}
	d.Checks = append(d.Checks, one)
}

func (d checkup) bad() (n int) {
	for _, c := range d.Checks {
		if !c.OK {
			n++
		}
	}
	return n
}

// Text of a checkup.
func (d checkup) Text(w *printer.Writer) {
	for _, c := range d.Checks {
		sign := "ok "
		if !c.OK {
			sign = "BAD"
		}
		w.Line("%s  %-14s %s", sign, c.Name, text.Line(c.Detail, 200))
		if c.Hint != "" {
			w.Line("     %-14s %v", "", w.Dim(c.Hint))
		}
	}
}

func examine(e Env, l *Line, ctx context.Context) checkup {
	var out checkup
	conf, err := l.Config()
	read := "read"
	if err == nil && len(conf.Ignored) > 0 {
		read = "read; the project's file is not used"
	}
	out.add("configuration", read, err)

	home, err := l.HomeDir()
	out.add("home", home, cmp.Or(err, private(home)))
	key, err := l.SigningKey()
	verifier := ""
	if err == nil {
		verifier = key.Verifier()
	}
	out.add("key", verifier, err)
	examineKernel(e, l, ctx, &out)
	ws, unopened := l.Open(ctx)
	if unopened != nil {
		out.add("database", "", l.Hide(unopened))
	} else {
		examineStore(l, ctx, ws, &out)
		examineTelemetry(e, l, ctx, ws, &out)
	}

	detail := ""
	if err := sandbox.Available(); err != nil {
		detail = "none, so every command is asked for: " + err.Error()
	} else {
		detail = "commands can run unasked, confined, with network to hosts that rules such as net(HOST) permit; at most " + sandbox.DescribeLimits()
	}
	out.add("sandbox", detail, nil)
	if unopened == nil && sandbox.Available() == nil {
		detail = "what a command that is waited for changes is checked, and then applied when it has ended"
		if why := sandbox.CheckOverlay(ws.Place.Project, session.OverlayFolder(ws.Home)); why != nil {
			detail = "none, so commands write at once, and are watched: " + why.Error()
		}
		out.add("overlay", detail, nil)
	}

	if unopened == nil {
		examineDisk(ws, &out)
	}

	var git []byte
	cmd, err := launch.Command(ctx, launch.Program{Purpose: launch.Probe, Command: sandbox.Command{Args: []string{"git", "--version"}}})
	if err == nil {
		git, err = cmd.Output()
	}
	if err != nil {
		err = fault.New(fault.NotFound, "git does not run: %w", err).WithHint("install git; worktrees and runs need it")
	}
	out.add("git", text.Line(string(git), 80), err)
	examineInstallation(&out, e.Care.Version())
	return out
}

func examineStore(l *Line, ctx context.Context, ws *session.Workspace, out *checkup) {
	d, err := ws.Store.Describe(ctx)
	if err != nil {
		out.add("database", "", l.Hide(err))
		return
	}
	out.add("database", fmt.Sprintf("%s, %s %s, schema version %d", d.Place, d.Engine, d.Version, d.Schema), nil)
	if d.ReadOnly {
		out.add("writable", "", fault.New(fault.StorageReadOnly, "the database cannot be written").
			WithHint("reading works; check the owner and mode if that is not meant"))
	}
	for _, p := range d.Problems {
		out.add("integrity", "", fault.New(fault.StorageCorrupt, "%s", p).WithHint("restore from a backup"))
	}
	if len(d.Problems) == 0 {
		out.add("integrity", "the engine finds nothing wrong", nil)
	}
	skew := l.Now().Sub(d.Now).Abs()
	err = nil
	if skew > 5*time.Second {
		err = fault.New(fault.Failed, "this host's clock differs from the database's by %s", skew.Round(time.Second)).
			WithHint("leases use the database's clock; set this host's clock right")
	}
	out.add("clock", "agrees with the database", err)
}

// muchTelemetry is from how many bytes on, and how long on, it is proposed to let records go.
const (
	muchTelemetry = 256 << 20
	keepTelemetry = 90 * 24 * time.Hour
)

func examineTelemetry(e Env, l *Line, ctx context.Context, ws *session.Workspace, out *checkup) {
	if e.Care.Telemetry == nil {
		return
	}
	records, bytes, since, there, err := e.Care.Telemetry(ctx, ws)
	if err != nil {
		out.add("telemetry", "", l.Hide(err))
	}
	if err != nil || !there {
		return
	}
	detail := fmt.Sprintf("%d records, %.1f MB", records, float64(bytes)/(1<<20))
	if !since.IsZero() {
		detail += ", since " + since.Format(time.DateOnly)
	}
	days := ws.Config.Number("telemetry_days")
	switch {
	case days > 0:
		detail += fmt.Sprintf("; a server lets them go after %d days", days)
	case bytes >= muchTelemetry || !since.IsZero() && l.Now().Sub(since) > keepTelemetry:
		detail += "; all are kept: `ramet config set telemetry_days 90` lets a server (ramet serve) take away older ones"
	}
	out.add("telemetry", detail, nil)
}

// private checks that only the owner can look into a folder, if it is there.
func private(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return nil // not made yet
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fault.New(fault.InvalidConfig, "%s can be read by others (mode %o)", filepath.Clean(dir), info.Mode().Perm()).
			WithHint("chmod 700 %s", dir)
	}
	return nil
}

// muchFiles is from which size on doctor speaks of states of files.
const muchFiles = 5e9

func examineDisk(ws *session.Workspace, out *checkup) {
	size := ws.Files().Past().Disk()
	var err error
	if size > muchFiles {
		err = fault.New(fault.Failed, "states of files take %.1f GB in %s", float64(size)/1e9, ws.Files().Past().Store().Dir()).
			WithHint("`ramet gc --files --dry-run` says what could go")
	}
	out.add("file states", fmt.Sprintf("%.1f MB", float64(size)/1e6), err)
}

// examineInstallation tells which program this is, where it lies, and what its platform
// lacks. None of it is wrong in itself; it is what a report of a bug has to say.
func examineInstallation(out *checkup, v Version) {
	out.add("program", v.String(), nil)
	exe, err := os.Executable()
	if found, lookErr := exec.LookPath("ramet"); err == nil && lookErr == nil && !sameFile(exe, found) {
		exe += "; the shell finds " + found
	}
	out.add("installed", exe, err)
	out.add("platform", v.Platform+": "+platform(runtime.GOOS), nil)
}

// platform describes ramet's features on an operating system (docs/platforms.md).
func platform(goos string) string {
	switch goos {
	case "linux":
		return "everything, as far as the kernel allows it"
	case "darwin":
		return "no box, so every command is asked for; no PID namespace, so a process that leaves its group survives a kill"
	case "windows":
		return "compiled, not tried; no box, so every command is asked for; no groups of processes, so what a command started survives a kill; no states of files"
	default:
		return "not tried; no box, so every command is asked for"
	}
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// examineKernel explains the background kernel: whether it runs, where it is, and why it ended last.
func examineKernel(e Env, l *Line, ctx context.Context, out *checkup) {
	if _, agents := l.Own(); agents || e.Servers.Background == nil {
		return // the user's socket is not for commands of agents
	}
	k, err := e.Servers.Background(l.Session)
	if err != nil {
		out.add("kernel", "", err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	now, err := k.Status(ctx)
	switch {
	case fault.Is(err, fault.NotFound):
		out.add("kernel", "does not run; it starts when it is needed", nil)
	case err != nil:
		out.add("kernel", "", err)
	default:
		detail := fmt.Sprintf("runs: version %s, process %d, since %s, %s, socket %s", now.Version, now.PID,
			now.StartedAt.Local().Format(time.DateTime), text.Count(len(now.Workspaces), "project"), now.Socket)
		if now.URL != "" {
			detail += ", page " + now.URL
		}
		if own := e.Care.Version().Version; now.Version != own {
			err = fault.New(fault.Conflict, "the background kernel is version %s, and this is version %s", now.Version, own).
				WithHint("`ramet server restart` starts it again once no agent works")
		}
		out.add("kernel", detail, err)
	}
	home, err := l.HomeDir()
	if err != nil {
		return // it was reported
	}
	place, err := control.FindPlace(l.Getenv, home)
	if err != nil {
		out.add("kernel log", "", err)
		return
	}
	detail := place.Log()
	if end := place.LastEnd(); end != "" {
		detail += "; the last end: " + end
	}
	if died := place.Died(); len(died) > 0 {
		err = fault.New(fault.Failed, "the background kernel died %s within a minute", text.Count(len(died), "time")).
			WithHint("read %s", place.Log())
	}
	out.add("kernel log", detail, err)
	if _, note := control.CheckLogout(ctx, l.Getenv); note != "" {
		out.add("logout", note, nil)
	}
}
