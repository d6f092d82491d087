package config

import (
	"maps"
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
		Help: "what tools may do unasked, rules with ; between them: bash(go test *); write(docs/**); with permission sandbox only bash!(COMMAND) leaves it"},
	{Key: "budget_clamp", Default: "no", Allowed: []string{"no", "yes"}, UserOnly: true,
		Help: "whether calls of programs that drive agents are lowered to what a budget leaves (max_tokens, not below 4096), rather than refused"},
	{Key: "color", Default: "auto", Allowed: []string{"auto", "always", "never"}, Switch: Switch{Env: "NO_COLOR", Value: "never"},
		Help: "colours in the terminal; NO_COLOR means never, RAMET_COLOR wins over it"},
	{Key: "context", Number: true, Least: 2000, UserOnly: true,
		Help: "how many tokens a model reads and writes in all; empty means what its vendor or its server says"},
	{Key: "db", UserOnly: true,
		Help: "the database: a file or a PostgreSQL address; empty means the project's own"},
	{Key: "effort", Default: string(llm.Usual), words: llm.Efforts,
		Help: "how hard models think, where an agent was not told; default is what `ramet models` shows for each"},
	{Key: "env", UserOnly: true, List: true, item: launch.CheckVariableName,
		Help: "variables that commands see besides the usual ones (PATH, HOME, LANG, those of toolchains), with ; between them: VAULT_ADDR; MY_*"},
	{Key: "files", Default: "yes", Allowed: []string{"yes", "all", "no"},
		Help: "whether the states of files are kept with histories: yes, all with those that git ignores, no"},
	{Key: "files_shared", Default: "no", Allowed: []string{"yes", "no"}, UserOnly: true,
		Help: "whether contents of states of files lie in the shared database (PostgreSQL) too, so that other hosts have them"},
	{Key: "first_byte", Span: true, UserOnly: true,
		Help: "how long a model's server may take to begin its answer; empty means 5m, and 10m for a local one"},
	{Key: "follow", Default: "yes", Allowed: []string{"yes", "no"},
		Help: "whether the screen moves to the child after your own /fork"},
	{Key: "gateway_bodies", Default: "no", Allowed: []string{"no", "yes"}, UserOnly: true,
		Help: "whether histories keep what programs that drive agents send to models and are answered, without secrets; at most 1 MiB each"},
	{Key: "hide", Default: "~/.ssh; ~/.aws; ~/.gnupg; ~/.netrc; ~/.config/gh", UserOnly: true, List: true, item: checkPath,
		Help: "files and folders that confined commands cannot read, with ; between them"},
	{Key: "max_agents", Default: "256", Number: true, UserOnly: true,
		Help: "how many agents that models forked may work or wait at a time below one prompt of yours"},
	{Key: "max_behind", Default: "10000", Number: true, UserOnly: true,
		Help: "how many events a reader of the server's event stream may lag; then it is disconnected and told where to resume"},
	{Key: "max_streams", Default: "512", Number: true, UserOnly: true,
		Help: "how many readers the server's event stream takes at a time"},
	{Key: "max_unread", Default: "1000", Number: true, UserOnly: true,
		Help: "limit of unread mail in a mailbox; more is refused"},
	{Key: "max_wakes", Default: "8", Number: true, UserOnly: true,
		Help: "how often mail may start turns of one agent until you prompt it again, so that two agents do not wake each other forever"},
	{Key: "model", List: true,
		Help: "the model of new agents; of several, with ; between them, the next takes over when a vendor is down; empty means that of the first usable vendor, else the built-in offline one"},
	{Key: "notify", Default: "auto", Allowed: []string{"auto", "osc9", "osc777", "bell", "no"}, UserOnly: true,
		Help: "how the terminal notifies you that an agent asks, ends or fails while you look elsewhere: auto picks what it supports"},
	{Key: "notify_command", UserOnly: true,
		Help: "a command that tells it too: notify-send \"$RAMET_TITLE\" \"$RAMET_MESSAGE\""},
	{Key: "orphans", Default: "adopt", Allowed: []string{"adopt", "cascade"},
		Help: "children of a killed agent: adopt gives them to its parent, cascade kills them too"},
	{Key: "parallel", Default: "16", UserOnly: true, List: true, item: checkParallel,
		Help: "how many models are asked at a time, by all agents that one ramet runs; vendor=N after a ; limits one vendor: 16; ollama=1"},
	{Key: "permission", Default: "ask", Allowed: []string{"ask", "edits", "sandbox", "read-only"}, UserOnly: true,
		Help: "calls that no rule permits: ask asks before each, edits changes files without asking, sandbox also runs commands inside the sandbox, read-only refuses all; `ramet mode` chooses for one agent"},
	{Key: "search", Default: "no", Allowed: []string{"no", "yes"}, UserOnly: true,
		Help: "whether models may search the web at their vendors, which charge for it; `exec --search` allows it for one turn"},
	{Key: "server_idle", Default: "10m", Span: true, UserOnly: true,
		Help: "how long the background kernel stays when no agent, command, question or client keeps it"},
	{Key: "stall", Span: true, UserOnly: true,
		Help: "how long a model's server may be silent within its answer; empty means 1m, and 2m for a local one"},
	{Key: "start", Default: "home", Allowed: []string{"home", "last"}, UserOnly: true,
		Help: "what the screen begins with where more than one agent lives: everybody, or the conversation where you were last"},
	{Key: "steps", Default: "500", Number: true, UserOnly: true,
		Help: "how many answers of its model a turn may take while no terminal or page is open and no budget (--max-cost, --max-tokens) binds it"},
	{Key: "telemetry_days", Number: true, UserOnly: true,
		Help: "after how many days records of telemetry go, while a server runs (ramet serve); empty means never"},
	{Key: "theme", Default: "auto", Allowed: []string{"auto", "light", "dark", "contrast"}, UserOnly: true,
		Help: "the colours of the screen; auto goes by the terminal's own background"},
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
		if s.Key == key || s.Key == undotted(key) {
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

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
