package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

// place is a home and a project made for one test.
type place struct {
	t             *testing.T
	user, project string // the files
	vars          map[string]string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	dir := t.TempDir()
	return &place{
		t:       t,
		user:    filepath.Join(dir, "home", ".config", "ramet", "config.toml"),
		project: filepath.Join(dir, "project", ".ramet", "config.toml"),
		vars:    map[string]string{"HOME": filepath.Join(dir, "home")},
	}
}

func (p *place) env(name string) string { return p.vars[name] }

func (p *place) options(trusted bool) Options {
	p.t.Helper()
	text, err := os.ReadFile(p.project)
	o := Options{Env: p.env, Project: ProjectFile{Path: p.project, Stale: !trusted && err == nil}}
	if trusted {
		o.Project.Text = string(text)
	}
	return o
}

func write(t *testing.T, path, text string) {
	t.Helper()
	testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
	testkit.OK(t, os.WriteFile(path, []byte(text), 0o600))
}

func expectValue(t *testing.T, c *Config, key, text string, layer Layer, where string) {
	t.Helper()
	v, err := c.Get(key)
	if err != nil || v != (Value{text, layer, where}) {
		t.Errorf("%s is %+v (%v), want %s from %s %s", key, v, err, text, layer, where)
	}
}

func TestLaterLayersWin(t *testing.T) {
	p := newPlace(t)
	o := p.options(true)
	load := func() *Config {
		t.Helper()
		o.Project = p.options(true).Project
		c := testkit.Must(Load(o))(t)
		return c
	}
	c := load()
	expectValue(t, c, "orphans", "adopt", Default, "")
	expectValue(t, c, "color", "auto", Default, "")
	expectValue(t, c, "db", "", Default, "")
	expectValue(t, c, "model", "", Default, "")

	write(t, p.user, "# mine\norphans = \"cascade\"\ndb = 'x.db'\nmodel = \"m1\"\ncolor = \"always\"\n")
	c = load()
	expectValue(t, c, "orphans", "cascade", User, p.user+":2")
	expectValue(t, c, "db", "x.db", User, p.user+":3")

	write(t, p.project, "\nmodel = \"m2\"\norphans = \"adopt\"\n")
	c = load()
	expectValue(t, c, "model", "m2", Project, p.project+":2")
	expectValue(t, c, "color", "always", User, p.user+":5")

	p.vars["NO_COLOR"], p.vars["RAMET_MODEL"], p.vars["RAMET_DB"] = "1", "m3", "y.db"
	c = load()
	expectValue(t, c, "color", "never", Environment, "NO_COLOR")
	expectValue(t, c, "model", "m3", Environment, "RAMET_MODEL")
	expectValue(t, c, "db", "y.db", Environment, "RAMET_DB")
	p.vars["RAMET_COLOR"] = "always"
	expectValue(t, load(), "color", "always", Environment, "RAMET_COLOR")

	o.Flags = map[string]string{"model": "", "color": "auto"}
	c = load()
	expectValue(t, c, "model", "", Flag, "--model")
	expectValue(t, c, "color", "auto", Flag, "--color")
	if c.Orphans != "adopt" || c.DB != "y.db" || c.Color != "auto" || c.Model != "" || c.Ignored != nil {
		t.Errorf("fields %+v", c)
	}
	if _, err := c.Get("colour"); !fault.Is(err, fault.InvalidConfig) || !strings.Contains(err.Error(), `did you mean "color"?`) {
		t.Errorf("unknown key: %v", err)
	}
}

func TestAnUntrustedProjectIsIgnoredAndNamed(t *testing.T) {
	p := newPlace(t)
	c, err := Load(p.options(false))
	if err != nil || c.Ignored != nil {
		t.Fatalf("nothing there: %v, %v", c, err)
	}
	write(t, p.project, "this is not a TOML and \x1b[2J never read")
	c, err = Load(p.options(false))
	if err != nil || len(c.Ignored) != 1 || c.Ignored[0] != p.project {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestAProjectMaySetLess(t *testing.T) {
	p := newPlace(t)
	write(t, p.project, "model = \"m\"\ndb = \"postgres://evil\"\n")
	_, err := Load(p.options(true))
	if !fault.Is(err, fault.InvalidConfig) || !strings.Contains(err.Error(), p.project+":2: a project may not set db") {
		t.Errorf("got %v", err)
	}
}

// What tools may do is the user's to say.
func TestAProjectPermitsNothing(t *testing.T) {
	for _, line := range []string{"allow = \"bash\"", "permission = \"sandbox\""} {
		p := newPlace(t)
		write(t, p.project, line+"\n")
		key, _, _ := strings.Cut(line, " ")
		if _, err := Load(p.options(true)); !fault.Is(err, fault.InvalidConfig) || !strings.Contains(err.Error(), p.project+":1: a project may not set "+key) {
			t.Errorf("%s: %v", line, err)
		}
		write(t, p.user, line+"\n")
		c, err := Load(p.options(false))
		if err != nil || c.Allow+c.Permission == "ask" {
			t.Errorf("%s: %+v, %v", line, c, err)
		}
	}
}

func TestOthersJudgeWhatOnlyTheyCan(t *testing.T) {
	p := newPlace(t)
	o := p.options(false)
	var seen []string
	o.Check = func(key, value string) error {
		seen = append(seen, key+"="+value)
		if value == "bsh" {
			return fault.New(fault.InvalidConfig, "no rule %q", value).WithHint("write another")
		}
		return nil
	}
	write(t, p.user, "\nallow = \"bsh\"\nmodel = \"m\"\n")
	if _, err := Load(o); !fault.Is(err, fault.InvalidConfig) || err.Error() != p.user+":2: no rule \"bsh\": write another" {
		t.Errorf("file: %v", err)
	}
	p.vars["RAMET_ALLOW"] = "bash"
	seen = nil
	if c, err := Load(o); err != nil || c.Allow != "bash" || strings.Join(seen, " ") != "allow=bash model=m" {
		t.Errorf("%+v, %v, %q", c, err, seen)
	}
}

func TestMistakesNameThePlaceAndTheRemedy(t *testing.T) {
	for text, want := range map[string]string{
		"orphan = \"adopt\"\n":                   `:1: unknown key "orphan": did you mean "orphans"?`,
		"\n\n\"Orphans\" = \"adopt\"":            `:3: unknown key "Orphans": did you mean "orphans"?`,
		"nothing-like-it = 1":                    `:1: unknown key "nothing-like-it": known keys: allow, budget_clamp, color, context, db, effort, env, files, files_shared, first_byte, follow, foreign_content, gateway_bodies, hide, max_agents, max_behind, max_streams, max_unread, max_wakes, model, notify, notify_command, orphans, parallel, permission, search, server_idle, stall, start, steps, telemetry_days, theme, wake`,
		"\n[table]\nx = 1\n":                     `:2: unknown key "table"`,
		"model = 'm'\n\na.b.c = 1\n":             `:3: unknown key "a"`,
		"\n[x.y]\nz = 1\n":                       `:2: unknown key "x"`,
		"\n[[list]]\n":                           `:2: unknown key "list"`,
		"color = \"auto\"\norphans = \"kill\"\n": `:2: orphans cannot be "kill": allowed: adopt, cascade`,
		"stall = \"soon\"":                       `:1: stall cannot be "soon": a time such as 90s or 10m`,
		"\norphans = true":                       `:2: orphans is not a string: write it in quotes: orphans = "…"`,
		"orphans = ['adopt']":                    `:1: orphans is not a string`,
		"model = \"a\\u001bb\"":                  `:1: model cannot be "a\x1bb": control characters are not allowed`,
		"model = \"a\"\nmodel = \"b\"":           `:2: Key 'model' has already been defined.`,
		"# x\nmodel = \"a\n":                     `:2: strings cannot contain newlines`,
		"model == 1":                             `:1: `,
		"\x00":                                   `:1: files cannot contain NULL bytes`,
		"model = '\xff'":                         `:1: `,
	} {
		p := newPlace(t)
		write(t, p.user, text)
		_, err := Load(p.options(false))
		if !fault.Is(err, fault.InvalidConfig) || !strings.HasPrefix(err.Error(), p.user+want) {
			t.Errorf("%q:\n got %v\nwant %s%s", text, err, p.user, want)
		}
	}
	p := newPlace(t)
	p.vars["RAMET_ORPHANS"] = "x"
	if _, err := Load(p.options(false)); !fault.Is(err, fault.InvalidConfig) ||
		err.Error() != `RAMET_ORPHANS: orphans cannot be "x": allowed: adopt, cascade` {
		t.Errorf("variable: %v", err)
	}
	for flags, want := range map[[2]string]string{
		{"color", "red"}: `--color: color cannot be "red": allowed: auto, always, never`,
		{"colr", "auto"}: `unknown key "colr": did you mean "color"?`,
	} {
		_, err := Load(Options{Env: newPlace(t).env, Flags: map[string]string{flags[0]: flags[1]}})
		if !fault.Is(err, fault.InvalidConfig) || err.Error() != want {
			t.Errorf("flag: %v", err)
		}
	}
}

// A setting of two words can be said with a dot.
func TestSettingsWithADot(t *testing.T) {
	for text, want := range map[string]string{
		"files.shared = true\n": "yes", "[files]\nshared = false\n": "no", "files.shared = 'yes'\n": "yes", "files_shared = 'yes'\nfiles = 'all'\n": "yes",
	} {
		p := newPlace(t)
		write(t, p.user, text)
		c, err := Load(p.options(false))
		if err != nil || c.FilesShared != want {
			t.Errorf("%q: %q, %v", text, c.FilesShared, err)
			continue
		}
		if v, err := c.Get("files.shared"); err != nil || v.Text != want || v.Layer != User {
			t.Errorf("%q: %+v, %v", text, v, err)
		}
	}
	for text, want := range map[string]string{
		"\nfiles.shared = 'perhaps'\n":          `:2: files_shared cannot be "perhaps": allowed: yes, no`,
		"files.shared = 3\n":                    `:1: files_shared is not a string`,
		"files.shared = true\nfiles.keep = 1\n": `:1: files is not a string`,
		"files = 'all'\nfiles.shared = true\n":  `:2: `,
	} {
		p := newPlace(t)
		write(t, p.user, text)
		if _, err := Load(p.options(false)); !fault.Is(err, fault.InvalidConfig) || !strings.HasPrefix(err.Error(), p.user+want) {
			t.Errorf("%q:\n got %v\nwant %s%s", text, err, p.user, want)
		}
	}
	p := newPlace(t)
	testkit.OK(t, Set(t.Context(), p.user, "files.shared", "yes"))
	if c, err := Load(p.options(false)); err != nil || c.FilesShared != "yes" {
		t.Errorf("%v, %v", c, err)
	}
}

func TestHomeAndPath(t *testing.T) {
	wd := testkit.Must(os.Getwd())(t)
	for _, c := range []struct {
		vars       map[string]string
		flag       string
		home, path string
	}{
		{map[string]string{"HOME": "/h"}, "", "/h/.local/share/ramet", "/h/.config/ramet/config.toml"},
		{map[string]string{"HOME": "/h", "XDG_DATA_HOME": "/d", "XDG_CONFIG_HOME": "/c"}, "", "/d/ramet", "/c/ramet/config.toml"},
		{map[string]string{"HOME": "/h", "XDG_DATA_HOME": "d", "XDG_CONFIG_HOME": "c"}, "", "/h/.local/share/ramet", "/h/.config/ramet/config.toml"},
		{map[string]string{"HOME": "/h", "RAMET_HOME": "/r", "RAMET_CONFIG": "/x.toml"}, "", "/r", "/x.toml"},
		{map[string]string{"RAMET_HOME": "/r", "RAMET_CONFIG": "x.toml"}, "f", wd + "/f", wd + "/x.toml"},
	} {
		env := func(name string) string { return c.vars[name] }
		home, err1 := Home(env, c.flag)
		path, err2 := Path(env)
		if err1 != nil || err2 != nil || home != c.home || path != c.path {
			t.Errorf("%v: %s %s (%v, %v)", c.vars, home, path, err1, err2)
		}
	}
	none := func(string) string { return "" }
	if _, err := Home(none, ""); !fault.Is(err, fault.InvalidConfig) {
		t.Errorf("no home: %v", err)
	}
	if _, err := Load(Options{Env: none}); !fault.Is(err, fault.InvalidConfig) {
		t.Errorf("no configuration: %v", err)
	}
}

func TestTheTableIsConsistent(t *testing.T) {
	last := ""
	for _, s := range Settings() {
		if s.Key <= last || s.Help == "" || !s.field(&Config{}).IsValid() || s.check(s.Default) != nil {
			t.Errorf("%+v", s)
		}
		last = s.Key
	}
}

func FuzzLoad(f *testing.F) {
	for _, text := range []string{"", "model = 'm'\n", "[a]\nb=1\n[a.c]\n", "a.b.c = {d = [1, {e = 2}]}", "\"\" = 1\n''.x = 2", "[[a]]\n[[a.b]]\n", "x = 1979-05-27T07:32:00Z", "\xef\xbb\xbfcolor='never'", "a = nan\n[\"\"]\n", "model = 'm\r\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "c")
		write(t, path, text)
		c, err := Load(Options{Env: func(name string) string {
			if name == "RAMET_CONFIG" {
				return path
			}
			return ""
		}})
		if err == nil {
			for _, s := range settings {
				if v, err := c.Get(s.Key); err != nil || s.check(v.Text) != nil {
					t.Errorf("%s let %+v through", s.Key, v)
				}
			}
			return
		}
		if !fault.Is(err, fault.InvalidConfig) || !strings.HasPrefix(err.Error(), path+":") {
			t.Errorf("%T %v", err, err)
		}
		if strings.ContainsAny(err.Error(), "\x1b\n\r") || strings.HasPrefix(err.Error(), path+":0") {
			t.Errorf("%q", err)
		}
	})
}

func TestListsAreArraysOrTexts(t *testing.T) {
	p := newPlace(t)
	for text, want := range map[string]string{
		`env = ["A", "B_*"]`: "A|B_*", `env = "A; B_*;"`: "A|B_*", `env = []`: "", ``: "",
	} {
		write(t, p.user, text+"\n")
		c, err := Load(p.options(false))
		if err != nil || strings.Join(Items(c.Env), "|") != want {
			t.Errorf("%s: %v %v", text, c, err)
		}
	}
	write(t, p.user, "hide = [\"~/x\", \"/y z\"]\n")
	c := testkit.Must(Load(p.options(false)))(t)
	if got := strings.Join(c.HiddenPaths(p.env), "|"); got != p.vars["HOME"]+"/x|/y z" {
		t.Error(got)
	}
	if got := strings.Join(c.HiddenPaths(func(string) string { return "" }), "|"); got != "/y z" {
		t.Error(got)
	}
	for _, bad := range []string{`env = ["A=b"]`, `env = ["A;B"]`, `env = [1]`, `hide = ["relative"]`, `hide = "~other/x"`, `color = ["a"]`} {
		write(t, p.user, bad+"\n")
		if _, err := Load(p.options(false)); !fault.Is(err, fault.InvalidConfig) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	write(t, p.user, "")
	write(t, p.project, "hide = []\n")
	if _, err := Load(p.options(true)); !fault.Is(err, fault.InvalidConfig) {
		t.Error("a project took something out of hiding:", err)
	}
}

func TestVendorsOfTheUser(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, "config.toml")
	env := func(name string) string { return map[string]string{"RAMET_CONFIG": path, "HOME": home}[name] }
	load := func(text string) (*Config, error) {
		t.Helper()
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o600))
		return Load(Options{Env: env})
	}
	c, err := load("model = \"acme/x\"\n[vendors.acme]\nbase = \"https://acme.example/v1\"\nkey = false\n[vendors.vertex]\nproject = \"p\"\n")
	if err != nil || c.Model != "acme/x" || len(c.Vendors) != 2 {
		t.Fatalf("%+v %v", c, err)
	}
	if v := c.Vendors[0]; v.Name != "acme" || v.Base != "https://acme.example/v1" || !v.Free {
		t.Errorf("%+v", v)
	}
	if v := c.Vendors[1]; v.Name != "vertex" || v.Project != "p" {
		t.Errorf("%+v", v)
	}
	for text, want := range map[string]string{
		"vendors = 3": "must be a table", "[vendors]\nacme = 1": "must be a table", "[vendors.acme]\nbase = 3": "text in quotes", "[vendors.acme]\nkey = \"no\"": "true or false",
		"[vendors.Acme]\nbase = \"http://x\"": "must be of a-z", "[vendors.acme]\nbase = \"ftp://x\"": "not a URL", "[vendors.openai]\nproject = \"p\"": "only vertex",
	} {
		if _, err := load(text); !fault.Is(err, fault.InvalidConfig) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "config.toml:1") {
			t.Errorf("%q: %v", text, err)
		}
	}
	own := ProjectFile{Path: "p/config.toml", Text: "[vendors.acme]\nbase = \"http://x\"\n"}
	if _, err := Load(Options{Env: func(string) string { return "" }, Project: own}); !fault.Is(err, fault.InvalidConfig) {
		t.Errorf("a project: %v", err)
	}
}

// A project's drivers run confined, with a login of their own; what the user says counts more.
func TestDriversOfAProject(t *testing.T) {
	home := t.TempDir()
	env := func(name string) string {
		return map[string]string{"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, "c")}[name]
	}
	path := testkit.Must(Path(env))(t)
	testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
	testkit.OK(t, os.WriteFile(path, []byte("[driver.mine]\ncommand = \"mine\"\n"), 0o600))
	load := func(text string) (*Config, error) {
		return Load(Options{Env: env, Project: ProjectFile{Path: "p.toml", Text: text}})
	}
	c := testkit.Must(load("[driver.mine]\ncommand = \"theirs\"\n[driver.other]\ncommand = \"other\"\n"))(t)
	if len(c.Drivers) != 2 || c.Drivers[0].Command != "mine" || c.Drivers[1].Box == nil || !*c.Drivers[1].Box || !c.Drivers[1].Project {
		t.Errorf("%+v", c.Drivers)
	}
	for _, text := range []string{"box = false", "key = true"} {
		if _, err := load("[driver.x]\ncommand = \"x\"\n" + text + "\n"); err == nil {
			t.Errorf("a project may say %s", text)
		}
	}
	if _, err := load("[driver.x]\ncommand = \"x\"\nbases = { A = \"nobody\" }\n"); err == nil {
		t.Error("an unknown vendor")
	}
}

func loaded(t *testing.T, path string) (*Config, error) {
	t.Helper()
	return Load(Options{Env: func(name string) string {
		return map[string]string{"RAMET_CONFIG": path}[name]
	}})
}

func TestServersAreWrittenReadAndRemovedAndTheRestStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	const mine = "# mine\nmodel = \"a/b\" # this\n"
	testkit.OK(t, os.WriteFile(path, []byte(mine), 0o600))
	ctx := t.Context()
	stdio := Server{Name: "files", Command: "npx", Args: []string{"-y", "x \"y\" \\z"}, Env: map[string]string{"TOKEN": "$MY_TOKEN"}, Roots: []string{"~/notes"}}
	http := Server{Name: "far", URL: "https://mcp.example/x", Headers: map[string]string{"Authorization": "Bearer $T"}, Timeout: "2m", ClientID: "app", ClientSecret: "$S", CallbackPort: 8123}
	for _, s := range []Server{stdio, http} {
		testkit.OK(t, AddServer(ctx, path, s))
	}
	if err := AddServer(ctx, path, stdio); !fault.Is(err, fault.Conflict) {
		t.Errorf("twice: %v", err)
	}
	testkit.OK(t, Set(ctx, path, "orphans", "cascade"))
	c, err := loaded(t, path)
	if err != nil || len(c.Servers) != 2 || c.Orphans != "cascade" || c.Model != "a/b" {
		t.Fatalf("%+v, %v", c, err)
	}
	if got := c.Servers[0]; got.ClientID != "app" || got.ClientSecret != "$S" || got.CallbackPort != 8123 {
		t.Errorf("%+v", got)
	}
	if got := c.Servers[1]; got.Name != "files" || got.Args[1] != stdio.Args[1] || got.Env["TOKEN"] != "$MY_TOKEN" || got.Roots[0] != "~/notes" {
		t.Errorf("%+v", got)
	}
	for _, name := range []string{"files", "far"} {
		testkit.OK(t, RemoveServer(ctx, path, name))
	}
	if err := RemoveServer(ctx, path, "far"); !fault.Is(err, fault.NotFound) {
		t.Errorf("again: %v", err)
	}
	text, _ := os.ReadFile(path)
	if !strings.HasPrefix(string(text), mine) || strings.Contains(string(text), "mcp") {
		t.Errorf("left is %q", text)
	}
}

func TestWrongServersAreRefusedWithTheirPlace(t *testing.T) {
	for text, want := range map[string]string{
		"[mcp.x]\n": "config.toml:1: MCP server x: it needs a command or a url",
		"\n[mcp.x]\ncommand = \"a\"\nurl = \"https://b\"\n":      "and not both",
		"[mcp.x]\ncomand = \"a\"\ncommand=\"b\"\n":               `did you mean "command"`,
		"[mcp.a__b]\ncommand = \"a\"\n":                          "is not a name of an MCP server",
		"[mcp.x]\ncommand = 3\n":                                 "MCP server x",
		"[mcp.x]\nurl = \"file:///x\"\n":                         "is not an address",
		"[mcp.x]\ncommand = \"a\"\nroots = [\"notes\"]\n":        "roots can't contain",
		"[mcp.x]\ncommand = \"a\"\ntimeout = \"soon\"\n":         "timeout cannot be",
		"[mcp.x]\ncommand = \"a\"\nclient_id = \"b\"\n":          "are for one with a url",
		"[mcp.x]\nurl = \"https://b\"\nclient_secret = \"$S\"\n": "needs a client_id",
		"[mcp.x]\nurl = \"https://b\"\ncallback_port = 70000\n":  "callback_port cannot be",
		"mcp = 3\n": "tables",
	} {
		path := filepath.Join(t.TempDir(), "config.toml")
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := loaded(t, path)
		f, _ := fault.Of(err)
		if !fault.Is(err, fault.InvalidConfig) || !strings.Contains(f.Error()+" "+f.Hint, want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	_, err := Load(Options{Env: func(string) string { return "/nowhere" }, Project: ProjectFile{Path: "p", Text: "[mcp.x]\ncommand=\"a\"\n"}})
	if f, _ := fault.Of(err); f == nil || !strings.Contains(f.Error()+f.Hint, ".mcp.json") {
		t.Errorf("of a project: %v", err)
	}
}
