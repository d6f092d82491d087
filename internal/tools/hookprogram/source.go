package hookprogram

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/core/config"
	"ramet/internal/core/trust"
	"ramet/internal/launch"
	"ramet/internal/turn/hook"
)

// Kind is the kind of files that name hooks, and of those that hooks run.
const Kind trust.Kind = "hooks"

// Folders are those in which projects keep the programs of hooks.
var Folders = []string{".claude/hooks", ".agents/hooks", ".ramet/hooks"}

// Bounds of what a project's hooks are made of.
const (
	mostFile  = 1 << 20
	mostFiles = 500
)

// Source finds the hooks of a project, for trust: the files that name them, what their commands
// name, and what lies in folders of hooks.
func Source() trust.Source {
	return trust.Source{Kind: Kind, Find: func(g *trust.Ground) ([]trust.Thing, error) {
		things, commands, err := findHookFiles(g)
		if err != nil || len(commands) == 0 && len(things) == 0 {
			return things, err
		}
		seen := map[string]bool{}
		for _, t := range things {
			seen[t.Path] = true
		}
		add := func(found []trust.Thing, err error) error {
			for _, t := range found {
				if !seen[t.Path] {
					seen[t.Path] = true
					things = append(things, t)
				}
			}
			return err
		}
		const does = "is run by a hook, or is next to what is"
		for _, c := range commands {
			if err := add(trust.Programs(Kind, does, Named(g.Dir(), c)...).Find(g)); err != nil {
				return nil, err
			}
		}
		for _, folder := range Folders {
			if err := add(trust.Below(Kind, does, mostFile, mostFiles, folder).Find(g)); err != nil {
				return nil, err
			}
		}
		return things, nil
	}}
}

// findHookFiles returns the files that name hooks, and the commands that they name.
func findHookFiles(g *trust.Ground) (things []trust.Thing, commands []string, err error) {
	for _, file := range hook.SettingsFiles {
		found, err := trust.Files(Kind, "runs commands on events of agents, confined", mostFile, file).Find(g)
		if err != nil {
			return nil, nil, err
		}
		for _, t := range found {
			hooks, _, err := hook.ParseSettings(file, t.Data)
			if t.Refused == "" && err == nil && len(hooks) == 0 {
				continue // nothing of it acts
			}
			if err != nil && t.Refused == "" {
				t.Refused = err.Error()
			}
			things = append(things, t)
			for _, h := range hooks {
				commands = append(commands, h.Command)
			}
		}
	}
	data, err := g.Read(trust.ConfigurationFile, mostFile)
	why := trust.Unfit("")
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.As(err, &why), trust.Escapes(err):
		return things, commands, nil // the source of configurations tells of it
	case err != nil:
		return nil, nil, err
	}
	hooks, err := config.ParseHooks(trust.ConfigurationFile, string(data), true)
	if err != nil {
		return things, commands, nil // the loader says so
	}
	for _, h := range hooks {
		commands = append(commands, h.Command)
	}
	return things, commands, nil
}

// Named returns the files of a project that a command line runs, by their paths in it: programs, what
// an interpreter is given first, modules of Python, what these are links to or name as their interpreters,
// and whatever is in a folder of hooks. Words are looked at as they are written. What else a command
// reads is data.
func Named(project, command string) []string {
	command = strings.NewReplacer(`"`, "", `'`, "", `\`, "").Replace(launch.RelativeToProject(project, command))
	var words []string
	for line := range strings.FieldsFuncSeq(command, func(r rune) bool { return strings.ContainsRune("\n;|&()`{}", r) }) {
		runs := true // the next word is a program, or what an interpreter runs
		module := false
		for word := range strings.FieldsSeq(line) {
			inFolder := slices.ContainsFunc(Folders, func(f string) bool { return strings.Contains(word, f+"/") })
			if !runs && !inFolder {
				continue
			}
			isModule, interprets := strings.HasPrefix(word, "-m"), slices.Contains(interpreters(), path.Base(word))
			if isModule || module || strings.Contains(word, "/") || !interprets && fileExists(filepath.Join(project, word)) {
				words = append(words, word)
			}
			switch {
			case isModule:
				runs, module = word == "-m", true
			case module, !interprets && !strings.HasPrefix(word, "-") && !strings.Contains(word, "="):
				runs = false
			}
		}
	}
	return launch.ScriptFiles(project, words)
}

// interpreters run the file that they are given; the last few only stand before a command.
var interpreters = sync.OnceValue(func() []string {
	return strings.Fields(`sh bash zsh dash ksh fish python python2 python3 node nodejs deno bun tsx ts-node npx ruby perl php pwsh
	uv uvx pipx go run cd exec env command nice nohup time timeout sudo source . xargs then else do if while until !`)
})

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Unaccepted refuses a command that runs files of the project, or has others next to them in a
// folder of hooks, which are not what a person accepted, or are gone: UNTRUSTED. The command runs in dir:
// the project's folder, one below it, or another one that has the project's files.
func Unaccepted(g trust.Gate, dir, command string) error {
	s, err := g.Shelf()
	if err != nil {
		return err
	}
	defer s.Close()
	check := Named(g.Project, command)
	for _, p := range s.Paths(Kind) {
		nextTo := slices.ContainsFunc(Folders, func(folder string) bool {
			return strings.HasPrefix(p, folder+"/") && strings.Contains(command, folder+"/")
		})
		if !nextTo && (p == "" || !strings.Contains(command, p)) {
			continue
		}
		if !fileExists(filepath.Join(g.Project, filepath.FromSlash(p))) {
			return refuseUntrusted(p)
		}
		check = append(check, p)
	}
	first, err := g.UnacceptedProgram(g.Project, check)
	if err != nil || first != "" || dir == g.Project {
		return refusedFile(first, err)
	}
	check = Named(dir, command)
	if rel, err := filepath.Rel(g.Project, dir); err == nil && filepath.IsLocal(rel) {
		for i, p := range check {
			check[i] = path.Join(filepath.ToSlash(rel), p)
		}
		dir = g.Project
	}
	return refusedFile(g.UnacceptedProgram(dir, check))
}

// refusedFile returns an error, or that a file is not what a person accepted; nil if it names none.
func refusedFile(p string, err error) error {
	if err != nil || p == "" {
		return err
	}
	return refuseUntrusted(p)
}

func refuseUntrusted(p string) error {
	return fault.New(fault.Untrusted, "%s, which the hook runs, is not what you accepted", p).WithHint("`ramet trust` shows it")
}

// Found are hooks of files, with what people should know of them.
type Found struct {
	Hooks   []hook.Hook
	Notes   []string // what is not used, or not as it is now
	Remarks []string // what in the files means nothing here
}

func (f *Found) add(file string, data []byte, project bool) {
	hooks, remarks, err := hook.ParseSettings(file, data)
	if err != nil {
		f.Notes, hooks = append(f.Notes, err.Error()), hook.BrokenGuards(file, data, err)
	}
	for i := range hooks {
		hooks[i].Project = project
	}
	f.Hooks, f.Remarks = append(f.Hooks, hooks...), append(f.Remarks, remarks...)
}

// OfProject adds the hooks that a person accepted in the settings of a project, whose shelf and
// folder are given.
func (f *Found) OfProject(s *trust.Shelf, project string) error {
	for _, file := range hook.SettingsFiles {
		t, ok, err := s.Text(Kind, file)
		if err != nil {
			return err
		}
		if t.Note != "" && (t.Data != nil || namesHooks(project, file)) {
			f.Notes = append(f.Notes, t.Note)
		}
		if ok && t.Data != nil {
			f.add(file, t.Data, true)
		}
	}
	return nil
}

// OfUser adds the hooks of a settings file of the user's.
func (f *Found) OfUser(path string) {
	data, err := durable.ReadPlain(path, mostFile, nil)
	if errors.Is(err, fs.ErrNotExist) || fault.Is(err, fault.InvalidConfig) { // no plain file, or too long
		return
	}
	if err != nil {
		f.Notes = append(f.Notes, "hooks are not read: "+err.Error())
		return
	}
	f.add(path, data, false)
}

// namesHooks reports whether a file of a project would name hooks, if it were accepted.
func namesHooks(project, file string) bool {
	g, err := trust.Open(project)
	if err != nil {
		return false
	}
	defer g.Close()
	data, err := g.Read(file, mostFile)
	if err != nil {
		return true // trust reports why it cannot
	}
	hooks, _, err := hook.ParseSettings(file, data)
	return err != nil || len(hooks) > 0
}
