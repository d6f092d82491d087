package sandbox

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"ramet/internal/base/text"
)

// placed are files that act in a folder of one of these names only, which is not looked after as a whole: programs keep other
// things there. What has the name of such a folder and is none acts, too, because it can lead to one.
var placed = map[string][]string{
	".cargo": {"config", "config.toml"},
	".hg":    {"hgrc", "hgrc-not-shared", "sharedpath"},
	".mvn":   {"extensions.xml", "jvm.config", "maven.config"},
}

// kindAt returns the kind of a name in a folder. folder reports whether the name is that of a folder.
func kindAt(dir, name string, folder bool) (kind, bool) {
	if k, ok := kindOf(name); ok {
		return k, true
	}
	if files := placed[strings.ToLower(path.Base(dir))]; slices.Contains(files, strings.ToLower(name)) {
		return lines, true
	}
	if !folder && name != "" && name[0] == '.' && placed[strings.ToLower(name)] != nil {
		return acting, true
	}
	return "", false
}

// format says which settings of a file run nothing, each as SECTION.KEY=VALUE (top.KEY=VALUE in front of all sections), or as
// its line where the file has no sections.
type format struct {
	sections bool
	harmless func() *regexp.Regexp
}

const (
	version = `[0-9A-Za-z][0-9A-Za-z.+_-]*`
	word    = `[0-9A-Za-z^~*@/._-]*`
)

// formats are the files of which some settings run nothing, by their names or those with their folders. Of any other file
// that is looked after this way, none does.
var formats = sync.OnceValue(func() map[string]format {
	tools := format{true, text.Regexp(`^top\.min-version=` + version + `$|^tools\.[a-z][a-z0-9-]*=` + version + `$`)}
	cargo := format{true, text.Regexp(`^build\.(jobs|target|incremental)=[a-z0-9_-]+$|^net\.(retry|offline)=\w+$|^http\.(timeout|multiplexing|check-revoke)=\w+$|` +
		`^term\.(color|quiet|verbose)=\w+$|^registries\.crates-io\.protocol=\w+$|^future-incompat-report\.frequency=\w+$|` +
		`^profile\.[a-z]+\.(opt-level|debug|lto|codegen-units|panic|strip|incremental|debug-assertions|overflow-checks|rpath)=[a-z0-9-]+$|` +
		`^alias\.[a-z-]+=(run|build|check|test|doc|bench)( (-p|-q|--package|--bin|--release|--quiet|--workspace|--|[a-z0-9_][a-z0-9_-]*))*$`)}
	return map[string]format{
		".npmrc": {true, text.Regexp(`^top\.(save-exact|save-prefix|tag-version-prefix|engine-strict|package-lock|fund|audit|audit-level|progress|loglevel|color|update-notifier|` +
			`legacy-peer-deps|strict-peer-deps|strict-peer-dependencies|auto-install-peers|shamefully-hoist|hoist|hoist-pattern|public-hoist-pattern|node-linker|install-strategy|` +
			`prefer-workspace-packages|link-workspace-packages|save-workspace-protocol|shared-workspace-lockfile|dedupe-peer-dependents|resolution-mode|prefer-offline|prefer-dedupe|` +
			`side-effects-cache|lockfile|optional|omit|include)=` + word + `$|^top\.ignore-scripts=true$|^top\.registry=https://registry\.(npmjs\.org|yarnpkg\.com)/?$`)},
		".yarnrc.yml": {false, text.Regexp(`^(nodeLinker|compressionLevel|enableGlobalCache|enableTelemetry|enableProgressBars|enableMessageNames|enableImmutableInstalls|enableScripts|` +
			`nmMode|nmHoistingLimits|defaultSemverRangePrefix|checksumBehavior|preferReuse|telemetryInterval): *["']?` + word + `["']?$`)},
		".yarnrc":            {false, text.Regexp(`^"?(save-prefix|network-timeout|lastUpdateCheck|disable-self-update-check|version-tag-prefix|child-concurrency)"? "?` + word + `"?$`)},
		".bazelrc":           {false, text.Regexp(`^(common|build|test|run|query|fetch)(:[a-z0-9_-]+)?( +(-c (opt|dbg|fastbuild)|--(no)?(enable_bzlmod|keep_going|verbose_failures|show_timestamps|incompatible_[a-z0-9_]+)|--(jobs|test_output|color|curses|compilation_mode|java_language_version)=[a-z0-9_]+|--(host_)?cxxopt=-std=[a-z0-9+]+))+$`)},
		".bazelversion":      {false, text.Regexp(`^([0-9]+(\.[0-9x]+){0,2}(rc[0-9]+)?|latest(-[0-9]+)?)$`)},
		".tool-versions":     {false, text.Regexp(`^[a-z][a-z0-9_-]*( +` + version + `)+$`)},
		".mise.toml":         tools,
		"mise.toml":          tools,
		".mise.local.toml":   tools,
		"mise.local.toml":    tools,
		".rtx.toml":          tools,
		".cargo/config":      cargo,
		".cargo/config.toml": cargo,
		".hg/hgrc":           {true, text.Regexp(`^paths\.(default|default-push|default-pull)=((https?|ssh|file)://[0-9A-Za-z][^ ]*|/[^ ]*)$|^ui\.username=[^$]*$`)},
	}
})
