package app

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/core/config"
	"ramet/internal/core/trust"
	"ramet/internal/driver"
	"ramet/internal/files"
	"ramet/internal/launch"
	"ramet/internal/operation/session"
	"ramet/internal/tools/hookprogram"
)

// hidden returns the paths that confined commands may not read: ramet's own folders and files, and those named in the
// user's configuration.
func hidden(ws *session.Workspace) ([]string, error) {
	settings, err := config.Path(os.Getenv)
	if err != nil {
		return nil, err
	}
	runs := filepath.Join(ws.Place.Project, ".ramet", "runs")
	if other := os.Getenv("RAMET_RUNS"); other != "" {
		if runs, err = filepath.Abs(other); err != nil {
			return nil, err
		}
	}
	out := append([]string{ws.Home, settings, prompts(settings), runs, files.TrashInProject(ws.Place.Project), session.StatesFolder(ws.Home, ws.Place)}, databaseFiles(ws.Place.DB)...)
	return append(out, ws.Config.HiddenPaths(os.Getenv)...), nil
}

// acceptedFiles refuses a command line of the project, and other forms of it, that run files of the
// project which are not what a person accepted. The file is the one that is executed, if it is known;
// a link outside of the project must have been accepted with it.
func acceptedFiles(ws *session.Workspace, what, file string, line []string, forms ...[]string) error {
	project, err := filepath.EvalSymlinks(ws.Place.Project)
	if err != nil {
		return err
	}
	gate := trust.Gate{Home: ws.Home, Project: project}
	refuse := func(name string) error {
		return fault.New(fault.Untrusted, "%s, which %s runs, is not what you accepted", name, what).WithHint("look at it and accept it with `ramet trust`")
	}
	for _, form := range append(forms, line) {
		first, err := gate.UnacceptedProgram(project, launch.ProjectFiles(project, form))
		if err != nil {
			return err
		}
		if first != "" {
			return refuse(first)
		}
	}
	if file == "" || isBelow(file, project) {
		return nil
	}
	link, err := filepath.Rel(ws.Place.Project, line[0])
	if err != nil {
		return err
	}
	if ok, err := gate.AcceptsLink(filepath.ToSlash(link), file); !ok {
		return cmp.Or(err, refuse(link))
	}
	return nil
}

// readOnly returns what no confined command may write below a folder that has the project's files:
// what programs execute or obey there because a person accepted it.
func readOnly(ws *session.Workspace, root string) ([]string, error) {
	s, err := trust.Gate{Home: ws.Home, Project: ws.Place.Project}.Shelf()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	out := []string{filepath.Join(root, ".git"), filepath.Join(root, ".ramet")}
	for _, kind := range []trust.Kind{trust.Servers, trust.Obeyed, hookprogram.Kind, driver.PresetPrograms} {
		for _, p := range s.Paths(kind) {
			out = append(out, filepath.Join(root, filepath.FromSlash(p)))
		}
	}
	return out, nil
}

// reserved are files and folders of ramet's that nobody else may make where they do not exist yet:
// those of the database, and the user's settings and prompts, which lie among the files where the
// workspace is the user's home.
func reserved(ws *session.Workspace) []string {
	out := databaseFiles(ws.Place.DB)
	if settings, err := config.Path(os.Getenv); err == nil {
		out = append(out, settings, prompts(settings))
	}
	return out
}

// prompts is the user's folder of prompts, beside the settings.
func prompts(settings string) string { return filepath.Join(filepath.Dir(settings), "prompts") }

// databaseFiles are the files of a database that is one, those included that SQLite would
// read if they were there.
func databaseFiles(db string) []string {
	if strings.Contains(db, "://") {
		return nil
	}
	return []string{db, db + "-wal", db + "-shm", db + "-journal", db + "-spare"}
}

// confinedCache returns the folder for compiler caches of a project's confined commands. Files of one project's commands
// must not end up in the programs of another.
func confinedCache(ws *session.Workspace) string {
	return filepath.Join(ws.Home, "cache", "confined", config.WorkspaceName(ws.Place.Project))
}

// quarantine returns the folder for files that a confined command left under a name that other programs execute.
func quarantine(ws *session.Workspace) string { return filepath.Join(ws.Home, "quarantine") }
