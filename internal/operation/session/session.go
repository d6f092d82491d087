package session

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/seal"
	"ramet/internal/base/secret"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/core/trust"
	"ramet/internal/files"
	"ramet/internal/launch"
	"ramet/internal/ledger"
	"ramet/internal/model/catalog"
	"ramet/internal/model/credential"
	"ramet/internal/operation/control"
	"ramet/internal/operation/public"
	"ramet/internal/run/rundir"
	"ramet/internal/store"
	"ramet/internal/tools/hookprogram"
	"ramet/internal/tools/mcp"
	"ramet/internal/turn/permit"
)

// System holds the parts of the program that a session needs.
type System struct {
	Getenv func(string) string
	// Environ returns the environment of this process; nil: nothing of it goes along to other kernels.
	Environ func() []string
	Umask   func() string // of this process, in octal; empty: unknown. Set where Environ is
	Dir     string        // where the command was given
	User    func() string // of the operating system
	Now     func() time.Time
	// Open opens the store of a place.
	Open func(context.Context, config.WorkspaceLocation) (*store.Store, error)
	// Hold returns the workspace of a session which this process holds for all its sessions; nil: each session opens
	// its own.
	Hold func(context.Context, *Session) (*Workspace, error)
	// Look reads what the workspace in a file says of itself, and changes nothing.
	Look func(ctx context.Context, path string) (store.Outline, error)
	// Start starts a kernel on an open workspace.
	Start func(context.Context, *Workspace, Kernel) (*Running, error)
	// Agent is the agent for whose command this process was started, by whatever way; false:
	// a person started it. nil: nobody can know.
	Agent func() (id.Agent, bool)
	// Learn asks the local servers that are named for their models, each once; nil: nobody
	// does.
	Learn func(*credential.Store)
	// Find names the models of the vendors whose servers answer at their usual address on
	// this machine; nil: nobody is looked for.
	Find func(context.Context, []catalog.Vendor) map[string][]string
	// MCP makes a pool of the MCP servers of a workspace, and says what people should know of
	// them; nil: there are none.
	MCP func(*Workspace) (*mcp.Pool, string, error)
	// Hooks runs the hooks of a workspace; nil: none run.
	Hooks func(*Workspace) (hookprogram.Runner, error)
	// Drivers lists the programs that can drive agents, and asks those that are installed who
	// they are; nil: there are none.
	Drivers func(ctx context.Context, w *Workspace, ask bool) public.Drivers
	// Unsay takes what a message said out of what terminals offer again; nil: none keeps anything.
	Unsay func(w *Workspace, message string) error
	// Logs opens the event logs of runs.
	Logs rundir.Logs
	// Tokens are the variables that hold credentials besides the keys of models.
	Tokens []string
}

// Choice holds the user's choice of a workspace; empty: none.
type Choice struct{ DB, Home, Workspace string }

// Session is one person's command, or one program that a person uses. It is used by one
// goroutine until the workspace is open.
type Session struct {
	System
	Choice

	// Repaired is told when a ledger was found damaged and made again; nil: nobody is.
	Repaired func(ledger.RepairResult)
	// Reads is set where nothing is to be changed: then a database that was named and is
	// not there is not made. Made is told when one was; nil: nobody is.
	Reads bool
	Made  func(db string)
	// Notice is called with what a person should know about the database; nil: the notice is kept.
	Notice func(string)
	// Finished is told when a restore of files that was interrupted is finished; nil: nobody is.
	Finished func(files.RestoreDone)

	// Command carries out a command line in this process, on the workspace that is open, and
	// returns what it prints; nil: there is no command line.
	Command func(ctx context.Context, args ...string) (string, error)

	// CommandFor carries out a command line of an agent in this process, with what only an agent may do, and returns its
	// exit code; nil: there is no command line.
	CommandFor func(ctx context.Context, c AgentCommand) int

	conf  *config.Config
	stamp fs.FileInfo // of the user's file before it was read; nil: there was none
	keys  *credential.Store
	open  *Workspace
	held  bool // open is held for other sessions too
}

// AgentCommand is a command line that a command of an agent gave.
type AgentCommand struct {
	Agent          agent.Agent
	Confined       bool // the command
	Args           []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// New makes a session. Nothing is read yet.
func New(sys System, c Choice) *Session { return &Session{System: sys, Choice: c} }

// Config is the configuration, loaded once.
func (s *Session) Config() (*config.Config, error) {
	if s.conf != nil {
		return s.conf, nil
	}
	project, err := config.ProjectFolder(s.Dir)
	if err != nil {
		return nil, err
	}
	return s.configOf(project)
}

// configOf is the configuration in a project, loaded once.
func (s *Session) configOf(project string) (*config.Config, error) {
	if s.conf != nil {
		return s.conf, nil
	}
	path, err := config.Path(s.Getenv)
	if err != nil {
		return nil, err
	}
	s.stamp, _ = os.Stat(path)
	if s.conf, err = s.settings(project); err == nil && s.Hold == nil { // else it holds already what the process goes by
		catalog.Use(s.conf.Vendors)
		err = launch.PermitVariables(config.Items(s.conf.Env))
	}
	return s.conf, err
}

// Settings is the configuration as its files are now. Config is as it was when this process began, and what
// runs here goes by that, but for what may be done unasked (Workspace.Unasked).
func (s *Session) Settings() (*config.Config, error) {
	project, err := config.ProjectFolder(s.Dir)
	if err != nil {
		return nil, err
	}
	return s.settings(project)
}

func (s *Session) settings(project string) (*config.Config, error) {
	home, err := s.HomeDir()
	if err != nil {
		return nil, err
	}
	own, err := trust.Gate{Home: home, Project: project}.Configuration()
	if err != nil {
		return nil, err
	}
	file := config.ProjectFile{Path: filepath.Join(project, trust.ConfigurationFile), Text: string(own.Data), Stale: own.Note != ""}
	return config.Load(config.Options{Env: s.Getenv, Project: file, Check: CheckSetting})
}

// CheckSetting refuses values that the configuration cannot judge itself.
func CheckSetting(key, value string) error {
	if key != "allow" {
		return nil
	}
	_, err := permit.ParseAll(value)
	return err
}

// HomeDir is ramet's home. It need not be there yet.
func (s *Session) HomeDir() (string, error) {
	home, err := config.Home(s.Getenv, s.Home)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(home); err == nil && !info.IsDir() {
		return "", fault.New(fault.InvalidConfig, "ramet's home %s is not a folder", home).
			WithHint("choose another with --home or RAMET_HOME")
	}
	return home, nil
}

// Keys are the keys of vendors, read once.
func (s *Session) Keys() (*credential.Store, error) {
	if s.keys != nil {
		return s.keys, nil
	}
	return s.ReadKeys()
}

// ReadKeys reads the keys again, after one was changed.
func (s *Session) ReadKeys() (*credential.Store, error) {
	home, err := s.HomeDir()
	if err != nil {
		return nil, err
	}
	s.Config() // vendors may be the user's own; what is wrong with it is told to those who need it
	keys, err := credential.Open(s.Getenv, home)
	if err != nil {
		return nil, err
	}
	catalog.UseFile(catalog.Path(home)) // whoever asks for keys asks for models next
	s.keys = keys
	return keys, nil
}

// Secrets knows our own credentials: keys of models, and tokens of other services.
func (s *Session) Secrets() (*secret.Redactor, error) {
	keys, err := s.Keys()
	if err != nil {
		return nil, err
	}
	return secret.New(s.credentials(keys)), nil
}

func (s *Session) credentials(keys *credential.Store) map[string]string {
	values := map[string]string{}
	maps.Copy(values, keys.Values())
	for _, name := range s.Tokens {
		if v := s.Getenv(name); v != "" {
			values[name] = v
		}
	}
	return values
}

// Place decides which workspace is meant.
func (s *Session) Place() (config.WorkspaceLocation, error) {
	home, err := s.HomeDir()
	if err != nil {
		return config.WorkspaceLocation{}, err
	}
	project, err := config.ProjectFolder(s.Dir)
	if err != nil {
		return config.WorkspaceLocation{}, err
	}
	choice := config.WorkspaceChoice{DB: s.DB, Workspace: s.Workspace, Home: home, Dir: s.Dir, Project: project}
	if choice.DB == "" {
		choice.DB = s.Getenv("RAMET_DB")
	}
	if choice.DB == "" && choice.Workspace == "" {
		conf, err := s.configOf(project)
		if err != nil {
			return config.WorkspaceLocation{}, err
		}
		choice.ConfigDB = conf.DB
	}
	return config.LocateWorkspace(choice)
}

// Peers returns the folder of the workspace's kernels.
func (s *Session) Peers() (control.Folder, error) {
	place, err := s.Place()
	if err != nil {
		return control.Folder{}, err
	}
	home, err := s.HomeDir()
	return control.At(home, place.DB), err
}

// SigningKey returns the key that signs checkpoints in a home. It is made at first use.
func SigningKey(home string) (*seal.Key, error) {
	return seal.LoadKey(filepath.Join(home, "keys", "log.ed25519"))
}

// SigningKey returns the key of the session's home.
func (s *Session) SigningKey() (*seal.Key, error) {
	home, err := s.HomeDir()
	if err != nil {
		return nil, err
	}
	return SigningKey(home)
}

// MakeProjectFolder makes the .ramet folder of the project that dir is in, which git is to
// ignore.
func MakeProjectFolder(dir string) error {
	project, err := config.ProjectFolder(dir)
	if err != nil {
		return err
	}
	dir = filepath.Join(project, ".ramet")
	made, err := trust.Folder{Project: project, Dir: dir, Hint: "make it a folder"}.Make(0o755)
	if err != nil {
		return err
	}
	defer made.Close()
	err = durable.CreateFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o644)
	if fault.Is(err, fault.Conflict) {
		return nil
	}
	return err
}

// fresh reports whether the workspace is going to be made in a file that the user named. A
// command that only reads is refused: the name is more likely to be wrong.
func (s *Session) fresh(p config.WorkspaceLocation) (bool, error) {
	if !p.Named || strings.Contains(p.DB, "://") {
		return false, nil
	}
	if _, err := os.Stat(p.DB); !errors.Is(err, fs.ErrNotExist) {
		return false, nil // it is there, or opening it says what is wrong
	}
	if !s.Reads {
		return true, nil
	}
	return false, fault.New(fault.NotFound, "there is no database %s", p.DB).
		WithHint("check the path; a command that writes, such as `ramet exec`, makes it")
}

// Hide takes the password of a database URL and the keys that were read out of an error,
// should any layer have repeated them.
func (s *Session) Hide(err error) error {
	known := []string{findPassword(s.DB), findPassword(s.Getenv("RAMET_DB"))}
	if s.conf != nil {
		known = append(known, findPassword(s.conf.DB))
	}
	if s.keys != nil {
		for _, key := range s.keys.Values() {
			if len(key) >= secret.MinValue { // who needs none writes "none", which is a word
				known = append(known, key)
			}
		}
	}
	for _, hidden := range known {
		if hidden == "" || !strings.Contains(err.Error(), hidden) {
			continue
		}
		f, ok := fault.Of(err)
		if !ok {
			f = fault.New(fault.CodeOf(err), "%v", err)
		}
		c := *f
		c.Message = strings.ReplaceAll(c.Message, hidden, "****")
		c.Hint = strings.ReplaceAll(c.Hint, hidden, "****")
		c.Err = nil
		err = &c
	}
	return err
}

// findPassword finds the password in a database URL.
func findPassword(db string) string {
	u, err := url.Parse(db)
	if err != nil {
		return ""
	}
	if u.User != nil {
		if p, ok := u.User.Password(); ok {
			return p
		}
	}
	return u.Query().Get("password")
}

// settings follow the user's configuration. The file is read again only where it is another: who asks
// pays for a look at its name.
type settings struct {
	path string
	load func() (*config.Config, error)

	mu    sync.Mutex // guards what follows
	conf  *config.Config
	stamp fs.FileInfo // of the file that conf is of; nil: there was none
}

func (s *settings) now() (*config.Config, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stamp, _ := os.Stat(s.path)
	if sameFile(stamp, s.stamp) {
		return s.conf, nil
	}
	conf, err := s.load()
	if err != nil {
		return nil, err
	}
	s.conf, s.stamp = conf, stamp
	return conf, nil
}

func sameFile(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// Projects lists the workspaces of ramet's home, the last used first, and changes none. One that
// cannot be read is left out: `ramet doctor` in its folder says why.
func (s *Session) Projects(ctx context.Context) (public.Projects, error) {
	out := public.Projects{Projects: []public.Project{}}
	home, err := s.HomeDir()
	if err != nil {
		return out, err
	}
	entries, _ := os.ReadDir(filepath.Join(home, "workspaces")) // none yet is not an error
	for _, e := range entries {
		db := filepath.Join(home, "workspaces", e.Name(), "ramet.db")
		used := lastWritten(db, db+"-wal", filepath.Join(filepath.Dir(db), "screen.json"))
		if used.IsZero() {
			continue
		}
		if p, err := s.project(ctx, db); err == nil {
			p.Name, p.UsedAt = e.Name(), used.UTC()
			out.Projects = append(out.Projects, p)
		}
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
	}
	slices.SortStableFunc(out.Projects, func(a, b public.Project) int {
		return cmp.Or(b.UsedAt.Compare(a.UsedAt), cmp.Compare(a.Folder, b.Folder))
	})
	return out, nil
}

// lastWritten returns when one of these files was last written.
func lastWritten(paths ...string) time.Time {
	var at time.Time
	for _, p := range paths {
		if info, err := os.Stat(p); err == nil && info.ModTime().After(at) {
			at = info.ModTime()
		}
	}
	return at
}

// project reads what a workspace says of itself.
func (s *Session) project(ctx context.Context, db string) (public.Project, error) {
	seen, err := s.System.Look(ctx, db)
	if err != nil {
		return public.Project{}, err
	}
	info, err := os.Stat(seen.Folder)
	return public.Project{Folder: seen.Folder, Agents: seen.Agents, Asked: seen.Asked, Gone: err != nil || !info.IsDir()}, nil
}
