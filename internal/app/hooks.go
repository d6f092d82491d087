package app

import (
	"os"
	"path/filepath"

	"ramet/internal/agent"
	"ramet/internal/environ"
	"ramet/internal/hook/program"
	"ramet/internal/loop"
	"ramet/internal/sandbox"
	"ramet/internal/session"
	"ramet/internal/trust"
)

// hooksOf are the hooks of agents, in runs too.
func hooksOf(r request) func(agent.Agent) loop.Hooks {
	return func(a agent.Agent) loop.Hooks { return r.HooksOf(a, r.Cwd) }
}

// hookRunner runs the hooks of a workspace: the project's confined as its commands are, the user's
// free, with what reaches the user's desktop.
func hookRunner(ws *session.Workspace) (program.Runner, error) {
	hide, err := hidden(ws)
	if err != nil {
		return program.Runner{}, err
	}
	project, err := filepath.EvalSymlinks(ws.Place.Project)
	if err != nil {
		return program.Runner{}, err
	}
	usual := environ.For(os.Environ())
	return program.Runner{Project: project, Env: usual, Free: environ.Reaching(os.Environ()),
		Box: func(dir string) (*sandbox.Box, error) {
			if err := sandbox.Available(); err != nil {
				return nil, err
			}
			root, err := ws.Writable(dir)
			if err != nil {
				return nil, err
			}
			box := &sandbox.Box{Write: []string{root}, Hide: hide, Guard: quarantine(ws), Guarded: []string{root}, Forbid: reserved(ws)}
			keep, err := readOnly(ws, root)
			box.Keep = append(keep, filepath.Join(root, ".claude"), filepath.Join(root, ".agents"))
			return box, err
		},
		Accepted: func(command string) error {
			s, err := trust.Gate{Home: ws.Home, Project: project}.Shelf()
			if err != nil {
				return err
			}
			defer s.Close()
			return program.Unaccepted(s, project, command)
		}}, nil
}
