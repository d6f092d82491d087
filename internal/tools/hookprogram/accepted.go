package hookprogram

import (
	"errors"
	"io/fs"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/core/trust"
	"ramet/internal/turn/hook"
)

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
		f.Notes = append(f.Notes, err.Error())
		return
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
		return true // trust tells why it cannot
	}
	hooks, _, err := hook.ParseSettings(file, data)
	return err != nil || len(hooks) > 0
}
