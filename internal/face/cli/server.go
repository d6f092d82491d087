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
	"time"

	"github.com/spf13/cobra"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/base/step"
	"ramet/internal/base/text"
	"ramet/internal/core/config"
	"ramet/internal/core/trust"
	"ramet/internal/operation"
	"ramet/internal/operation/control"
	"ramet/internal/operation/public"
	"ramet/internal/operation/session"
)

// BackgroundKernel is the background kernel of a home.
type BackgroundKernel interface {
	// Status asks the one that runs. NOT_FOUND: none does.
	Status(ctx context.Context) (public.BackgroundKernel, error)
	// ListAgents lists the agents of the projects that it holds. NOT_FOUND: none runs.
	ListAgents(ctx context.Context, in operation.PsInput) ([]ProjectAgents, error)
	// Agree returns CONFLICT if the one that runs is of another version. At a terminal it offers to restart one that is
	// idle.
	Agree(ctx context.Context, l *Line) error
	// Start starts one, unless it runs.
	Start(ctx context.Context) error
	// Stop ends it, and returns when nothing of it runs. CONFLICT: agents work, and force is not set.
	Stop(ctx context.Context, force bool) error
	// Serve serves the page of a workspace, and calls ready when it answers, again after each restart. It returns
	// when ctx or the kernel ends, or at once unless the request keeps the kernel for this client.
	Serve(ctx context.Context, in ServeRequest, ready func(Served)) error
	// ForgetDeaths lets it start although it died several times.
	ForgetDeaths()
}

// HostOptions connects the process of the background kernel to the command line.
type HostOptions struct {
	Place  control.Place
	Getenv func(string) string
	User   string
	Token  trust.Token
	// Sessions is the file that keeps the sessions of browsers.
	Sessions string
	Idle     time.Duration // how long it stays when nothing keeps it; 0: for ever
	Note     func(string)  // writes a line to the log
	// Locate decides which workspace is meant.
	Locate func(OpenRequest) (config.WorkspaceLocation, error)
	// Projects lists the projects of the home.
	Projects func(context.Context) (public.Projects, error)
	// Open opens it.
	Open func(context.Context, OpenRequest) (HostedWorkspace, error)
	// Run carries out the command line of a client and returns its exit code. hold returns a workspace that the kernel
	// holds, which it opens if need be.
	Run func(ctx context.Context, in CommandRequest, s Streams, hold func(context.Context, OpenRequest) (*session.Workspace, error)) int
}

// OpenRequest names a workspace as a client's command line does.
type OpenRequest struct{ DB, Workspace, Dir string }

// NameWorkspace names the workspace of a session to the background kernel.
func NameWorkspace(s *session.Session) (OpenRequest, error) {
	in := OpenRequest{Dir: s.Dir, Workspace: s.Workspace}
	place, err := s.Place()
	if place.Named {
		in.DB = place.DB
	}
	return in, err
}

// HostedWorkspace is a workspace that the background kernel opened.
type HostedWorkspace struct {
	Workspace *session.Workspace
	Service   Service
	Command   Command // carries out command lines on it
	Close     func() error
}

func serverCommand(e Env, l *Line) *cobra.Command {
	return parent("server", "The background kernel: status, stop, restart", `Control the background kernel, in which your agents run: one process for you on this machine.
It starts when it is needed, serves all your projects, and keeps running when you close a
terminal. It exits ten minutes after the last agent, command, question and client is gone
(ramet config set server_idle 1h).`,
		serverStatusCommand(e, l),
		changeServer(e, l, "start", "Start the background kernel, unless it runs", "start the background kernel", func(ctx context.Context, k BackgroundKernel, _ bool) error { return k.Start(ctx) }),
		changeServer(e, l, "stop", "End the background kernel, unless agents work", "stop the background kernel", func(ctx context.Context, k BackgroundKernel, force bool) error { return k.Stop(ctx, force) }),
		changeServer(e, l, "restart", "End the background kernel and start it again, unless agents work", "restart the background kernel", restartServer), serverRunCommand(e, l))
}

func serverStatusCommand(e Env, l *Line) *cobra.Command {
	return l.command("status", "Show whether the background kernel runs, and what it does", "", 0, 0, func(ctx context.Context, _ []string) (printer.Datum, error) {
		k, err := e.Servers.Background(l.Session)
		if err != nil {
			return nil, err
		}
		now, err := k.Status(ctx)
		if fault.Is(err, fault.NotFound) {
			return serverStatus{public.BackgroundKernel{Workspaces: []public.HeldWorkspace{}}}, nil
		}
		return serverStatus{now}, err
	})
}

// changeServer makes a command that only a person may give the background kernel.
func changeServer(e Env, l *Line, use, short, what string, do func(ctx context.Context, k BackgroundKernel, force bool) error) *cobra.Command {
	var force bool
	c := l.command(use, short, "", 0, 0, func(ctx context.Context, _ []string) (printer.Datum, error) {
		if err := l.Person(what); err != nil {
			return nil, err
		}
		k, err := e.Servers.Background(l.Session)
		if err != nil {
			return nil, err
		}
		return nil, do(ctx, k, force)
	})
	if use != "start" {
		c.Flags().BoolVar(&force, "force", false, "interrupt working agents; they can be resumed")
	}
	return c
}

func restartServer(ctx context.Context, k BackgroundKernel, force bool) error {
	if err := k.Stop(ctx, force); err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	k.ForgetDeaths()
	return k.Start(ctx)
}

func serverRunCommand(e Env, l *Line) *cobra.Command {
	c := l.command("run", "Run the background kernel in the foreground", "", 0, 0, func(ctx context.Context, _ []string) (printer.Datum, error) {
		if err := l.Person("run the background kernel"); err != nil {
			return nil, err
		}
		return nil, runServer(ctx, e, l)
	})
	c.Hidden = true
	return c
}

func runServer(ctx context.Context, e Env, l *Line) error {
	home, err := l.HomeDir()
	if err != nil {
		return err
	}
	conf, err := l.Config()
	if err != nil {
		return err
	}
	token, err := trust.OpenToken(home)
	if err != nil {
		return err
	}
	place, err := control.FindPlace(l.Getenv, home)
	if err != nil {
		return err
	}
	log, err := place.OpenLog()
	if err != nil {
		return err
	}
	defer log.Close()
	secrets, err := l.Secrets()
	if err != nil {
		return err
	}
	note := func(what string) {
		fmt.Fprintln(log, l.Now().UTC().Format(time.RFC3339), text.Line(secrets.All(what), 400))
	}
	idle, _ := time.ParseDuration(conf.ServerIdle) // it was checked
	open := func(in OpenRequest) (Env, *Line) {
		s := session.New(e.System, session.Choice{DB: in.DB, Home: home, Workspace: in.Workspace})
		s.Dir = in.Dir
		e := e
		e.Screen = nil
		return e, newLine(e, s)
	}
	run := func(ctx context.Context, in CommandRequest, s Streams, hold func(context.Context, OpenRequest) (*session.Workspace, error)) int {
		return runFor(ctx, e, home, in, s, func(ctx context.Context, s *session.Session) (*session.Workspace, error) {
			in, err := NameWorkspace(s)
			if err != nil {
				return nil, err
			}
			return hold(ctx, in)
		})
	}
	return e.Servers.Host(ctx, HostOptions{
		Run: run, Place: place, Getenv: l.Getenv, User: l.User(), Idle: idle, Note: note, Token: token, Sessions: filepath.Join(home, "sessions.json"),
		Projects: l.Projects,
		Locate: func(in OpenRequest) (config.WorkspaceLocation, error) {
			_, sub := open(in)
			return sub.Place()
		},
		Open: func(ctx context.Context, in OpenRequest) (out HostedWorkspace, err error) {
			e, sub := open(in)
			if out.Workspace, err = sub.Open(ctx); err != nil {
				return out, err
			}
			out.Close, out.Command = sub.Close, within(e, sub)
			runs, err := sub.Runs("")
			if err != nil {
				return out, err
			}
			warn := func(what string) { note(out.Workspace.Secrets.All(what)) } // clients brought keys of their own
			out.Service = Service{Runs: runs, Warn: warn, User: l.User(), Command: out.Command, Begin: BeginMCP(sub, e.MCP)}
			return out, nil
		},
	})
}

type serverStatus struct{ public.BackgroundKernel }

func (d serverStatus) Text(w *printer.Writer) {
	if !d.Running {
		w.Line("No background kernel runs. It starts when it is needed.")
		return
	}
	w.Line("The background kernel runs: version %s, process %d, since %s.", d.Version, d.PID, d.StartedAt.Local().Format(time.DateTime))
	for _, one := range d.Workspaces {
		state := one.Keeps()
		switch {
		case one.Failed != "":
			state = "closed, because " + one.Failed
		case one.Working > 0:
			state = text.Count(one.Working, "agent") + " at work"
		case state == "":
			state = "idle"
		}
		w.Line("  %s: %s", one.Folder, state)
	}
	if d.URL != "" {
		w.Line("The page is at %s; `ramet web` prints a link.", d.URL)
	}
	if d.IdleUntil != nil {
		w.Line("Nothing keeps it: it ends at %s.", d.IdleUntil.Local().Format(time.TimeOnly))
	}
	w.Line("Its log is %s.", d.Log)
}

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
