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
	Env      string   // the variable that sets it
	Switch   Switch   // another variable that has a say; Env wins over it
	UserOnly bool     // a project file may not set it
	List     bool     // a file may say it as an array of strings too; see Items
	Help     string

	words func() []string    // what is allowed, where another package knows it
	item  func(string) error // of a list: refuses what cannot be one of its parts
	field func(*Config) *string
}

// Switch is a variable that means one value, whatever it is set to.
type Switch struct{ Env, Value string }

var settings = []Setting{
	{
		Key: "allow", Env: "RAMET_ALLOW", UserOnly: true,
		Help:  "what tools may do unasked, rules with ; between them: bash(go test *); write(docs/**); with permission sandbox only bash!(COMMAND) leaves it",
		field: func(c *Config) *string { return &c.Allow },
	},
	{
		Key: "budget_clamp", Default: "no", Allowed: []string{"no", "yes"}, Env: "RAMET_BUDGET_CLAMP", UserOnly: true,
		Help:  "whether calls of programs that drive agents are lowered to what a budget leaves (max_tokens, not below 4096), rather than refused",
		field: func(c *Config) *string { return &c.BudgetClamp },
	},
	{
		Key: "color", Default: "auto", Allowed: []string{"auto", "always", "never"}, Env: "RAMET_COLOR",
		Switch: Switch{Env: "NO_COLOR", Value: "never"},
		Help:   "colours in the terminal; NO_COLOR means never, RAMET_COLOR wins over it",
		field:  func(c *Config) *string { return &c.Color },
	},
	{
		Key: "context", Number: true, Least: 2000, Env: "RAMET_CONTEXT", UserOnly: true,
		Help:  "how many tokens a model reads and writes in all; empty means what its vendor or its server says",
		field: func(c *Config) *string { return &c.Context },
	},
	{
		Key: "db", Env: "RAMET_DB", UserOnly: true,
		Help:  "the database: a file or a PostgreSQL address; empty means the project's own",
		field: func(c *Config) *string { return &c.DB },
	},
	{
		Key: "effort", Default: string(llm.Usual), words: llm.Efforts, Env: "RAMET_EFFORT",
		Help:  "how hard models think, where an agent was not told; default is what `ramet models` shows for each",
		field: func(c *Config) *string { return &c.Effort },
	},
	{
		Key: "env", Env: "RAMET_ENV", UserOnly: true, List: true,
		Help:  "variables that commands see besides the usual ones (PATH, HOME, LANG, those of toolchains), with ; between them: VAULT_ADDR; MY_*",
		item:  launch.CheckVariableName,
		field: func(c *Config) *string { return &c.Env },
	},
	{
		Key: "files", Default: "yes", Allowed: []string{"yes", "all", "no"}, Env: "RAMET_FILES",
		Help:  "whether the states of files are kept with histories: yes, all with those that git ignores, no",
		field: func(c *Config) *string { return &c.Files },
	},
	{
		Key: "files_shared", Default: "no", Allowed: []string{"yes", "no"}, Env: "RAMET_FILES_SHARED", UserOnly: true,
		Help:  "whether contents of states of files lie in the shared database (PostgreSQL) too, so that other hosts have them",
		field: func(c *Config) *string { return &c.FilesShared },
	},
	{
		Key: "first_byte", Env: "RAMET_FIRST_BYTE", Span: true, UserOnly: true,
		Help:  "how long a model's server may take to begin its answer; empty means 5m, and 10m for a local one",
		field: func(c *Config) *string { return &c.FirstByte },
	},
	{
		Key: "follow", Default: "yes", Allowed: []string{"yes", "no"}, Env: "RAMET_FOLLOW",
		Help:  "whether the screen moves to the child after your own /fork",
		field: func(c *Config) *string { return &c.Follow },
	},
	{
		Key: "gateway_bodies", Default: "no", Allowed: []string{"no", "yes"}, Env: "RAMET_GATEWAY_BODIES", UserOnly: true,
		Help:  "whether histories keep what programs that drive agents send to models and are answered, without secrets; at most 1 MiB each",
		field: func(c *Config) *string { return &c.GatewayBodies },
	},
	{
		Key: "hide", Default: "~/.ssh; ~/.aws; ~/.gnupg; ~/.netrc; ~/.config/gh", Env: "RAMET_HIDE", UserOnly: true, List: true,
		Help:  "files and folders that confined commands cannot read, with ; between them",
		item:  checkPath,
		field: func(c *Config) *string { return &c.Hide },
	},
	{
		Key: "max_agents", Default: "256", Number: true, Env: "RAMET_MAX_AGENTS", UserOnly: true,
		Help:  "how many agents that models forked may work or wait at a time below one prompt of yours",
		field: func(c *Config) *string { return &c.MaxAgents },
	},
	{
		Key: "max_behind", Default: "10000", Number: true, Env: "RAMET_MAX_BEHIND", UserOnly: true,
		Help:  "how many events a reader of the server's event stream may lag; then it is disconnected and told where to resume",
		field: func(c *Config) *string { return &c.MaxBehind },
	},
	{
		Key: "max_streams", Default: "512", Number: true, Env: "RAMET_MAX_STREAMS", UserOnly: true,
		Help:  "how many readers the server's event stream takes at a time",
		field: func(c *Config) *string { return &c.MaxStreams },
	},
	{
		Key: "max_unread", Default: "1000", Number: true, Env: "RAMET_MAX_UNREAD", UserOnly: true,
		Help:  "limit of unread mail in a mailbox; more is refused",
		field: func(c *Config) *string { return &c.MaxUnread },
	},
	{
		Key: "max_wakes", Default: "8", Number: true, Env: "RAMET_MAX_WAKES", UserOnly: true,
		Help:  "how often mail may start turns of one agent until you prompt it again, so that two agents do not wake each other forever",
		field: func(c *Config) *string { return &c.MaxWakes },
	},
	{
		Key: "model", Env: "RAMET_MODEL", List: true,
		Help:  "the model of new agents; of several, with ; between them, the next takes over when a vendor is down; empty means that of the first usable vendor, else the built-in offline one",
		field: func(c *Config) *string { return &c.Model },
	},
	{
		Key: "notify", Default: "auto", Allowed: []string{"auto", "osc9", "osc777", "bell", "no"}, Env: "RAMET_NOTIFY", UserOnly: true,
		Help:  "how the terminal notifies you that an agent asks, ends or fails while you look elsewhere: auto picks what it supports",
		field: func(c *Config) *string { return &c.Notify },
	},
	{
		Key: "notify_command", Env: "RAMET_NOTIFY_COMMAND", UserOnly: true,
		Help:  "a command that tells it too: notify-send \"$RAMET_TITLE\" \"$RAMET_MESSAGE\"",
		field: func(c *Config) *string { return &c.NotifyCommand },
	},
	{
		Key: "orphans", Default: "adopt", Allowed: []string{"adopt", "cascade"}, Env: "RAMET_ORPHANS",
		Help:  "children of a killed agent: adopt gives them to its parent, cascade kills them too",
		field: func(c *Config) *string { return &c.Orphans },
	},
	{
		Key: "parallel", Default: "16", Env: "RAMET_PARALLEL", UserOnly: true, List: true,
		Help:  "how many models are asked at a time, by all agents that one ramet runs; vendor=N after a ; limits one vendor: 16; ollama=1",
		item:  checkParallel,
		field: func(c *Config) *string { return &c.Parallel },
	},
	{
		Key: "permission", Default: "ask", Allowed: []string{"ask", "edits", "sandbox", "read-only"}, Env: "RAMET_PERMISSION", UserOnly: true,
		Help:  "calls that no rule permits: ask asks before each, edits changes files without asking, sandbox also runs commands inside the sandbox, read-only refuses all; `ramet mode` chooses for one agent",
		field: func(c *Config) *string { return &c.Permission },
	},
	{
		Key: "search", Default: "no", Allowed: []string{"no", "yes"}, Env: "RAMET_SEARCH", UserOnly: true,
		Help:  "whether models may search the web at their vendors, which charge for it; `exec --search` allows it for one turn",
		field: func(c *Config) *string { return &c.Search },
	},
	{
		Key: "server_idle", Default: "10m", Span: true, Env: "RAMET_SERVER_IDLE", UserOnly: true,
		Help:  "how long the background kernel stays when no agent, command, question or client keeps it",
		field: func(c *Config) *string { return &c.ServerIdle },
	},
	{
		Key: "stall", Env: "RAMET_STALL", Span: true, UserOnly: true,
		Help:  "how long a model's server may be silent within its answer; empty means 1m, and 2m for a local one",
		field: func(c *Config) *string { return &c.Stall },
	},
	{
		Key: "start", Default: "home", Allowed: []string{"home", "last"}, Env: "RAMET_START", UserOnly: true,
		Help:  "what the screen begins with where more than one agent lives: everybody, or the conversation where you were last",
		field: func(c *Config) *string { return &c.StartAt },
	},
	{
		Key: "steps", Default: "500", Number: true, Env: "RAMET_STEPS", UserOnly: true,
		Help:  "how many answers of its model a turn may take while no terminal or page is open and no budget (--max-cost, --max-tokens) binds it",
		field: func(c *Config) *string { return &c.Steps },
	},
	{
		Key: "telemetry_days", Number: true, Env: "RAMET_TELEMETRY_DAYS", UserOnly: true,
		Help:  "after how many days records of telemetry go, while a server runs (ramet serve); empty means never",
		field: func(c *Config) *string { return &c.TelemetryDays },
	},
	{
		Key: "theme", Default: "auto", Allowed: []string{"auto", "light", "dark", "contrast"}, Env: "RAMET_THEME", UserOnly: true,
		Help:  "the colours of the screen; auto goes by the terminal's own background",
		field: func(c *Config) *string { return &c.Theme },
	},
	{
		Key: "wake", Default: "family", Allowed: []string{"family", "all", "never"}, Env: "RAMET_WAKE", UserOnly: true,
		Help:  "whose mail starts a turn of an idle agent: family means yours and its ancestors', all means everyone's, never means none",
		field: func(c *Config) *string { return &c.Wake },
	},
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
