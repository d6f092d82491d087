package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
)

func doctorCommand(l *Line, p CarePorts) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check that everything ramet needs is in order",
		Long: `Check configuration, home folder, key, the background kernel, database (its engine's own check,
version, durable write, clock), sandbox and git, and tell which program this is, where it is
installed and what its platform lacks. Exit code 1 if something is wrong. "ramet verify"
checks the histories themselves.`,
		Args: CheckArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			out := examine(l, c.Context(), p)
			if err := l.Print(out); err != nil {
				return err
			}
			if n := out.bad(); n > 0 {
				return fault.New(fault.Failed, "doctor found %s", text.Count(n, "problem")).
					WithHint("see what stands below each BAD")
			}
			return nil
		},
	}
}

// checkup is the datum of doctor.
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

func examine(l *Line, ctx context.Context, p CarePorts) checkup {
	var out checkup
	path, err := "", error(nil)
	if conf, cerr := l.Config(); cerr != nil {
		err = cerr
	} else if len(conf.Ignored) > 0 {
		path = "read; the project's file is not used as it is now"
	} else {
		path = "read"
	}
	out.add("configuration", path, err)

	home, err := l.HomeDir()
	out.add("home", home, firstErrorCare(err, private(home)))
	key, err := l.SigningKey()
	if err == nil {
		out.add("key", key.Verifier(), nil)
	} else {
		out.add("key", "", err)
	}
	examineKernel(l, ctx, &out, p)
	examineStore(l, ctx, &out)
	examineTelemetry(l, ctx, &out, p)

	detail := ""
	if err := p.Sandbox(); err != nil {
		detail = "none, so every command is asked for: " + err.Error()
	} else {
		detail = "commands can run unasked, confined; at most " + p.Limits()
	}
	out.add("sandbox", detail, nil)

	if rules, err := boxedRules(l); err != nil || len(rules) > 0 {
		out.add("rules", ConfinedRules(rules...), err)
	}

	examineDisk(l, ctx, &out)

	var git []byte
	cmd, err := launch.Command(ctx, launch.Program{Purpose: launch.Probe, Command: sandbox.Command{Args: []string{"git", "--version"}}})
	if err == nil {
		git, err = cmd.Output()
	}
	if err != nil {
		err = fault.New(fault.NotFound, "git does not run: %w", err).WithHint("install git; worktrees and runs need it")
	}
	out.add("git", text.Line(string(git), 80), err)
	examineInstallation(&out, p.Version())
	return out
}

func examineStore(l *Line, ctx context.Context, out *checkup) {
	ws, err := l.Open(ctx)
	if err != nil {
		out.add("database", "", l.Hide(err))
		return
	}
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

// examineTelemetry reports the size of telemetry.
func examineTelemetry(l *Line, ctx context.Context, out *checkup, p CarePorts) {
	ws, err := l.Open(ctx)
	if err != nil || p.Telemetry == nil {
		return // said already
	}
	records, bytes, since, there, err := p.Telemetry(ctx, ws)
	if err != nil {
		out.add("telemetry", "", l.Hide(err))
		return
	}
	if !there {
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

func firstErrorCare(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
