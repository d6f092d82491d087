package config

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// WorkspaceChoice describes what the user said, strongest first.
type WorkspaceChoice struct {
	DB        string // --db or RAMET_DB: a file or a postgres:// URL
	Workspace string // --workspace: a project's folder, or the name of a known workspace
	ConfigDB  string // db of the configuration
	Home      string // ramet's home
	Dir       string // where the command was given
	Project   string // that of Dir; empty: it is looked for
}

// WorkspaceLocation describes where the workspace is.
type WorkspaceLocation struct {
	DB      string // absolute path, or URL
	Project string // real path of the project's folder; where agent 0 lives
	Name    string // of the workspace, for people
	Named   bool   // by --db, RAMET_DB or the configuration, and not by its project
	Mark    string // of a file: where it is remembered that this database was begun
}

// LocateWorkspace decides.
func LocateWorkspace(c WorkspaceChoice) (WorkspaceLocation, error) {
	p, err := c.locate()
	if err == nil && !strings.Contains(p.DB, "://") {
		sum := sha256.Sum256([]byte(p.DB))
		p.Mark = filepath.Join(c.Home, "databases", fmt.Sprintf("%x", sum[:8]))
	}
	return p, err
}

func (c WorkspaceChoice) locate() (WorkspaceLocation, error) {
	project := c.Project
	if project == "" {
		var err error
		if project, err = ProjectFolder(c.Dir); err != nil {
			return WorkspaceLocation{}, err
		}
	}
	switch {
	case c.DB != "":
		return locateByName(c.DB, c.Dir, project), nil
	case c.Workspace != "":
		return c.known()
	case c.ConfigDB != "":
		return locateByName(c.ConfigDB, c.Dir, project), nil
	}
	return c.of(project), nil
}

func locateByName(db, dir, project string) WorkspaceLocation {
	if !strings.Contains(db, "://") && !filepath.IsAbs(db) {
		db = filepath.Join(dir, db)
	}
	return WorkspaceLocation{DB: db, Project: project, Name: "--db", Named: true}
}

func (c WorkspaceChoice) of(project string) WorkspaceLocation {
	name := WorkspaceName(project)
	return WorkspaceLocation{DB: filepath.Join(c.Home, "workspaces", name, "ramet.db"), Project: project, Name: name}
}

// known returns a project's folder, or a workspace by its name.
func (c WorkspaceChoice) known() (WorkspaceLocation, error) {
	dir := c.Workspace
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(c.Dir, dir)
	}
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		project, err := ProjectFolder(dir)
		return c.of(project), err
	}
	var fits, all []string
	entries, _ := os.ReadDir(filepath.Join(c.Home, "workspaces")) // none yet is not an error
	for _, e := range entries {
		all = append(all, e.Name(), e.Name()[:max(0, len(e.Name())-9)]) // without its digits
		if e.Name() == c.Workspace || strings.HasPrefix(e.Name(), c.Workspace+"-") && len(e.Name()) == len(c.Workspace)+9 {
			fits = append(fits, e.Name())
		}
	}
	switch len(fits) {
	case 1:
		project, err := ProjectFolder(c.Dir)
		return WorkspaceLocation{DB: filepath.Join(c.Home, "workspaces", fits[0], "ramet.db"), Project: project, Name: fits[0]}, err
	case 0:
		err := fault.New(fault.NotFound, "no folder and no workspace %q", c.Workspace)
		return WorkspaceLocation{}, err.WithHint("%s", text.NearestHint(c.Workspace, all, fmt.Sprintf("give a project's folder, or a name under %s", filepath.Join(c.Home, "workspaces"))))
	}
	return WorkspaceLocation{}, fault.New(fault.Ambiguous, "%q fits several workspaces: %s", c.Workspace, strings.Join(fits, ", ")).
		WithHint("give the whole name")
}

// ProjectFolder returns the folder of the project that dir belongs to.
func ProjectFolder(dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fault.New(fault.NotFound, "folder %s: %w", dir, err)
	}
	if real, err = filepath.Abs(real); err != nil {
		return "", err
	}
	for at := real; ; at = filepath.Dir(at) {
		for _, sign := range []string{".ramet", ".git"} {
			if _, err := os.Lstat(filepath.Join(at, sign)); err == nil {
				return at, nil
			}
		}
		if at == filepath.Dir(at) {
			return real, nil
		}
	}
}

// WorkspaceName returns the name of a project's workspace: its folder's, made fit for a file
// name, and eight hex digits of its path.
func WorkspaceName(project string) string {
	base := cmp.Or(strings.Trim(fitName(filepath.Base(project)), "-."), "root")
	if len(base) > 100 {
		base = base[:100]
	}
	sum := sha256.Sum256([]byte(project))
	return fmt.Sprintf("%s-%x", base, sum[:4])
}

// fitName puts one - for each run of what is neither a letter nor a digit of ASCII nor one of the
// three signs that names have.
func fitName(name string) string {
	var out strings.Builder
	for i := range len(name) {
		switch {
		case plainWorkspace(name[i]):
			out.WriteByte(name[i])
		case i == 0 || plainWorkspace(name[i-1]):
			out.WriteByte('-')
		}
	}
	return out.String()
}

func plainWorkspace(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-'
}
