package launch

import (
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

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
		if hasVariable(named, name) || known && !isGuarded(value) {
			out = append(out, pair)
		}
	}
	return out
}

// isGuarded reports whether a value has an address with a user in it, and so perhaps a password. Few have an
// address at all.
func isGuarded(value string) bool {
	return strings.Contains(value, "://") && withUser().MatchString(value)
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
