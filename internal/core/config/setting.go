package config

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/launch"
	"ramet/internal/model/llm"
)

// Setting describes one key, for the loader, the help and the documentation.
type Setting struct {
	Key      string
	Default  string
	Allowed  []string // empty: any text
	Span     bool     // a time such as 90s or 10m, or nothing
	Number   bool     // a whole number from Least on, or nothing where that is the default
	Least    int      // 0: 1
	Switch   Switch   // another variable that has a say; Variable wins over it
	UserOnly bool     // a project file may not set it
	List     bool     // a file may say it as an array of strings too; see Items
	Help     string

	words func() []string    // what is allowed, where another package knows it
	item  func(string) error // of a list: refuses what cannot be one of its parts
}

// Variable returns the environment variable that sets it.
func (s Setting) Variable() string { return "RAMET_" + strings.ToUpper(s.Key) }

// Switch is a variable that means one value, whatever it is set to.
type Switch struct{ Env, Value string }

var settings = []Setting{
	{Key: "allow", UserOnly: true,
		Help: "rules for calls that need no approval, separated by ;: bash(go test *); write(docs/**); net(example.com), for connections of confined commands. Commands run in the sandbox; only bash!(COMMAND) runs outside it"},
	{Key: "budget_clamp", Default: "no", Allowed: []string{"no", "yes"}, UserOnly: true,
		Help: "whether model calls of programs that drive agents get a lower max_tokens (at least 4096) to fit the budget, instead of being refused"},
	{Key: "color", Default: "auto", Allowed: []string{"auto", "always", "never"}, Switch: Switch{Env: "NO_COLOR", Value: "never"},
		Help: "colors in the terminal; NO_COLOR means never, and RAMET_COLOR overrides it"},
	{Key: "context", Number: true, Least: 2000, UserOnly: true,
		Help: "the size of a model's context window in tokens; empty means what its vendor or server reports"},
	{Key: "db", UserOnly: true,
		Help: "the database: a file or a PostgreSQL address; empty means the project's own file"},
	{Key: "effort", Default: string(llm.Usual), words: llm.Efforts,
		Help: "the reasoning effort of agents that have none of their own; default is what `ramet models` shows for each model"},
	{Key: "env", UserOnly: true, List: true, item: launch.CheckVariableName,
		Help: "environment variables that commands see in addition to the usual ones (PATH, HOME, LANG, those of toolchains), separated by ;: VAULT_ADDR; MY_*"},
	{Key: "files", Default: "yes", Allowed: []string{"yes", "all", "no"},
		Help: "whether the states of files are recorded with histories: yes, all (including files that git ignores), or no"},
	{Key: "files_shared", Default: "no", Allowed: []string{"yes", "no"}, UserOnly: true,
		Help: "whether recorded file contents are also stored in the shared database (PostgreSQL), for other hosts"},
	{Key: "first_byte", Span: true, UserOnly: true,
		Help: "timeout for the first byte of a model's answer; empty means 5m, or 10m for a local server"},
	{Key: "follow", Default: "yes", Allowed: []string{"yes", "no"},
		Help: "whether the terminal switches to the child after your own /fork"},
	{Key: "foreign_content", Default: asksAgain, UserOnly: true, List: true, item: checkForeign,
		Help: "after an agent read foreign content (pages, answers of MCP servers, files outside of the project), rules that leave the sandbox or reach the network ask again, once for each agent: ask, off, or the folders of projects in which it is off, separated by ;"},
	{Key: "gateway_bodies", Default: "no", Allowed: []string{"no", "yes"}, UserOnly: true,
		Help: "whether histories store the model requests and answers of programs that drive agents, without secrets; at most 1 MiB each"},
	{Key: "hide", Default: hiddenByDefault, UserOnly: true, List: true, item: checkPath,
		Help: "files and folders that confined commands can't read, separated by ;"},
	{Key: "max_agents", Default: "256", Number: true, UserOnly: true,
		Help: "limit of agents, forked by models, that work or wait at the same time for one prompt of yours"},
	{Key: "max_behind", Default: "10000", Number: true, UserOnly: true,
		Help: "how many events a client of the event stream may lag behind before it is disconnected; it learns where to resume"},
	{Key: "max_streams", Default: "512", Number: true, UserOnly: true,
		Help: "limit of concurrent clients of the event stream"},
	{Key: "max_unread", Default: "1000", Number: true, UserOnly: true,
		Help: "limit of unread mail of an agent; more is refused"},
	{Key: "max_wakes", Default: "8", Number: true, UserOnly: true,
		Help: "how many turns of an agent mail may start before you prompt it again, so that two agents don't wake each other forever"},
	{Key: "model", List: true,
		Help: "the model of new agents, or several separated by ; to fall back to when a vendor is down; empty means that of the first usable vendor, or the built-in offline model"},
	{Key: "notify", Default: "auto", Allowed: []string{"auto", "osc9", "osc777", "bell", "no"}, UserOnly: true,
		Help: "how the terminal notifies you when an agent asks, ends or fails while you are elsewhere; auto uses what the terminal supports"},
	{Key: "notify_command", UserOnly: true,
		Help: "a command that also notifies you: notify-send \"$RAMET_TITLE\" \"$RAMET_MESSAGE\""},
	{Key: "orphans", Default: "adopt", Allowed: []string{"adopt", "cascade"},
		Help: "children of a killed agent: adopt gives them to its parent, cascade kills them too"},
	{Key: "parallel", Default: "16", UserOnly: true, List: true, item: checkParallel,
		Help: "limit of concurrent model calls of all agents; vendor=N limits one vendor: 16; ollama=1"},
	{Key: "permission", Default: "ask", Allowed: []string{"ask", "edits", "sandbox", "read-only"}, UserOnly: true,
		Help: "calls that no rule allows: ask needs approval for each, edits changes files without approval, sandbox also runs commands in the sandbox, read-only refuses all; `ramet mode` sets it for one agent"},
	{Key: "search", Default: "no", Allowed: []string{"no", "yes"}, UserOnly: true,
		Help: "whether models may use their vendor's web search, which costs money; `exec --search` allows it for one turn"},
	{Key: "server_idle", Default: "10m", Span: true, UserOnly: true,
		Help: "how long the background kernel stays when it has no working agent, command, question or client"},
	{Key: "stall", Span: true, UserOnly: true,
		Help: "timeout for silence within a model's answer; empty means 1m, or 2m for a local server"},
	{Key: "start", Default: "home", Allowed: []string{"home", "last"}, UserOnly: true,
		Help: "the first screen of the terminal if there are several agents: the home screen, or the last conversation"},
	{Key: "steps", Default: "500", Number: true, UserOnly: true,
		Help: "limit of model calls of one turn while no terminal or page is open and it has no budget (--max-cost, --max-tokens)"},
	{Key: "telemetry_days", Number: true, UserOnly: true,
		Help: "delete telemetry records after this many days, while a server runs (ramet serve); empty means never"},
	{Key: "theme", Default: "auto", Allowed: []string{"auto", "light", "dark", "contrast"}, UserOnly: true,
		Help: "the color theme; auto follows the terminal's background"},
	{Key: "wake", Default: "family", Allowed: []string{"family", "all", "never"}, UserOnly: true,
		Help: "whose mail starts a turn of an idle agent: family means yours and its ancestors', all means everyone's, never means none"},
}

// Items returns the parts of a list: of several values with ; between them.
func Items(value string) []string {
	var out []string
	for item := range strings.SplitSeq(value, ";") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

// maxNumber is the largest number that a setting takes.
const maxNumber = 1_000_000

// Settings returns the table, in the order of the keys.
func Settings() []Setting { return slices.Clone(settings) }

// lookupSetting finds a key, or suggests the one that was probably meant.
func lookupSetting(key string) (Setting, error) {
	for _, s := range settings {
		if s.Key == key || s.Key == strings.ReplaceAll(key, ".", "_") {
			return s, nil
		}
	}
	f := fault.New(fault.InvalidConfig, "unknown key %q", key)
	var keys []string
	for _, s := range settings {
		keys = append(keys, s.Key)
	}
	return Setting{}, f.WithHint("%s", text.NearestHint(strings.ToLower(key), keys, "known keys: "+strings.Join(keys, ", ")))
}

// check returns an error if value is not allowed for the setting.
func (s Setting) check(value string) error {
	allowed := s.Allowed
	if s.words != nil {
		allowed = s.words()
	}
	if len(allowed) > 0 {
		if slices.Contains(allowed, value) {
			return nil
		}
		return fault.New(fault.InvalidConfig, "%s cannot be %q", s.Key, value).
			WithHint("%s", text.NearestHint(strings.ToLower(value), allowed, "allowed: "+strings.Join(allowed, ", ")))
	}
	if d, err := time.ParseDuration(value); s.Span && value != "" && (err != nil || d <= 0) {
		return fault.New(fault.InvalidConfig, "%s cannot be %q", s.Key, value).WithHint("a time such as 90s or 10m")
	}
	if s.Number {
		least := max(1, s.Least)
		if n, err := strconv.Atoi(value); value != s.Default && (err != nil || n < least || n > maxNumber) {
			return fault.New(fault.InvalidConfig, "%s cannot be %q", s.Key, value).
				WithHint("it takes a whole number from %d to %d", least, maxNumber)
		}
		return nil
	}
	if !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl) {
		return fault.New(fault.InvalidConfig, "%s cannot be %q", s.Key, value).
			WithHint("control characters are not allowed")
	}
	if s.item != nil {
		for _, item := range Items(value) {
			if err := s.item(item); err != nil {
				return err
			}
		}
	}
	return nil
}

// hiddenByDefault lists where programs keep what lets one act as the user: keys, tokens, passwords, and what browsers and mail
// programs know. A file among them can be empty for its program: it then works without a login.
const hiddenByDefault = "~/.ssh; ~/.gnupg; ~/.netrc; ~/.git-credentials; ~/.config/git/credentials; ~/.config/gh; ~/.config/glab-cli; ~/.config/hub; " +
	"~/.aws; ~/.azure; ~/.config/gcloud; ~/.boto; ~/.s3cfg; ~/.oci; ~/.config/doctl; ~/.config/rclone; ~/.kube; ~/.docker; ~/.config/containers/auth.json; " +
	"~/.vault-token; ~/.terraform.d/credentials.tfrc.json; ~/.pgpass; ~/.my.cnf; ~/.mylogin.cnf; " +
	"~/.npmrc; ~/.yarnrc.yml; ~/.pypirc; ~/.gem/credentials; ~/.cargo/credentials; ~/.cargo/credentials.toml; " +
	"~/.claude/.credentials.json; ~/.claude.json; ~/.codex/auth.json; ~/.gemini/oauth_creds.json; ~/.local/share/opencode/auth.json; ~/.config/github-copilot; " +
	"~/.password-store; ~/.local/share/gopass; ~/.local/share/keyrings; ~/.local/share/kwalletd; ~/.local/share/kwalletd6; ~/.config/sops; ~/.config/age; " +
	"~/.config/op; ~/.config/1Password; ~/.config/Bitwarden; ~/.config/Bitwarden CLI; ~/.config/keepassxc; " +
	"~/.mozilla; ~/.config/mozilla; ~/.thunderbird; ~/.config/google-chrome; ~/.config/google-chrome-beta; ~/.config/chromium; ~/.config/BraveSoftware; " +
	"~/.config/microsoft-edge; ~/.config/vivaldi; ~/.config/opera; ~/snap/firefox; ~/snap/chromium; ~/snap/brave; ~/snap/thunderbird; ~/snap/bw; " +
	"~/.var/app/org.mozilla.firefox; ~/.var/app/org.mozilla.Thunderbird; ~/.var/app/com.google.Chrome; ~/.var/app/org.chromium.Chromium; " +
	"~/.var/app/com.brave.Browser; ~/.var/app/com.microsoft.Edge; ~/.var/app/com.bitwarden.desktop; ~/.var/app/org.keepassxc.KeePassXC; " +
	"~/Library/Keychains; ~/Library/Cookies; ~/Library/Safari; ~/Library/Application Support/Firefox; ~/Library/Application Support/Google/Chrome; " +
	"~/Library/Application Support/Chromium; ~/Library/Application Support/BraveSoftware; ~/Library/Application Support/Microsoft Edge"

// The words of the setting foreign_content.
const (
	asksAgain = "ask"
	asksOnce  = "off"
)

func checkForeign(word string) error {
	if word == asksAgain || word == asksOnce || strings.HasPrefix(word, "~/") || filepath.IsAbs(word) {
		return nil
	}
	return fault.New(fault.InvalidConfig, "foreign_content can't contain %.80q", word).WithHint("ask, off, or folders of projects: ~/…")
}

// IgnoresForeign reports whether rules permit the same calls in a project after an agent read foreign content.
func (c *Config) IgnoresForeign(project string, env func(string) string) bool {
	return slices.ContainsFunc(Items(c.ForeignContent), func(word string) bool {
		if rest, short := strings.CutPrefix(word, "~/"); short && filepath.IsAbs(env("HOME")) {
			word = filepath.Join(env("HOME"), rest)
		}
		if real, err := filepath.EvalSymlinks(word); err == nil && filepath.IsAbs(word) {
			word = real
		}
		return word == asksOnce || word == project
	})
}

// checkPath refuses what depends on where ramet is started.
func checkPath(path string) error {
	if strings.HasPrefix(path, "~/") || filepath.IsAbs(path) {
		return nil
	}
	return fault.New(fault.InvalidConfig, "hide can't contain %.80q", path).WithHint("name it from the root, or from your home: ~/…")
}

// HiddenPaths returns the paths of Hide. What begins with ~ is left out where the home is
// unknown.
func (c *Config) HiddenPaths(env func(string) string) []string {
	var out []string
	for _, path := range Items(c.Hide) {
		if rest, short := strings.CutPrefix(path, "~/"); short {
			if !filepath.IsAbs(env("HOME")) {
				continue
			}
			path = filepath.Join(env("HOME"), rest)
		}
		out = append(out, path)
	}
	return out
}

// atPlace puts a place before a fault's message.
func atPlace(where string, err error) error {
	f, ok := fault.Of(err)
	if !ok {
		return fault.New(fault.InvalidConfig, "%s: %w", where, err)
	}
	placed := *f
	placed.Message = where + ": " + f.Message
	return &placed
}
