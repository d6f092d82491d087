package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/step"
)

// serviceMark is in every file that "service install" writes, and in no other.
const serviceMark = "Written by ramet service install"

// SystemdUnit returns the unit of the background kernel for the systemd of a user. home is empty for the usual one.
func SystemdUnit(exe, home string) []byte {
	args := "server run"
	if home != "" {
		args += " --home " + quoteSystemd(home)
	}
	return fmt.Appendf(nil, `# %s. The background kernel of ramet for one user and all projects:
#   systemctl --user enable --now ramet.service
[Unit]
Description=ramet background kernel

[Service]
ExecStart=%s %s
# It stays until it is stopped.
Environment=RAMET_SERVER_IDLE=0s
Restart=on-failure
RestartSec=5
# What agents start ends with the kernel; it has this long to give back leases.
TimeoutStopSec=30
UMask=0077
# ramet makes namespaces for the sandbox of commands, and agents run compilers and engines that
# write code: RestrictNamespaces and MemoryDenyWriteExecute would break both.
NoNewPrivileges=yes
RestrictSUIDSGID=yes
RestrictRealtime=yes
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=~@clock @cpu-emulation @module @obsolete @raw-io @reboot @swap
SystemCallErrorNumber=EPERM
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK

[Install]
WantedBy=default.target
`, serviceMark, quoteSystemd(exe), args)
}

// quoteSystemd quotes an argument of a unit, in which $ and %% are special.
func quoteSystemd(arg string) string {
	arg = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", "$$", "%", "%%").Replace(arg)
	if strings.ContainsAny(arg, " \t'\"\\;") {
		return `"` + arg + `"`
	}
	return arg
}

// launchdPlist returns the property list of the background kernel for launchd.
func launchdPlist(exe, home string) []byte {
	return fmt.Appendf(nil, `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- %s -->
<plist version="1.0">
<dict>
	<key>Label</key><string>ramet</string>
	<key>ProgramArguments</key>
	<array><string>%s</string><string>server</string><string>run</string><string>--home</string><string>%s</string></array>
	<key>EnvironmentVariables</key><dict><key>RAMET_SERVER_IDLE</key><string>0s</string></dict>
	<key>RunAtLoad</key><true/>
	<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
	<key>Umask</key><integer>63</integer>
</dict>
</plist>
`, serviceMark, html.EscapeString(exe), html.EscapeString(home))
}

func serviceCommand(l *Line) *cobra.Command {
	return parent("service", "Start the background kernel at login: install, uninstall", `Write or remove the file with which systemd (Linux) or launchd (macOS) starts the background
kernel when you log in, and restarts it when it fails. It is the same kernel that "ramet" starts
on demand, but it doesn't exit when it is idle.`,
		l.command("install", "Write the unit of systemd, or the property list of launchd", "", 0, 0, l.installService),
		l.command("uninstall", "Remove the file that install wrote", "", 0, 0, l.uninstallService))
}

// servicePath returns where the file of the service belongs, and the commands that make it known and that end it.
func (l *Line) servicePath(goos string) (path, begin, end string, err error) {
	user := l.Getenv("HOME")
	switch {
	case goos == "darwin" && user != "":
		path = filepath.Join(user, "Library", "LaunchAgents", "ramet.plist")
		return path, "launchctl bootstrap gui/$(id -u) " + path, "launchctl bootout gui/$(id -u)/ramet", nil
	case goos == "linux" && user != "":
		path = filepath.Join(cmp.Or(l.Getenv("XDG_CONFIG_HOME"), filepath.Join(user, ".config")), "systemd", "user", "ramet.service")
		return path, "systemctl --user daemon-reload && systemctl --user enable --now ramet.service", "systemctl --user disable --now ramet.service", nil
	}
	return "", "", "", fault.New(fault.Failed, "there are services for systemd and launchd only, and they need HOME")
}

func (l *Line) installService(context.Context, []string) (printer.Datum, error) {
	if err := l.Person("install a service"); err != nil {
		return nil, err
	}
	path, begin, _, err := l.servicePath(runtime.GOOS)
	if err != nil {
		return nil, err
	}
	home, err := l.HomeDir()
	if err != nil {
		return nil, err
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, fault.New(fault.Failed, "find this program: %w", err)
	}
	if err := checkServiceFile(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	text := SystemdUnit(exe, home)
	if runtime.GOOS == "darwin" {
		text = launchdPlist(exe, home)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, durable.Failure("make folder", filepath.Dir(path), err)
	}
	if err := durable.WriteFile(path, text, 0o644); err != nil {
		return nil, err
	}
	return serviceChange{path, true, "ramet server stop; " + begin}, nil
}

func (l *Line) uninstallService(context.Context, []string) (printer.Datum, error) {
	if err := l.Person("uninstall a service"); err != nil {
		return nil, err
	}
	path, _, end, err := l.servicePath(runtime.GOOS)
	if err != nil {
		return nil, err
	}
	switch err := checkServiceFile(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.NotFound, "no service is installed: there is no %s", path)
	case err != nil:
		return nil, err
	}
	if err := step.Remove(path); err != nil {
		return nil, durable.Failure("remove", path, err)
	}
	return serviceChange{path, false, end}, nil
}

// checkServiceFile returns CONFLICT if the file is not one that "service install" wrote.
func checkServiceFile(path string) error {
	text, err := os.ReadFile(path)
	if err == nil && !strings.Contains(string(text), serviceMark) {
		return fault.New(fault.Conflict, "%s was not written by `ramet service install`", path).WithHint("move it away first")
	}
	return err
}

type serviceChange struct {
	Path      string `json:"path"`
	Installed bool   `json:"installed"`
	Next      string `json:"next"`
}

func (d serviceChange) Text(w *printer.Writer) {
	if d.Installed {
		w.Line("Wrote %s. Start it with:", d.Path)
	} else {
		w.Line("Removed %s. If it still runs, end it with:", d.Path)
	}
	w.Line("  %s", d.Next)
}
