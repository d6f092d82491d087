// Package app puts ramet together: it alone knows which stores and edges
// there are.
package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/term"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/config"
	"ramet/internal/core/history"
	"ramet/internal/face/cli"
	"ramet/internal/face/httpapi"
	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
	"ramet/internal/model/credential"
	"ramet/internal/operation/session"
	"ramet/internal/runner/forge"
	"ramet/internal/store"
	"ramet/internal/store/database"
	"ramet/internal/store/postgres"
	"ramet/internal/store/sqlite"
	"ramet/recipes/docs"
)

// Stdio holds the streams of a process.
type Stdio struct {
	In       io.Reader
	Out, Err io.Writer
}

// Main carries out one command line and returns the exit code.
func Main(ctx context.Context, args []string, env func(string) string, stdio Stdio) int {
	sandbox.Main() // which does not return when this process is to confine a command
	// The first collection begins at a heap of 32 MB instead of 4: most commands end before it.
	debug.SetGCPercent(700)
	debug.SetMemoryLimit(1 << 30)
	if watch := switches().Watch; watch != nil {
		defer watch()()
	}
	if !switches().Patient {
		ctx = database.Telling(ctx, func(s string) { fmt.Fprintln(stdio.Err, s) })
	}
	dir, err := os.Getwd()
	if err != nil {
		dir = "." // the folder is gone; what needs it will say so
	}
	return runIn(ctx, dir, args, env, stdio)
}

// runIn runs one command line in a folder and returns the exit code.
func runIn(ctx context.Context, dir string, args []string, env func(string) string, stdio Stdio) int {
	return cli.Run(ctx, args, cli.Env{
		Streams: cli.Streams{Stdin: stdio.In, Stdout: stdio.Out, Stderr: stdio.Err,
			Terminal: isTerminal(stdio.Out), ErrTerminal: isTerminal(stdio.Err), Password: password(stdio)},
		Background: cli.Background{Detach: detach(args, stdio), Leave: leave(env)},
		System: session.System{Getenv: env, Environ: os.Environ, Umask: launch.Umask, Dir: dir, User: self, Now: time.Now, Open: open, Look: sqlite.Look, Start: startKernel, Learn: func(k *credential.Store) { new(learner).learn(k, "") }, Find: modelServers().Find, Logs: logs{}, Agent: ownAgent, MCP: pool, Drivers: knownDrivers, Unsay: unsay, Hooks: hookRunner,
			Tokens: append(forge.Variables(), telemetryToken)},
		Servers: cli.ServerPorts{CheckHost: httpapi.CheckHost, Host: runHost, Elsewhere: carryElsewhere,
			Background: func(s *session.Session) (cli.BackgroundKernel, error) { return backgroundOf(s) }},
		Models: modelServers(),
		Runs:   cli.RunsPorts{Carry: carry, Windows: runWindows, Work: work, External: external, Fetch: fetchFromHost, Programs: programs, OpenAPI: func() []byte { return httpapi.OpenAPI(version) }},
		Care:   cli.CarePorts{Version: about, Telemetry: telemetrySize},
		MCP:    cli.MCPPorts{Serve: serveMCP, Again: again},
		Screen: screen(stdio),
		Pick:   picks(stdio),
	})
}

func open(ctx context.Context, p config.WorkspaceLocation) (*store.Store, error) {
	ctx = history.Unattended(ctx) // agent 0 is nobody's doing
	switch scheme, _, isURL := strings.Cut(p.DB, "://"); {
	case postgres.IsURL(p.DB):
		return postgres.Open(ctx, p.DB, postgres.Options{Cwd: p.Project, Export: sqlite.Export})
	case isURL && !strings.Contains(scheme, "/"):
		// The rest of it is not repeated: there may be a password in it.
		return nil, fault.New(fault.InvalidConfig, "%s:// is not a database that ramet supports", text.Line(scheme, 40)).
			WithHint("give a file, or postgres://user@host/database")
	}
	return sqlite.Open(ctx, p.DB, sqlite.Options{Cwd: p.Project, Mark: p.Mark})
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// password reads from the terminal without echo; nil where standard input is
// none.
func password(stdio Stdio) func(string) (string, error) {
	f, ok := stdio.In.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return func(prompt string) (string, error) {
		fmt.Fprint(stdio.Err, prompt)
		line, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(stdio.Err)
		return string(line), err
	}
}

// ownAgent is the agent for whose command this process was started.
func ownAgent() (id.Agent, bool) {
	mark, ok := sandbox.Marked()
	if !ok {
		return "", false
	}
	return id.AgentOf(mark), true
}

// What a release says of itself. They are variables because the release sets them when it
// links (tools/release); a build without it takes commit, date and modified from what Go
// wrote into the binary.
var (
	version  = "0.1.0-dev" // what this source is, or will be once it is released
	commit   = ""
	date     = "" // the commit's, RFC 3339
	modified = "" // "true" where the source differed from the commit
)

func about() cli.Version {
	v := cli.Version{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Revision: commit, Date: date, Modified: modified == "true"}
	if commit != "" {
		return v
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		fromBuild(&v, info)
	}
	return v
}

// fromBuild takes what Go knows of the source, which is nothing outside a checkout.
func fromBuild(v *cli.Version, info *debug.BuildInfo) {
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Date = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
}

func programs() map[string]cli.RunProgram {
	out := map[string]cli.RunProgram{}
	for name, do := range docs.Programs {
		out["docs "+name] = func(ctx context.Context, dir, inputs string, l *cli.Line) error {
			temp, err := os.MkdirTemp("", "ramet-program-")
			if err != nil {
				return durable.Failure("make a folder for", name, err)
			}
			defer os.RemoveAll(temp)
			return do(ctx, docs.Call{Dir: dir, Inputs: inputs, Temp: temp, Value: l.Getenv, Stdout: l.Stdout})
		}
	}
	return out
}
