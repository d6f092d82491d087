// Package config reads the settings, and locates the workspace that a command means. Later sources
// override earlier ones:
//
//		default      the table in setting.go
//		user         <XDG config>/ramet/config.toml, or the file RAMET_CONFIG names
//		project      <project>/.ramet/config.toml, as a person accepted it (package trust)
//		environment  RAMET_…, and NO_COLOR
//		flag         the command line
//
//	  - Nothing is guessed. An unknown key, a value that is not allowed and a line that is not TOML
//	    are fault.InvalidConfig, with file, line and what would be right.
//	  - A project's file counts only in the bytes that a person accepted. It cannot set what would
//	    send data elsewhere (db) or let tools do or see more (allow, permission, env, hide). The
//	    caller that loads it passes its text.
//	  - Tables of the user's file ([mcp.NAME], see Server; [driver.NAME], see Driver) are checked as
//	    strictly. A project's file may only have the table [[hooks]], and those run confined.
//	  - Set changes one value of the user's file and leaves every other line unchanged. After a
//	    crash the file is the old one or the new one.
//	  - Every error is a fault. Nothing is global: the environment is a parameter.
//
// # Workspace
//
// The project is the nearest folder upwards that contains .ramet or .git (a git worktree is a
// project of its own), else the current folder, as a real path. Its database is in ramet's home,
// not in the project. --db or RAMET_DB name a database explicitly.
package config

import (
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/model/catalog"
)

// Layer names the source of a value.
type Layer string

// The layers, weakest first.
const (
	Default     Layer = "default"
	User        Layer = "user"
	Project     Layer = "project"
	Environment Layer = "environment"
	Flag        Layer = "flag"
)

// Value is a setting as it stands.
type Value struct {
	Text  string
	Layer Layer
	Where string // file:line, variable or flag; empty for a default
}

// Config is the outcome. Its first fields hold the settings as texts, each under the name of its key.
type Config struct {
	Allow, BudgetClamp, Color, DB, Effort, Files, FilesShared, FirstByte, Follow, GatewayBodies, Model, Notify, NotifyCommand string
	Orphans, Permission, Search, ServerIdle, Stall, Start, Theme, Wake                                                        string
	Env, ForeignContent, Hide, Parallel                                                                                       string // lists; see Items and Parallels

	// Limits, which are whole numbers; see Number.
	Context, MaxAgents, MaxBehind, MaxStreams, MaxUnread, MaxWakes, Steps, TelemetryDays string

	// Fallback are the models that take over, in this order, when the vendor of Model is
	// down.
	Fallback []string

	// Servers are the MCP servers of the user's file, by name.
	Servers []Server
	// Hooks are the commands that run on events: the user's, then those of the project's file.
	Hooks []Hook
	// Drivers holds what the user's file says of programs that drive agents, by name.
	Drivers []Driver
	// Vendors are the user's own, and what he says of others.
	Vendors []catalog.Vendor

	// Ignored lists project files that do not count as they are now, because no person
	// has accepted them so, that the caller can say so.
	Ignored []string

	values map[string]Value
}

// Options configures Load.
type Options struct {
	Env     func(string) string // os.Getenv; an empty variable counts as unset
	Project ProjectFile         // the project's own configuration
	Flags   map[string]string   // key to value, of the flags that were given
	// Check refuses values that only others can judge, such as rules; nil: none.
	Check func(key, value string) error
}

// ProjectFile is the configuration of a project.
type ProjectFile struct {
	Path  string // empty: there is none
	Text  string // what a person accepted; empty: nothing
	Stale bool   // the file is another one than that
}

// Load reads all layers.
func Load(o Options) (*Config, error) {
	c := &Config{values: map[string]Value{}}
	for _, s := range settings {
		c.values[s.Key] = Value{Text: s.Default, Layer: Default}
	}
	path, err := Path(o.Env)
	if err != nil {
		return nil, err
	}
	text, err := readText(path)
	if err == nil {
		err = c.addText(path, text, User)
	}
	if o.Project.Stale {
		c.Ignored = append(c.Ignored, o.Project.Path)
	}
	if err == nil {
		err = c.addText(o.Project.Path, o.Project.Text, Project)
	}
	if err != nil {
		return nil, err
	}
	for _, s := range settings {
		if err := c.addEnvironment(s, o.Env); err != nil {
			return nil, err
		}
	}
	if err := c.addFlags(o.Flags); err != nil {
		return nil, err
	}
	for _, s := range settings {
		v := c.values[s.Key]
		if o.Check != nil && v.Layer != Default {
			if err := o.Check(s.Key, v.Text); err != nil {
				return nil, atPlace(v.Where, err)
			}
		}
		s.field(c).SetString(v.Text)
	}
	if list := Items(c.Model); len(list) > 0 {
		c.Model, c.Fallback = list[0], list[1:]
	}
	return c, nil
}

// field returns the field of a configuration that holds the setting.
func (s Setting) field(c *Config) reflect.Value {
	name := strings.ReplaceAll(s.Key, "_", "")
	return reflect.ValueOf(c).Elem().FieldByNameFunc(func(field string) bool { return strings.EqualFold(field, name) })
}

// Patience returns how long a model's server may be silent, before and within its
// answer; 0 is the usual.
func (c *Config) Patience() (first, stall time.Duration) {
	first, _ = time.ParseDuration(c.FirstByte) // Load has checked both
	stall, _ = time.ParseDuration(c.Stall)
	return first, stall
}

// Get returns the value of a key and where it came from; an unknown key is
// fault.InvalidConfig.
func (c *Config) Get(key string) (Value, error) {
	s, err := lookupSetting(key)
	if err != nil {
		return Value{}, err
	}
	return c.values[s.Key], nil
}

// Number returns the value of a setting that is a whole number.
func (c *Config) Number(key string) int {
	n, _ := strconv.Atoi(c.values[key].Text) // it was checked
	return n
}

func (c *Config) addText(path, text string, layer Layer) error {
	entries, err := parseEntries(path, text)
	if err != nil {
		return err
	}
	if layer == User {
		if c.Servers, err = parseServers(path, text); err != nil {
			return err
		}
	}
	if err := c.addDrivers(path, text, layer); err != nil {
		return err
	}
	for _, e := range entries {
		if slices.Contains(tables, e.key) {
			if layer == Project && e.key == serversKey {
				return fault.New(fault.InvalidConfig, "%s: a project may not set %s", e.where(path), e.key).WithHint("a project names its MCP servers in .mcp.json")
			}
			continue
		}
		if e.key == hooksKey {
			found, err := ParseHooks(path, text, layer == Project)
			if err != nil {
				return err
			}
			c.Hooks = append(c.Hooks, found...)
			continue
		}
		if e.key == vendorsKey {
			if err := c.addVendors(path, text, layer, e); err != nil {
				return err
			}
			continue
		}
		s, err := e.check(path)
		if err != nil {
			return err
		}
		if layer == Project && s.UserOnly {
			return fault.New(fault.InvalidConfig, "%s: a project may not set %s", e.where(path), s.Key).
				WithHint("set it in your own configuration: ramet config set %s …", s.Key)
		}
		c.values[s.Key] = Value{Text: e.text, Layer: layer, Where: e.where(path)}
	}
	return nil
}

func (c *Config) addEnvironment(s Setting, env func(string) string) error {
	if s.Switch.Env != "" && env(s.Switch.Env) != "" {
		c.values[s.Key] = Value{Text: s.Switch.Value, Layer: Environment, Where: s.Switch.Env}
	}
	text := env(s.Variable())
	if text == "" {
		return nil
	}
	if err := s.check(text); err != nil {
		return atPlace(s.Variable(), err)
	}
	c.values[s.Key] = Value{Text: text, Layer: Environment, Where: s.Variable()}
	return nil
}

func (c *Config) addFlags(flags map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(flags)) {
		s, err := lookupSetting(key)
		if err != nil {
			return err
		}
		if err := s.check(flags[key]); err != nil {
			return atPlace("--"+key, err)
		}
		c.values[key] = Value{Text: flags[key], Layer: Flag, Where: "--" + key}
	}
	return nil
}

// parseParallel reads one part of the setting parallel: a number, for all, or vendor=number.
func parseParallel(item string) (vendor string, n int, ok bool) {
	count := item
	if name, after, one := strings.Cut(item, "="); one {
		vendor, count = strings.TrimSpace(name), strings.TrimSpace(after)
		if vendor == "" || strings.ContainsAny(vendor, " \t") {
			return "", 0, false
		}
	}
	n, err := strconv.Atoi(count)
	return vendor, n, err == nil && n >= 1 && n <= maxNumber
}

func checkParallel(item string) error {
	if _, _, ok := parseParallel(item); !ok {
		return fault.New(fault.InvalidConfig, "parallel can't contain %.40q", item).WithHint("a number, or vendor=number: 16; ollama=1")
	}
	return nil
}

// Parallels returns how many models may be asked at a time: in all, and at each vendor.
func (c *Config) Parallels() (all int, each map[string]int) {
	each = map[string]int{}
	for _, item := range Items(c.Parallel) {
		switch vendor, n, ok := parseParallel(item); {
		case ok && vendor == "":
			all = n
		case ok:
			each[vendor] = n
		}
	}
	return all, each
}

// Home returns the folder of ramet's own data: the flag, else RAMET_HOME, else
// ramet in the XDG data folder. It need not exist yet.
func Home(env func(string) string, flag string) (string, error) {
	for _, dir := range []string{flag, env("RAMET_HOME")} {
		if dir != "" {
			return absolutePath(dir)
		}
	}
	return underXDG(env, "XDG_DATA_HOME", ".local/share", "RAMET_HOME")
}

// Path returns the user's configuration file. It need not exist.
func Path(env func(string) string) (string, error) {
	if path := env("RAMET_CONFIG"); path != "" {
		return absolutePath(path)
	}
	dir, err := underXDG(env, "XDG_CONFIG_HOME", ".config", "RAMET_CONFIG")
	return filepath.Join(dir, "config.toml"), err
}

// underXDG follows the XDG base directory specification, by which a relative
// path in the variable is to be ignored.
func underXDG(env func(string) string, variable, fallback, instead string) (string, error) {
	if base := env(variable); filepath.IsAbs(base) {
		return filepath.Join(base, "ramet"), nil
	}
	if home := env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, fallback, "ramet"), nil
	}
	return "", fault.New(fault.InvalidConfig, "neither %s nor HOME names a folder", variable).
		WithHint("set %s", instead)
}

func absolutePath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fault.New(fault.InvalidConfig, "find %s: %w", path, err)
	}
	return abs, nil
}
