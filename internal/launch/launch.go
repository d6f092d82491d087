// Package launch starts every program that is not ramet itself (drivers, MCP servers, hooks, git, commands
// of agents and runs, desktop helpers) and chooses the environment variables they get.
//
// A Program says what to start and why, in which folder, what it may write and whether it has the
// network. The rest follows from the purpose:
//
//   - A program of the user's own (a server, a hook, a notification, an editor) starts in an empty folder.
//     Interpreters and package runners obey files in the folder where they start; in a project that is
//     whatever a clone brought along. The variables RAMET_PROJECT and CLAUDE_PROJECT_DIR name the
//     project, and none of its folders is on PATH, NODE_PATH or PYTHONPATH.
//   - A driver or a program that a project names starts only after its check: the files that it obeys
//     (Rows) were accepted in exactly these bytes, or are switched off.
//   - A driver, git, readers of files and what a project's server or hook starts are not looked up in the
//     project, whatever PATH says: a file of the project starts only by its path.
//   - Everything else starts where its caller says.
//
// Package sandbox carries it out; Command is for programs that use ramet's own streams.
//
// # Environment
//
// A process that is started for a model or a project gets only the variables of a table (environment_table.go) and
// those that the user named, in their order. A value with a password in an address
// (https://user:password@host) is left out unless the user named the variable. Only a command that a
// person types (after "!") gets the whole environment.
package launch

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/launch/sandbox"
)

// Purpose names the reason for which a program is started.
type Purpose string

// The purposes.
const (
	Driver        Purpose = "driver"
	UserServer    Purpose = "MCP server of the user"
	ProjectServer Purpose = "MCP server of the project"
	UserHook      Purpose = "hook of the user"
	ProjectHook   Purpose = "hook of the project"
	Notification  Purpose = "notification"
	Clipboard     Purpose = "clipboard"
	Credential    Purpose = "credential helper"
	Probe         Purpose = "version probe"
	Git           Purpose = "git"
	AgentCommand  Purpose = "command of an agent"
	RunCommand    Purpose = "command of a run"
	UserCommand   Purpose = "command of the user"
	Editor        Purpose = "editor"
	Reader        Purpose = "reader of files"
)

// Program describes a program that is to be started. Dir is the folder that it works for, and
// where it starts unless its purpose says otherwise.
type Program struct {
	sandbox.Command
	Purpose Purpose
	Project string // the project that it works for; empty: Dir
	// Check refuses the start. A driver and the programs of a project must have one.
	Check func() error
}

// rule describes how programs of a purpose start.
type rule struct {
	neutral bool // in an empty folder
	outside bool // found, with the interpreter that it names, outside of the project
	checked bool // only after a check
}

func ruleOf(p Purpose) (rule, bool) {
	switch p {
	case Driver, ProjectServer, ProjectHook:
		return rule{checked: true, outside: true}, true
	case UserServer, UserHook, Notification, Clipboard, Credential, Editor, Probe:
		return rule{neutral: true}, true
	case Git, Reader:
		return rule{outside: true}, true
	case AgentCommand, RunCommand, UserCommand:
		return rule{}, true
	}
	return rule{}, false
}

// Start starts a program that is ended with everything it started, confined if it has a box.
func Start(ctx context.Context, p Program) (*sandbox.Process, error) {
	c, err := p.prepare()
	if err != nil {
		if p.Speaks != nil {
			p.Speaks.In.Close()
			p.Speaks.Out.Close()
		}
		return nil, err
	}
	return sandbox.Start(ctx, c)
}

// Speak starts a program that reads what is written to one file, and writes what is read from another.
func Speak(ctx context.Context, p Program) (process *sandbox.Process, to, from *os.File, err error) {
	inR, to, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, fault.New(fault.Failed, "start %s: %w", p.Args[0], err)
	}
	from, outW, err := os.Pipe()
	if err != nil {
		inR.Close()
		to.Close()
		return nil, nil, nil, fault.New(fault.Failed, "start %s: %w", p.Args[0], err)
	}
	p.Speaks = &sandbox.Speech{In: inR, Out: outW}
	if process, err = Start(ctx, p); err != nil {
		to.Close()
		from.Close()
		return nil, nil, nil, err
	}
	return process, to, from, nil
}

// Command prepares a program for os/exec. Its caller sets the streams and runs it.
func Command(ctx context.Context, p Program) (*exec.Cmd, error) {
	c, err := p.prepare()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	if r, _ := ruleOf(p.Purpose); (r.neutral || r.outside) && runtime.GOOS != "windows" {
		if cmd.Path, cmd.Err = sandbox.LookPath(c.Args[0], c.Dir, c.Env); cmd.Err != nil {
			return nil, cmd.Err
		}
	}
	if c.Umask != "" && runtime.GOOS != "windows" { // as no thread of this process can have one of its own
		cmd.Args = append([]string{"sh", "-c", `umask "$0" && exec "$@"`, c.Umask, cmd.Path}, cmd.Args[1:]...)
		cmd.Path = "/bin/sh"
	}
	return cmd, nil
}

type umaskKey struct{}

// WithUmask returns a context for work that a client of another process asks for: the files that git makes for it have
// the client's umask, in octal. Empty: that of this process.
func WithUmask(ctx context.Context, umask string) context.Context {
	return context.WithValue(ctx, umaskKey{}, umask)
}

// UmaskOf returns the umask of WithUmask; empty: there is none.
func UmaskOf(ctx context.Context) string {
	umask, _ := ctx.Value(umaskKey{}).(string)
	return umask
}

// prepare decides folder, environment and refusal.
func (p Program) prepare() (sandbox.Command, error) {
	c := p.Command
	r, known := ruleOf(p.Purpose)
	switch {
	case len(c.Args) == 0:
		return c, fault.New(fault.Usage, "start %s: no program is named", p.Purpose)
	case !known || r.checked && p.Check == nil:
		return c, fault.New(fault.Failed, "start %s: nothing says whether a %s may start", c.Args[0], p.Purpose)
	case p.Check != nil:
		if err := p.Check(); err != nil {
			return c, err
		}
	}
	if !r.neutral && !r.outside {
		return c, nil
	}
	project := cmp.Or(p.Project, c.Dir)
	if project == "" {
		project, _ = os.Getwd() // programs that work for no project start from wherever ramet did
	}
	if c.Env == nil {
		c.Env = os.Environ()
	}
	if r.outside {
		c.Env = slices.Clone(c.Env)
		for i, pair := range c.Env {
			if name, value, _ := strings.Cut(pair, "="); name == "PATH" {
				c.Env[i] = "PATH=" + foldersOutside(c.Dir, foldersOutside(project, value))
			}
		}
		return c, nil
	}
	dir, err := NeutralFolder(project)
	if err != nil {
		return c, err
	}
	c.Dir, c.Env = dir, outsideOf(project, c.Env)
	return c, nil
}

// NeutralFolder returns an empty folder that only the user can write, outside of the project.
func NeutralFolder(project string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return filepath.VolumeName(project) + string(filepath.Separator), nil
	}
	dir := filepath.Join(cache, "ramet", "neutral")
	if isWithin(project, dir) { // a program that looks upwards would find the project
		return filepath.VolumeName(dir) + string(filepath.Separator), nil
	}
	if err = os.MkdirAll(dir, 0o700); err == nil {
		var info os.FileInfo
		if info, err = os.Lstat(dir); err == nil && (!info.IsDir() || !isPrivate(info)) {
			err = fault.New(fault.Denied, "%s is not a folder that only you can use", dir).WithHint("look who made it, and remove it")
		}
	}
	if err != nil {
		return "", fault.New(fault.StorageIO, "make an empty folder to start programs in: %w", err)
	}
	return dir, nil
}

// isWithin reports whether a path is the folder or below it, also where links lead there.
func isWithin(folder, path string) bool {
	if folder == "" || path == "" {
		return false
	}
	rel, err := filepath.Rel(sandbox.RealPath(folder), sandbox.RealPath(path))
	return err == nil && filepath.IsLocal(rel)
}

// ofProject reports whether a folder is the project's and not the user's: where the home is part
// of the project, what is below the home is the user's. Nothing is of a project that is the root of
// the file system.
func ofProject(project, dir string) bool {
	home, _ := os.UserHomeDir()
	return filepath.Dir(project) != project && isWithin(project, dir) && !(isWithin(project, home) && isWithin(home, dir))
}

// foldersOutside returns a list of folders, such as PATH, without relative ones and those of a project.
func foldersOutside(project, list string) string {
	folders := slices.DeleteFunc(filepath.SplitList(list), func(dir string) bool {
		return !filepath.IsAbs(dir) || ofProject(project, dir)
	})
	return strings.Join(folders, string(filepath.ListSeparator))
}

// outsideOf returns an environment for a program that must not execute what lies in a project.
func outsideOf(project string, env []string) []string {
	out := make([]string, 0, len(env)+3)
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		switch name {
		case "PATH", "NODE_PATH", "PYTHONPATH":
			pair = name + "=" + foldersOutside(project, value)
		case "PYTHONSAFEPATH", "INIT_CWD", "PWD", "OLDPWD":
			continue
		}
		out = append(out, pair)
	}
	out = append(out, "PYTHONSAFEPATH=1")
	for _, name := range []string{"RAMET_PROJECT", "CLAUDE_PROJECT_DIR"} {
		if project != "" && !slices.ContainsFunc(out, func(pair string) bool { return strings.HasPrefix(pair, name+"=") }) {
			out = append(out, name+"="+project)
		}
	}
	return out
}

// EnvironmentFor returns what a process for a model or a project gets of an environment.
func EnvironmentFor(env []string) []string { return chooseVariables(env, work) }

// ReachingVariables returns what git gets of it where it speaks to another repository in the user's
// name: also the ssh agent, and what helpers need to find the user's credentials.
func ReachingVariables(env []string) []string { return chooseVariables(env, work, reach) }

func chooseVariables(env []string, tables ...[]string) []string {
	var named []string
	if p := permitted.Load(); p != nil {
		named = *p
	}
	out := make([]string, 0, 32)
	for _, pair := range env {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			continue
		}
		known := slices.ContainsFunc(tables, func(t []string) bool { return hasVariable(t, name) })
		if hasVariable(named, name) || known && !withUser().MatchString(value) {
			out = append(out, pair)
		}
	}
	return out
}

var withUser = text.Regexp(`[a-zA-Z][a-zA-Z0-9+.-]*://[^/\s?#]*@`)

// permitted are the names that the user adds. They hold for the whole process, as the
// environment does, so that no starter of processes can forget them.
var permitted atomic.Pointer[[]string] // nil: none

// PermitVariables sets the names that the user adds to the table: NAME, or NAME_* for all that
// begin so. INVALID_CONFIG: no such name can be; nothing is changed then.
func PermitVariables(names []string) error {
	for _, name := range names {
		if err := CheckVariableName(name); err != nil {
			return err
		}
	}
	names = slices.Clone(names)
	permitted.Store(&names)
	return nil
}

var nameForm = text.Regexp(`^[A-Za-z_][A-Za-z0-9_()]*\*?$`)

// CheckVariableName refuses what is no name for Permit.
func CheckVariableName(name string) error {
	if nameForm().MatchString(name) {
		return nil
	}
	return fault.New(fault.InvalidConfig, "%.80q is not a name of a variable", name).
		WithHint("name variables without their values, such as VAULT_ADDR; MY_* means all that begin with MY_")
}

// hasVariable looks a name up; one that ends with a star stands for all that begin so. Windows
// does not tell capital letters from small ones.
func hasVariable(table []string, name string) bool {
	return slices.ContainsFunc(table, func(entry string) bool {
		same := func(a, b string) bool { return a == b || runtime.GOOS == "windows" && strings.EqualFold(a, b) }
		if start, many := strings.CutSuffix(entry, "*"); many {
			return len(name) >= len(start) && same(name[:len(start)], start)
		}
		return same(name, entry)
	})
}

// work are the variables with which programs work: where things are and how to build.
// None of them is meant to hold a secret. PATH comes first because without it nothing
// is found.
var work = strings.Fields(`
	PATH HOME LANG LANGUAGE LC_* TERM COLORTERM TERMINFO NO_COLOR TZ TZDIR TMPDIR USER LOGNAME SHELL
	XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CONFIG_DIRS XDG_DATA_DIRS
	CI SOURCE_DATE_EPOCH
	HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY http_proxy https_proxy no_proxy all_proxy
	SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS
	CC CXX CPP LD AR AS NM RANLIB STRIP CFLAGS CXXFLAGS CPPFLAGS LDFLAGS LIBRARY_PATH LD_LIBRARY_PATH CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH
	MAKEFLAGS PKG_CONFIG PKG_CONFIG_PATH PKG_CONFIG_LIBDIR CMAKE_GENERATOR CMAKE_PREFIX_PATH CMAKE_BUILD_PARALLEL_LEVEL CCACHE_DIR SCCACHE_DIR
	GOROOT GOPATH GOBIN GOCACHE GOMODCACHE GOENV GOFLAGS GOOS GOARCH GOAMD64 GOARM GOARM64 GOEXPERIMENT GODEBUG GOTOOLCHAIN GOWORK GO111MODULE
	GOPROXY GOSUMDB GOPRIVATE GONOPROXY GONOSUMDB GOINSECURE GOTMPDIR GOMAXPROCS GOGC GOMEMLIMIT CGO_ENABLED CGO_CFLAGS CGO_CPPFLAGS CGO_CXXFLAGS CGO_LDFLAGS
	CARGO_HOME CARGO_TARGET_DIR CARGO_BUILD_JOBS CARGO_INCREMENTAL CARGO_NET_OFFLINE RUSTUP_HOME RUSTUP_TOOLCHAIN RUSTFLAGS RUSTC RUSTC_WRAPPER RUSTDOCFLAGS RUST_BACKTRACE RUST_LOG
	NODE_ENV NODE_PATH NODE_OPTIONS NODE_VERSION NVM_DIR NVM_BIN NVM_INC FNM_DIR FNM_MULTISHELL_PATH N_PREFIX VOLTA_HOME PNPM_HOME COREPACK_HOME
	BUN_INSTALL DENO_DIR DENO_INSTALL YARN_CACHE_FOLDER npm_config_cache npm_config_prefix npm_config_registry NPM_CONFIG_CACHE NPM_CONFIG_PREFIX NPM_CONFIG_REGISTRY
	PLAYWRIGHT_BROWSERS_PATH PUPPETEER_EXECUTABLE_PATH CHROME_BIN
	PYTHONPATH PYTHONHOME PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONIOENCODING PYTHONUTF8 VIRTUAL_ENV PYENV_ROOT PYENV_VERSION PIPX_HOME PIP_CACHE_DIR PIP_INDEX_URL
	POETRY_HOME POETRY_VIRTUALENVS_PATH UV_CACHE_DIR UV_PYTHON UV_INDEX_URL CONDA_PREFIX CONDA_DEFAULT_ENV CONDA_EXE CONDA_PYTHON_EXE MAMBA_ROOT_PREFIX
	JAVA_HOME JDK_HOME JAVA_TOOL_OPTIONS M2_HOME MAVEN_HOME GRADLE_HOME GRADLE_USER_HOME ANT_HOME SDKMAN_DIR KOTLIN_HOME SCALA_HOME
	ANDROID_HOME ANDROID_SDK_ROOT ANDROID_NDK_HOME FLUTTER_ROOT PUB_CACHE DART_SDK
	DOTNET_ROOT DOTNET_CLI_HOME DOTNET_CLI_TELEMETRY_OPTOUT NUGET_PACKAGES
	RBENV_ROOT RBENV_VERSION RUBYLIB RUBYOPT GEM_HOME GEM_PATH BUNDLE_PATH BUNDLE_GEMFILE COMPOSER_HOME PHPRC PERL5LIB PERL_LOCAL_LIB_ROOT
	MIX_HOME HEX_HOME MIX_ENV ERL_LIBS OPAMROOT OPAM_SWITCH_PREFIX CAML_LD_LIBRARY_PATH STACK_ROOT CABAL_DIR GHCUP_INSTALL_BASE_PREFIX LUA_PATH LUA_CPATH JULIA_DEPOT_PATH R_HOME R_LIBS R_LIBS_USER
	ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR MISE_CONFIG_DIR MISE_CACHE_DIR HOMEBREW_PREFIX HOMEBREW_CELLAR HOMEBREW_REPOSITORY
	NIX_PATH NIX_PROFILES NIX_SSL_CERT_FILE LOCALE_ARCHIVE GUIX_PROFILE GUIX_LOCPATH BAZELISK_HOME TF_PLUGIN_CACHE_DIR
	SDKROOT DEVELOPER_DIR MACOSX_DEPLOYMENT_TARGET
	GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
	RAMET_HOME RAMET_CONFIG
	SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT TEMP TMP USERNAME USERPROFILE HOMEDRIVE HOMEPATH APPDATA LOCALAPPDATA PROGRAMDATA PROGRAMFILES*
	NUMBER_OF_PROCESSORS PROCESSOR_ARCHITECTURE
`)

// reach are the variables by which ssh and helpers of git find the user's credentials,
// and with which git itself is told how to reach others. They hold no secret, but open
// the way to some.
var reach = strings.Fields(`
	SSH_AUTH_SOCK SSH_AGENT_PID GIT_SSH GIT_SSH_COMMAND GIT_SSH_VARIANT GIT_SSL_CAINFO GIT_SSL_CAPATH
	XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS DISPLAY WAYLAND_DISPLAY XAUTHORITY
	GNUPGHOME PASSWORD_STORE_DIR GH_CONFIG_DIR GH_HOST GCM_* KRB5CCNAME KRB5_CONFIG
`)
